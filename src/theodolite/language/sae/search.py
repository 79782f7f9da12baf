"""Search formulas from counted label sets, with a bound on how much better any other could be."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from jaxtyping import Float, Integer

from theodolite._stats.threads import run_in_threads
from theodolite._storage.packed_arrays import digest_arrays
from theodolite.dissection.atoms import Atoms
from theodolite.dissection.exact import formula_of, improve, triple_tables
from theodolite.dissection.formula import Formula, as_rows
from theodolite.evidence.workers import Arrays, Work, Workers
from theodolite.language.sae.evidence import SparseActivationEvidence
from theodolite.language.sae.inventory import Inventory
from theodolite.language.sae.passes import run_by_range, slice_rows, stack_rows, turns, writeable
from theodolite.language.sae.set_counts import merge_sets, set_pass
from theodolite.language.sae.singles import Chosen, choose_candidates

MAX_FORMULA_LENGTH = 3
MAX_CANDIDATES = 256
UNITS_PER_TASK = 1024
"""Number of units that one task searches."""
MIN_REMOVAL_GAIN = 0.01
"""Smallest possible gain by removal for a concept to become a candidate."""


@dataclass(frozen=True)
class CodeSearch:
    """Settings of the formula search."""

    length: int = MAX_FORMULA_LENGTH
    candidates: int = 64
    gap: float = 0.03
    """Units whose bound exceeds this get twice as many candidates, up to 256."""
    precision: float = 0.01
    """Smallest gain for which a third concept is tried."""


def find_formulas(
    evidence: SparseActivationEvidence,
    workers: Workers,
    inventory: Inventory,
    units: Integer[np.ndarray, " chosen"],
    limits: Float[np.ndarray, " units"],
    how: CodeSearch,
    *,
    seed: int | None = None,
    device: str | None = None,
) -> dict[str, np.ndarray]:
    """Return each unit's formula, counts, candidates and gap.

    The gap is certified: no formula of as many concepts, of whatever concepts, has an overlap that
    is larger by more.
    """
    k = how.candidates
    chosen = choose_candidates(
        evidence, workers, inventory, units, limits,
        candidates=k, precision=MIN_REMOVAL_GAIN, seed=seed,
        device=device,
    )  # fmt: skip
    parts = []
    for turn in turns(set_pass(evidence, units, limits, chosen["candidates"], seed)):
        counted = list(run_by_range(evidence, workers, turn, merge_sets))
        items = [item for rows, sets in counted for item in _items(sets, slice_rows(chosen, rows))]
        del counted
        parts.append(_search(workers, inventory.sets, items, how))
    result = stack_rows(parts)
    result["single"], result["active"] = chosen["single"], chosen["active"]
    # more candidates do not help with what precision leaves open
    again = np.flatnonzero(result["gap"] > how.gap + how.precision)
    if len(again) and k < min(MAX_CANDIDATES, len(evidence.concepts)):
        more = CodeSearch(how.length, min(2 * k, MAX_CANDIDATES), how.gap, how.precision)
        better = find_formulas(
            evidence, workers, inventory, units[again], limits, more, seed=seed, device=device
        )
        for name, column in better.items():
            result[name][again] = column
    return result


def _search(
    workers: Workers, atoms: Atoms, items: list[dict[str, np.ndarray]], how: CodeSearch
) -> dict[str, np.ndarray]:
    work = Work(
        what="search",
        do=partial(search_slice, length=how.length, precision=how.precision),
        items=items,
        digests=[digest_arrays(item) for item in items],
        about={
            "work": "dictionaries, search", "version": 1, "length": how.length,
            "precision": how.precision, "sets": atoms.digest(),
        },
        tool=partial(_keep, atoms),
    )  # fmt: skip
    parts = []
    for item, part in zip(items, workers.each(work), strict=True):
        parts.append(_nothing(len(item["active"])) if part is None else part)
    return stack_rows(parts)


def _keep(atoms: Atoms) -> Atoms:
    if atoms.weight.flags.writeable:
        return atoms
    return replace(
        atoms,
        weight=writeable(atoms.weight),
        label_start=writeable(atoms.label_start),
        label=writeable(atoms.label),
    )


def _items(sets: Arrays, chosen: Chosen) -> list[dict[str, np.ndarray]]:
    """Yield slices small enough to send to workers."""
    n = len(chosen["active"])
    return [
        _item(sets, chosen, slice(at, min(at + UNITS_PER_TASK, n)))
        for at in range(0, n, UNITS_PER_TASK)
    ]


def _item(sets: Arrays, chosen: Chosen, rows: slice) -> dict[str, np.ndarray]:
    start = sets["start"]
    own = slice(start[rows.start], start[rows.stop])
    return {
        "start": start[rows.start : rows.stop + 1] - start[rows.start],
        "sets": sets["sets"][own], "number": sets["number"][own],
        "remaining": sets["candidates"][rows], **slice_rows(chosen, rows),
    }  # fmt: skip


def _nothing(n: int) -> dict[str, np.ndarray]:
    return {
        "formulas": as_rows([None] * n, MAX_FORMULA_LENGTH), "counted": np.zeros(n, np.int64),
        "gap": np.full(n, np.nan), "iou": np.full(n, np.nan), "candidates": np.zeros(n, np.int64),
    }  # fmt: skip


def search_slice(
    item: dict[str, np.ndarray], atoms: Atoms, length: int, precision: float
) -> Arrays:
    """Return the formulas of some units as numbers; a task of :func:`find_formulas`."""
    item = {name: writeable(array) for name, array in item.items()}
    n = len(item["active"])
    result = _nothing(n)
    formulas: list[Formula | None] = [None] * n
    _ = atoms.pairs, atoms.by_concept  # made once, before there are threads

    def search(unit: int) -> None:
        formula, iou, gap, counted = _best(unit, item, atoms, length, precision)
        formulas[unit] = formula
        result["iou"][unit], result["gap"][unit] = iou, gap
        result["counted"][unit] = counted

    run_in_threads(range(n), search, small=n < 4)
    result["formulas"] = as_rows(formulas, MAX_FORMULA_LENGTH)
    result["candidates"] = item["remaining"].copy()
    return result


def _best(
    u: int, item: dict[str, np.ndarray], atoms: Atoms, length: int, precision: float
) -> tuple[Formula | None, float, float, int]:
    from theodolite.language.sae import _set_kernels as kernels  # noqa: PLC0415

    size = int(item["active"][u, 0])
    if size == 0:
        return None, np.nan, np.nan, 0
    names, shared, removal, outside = _remaining(u, item, atoms, size)
    own = slice(item["start"][u], item["start"][u + 1])
    sets, number = item["sets"][own], item["number"][own]
    label_start = np.zeros(len(sets) + 1, np.int64)
    label = np.empty(64 * sets.size, np.int32)
    used = kernels.labels_of(sets, len(names), label_start, label)
    rows = (
        np.arange(len(sets), dtype=np.int32),
        number.astype(np.int32),
        label_start,
        label[:used],
    )
    pairs = kernels.some_pairs(atoms.pairs, names)
    tables = triple_tables(atoms, pairs, names)
    best = np.zeros(8, np.int64)
    slack = precision if length > 2 else 0.0
    counted = improve(tables, rows, shared, size, 0.0, length, best, slack)
    iou = _iou(best, size)
    if not best[0]:
        return None, np.nan, _gap(0.0, slack, size, outside, 0.0, length), counted
    with_negated = _with_negated(rows, size, shared, pairs, removal, outside)
    gap = _gap(iou, slack, size, outside, with_negated, length)
    formula = formula_of(best)
    steps = tuple((operator, int(names[c])) for operator, c in formula.steps)
    return Formula(int(names[formula.first]), steps), iou, gap, counted


def _iou(best: np.ndarray, size: int) -> float:
    return float(best[2] / (size + best[1] - best[2] + 1e-10)) if best[0] else 0.0


def _gap(
    iou: float, slack: float, size: int, outside: np.ndarray, negated: float, length: int
) -> float:
    """Return an upper bound on the gain of any other formula.

    Concepts outside the candidates that are meant add what they share with the unit; those that
    are negated take away what they could.
    """
    meant = iou + slack + float(outside[:length].sum()) / size
    return max(meant, negated if length > 1 else 0.0) - iou


def _with_negated(
    rows: tuple[np.ndarray, ...], size: int, shared: np.ndarray, pairs: np.ndarray,
    removal: np.ndarray, outside: np.ndarray,
) -> float:  # fmt: skip
    from theodolite.language.sae import _candidate_kernels as kernels  # noqa: PLC0415

    if not removal.any():
        return 0.0
    _, number, start, label = rows
    return float(
        kernels.with_negated(start, label, number, size, shared, pairs, removal, int(outside[0]))
    )


def _remaining(
    u: int, item: dict[str, np.ndarray], atoms: Atoms, size: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the candidates; dropped ones count among the other concepts."""
    k = int(item["remaining"][u])
    names = item["candidates"][u].astype(np.int64)
    shared, removal, outside = (item[name][u] for name in ("shared", "removal", "outside"))
    if k == len(names):
        return names, shared, removal, outside
    outside = -np.sort(-np.concatenate([outside, shared[k:]]))[:MAX_FORMULA_LENGTH]
    removal = removal[:k].copy()
    pairs = atoms.pairs
    for a in range(k):
        both = pairs[names[a], names[k:]] - np.maximum(0, shared[a] + shared[k:] - size)
        alone = pairs[names[k:], names[k:]] - shared[k:]
        out = np.minimum(np.minimum(both, alone), pairs[names[a], names[a]] - shared[a])
        two = np.concatenate([removal[a], np.maximum(out, 0)])
        removal[a] = -np.sort(-two)[:2]
    return names[:k], shared[:k].copy(), removal, outside

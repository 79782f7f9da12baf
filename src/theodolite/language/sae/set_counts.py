"""Second pass of SAE dissection: count how often a unit is active on each set of its candidates.

Every formula of candidates can be counted exactly from these sets. A unit with too many sets
drops its last candidates and merges equal sets, so counts stay exact."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Integer

from theodolite._stats.threads import run_in_threads
from theodolite._storage.packed_arrays import digest_arrays
from theodolite.evidence.workers import Arrays
from theodolite.language.sae.counting import apply_limits, block_shift, sort_values
from theodolite.language.sae.evidence import SparseActivationEvidence
from theodolite.language.sae.passes import Item, Pass, plan_cut
from theodolite.language.sae.singles import derive_shard_seed

MAX_SETS_PER_UNIT = 4096
"""Largest number of sets per unit."""
TABLE_BYTES = 1 << 27
LIKELY_SETS = 1024
"""Expected number of sets per unit, for splitting work."""
FIRST_SLOTS = 1 << 12
SHIFT = 4
"""Units per block as a power of two, few enough for the table to fit the cache."""


class SetTable:
    """Growing hash table of counted sets for a block of units."""

    def __init__(self, words: int, slots: int = FIRST_SLOTS) -> None:
        self.words = words
        self.used = 0
        self.arrays = self._empty(slots)

    def _empty(self, slots: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return (
            np.full(slots, -1, np.int32),
            np.zeros((slots, self.words), np.uint64),
            np.zeros(slots, np.int64),
        )

    def fill(self, step: Callable[[int, Any, int], tuple[int, int]], n: int) -> None:
        """Add ``n`` rows with a kernel that stops whenever the table must grow."""
        at = 0
        while True:
            at, self.used = step(at, self.arrays, self.used)
            if at == n:
                return
            start, sets, number = self.sets(int(self.arrays[0].max(initial=-1)) + 1)
            self.arrays, self.used = self._empty(2 * len(self.arrays[0])), 0
            self.add(start, sets, number)

    def add(self, start: np.ndarray, sets: np.ndarray, number: np.ndarray) -> None:
        """Add counted sets to the table."""
        from theodolite.language.sae import _set_kernels as kernels  # noqa: PLC0415

        self.fill(lambda at, arrays, used: kernels.add_sets(
            start, sets, number, at, arrays, used
        ), len(sets))  # fmt: skip

    def sets(self, units: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the start of each unit's sets, the sets and their counts."""
        from theodolite.language.sae import _set_kernels as kernels  # noqa: PLC0415

        owners = self.arrays[0]
        sizes = np.bincount(owners[owners >= 0], minlength=units)
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        sets = np.empty((start[-1], self.words), np.uint64)
        number = np.empty(start[-1], np.int64)
        kernels.gather_sets(self.arrays, start, sets, number)
        return start, sets, number


def set_pass(
    evidence: SparseActivationEvidence,
    units: Integer[np.ndarray, " chosen"],
    limits: np.ndarray,
    candidates: Integer[np.ndarray, "units k"],
    seed: int | None,
) -> Pass:
    """Return the pass that counts the sets of some units."""
    do = partial(project_range, units=units, limits=limits, candidates=candidates, seed=seed)
    settings = {
        "limits": digest_arrays({"limits": limits}), "seed": seed, "most": MAX_SETS_PER_UNIT,
        "candidates": digest_arrays({"candidates": candidates}),
    }  # fmt: skip
    words = -(-candidates.shape[1] // 64)
    cut = plan_cut(evidence, len(units), LIKELY_SETS * (8 * words + 4), TABLE_BYTES)
    return Pass("label sets", do, cut, units, settings)


def project_range(
    item: Item,
    evidence: SparseActivationEvidence,
    units: np.ndarray,
    limits: np.ndarray,
    candidates: np.ndarray,
    seed: int | None,
) -> Arrays:
    """Return the sets of some units in some shards."""
    from theodolite.language.sae import _set_kernels as kernels  # noqa: PLC0415

    rows = slice(*item[2:])
    some, k = units[rows], candidates.shape[1]
    shift = min(block_shift(len(evidence.concepts)), SHIFT)
    tables = [SetTable(-(-k // 64)) for _ in range(0, len(some), 1 << shift)]
    for number in range(*item[:2]):
        piece = apply_limits(evidence.piece(number), limits, derive_shard_seed(seed, number))
        values = sort_values(piece, some, shift)
        labels = (piece.atom, piece.set_start, piece.set_label)

        def project(block: int) -> None:
            own = candidates[rows][values.units(block, len(some))]  # noqa: B023
            bit_of = np.full((len(own), len(evidence.concepts)), -1, np.int16)
            np.put_along_axis(bit_of, own.astype(np.int64), np.arange(k, dtype=np.int16)[None], 1)
            entries = values.block(block)  # noqa: B023
            tables[block].fill(lambda at, arrays, used: kernels.project_block(
                entries, at, shift, *labels, bit_of, arrays, used  # noqa: B023
            ), len(entries))  # fmt: skip

        run_in_threads(range(len(values)), project, small=len(values.entries) < 1 << 16)
    parts = [
        table.sets(min(1 << shift, len(some) - (at << shift))) for at, table in enumerate(tables)
    ]
    return _bounded(parts, k)


def _bounded(parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]], k: int) -> Arrays:
    """Return the sets of units in one row, at most ``MAX_SETS_PER_UNIT`` per unit."""
    sizes = np.concatenate([np.diff(start) for start, _, _ in parts])
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    sets = np.concatenate([part[1] for part in parts])
    number = np.concatenate([part[2] for part in parts])
    remaining = np.full(len(sizes), k, np.int64)
    if (sizes <= MAX_SETS_PER_UNIT).all():
        return {"start": start, "sets": sets, "number": number, "candidates": remaining}
    rows, stays = np.arange(len(sets)), np.ones(len(sets), bool)
    for u in np.flatnonzero(sizes > MAX_SETS_PER_UNIT):
        own = slice(start[u], start[u + 1])
        fewer, first, inverse, remaining[u] = _fewer(sets[own], k)
        sets[own], number[own] = fewer, _sums(inverse, number[own], first)
        stays[own] = np.isin(rows[: sizes[u]], first)
    before = np.concatenate([[0], np.cumsum(stays)])
    return {
        "start": before[start], "sets": sets[stays], "number": number[stays],
        "candidates": remaining,
    }  # fmt: skip


def _fewer(sets: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return sets of the first candidates that are few enough."""
    order, differs = _in_order(sets)
    distinct = 1 + np.concatenate([[0], np.cumsum(np.bincount(differs, minlength=k)[:k])])
    low = int(np.flatnonzero(distinct <= MAX_SETS_PER_UNIT)[-1])
    inverse = np.zeros(len(sets), np.int64)
    inverse[order[1:]] = np.cumsum(differs < low)
    first = np.zeros(distinct[low], np.int64)
    first[inverse[::-1]] = np.arange(len(sets))[::-1]
    return mask_sets(sets, low), first, inverse, low


def _in_order(sets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows sorted by candidates, and the first candidate that differs from the row
    before.
    """
    bits = np.unpackbits(np.ascontiguousarray(sets).view(np.uint8), axis=1, bitorder="little")
    keys = np.packbits(bits, axis=1).view(">u8")
    order = np.lexsort(keys.T[::-1])
    return order, (bits[order[1:]] != bits[order[:-1]]).argmax(axis=1)


def _sums(inverse: np.ndarray, number: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return counts of equal sets, at the first of them."""
    sums = np.zeros_like(number)
    sums[first] = np.bincount(inverse, number).astype(np.int64)
    return sums


def mask_sets(sets: np.ndarray, k: int) -> np.ndarray:
    """Return sets with all but the first ``k`` candidates removed."""
    keep = [np.uint64((1 << max(min(k - 64 * w, 64), 0)) - 1) for w in range(sets.shape[1])]
    return sets & np.array(keep, np.uint64)


def merge_sets(a: Arrays, b: Arrays) -> Arrays:
    """Return the union of two results, with the candidates that both kept."""
    units = len(a["candidates"])
    remaining = np.minimum(a["candidates"], b["candidates"])
    most = int(remaining.max(initial=0))
    table = SetTable(a["sets"].shape[1], 1 << max(int(4 * len(a["sets"])).bit_length(), 12))
    for part in (a, b):
        sets = part["sets"].copy()
        for u in np.flatnonzero(part["candidates"] > remaining):
            own = slice(part["start"][u], part["start"][u + 1])
            sets[own] = mask_sets(sets[own], int(remaining[u]))
        table.add(part["start"], sets, part["number"])
    merged = dict(_bounded([table.sets(units)], most))
    merged["candidates"] = np.minimum(merged["candidates"], remaining)
    return merged

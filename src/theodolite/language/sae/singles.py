"""Counts of single concepts in ranges of units, and the candidates that come of them."""

from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float, Integer

from theodolite._stats.threads import run_in_slices
from theodolite._storage.packed import digest_of
from theodolite.evidence.workers import Arrays, Workers
from theodolite.language.sae.counting import UnitCounts, count_piece, limited, torch_counter
from theodolite.language.sae.evidence import SparseActivationEvidence
from theodolite.language.sae.inventory import Inventory
from theodolite.language.sae.passes import Item, Pass, added, by_range, cut_for, stacked

TABLE_BYTES = 1 << 28
"""Of a range of units: so much is counted in one turn, and kept as one piece."""
Chosen = dict[str, np.ndarray]
"""For each unit: candidates, shared, removal, outside, single, active."""


def seed_of(seed: int | None, number: int) -> tuple[int, int] | None:
    """Of a piece, if its labels are to be moved on."""
    return None if seed is None else (seed, number)


def count_range(
    item: Item,
    evidence: SparseActivationEvidence,
    units: np.ndarray,
    limits: np.ndarray,
    seed: int | None,
    device: str | None,
) -> Arrays:
    """Positions and documents that some units share with every concept, in some pieces."""
    count = count_piece if device is None else torch_counter(device)
    some = units[item[2] : item[3]]
    counts = UnitCounts.zeros(len(some), len(evidence.concepts))
    for number in range(*item[:2]):
        count(limited(evidence.piece(number), limits, seed_of(seed, number)), some, counts)
    return {"table": counts.table, "active": counts.active}


def choose_candidates(
    evidence: SparseActivationEvidence,
    workers: Workers,
    inventory: Inventory,
    units: Integer[np.ndarray, " chosen"],
    limits: Float[np.ndarray, " units"],
    *,
    candidates: int,
    precision: float,
    seed: int | None = None,
    device: str | None = None,
) -> Chosen:
    """Count, and keep of each unit's counts what its formulas need."""
    concepts = len(evidence.concepts)
    do = partial(count_range, units=units, limits=limits, seed=seed, device=device)
    settings = {"limits": digest_of({"limits": limits}), "seed": seed}
    cut = cut_for(evidence, len(units), 8 * concepts, TABLE_BYTES)
    parts = [
        _chosen(counts, inventory, min(candidates, concepts), precision)
        for _, counts in by_range(
            evidence, workers, Pass("single concepts", do, cut, units, settings), added
        )
    ]
    return stacked(parts)


def _chosen(
    counts: dict[str, np.ndarray], inventory: Inventory, k: int, precision: float
) -> Chosen:
    from theodolite.language.sae import _candidate_kernels as kernels  # noqa: PLC0415

    n, pairs = len(counts["active"]), inventory.sets.pairs
    _ = inventory.met  # once, before there are threads
    out: dict[str, Any] = {
        "candidates": np.full((n, k), -1, np.int32),
        "shared": np.zeros((n, k), np.int64),
        "removal": np.zeros((n, k, 2), np.int64),
        "outside": np.zeros((n, 3), np.int64),
        "single": np.zeros((n, 3), np.int64),
    }

    def choose(rows: slice) -> None:
        columns = [array[rows] for array in out.values()]
        table, active = counts["table"][rows], counts["active"][rows]
        kernels.choose(table, active, pairs, inventory.met, precision, *columns)

    run_in_slices(n, choose, small=n < 64)
    return {**out, "active": counts["active"].astype(np.int64)}

"""Count single concepts for ranges of units, and choose the candidates of each unit."""

from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float, Integer

from theodolite._stats.threads import run_in_slices
from theodolite._storage.packed_arrays import digest_arrays
from theodolite.evidence.workers import Arrays, Workers
from theodolite.language.sae.counting import UnitCounts, apply_limits, count_piece, torch_counter
from theodolite.language.sae.evidence import SparseActivationEvidence
from theodolite.language.sae.inventory import Inventory
from theodolite.language.sae.passes import (
    Item,
    Pass,
    add_counts,
    plan_cut,
    run_by_range,
    stack_rows,
)

TABLE_BYTES = 1 << 28
"""Largest size of the counts of a range of units."""
Chosen = dict[str, np.ndarray]
"""Candidates, shared, removal, outside, single and active of each unit."""


def derive_shard_seed(seed: int | None, number: int) -> tuple[int, int] | None:
    """Return the seed of a shard whose labels are shifted, or None."""
    return None if seed is None else (seed, number)


def count_range(
    item: Item,
    evidence: SparseActivationEvidence,
    units: np.ndarray,
    limits: np.ndarray,
    seed: int | None,
    device: str | None,
) -> Arrays:
    """Return counts of some units with every concept, in some shards."""
    count = count_piece if device is None else torch_counter(device)
    some = units[item[2] : item[3]]
    counts = UnitCounts.zeros(len(some), len(evidence.concepts))
    for number in range(*item[:2]):
        count(
            apply_limits(evidence.piece(number), limits, derive_shard_seed(seed, number)),
            some,
            counts,
        )
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
    """Count, and keep only what each unit's formula search needs."""
    concepts = len(evidence.concepts)
    do = partial(count_range, units=units, limits=limits, seed=seed, device=device)
    settings = {"limits": digest_arrays({"limits": limits}), "seed": seed}
    cut = plan_cut(evidence, len(units), 8 * concepts, TABLE_BYTES)
    parts = [
        _chosen(counts, inventory, min(candidates, concepts), precision)
        for _, counts in run_by_range(
            evidence, workers, Pass("single concepts", do, cut, units, settings), add_counts
        )
    ]
    return stack_rows(parts)


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

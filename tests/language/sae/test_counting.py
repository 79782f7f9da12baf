"""Counts by three ways, thresholds as the dense path has them, sets however they are merged."""

from functools import reduce

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from support.evidence.codes import planted_codes, planted_piece
from theodolite.evidence.workers import SerialWorkers
from theodolite.language.sae import counting, set_counts
from theodolite.language.sae.activation_shard import SparseActivationShard
from theodolite.language.sae.counting import UnitCounts, count_piece, torch_counter
from theodolite.language.sae.evidence import SparseActivationEvidence
from theodolite.language.sae.inventory import compute_thresholds, take_inventory
from theodolite.language.sae.passes import Cut, plan_cut
from theodolite.language.sae.set_counts import merge_sets, project_range

LIMITS = np.zeros(60, np.float32)


def count_plainly(piece: SparseActivationShard, units: np.ndarray, counts: UnitCounts) -> None:
    """Count by numpy alone, to compare with."""
    position = np.repeat(np.arange(len(piece)), np.diff(piece.start))
    slot = np.searchsorted(units, piece.unit)
    inside = (slot < len(units)) & (units[np.minimum(slot, len(units) - 1)] == piece.unit)
    position, slot = position[inside], slot[inside]
    sizes = np.diff(piece.set_start).astype(np.int64)[piece.atom[position]]
    owner = np.repeat(np.arange(len(slot)), sizes)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    label = piece.set_label[piece.set_start[piece.atom[position]][owner] + within]
    n, k = counts.table.shape[:2]
    cell = slot[owner].astype(np.int64) * k + label
    document = piece.document[position].astype(np.int64)
    for table, keys, groups in (
        (counts.table.reshape(-1, 2), cell, document[owner]),
        (counts.active, slot.astype(np.int64), document),
    ):
        m = len(table)
        table[:, 0] += np.bincount(keys, minlength=m).astype(np.uint32)
        both = np.unique(groups * m + keys)
        table[:, 1] += np.bincount(both % m, minlength=m).astype(np.uint32)
    assert n == len(counts.active)


@pytest.mark.parametrize("bytes_of_block", [2 << 20, 300])
def test_three_ways_to_count_agree(monkeypatch: pytest.MonkeyPatch, bytes_of_block: int) -> None:
    monkeypatch.setattr(counting, "BLOCK_BYTES", bytes_of_block)
    units = np.array([0, 3, 4, 5, 17, 58])
    every = [UnitCounts.zeros(len(units), 12) for _ in range(3)]
    for seed in range(2):
        piece = planted_piece(seed)
        for count, counts in zip(
            (count_piece, count_plainly, torch_counter("cpu")), every, strict=True
        ):
            count(piece, units, counts)
    for counts in every[1:]:
        assert_array_equal(counts.table, every[0].table)
        assert_array_equal(counts.active, every[0].active)
    assert every[0].table.sum() > 0


def test_thresholds_mark_what_a_quantile_marks() -> None:
    for kind in (np.float16, np.float32):
        pieces = [planted_piece(seed, dense=9) for seed in range(2)]
        pieces = [
            SparseActivationShard(**p.arrays() | {"value": (p.value + 0).astype(kind)})
            for p in pieces
        ]
        evidence = SparseActivationEvidence(pieces, units=60, concepts=planted_codes().concepts)
        active = take_inventory(evidence, SerialWorkers()).active
        limits = compute_thresholds(evidence, SerialWorkers(), active, 0.9)
        dense = np.concatenate([_dense(piece) for piece in pieces]).astype(np.float64)
        quantiles = np.quantile(dense, 0.9, axis=0)
        assert_array_equal(dense > limits, dense > quantiles)
        assert (limits > 0).sum() >= 9
        above = [np.bincount(p.above(limits).unit, minlength=60) for p in pieces]
        assert_array_equal(sum(above), (dense > quantiles).sum(axis=0))


def _dense(piece: SparseActivationShard) -> np.ndarray:
    table = np.zeros((len(piece), 60), np.float32)
    table[np.repeat(np.arange(len(piece)), np.diff(piece.start)), piece.unit] = piece.value
    return table


def test_the_inventory_counts_sets_and_documents() -> None:
    evidence = planted_codes(5)
    inventory = take_inventory(evidence, SerialWorkers())
    documents = np.zeros(12, int)
    pairs = np.zeros((12, 12), int)
    for n in range(5):
        piece = evidence.piece(n)
        has = np.zeros((len(piece), 12), int)
        for p, a in enumerate(piece.atom):
            has[p, piece.set_label[piece.set_start[a] : piece.set_start[a + 1]]] = 1
        pairs += has.T @ has
        documents += (np.add.reduceat(has, piece.place[:-1]) > 0).sum(axis=0)
    assert_array_equal(inventory.sets.pairs, pairs)
    assert_array_equal(inventory.documents, documents)


def _plain_sets(evidence: SparseActivationEvidence, unit: int, names: np.ndarray) -> dict[int, int]:
    """What ``project_range`` counts, by a plain loop."""
    sets: dict[int, int] = {}
    bit = {int(c): i for i, c in enumerate(names)}
    for n in range(len(evidence)):
        piece = evidence.piece(n)
        owner = np.repeat(np.arange(len(piece)), np.diff(piece.start))
        for p in owner[piece.unit == unit]:
            a = piece.atom[p]
            labels = piece.set_label[piece.set_start[a] : piece.set_start[a + 1]]
            key = sum(1 << bit[int(c)] for c in labels if int(c) in bit)
            sets[key] = sets.get(key, 0) + 1
    return sets


@pytest.mark.parametrize("most", [4096, 12])
@pytest.mark.parametrize("blocks", [[(0, 4)], [(0, 2), (2, 4)], [(0, 1), (1, 2), (2, 3), (3, 4)]])
def test_sets_are_exact_however_they_are_merged(
    monkeypatch: pytest.MonkeyPatch, most: int, blocks: list[tuple[int, int]]
) -> None:
    monkeypatch.setattr(set_counts, "MAX_SETS_PER_UNIT", most)
    monkeypatch.setattr(set_counts, "FIRST_SLOTS", 16)
    evidence = planted_codes(4)
    units = np.arange(60)
    rng = np.random.default_rng(1)
    candidates = np.stack([rng.permutation(12)[:9] for _ in units]).astype(np.int32)
    parts = [
        project_range((*block, 0, 60), evidence, units, LIMITS, candidates, None)
        for block in blocks
    ]
    sets = reduce(merge_sets, parts)
    for unit in (0, 1, 31, 59):
        kept = int(sets["candidates"][unit])
        own = slice(sets["start"][unit], sets["start"][unit + 1])
        plain = _plain_sets(evidence, unit, candidates[unit, :kept])
        counted = {
            int(key): int(n)
            for (key,), n in zip(sets["sets"][own], sets["number"][own], strict=True)
        }
        assert counted == plain
        assert len(plain) <= most
        more = _plain_sets(evidence, unit, candidates[unit, : kept + 1])
        assert kept == 9 or len(more) > most, "no more was dropped than had to be"


def test_work_is_cut_by_size_alone() -> None:
    evidence = planted_codes(5)
    assert plan_cut(evidence, 60, 1 << 20, 1 << 22).units == 4
    cut = plan_cut(evidence, 60, 8, 1 << 28)
    assert isinstance(cut, Cut)
    assert cut.units == 60
    assert cut.pieces in (1, 2, 4, 8)

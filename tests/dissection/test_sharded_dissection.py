"""Shard by shard, in other processes, in other blocks: always what the whole in memory gives."""

import math
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from planted_maps import PlantedMaps

from support.evidence.sharded import Elsewhere, Failing, InMemory, LeftToRight, Remembering, spawned
from theodolite.dissection.dissect import Dissection, derangement, dissect
from theodolite.dissection.exact import optimum
from theodolite.dissection.formula import OPERATORS, Formula, as_rows, from_rows
from theodolite.dissection.quantiles import TopValues, ValueCounts, position
from theodolite.dissection.search import Beam, search
from theodolite.dissection.shard_limits import merge_counts, shard_limits
from theodolite.dissection.shard_search import search_blocks
from theodolite.dissection.sharded import ShardedDissection, dissect_shards
from theodolite.dissection.units import mark
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.unit import UnitEvidence
from theodolite.evidence.workers import SerialWorkers, Workers

N = 90
PLANTED = PlantedMaps(n_images=N, n_units=7, n_concepts=6, side_of_grid=14, shard_rows=N)
MAPS, LABELS = PLANTED.shard(0)
RARE = np.flatnonzero((LABELS == 6).any(axis=(1, 2, 3)))[:-2]
LABELS[RARE] *= LABELS[RARE] != 6  # the last concept is left in two images, too few
KINDS = ("object", "part", "object", "part", "scene", "object")
OWN = ("unit_pixels", "formula_pixels", "shared_pixels", "annotated")
CHANCE = tuple(f"chance_{name}" for name in OWN)


def cut(rows: int) -> InMemory:
    return InMemory(MAPS, LABELS, PLANTED.concepts, rows)


@pytest.fixture(scope="module")
def whole() -> Dissection:
    return dissect(MAPS, list(LABELS), PLANTED.concepts, quantile=0.98, min_images=3, seed=5)


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    with spawned() as pool:
        yield pool


def sharded(source: InMemory, workers: Workers, thresholds: str = "exact") -> ShardedDissection:
    return dissect_shards(
        source, workers, quantile=0.98, thresholds=thresholds, min_images=3, seed=5  # type: ignore[arg-type]
    )  # fmt: skip


def bytes_of(found: ShardedDissection) -> list[bytes]:
    """Everything that a dissection finds."""
    arrays = [found.limits, *found.marks.fires]
    for units in (found.marks.own.units, found.marks.dealt.units):
        arrays += [units.start, units.atom, units.count]
    for f in (found.search, found.chance):
        arrays += [f.searched.by_overlap, f.searched.by_detection, f.searched.searched]
        arrays.append(as_rows(f.formulas, 24))
    for part in found.evidence():
        given = [getattr(part, name) for name, _ in part.layouts() if part.has(name)]
        arrays += [part.samples.index, *given]
    return [str(array.dtype).encode() + array.tobytes() for array in arrays]


@pytest.mark.parametrize("rows", [N, 200, 64, 30, 7, 2])
@pytest.mark.parametrize("thresholds", ["exact", "refined"])
def test_shards_give_what_the_whole_gives(whole: Dissection, rows: int, thresholds: str) -> None:
    result = sharded(cut(rows), SerialWorkers(), thresholds)
    assert result.limits.tobytes() == whole.limits.tobytes()
    assert result.formulas() == whole.formulas()
    assert result.atoms.concepts == whole.atoms.concepts == PLANTED.concepts[:5]
    for f in fields(whole.units):
        assert_array_equal(getattr(result.units, f.name), getattr(whole.units, f.name))
    for name in ("start", "weight", "label_start", "label", "pairs", "images_with", "image"):
        assert_array_equal(getattr(result.atoms, name), getattr(whole.atoms, name))
    searched = search(whole.atoms, whole.units)
    for name in ("by_overlap", "by_detection", "searched", "unit_pixels"):
        assert_array_equal(getattr(result.searched, name), getattr(searched, name))
    parts = list(result.evidence())
    assert len(parts) == math.ceil(N / rows)
    evidence = UnitEvidence.joined(parts)
    assert_array_equal(evidence.samples.index, np.arange(N))
    for name in OWN if rows < N else OWN + CHANCE:
        assert_array_equal(getattr(evidence, name), getattr(whole.evidence, name), err_msg=name)
    if rows >= N:
        dealt = mark(lambda a, b: MAPS[a:b], whole.atoms, whole.limits, images=derangement(N, 5))
        dealt = dealt.by_image(whole.atoms)
        for f in fields(dealt):
            assert_array_equal(getattr(result.marks.dealt.units, f.name), getattr(dealt, f.name))
    assert evidence.fires is not None
    assert_array_equal(evidence.fires, MAPS.max(axis=(2, 3)) > whole.limits)


def test_dealt_masks_stay_in_their_shard_and_are_all_dealt() -> None:
    """A shard's dealt masks are other images' of that shard: the sums per shard show it."""
    result = sharded(cut(30), SerialWorkers())
    for part in result.evidence():
        assert part.chance_unit_pixels is not None
        assert_array_equal(
            np.sort(part.unit_pixels, axis=0), np.sort(part.chance_unit_pixels, axis=0)
        )
        assert (part.unit_pixels != part.chance_unit_pixels).any()
    orders = [part.chance_unit_pixels.argsort(axis=0).tobytes() for part in result.evidence()]
    assert len(set(orders)) == 3, "each shard deals in its own way"


def test_equal_shards_are_not_taken_for_each_other() -> None:
    maps, labels = np.concatenate([MAPS[:30]] * 2), np.concatenate([LABELS[:30]] * 2)
    source, known = InMemory(maps, labels, PLANTED.concepts, 30), Remembering()
    for thresholds in ("exact", "binned", "refined"):
        result = sharded(source, SerialWorkers(), thresholds)
        assert bytes_of(sharded(source, known, thresholds)) == bytes_of(result)
    assert bytes_of(sharded(source, known, "refined")) == bytes_of(result)
    first, second = result.evidence()
    assert_array_equal(first.unit_pixels, second.unit_pixels)
    assert (first.chance_unit_pixels != second.chance_unit_pixels).any()


def test_other_settings_are_other_pieces() -> None:
    """Whatever decides a result is in what a piece is known by."""
    known = Remembering()
    for change in (
        {}, {"quantile": 0.9}, {"method": "hazen"}, {"thresholds": "refined"}, {"seed": 1},
        {"min_images": 4}, {"beam": Beam(1)}, {"beam": Beam(5, 2)}, {"exact": True},
        {"thresholds": "refined", "quantile": 0.9}, {"length": 1}, {"beam": Beam(distinct=False)},
        {"beam": Beam(candidates=1)},
    ):  # fmt: skip
        settings = {"quantile": 0.98, **change}
        for source in (cut(30), replace(cut(30), categories=KINDS)):
            once = dissect_shards(source, known, **settings)  # type: ignore[arg-type]
            assert bytes_of(once) == bytes_of(
                dissect_shards(source, SerialWorkers(), **settings)
            ), change  # type: ignore[arg-type]


@pytest.mark.parametrize("block", [1, 3])
@pytest.mark.parametrize("thresholds", ["exact", "binned", "refined"])
def test_other_processes_and_groups_give_the_same_bytes(
    pool: ProcessPoolExecutor, block: int, thresholds: str
) -> None:
    here = bytes_of(sharded(cut(16), SerialWorkers(), thresholds))
    assert bytes_of(sharded(cut(16), Elsewhere(pool, block), thresholds)) == here
    assert bytes_of(sharded(cut(16), LeftToRight(), thresholds)) == here


def test_blocks_of_units_of_any_size_find_the_same(whole: Dissection) -> None:
    for exact in (False, True):
        expected = None
        for block in (1, 2, 7, 16):
            result = search_blocks(
                SerialWorkers(), whole.atoms, whole.units, beam=Beam(), exact=exact, block=block
            )
            rows = [result.searched.by_overlap.tobytes(), as_rows(result.formulas, 3).tobytes()]
            expected = expected or rows
            assert rows == expected


def test_the_exact_search(whole: Dissection) -> None:
    """From a beam so narrow that it misses some."""
    narrow = Beam(1, 3, candidates=1)
    result = dissect_shards(
        cut(16), SerialWorkers(), quantile=0.98, min_images=3, beam=narrow, exact=True
    )
    proved = optimum(whole.atoms, whole.units, beam=narrow)
    assert proved.missed > 0
    assert result.search.proved is not None
    assert tuple(result.search.formulas) == proved.formulas
    for name in ("iou", "beam_iou", "counted"):
        assert_array_equal(getattr(result.search.proved, name), getattr(proved, name))


def test_planted_concepts_are_found() -> None:
    source = PlantedMaps(n_images=600, n_units=6, n_concepts=12, shard_rows=100, seed=3)
    result = dissect_shards(source, SerialWorkers(), quantile=0.97, thresholds="refined")
    for unit, concepts in enumerate(source.planted):
        formula = result.search.formulas[unit]
        assert formula is not None and set(concepts) <= set(formula.concepts)
        assert not (set(concepts) & {c for c, meant in formula.literals() if not meant})


# --- thresholds -----------------------------------------------------------------------------------

few = st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-42, -1e-42, 65504.0, 0.1, 0.10000001, 3e38])
numbers = st.one_of(few, st.floats(width=32, allow_nan=False, allow_infinity=False))


@given(
    values=st.lists(numbers, min_size=1, max_size=40),
    share=st.sampled_from([0.02, 0.5, 0.9, 0.995]),
    method=st.sampled_from(["linear", "hazen"]),
    rows=st.integers(1, 9),
    seed=st.integers(0, 99),
)
@settings(max_examples=150, deadline=None)
def test_refined_thresholds_are_exact(
    values: list[float], share: float, method: str, rows: int, seed: int
) -> None:
    one = np.array(values, np.float32)
    maps = np.stack([one, np.random.default_rng(seed).permutation(-one)], 1)[..., None, None]
    source = InMemory(maps, np.zeros((len(maps), 1, 2, 2), np.uint16), ("a",), rows)
    result, exact, binned = (
        shard_limits(source, SerialWorkers(), quantile=share, method=method, how=how)[0]  # type: ignore[arg-type]
        for how in ("refined", "exact", "binned")
    )
    top, counts = TopValues(2, len(maps)), ValueCounts(2)
    top.take(maps)
    counts.take(maps)
    assert_array_equal(result, top.quantile(share, method))  # type: ignore[arg-type]
    assert_array_equal(exact, result)
    assert_array_equal(binned, counts.quantile(share, method))  # type: ignore[arg-type]
    flat = maps[:, :, 0, 0].astype(np.float64)
    rank = math.floor(position(share, len(flat), method))  # type: ignore[arg-type]
    assert not binned[np.sort(flat, axis=0)[rank] == 0].any(), "-0.0 is in the bin of 0"
    expected = np.quantile(flat, share, axis=0, method=method)
    assert_allclose(result, expected, rtol=1e-12, atol=1e-12 * np.abs(flat).max())


@given(seed=st.integers(0, 999))
@settings(max_examples=30, deadline=None)
def test_largest_values_have_the_same_bytes_in_any_order(seed: int) -> None:
    random = np.random.default_rng(seed)
    maps = random.choice(np.array([0.0, -0.0, -3], np.float32), (12, 2, 2, 2))
    maps[random.integers(12), :, 0, 0] = 1
    seen = set()
    for order in (np.arange(12), random.permutation(12), random.permutation(12)):
        parts = [TopValues(2, 10), TopValues(2, 10)]
        cuts = np.split(maps[order], [random.integers(1, 11)])
        for part, some in zip(parts, cuts, strict=True):
            part.take(some)
        back = [TopValues.of(part.arrays(), 10) for part in parts]
        arrays = (back[0] + back[1]).arrays()
        seen.add(b"".join(arrays[name].tobytes() for name in ("top", "seen")))
    assert len(seen) == 1


def test_results_of_a_piece_are_plain_arrays() -> None:
    """They are kept without being pickled."""
    seen = []

    class Watching(SerialWorkers):
        def each(self, work):  # type: ignore[no-untyped-def]
            assert len(work.items) == len(work.digests) == len(set(work.digests))
            for arrays in super().each(work):
                seen.append((work.what, {a.dtype.kind for a in arrays.values()}))
                yield arrays

    for thresholds in ("exact", "refined"):
        list(sharded(cut(30), Watching(), thresholds).evidence())
    assert {what for what, _ in seen} == {
        "largest values", "values in bins", "values refined", "marks", "search", "counts"
    }  # fmt: skip
    assert all(kinds <= set("biuf") for _, kinds in seen)


def test_counts_come_shard_by_shard() -> None:
    done = []
    result = sharded(cut(30), SerialWorkers())
    parts = result.evidence(lambda what, at, of: done.append((what, at, of)))
    assert not done
    assert len(next(parts)) == 30 and done == [("counts", 1, 3)]


# --- what fails ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("thresholds", "stage"),
    [("exact", "largest values"), ("binned", "values in bins"), ("refined", "values in bins"),
     ("refined", "values refined")],
)  # fmt: skip
def test_a_shard_that_cannot_be_read_is_as_if_it_were_not_there(
    thresholds: str, stage: str
) -> None:
    result = sharded(cut(30), Failing({(stage, "shard 1")}), thresholds)
    rest = np.r_[:30, 60:90]
    without = InMemory(MAPS[rest], LABELS[rest], PLANTED.concepts, 30)
    expected = sharded(without, SerialWorkers(), thresholds)
    assert result.limits.tobytes() == expected.limits.tobytes()
    assert result.formulas() == expected.formulas() and result.marks.numbers == (0, 2)
    evidence = UnitEvidence.joined(list(result.evidence()))
    assert_array_equal(evidence.samples.index, rest)
    other = UnitEvidence.joined(list(expected.evidence()))
    for name in OWN:
        assert_array_equal(getattr(evidence, name), getattr(other, name))


def test_a_shard_that_fails_later_is_left_out_from_there_on() -> None:
    result = sharded(cut(30), Failing({("marks", "shard 0"), ("counts", "shard 2")}))
    assert result.marks.numbers == (1, 2)
    assert result.limits.tobytes() == sharded(cut(30), SerialWorkers()).limits.tobytes()
    (part,) = result.evidence()
    assert_array_equal(part.samples.index, np.arange(30, 60))


@pytest.mark.parametrize("exact", [False, True])
def test_units_that_could_not_be_searched_have_no_formula(whole: Dissection, exact: bool) -> None:
    workers = Failing({("search", "units from 4")})
    result = search_blocks(workers, whole.atoms, whole.units, beam=Beam(), exact=exact, block=4)
    assert result.failed == 3 and result.formulas[4:] == [None] * 3
    assert all(formula is not None for formula in result.formulas[:4])
    assert result.searched.best(5) is None


@pytest.mark.parametrize("stage", ["largest values", "marks"])
def test_nothing_left(stage: str) -> None:
    every = {(stage, f"shard {number}") for number in range(3)}
    with pytest.raises(EvidenceError, match="no shard that could be"):
        sharded(cut(30), Failing(every))


def test_a_shard_of_one_image_adds_nothing_to_chance(whole: Dissection) -> None:
    result = sharded(cut(N - 1), SerialWorkers())
    first, last = result.evidence()
    assert len(first) == N - 1 and len(last) == 1
    for name in OWN:
        assert_array_equal(getattr(last, name), getattr(whole.evidence, name)[-1:])
    assert not any(getattr(last, name).any() for name in CHANCE)
    with pytest.raises(EvidenceError, match="at least two"):
        sharded(InMemory(MAPS[:1], LABELS[:1], PLANTED.concepts, 1), SerialWorkers())


def test_shards_that_do_not_fit() -> None:
    class Wrong(InMemory):
        def shard(self, number: int) -> tuple[np.ndarray, np.ndarray]:
            maps, labels = super().shard(number)
            return maps[: 30 - number], labels

    with pytest.raises(EvidenceError, match=r"shard 1: got activations \(29, 7, 7, 7\)"):
        sharded(Wrong(MAPS, LABELS, PLANTED.concepts, 30), SerialWorkers())
    broken = MAPS.copy()
    broken[40, 0, 0, 0] = np.nan
    with pytest.raises(EvidenceError, match="shard 1: got NaN"):
        sharded(InMemory(broken, LABELS, PLANTED.concepts, 30), SerialWorkers())
    with pytest.raises(EvidenceError, match="between 0 and 1"):
        shard_limits(cut(30), SerialWorkers(), quantile=99)


def test_categories_say_which_images_are_annotated(whole: Dissection) -> None:
    source = replace(cut(30), categories=KINDS)
    evidence = UnitEvidence.joined(list(sharded(source, SerialWorkers()).evidence()))
    formula = sharded(source, SerialWorkers()).search.formulas[0]
    assert formula is not None
    kinds = {KINDS[c] for c in formula.concepts}
    there = [c + 1 for c, kind in enumerate(KINDS) if kind in kinds]
    assert evidence.annotated is not None
    assert_array_equal(evidence.annotated[:, 0], np.isin(LABELS, there).any(axis=(1, 2, 3)))


def test_merged_counts_of_nothing() -> None:
    empty = {"key": np.array([], np.int64), "count": np.array([], np.int64),
             "seen": np.array([4]), "done": np.array([0])}  # fmt: skip
    both = merge_counts(empty, {**empty, "done": np.array([1])})
    assert both["seen"].tolist() == [8] and both["done"].tolist() == [0, 1]
    assert both["key"].size == both["count"].size == 0


chains = st.builds(
    Formula,
    st.integers(0, 60_000),
    st.lists(st.tuples(st.sampled_from(OPERATORS), st.integers(0, 9)), max_size=5).map(tuple),
)


@given(formulas=st.lists(st.none() | chains, max_size=5), longest=st.integers(6, 9))
def test_formulas_as_numbers(formulas: list[Formula | None], longest: int) -> None:
    assert from_rows(as_rows(formulas, longest)) == formulas

"""Formulas for units: the worked example, plain oracles, and everything that must stay equal."""

import csv
import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from support.runs.dissected import (
    GRID,
    JOIN,
    MASKS,
    NAMES,
    UNIT,
    best_of_all,
    iou,
    marked,
    packed,
    published_beam,
)
from theodolite.dissection._triple_kernels import _chain, triple_bounds
from theodolite.dissection.atoms import Atoms
from theodolite.dissection.counts import annotated_images, count, literal_scores
from theodolite.dissection.exact import optimum
from theodolite.dissection.formula import OPERATORS, Formula
from theodolite.dissection.search import Beam, search
from theodolite.dissection.units import thresholds
from theodolite.errors import EvidenceError
from theodolite.metrics import detection_accuracy, pixel_recall, unit_iou

A, B, S = range(3)
WORKED = [  # formula, area, shared, IoU, images, DetAcc, pixel recall
    (Formula(A), 6, 2, 0.222222, 3, 0.6667, 0.333333),
    (Formula(B), 5, 3, 0.428571, 2, 1.0, 0.6),
    (Formula(S), 12, 2, 0.133333, 2, 0.5, 0.166667),
    (Formula(A, (("OR", B),)), 11, 5, 0.454545, 4, 0.75, 0.454545),
    (Formula(A, (("AND NOT", S),)), 4, 2, 0.285714, 2, 1.0, 0.5),
    (Formula(A, (("OR", B), ("AND NOT", S))), 5, 3, 0.428571, 2, 1.0, 0.6),
    (Formula(B, (("AND", S),)), 4, 2, 0.285714, 1, 1.0, 0.5),
    (Formula(A, (("AND", B),)), 0, 0, 0.0, 0, np.nan, np.nan),
]


@pytest.mark.parametrize(("formula", "area", "shared", "i", "shown", "detected", "recall"), WORKED)
def test_worked_example(
    formula: Formula, area: int, shared: int, i: float, shown: int, detected: float, recall: float
) -> None:
    atoms = packed(MASKS, GRID, NAMES)
    result = count(atoms, marked(atoms, UNIT), [formula])
    three = (result.unit, result.formula, result.shared)
    assert (result.formula.sum(), result.shared.sum(), result.unit.sum()) == (area, shared, 5)
    assert (result.formula > 0).sum() == shown
    assert_allclose(unit_iou(*three), i, atol=5e-7)
    assert_allclose(detection_accuracy(*three), detected, atol=5e-5)
    assert_allclose(pixel_recall(*three), recall, atol=5e-7)


def test_worked_search() -> None:
    atoms = packed(MASKS, GRID, NAMES)
    units = marked(atoms, UNIT)
    said = {}
    for size in (5, 10):
        for distinct in (False, True):
            result = search(atoms, units, Beam(size, 3, distinct=distinct))
            best, stopped = result.best(0), result.stopped(0)
            assert best is not None and stopped is not None
            said[size, distinct] = (
                best.formula.text(NAMES), round(best.iou, 6), best.detection_accuracy,
            )  # fmt: skip
            assert (stopped.formula, round(stopped.iou, 6)) == (Formula(B), 0.428571)
            assert stopped.detection_accuracy == 1.0
    assert said[5, False] == ("(B OR A)", 0.454545, 0.75)
    better = ("((A AND (NOT S)) OR B)", 0.555556, 1.0)
    assert said[10, False] == said[5, True] == said[10, True] == better


@pytest.mark.parametrize("stop", [False, True])
def test_where_the_published_code_never_ends(stop: bool) -> None:
    """A unit that is a concept: the best formula stays, equally well detected, for ever."""
    atoms = packed(MASKS, GRID, NAMES)
    for distinct in (False, True):
        beam = Beam(5, 20, distinct=distinct, stop=stop)
        result = search(atoms, marked(atoms, MASKS[B]), beam)
        assert result.searched[0] <= 20
        best, stopped = result.best(0), result.stopped(0)
        assert best is not None and stopped is not None
        assert best.iou == pytest.approx(1.0) and stopped.formula == Formula(B)


def test_a_unit_that_meets_nothing_has_no_formula() -> None:
    atoms = packed(MASKS, GRID, NAMES)
    elsewhere = np.zeros_like(UNIT)
    elsewhere[0, 2] = True
    result = search(atoms, marked(atoms, elsewhere, UNIT))
    assert result.best(0) is None and result.stopped(0) is None and result.selected(0) is None
    assert result.best(1) is not None
    proved = optimum(atoms, marked(atoms, elsewhere, UNIT))
    assert proved.formulas[0] is None and proved.iou[0] == 0.0


@st.composite
def dissections(draw: st.DrawFn, most_concepts: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Masks of concepts and of a unit that has something to do with them; blocky or scattered."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    concepts, images = draw(st.integers(1, most_concepts)), draw(st.integers(1, 4))
    masks = random.random((concepts, images, 20)) < random.random((concepts, 1, 1))
    if draw(st.booleans()):
        masks = np.repeat(masks[:, :, ::2], 2, axis=2)
    unit = random.random((images, 20)) < draw(st.floats(0.05, 0.6))
    if draw(st.booleans()):
        unit ^= masks[random.integers(concepts)] & (random.random((images, 20)) < 0.8)
    return masks, unit


@given(case=dissections(), size=st.integers(1, 6), candidates=st.sampled_from([0, 2]))
@settings(max_examples=60)
def test_the_published_search(
    case: tuple[np.ndarray, np.ndarray], size: int, candidates: int
) -> None:
    masks, unit = case
    atoms = packed(masks, (4, 5))
    result = search(atoms, marked(atoms, unit), Beam(size, 4, candidates, distinct=False))
    if not any((mask & unit).any() for mask in masks):
        assert result.best(0) is None
        return
    for length, (formula, score) in enumerate(
        published_beam(masks, unit, size, 4, candidates), start=1
    ):
        best = result.best(0, length)
        assert best is not None
        assert_allclose(best.iou, score, rtol=1e-12)
        assert best.formula == formula
        where = formula.holds(lambda c: masks[c])
        assert best.images == where.any(axis=1).sum()
        assert best.shared_images == (where & unit).any(axis=1).sum()


@given(case=dissections(), size=st.integers(1, 5))
@settings(max_examples=60)
def test_without_repeats_no_two_formulas_of_the_beam_share_a_mask_and_counts_are_true(
    case: tuple[np.ndarray, np.ndarray], size: int
) -> None:
    masks, unit = case
    atoms = packed(masks, (4, 5))
    result = search(atoms, marked(atoms, unit), Beam(size, 5))
    before = 0.0
    for length in range(1, int(result.searched[0]) + 1):
        best = result.best(0, length)
        assert best is not None and len(best.formula) <= length
        where = best.formula.holds(lambda c: masks[c])
        assert best.iou >= before - 1e-12
        assert (best.formula_pixels, best.shared_pixels) == (where.sum(), (where & unit).sum())
        before = best.iou


@given(case=dissections(), beam=st.integers(1, 5))
@settings(max_examples=80)
def test_the_optimum_is_the_best_of_all(case: tuple[np.ndarray, np.ndarray], beam: int) -> None:
    """Also from a poor start, so that the bounds have something to prove."""
    masks, unit = case
    atoms = packed(masks, (4, 5))
    result = optimum(atoms, marked(atoms, unit), beam=Beam(beam))
    assert_allclose(result.iou[0], best_of_all(masks, unit), atol=1e-9)
    if result.formulas[0] is not None:
        where = result.formulas[0].holds(lambda c: masks[c])
        assert_allclose(iou(where, unit), result.iou[0], rtol=1e-9)


@given(seed=st.integers(0, 2**32 - 1), share=st.floats(0.05, 0.95))
def test_bounds_hold(seed: int, share: float) -> None:
    """The triple count lies between the bounds from pairs, and every chain's size is its own."""
    random = np.random.default_rng(seed)
    a, b, c = random.random((3, 30)) < share * random.random((3, 1)) * 1.5
    low, high = triple_bounds(
        a.sum(), b.sum(), c.sum(), (a & b).sum(), (a & c).sum(), (b & c).sum()
    )
    assert low <= (a & b & c).sum() <= high
    counts = (a.sum(), b.sum(), c.sum(), (a & b).sum(), (a & c).sum(), (b & c).sum())
    for op1, first in enumerate(OPERATORS):
        for op2, second in enumerate(OPERATORS):
            size = JOIN[second](JOIN[first](a, b), c).sum()
            assert _chain(op1, op2, *counts, (a & b & c).sum()) == size
            ends = [_chain(op1, op2, *counts, end) for end in (low, high)]
            assert min(ends) <= size <= max(ends)


@given(case=dissections(most_concepts=3))
@settings(max_examples=40)
def test_shorter_optima(case: tuple[np.ndarray, np.ndarray]) -> None:
    masks, unit = case
    atoms = packed(masks, (4, 5))
    one = max(iou(mask, unit) for mask in masks)
    two = max(iou(join(a, b), unit) for a in masks for b in masks for join in JOIN.values())
    units = marked(atoms, unit)
    assert_allclose(optimum(atoms, units, 1).iou[0], one, atol=1e-9)
    assert_allclose(optimum(atoms, units, 2).iou[0], max(one, two), atol=1e-9)
    with pytest.raises(EvidenceError, match="use the beam search"):
        optimum(atoms, units, 4)


@given(case=dissections(), seed=st.integers(0, 99))
@settings(max_examples=30)
def test_images_in_any_order_and_any_shards_give_the_same_counts(
    case: tuple[np.ndarray, np.ndarray], seed: int
) -> None:
    masks, unit = case
    order = np.random.default_rng(seed).permutation(len(unit))
    atoms, turned = packed(masks, (4, 5)), packed(masks[:, order], (4, 5))
    assert_array_equal(atoms.pairs, turned.pairs)
    assert_array_equal(atoms.pairs, np.einsum("aip,bip->ab", masks.astype(int), masks.astype(int)))
    assert_array_equal(atoms.images_with, masks.any(axis=2).sum(axis=1))
    shared, meet = marked(atoms, unit).with_concepts(atoms)
    again, meet_again = marked(turned, unit[order]).with_concepts(turned)
    assert_array_equal(shared, again)
    assert_array_equal(meet, meet_again)
    assert_array_equal(shared[0], (masks & unit).sum(axis=(1, 2)))
    assert_array_equal(meet[0], (masks & unit).any(axis=2).sum(axis=1))
    whole = search(atoms, marked(atoms, unit)).best(0)
    other = search(turned, marked(turned, unit[order])).best(0)
    assert whole == other


chains = st.builds(
    Formula,
    st.integers(0, 3),
    st.lists(st.tuples(st.sampled_from(OPERATORS), st.integers(0, 3)), max_size=5).map(tuple),
)


@given(formula=chains)
def test_formulas_are_printed_and_read(formula: Formula) -> None:
    names = ["a", "b c", "d OR e", "(f)"]
    assert Formula.parse(formula.text(names), names) == formula


@given(one=chains, other=chains)
def test_algebra_of_formulas(one: Formula, other: Formula) -> None:
    simple = one.simplified()
    assert simple.equivalent(one) and one.equivalent(simple)
    assert len(simple) <= len(one) and simple.simplified() == simple
    assert one.equivalent(other) == other.equivalent(one)
    longer = replace(one, steps=(*one.steps, ("OR", 0), ("OR", 0)))
    assert longer.equivalent(replace(one, steps=(*one.steps, ("OR", 0))))
    masks = np.random.default_rng(0).random((4, 500)) < 0.5
    equal = bool((one.holds(lambda c: masks[c]) == other.holds(lambda c: masks[c])).all())
    assert equal == one.equivalent(other)


def test_simplified() -> None:
    for text, simple in (("(a OR a)", "a"), ("((a OR b) AND a)", "a"), ("((a AND b) OR a)", "a"),
                         ("((a OR b) OR a)", "(a OR b)"), ("((a AND (NOT b)) OR b)",) * 2):  # fmt: skip
        result = Formula.parse(text, "ab").simplified()
        assert result.equivalent(Formula.parse(simple, "ab")) and len(result) <= len(
            Formula.parse(simple, "ab")
        )
    with pytest.raises(EvidenceError, match="a printed formula"):
        Formula.parse("(a XOR b)", "ab")


def test_literals_are_scored_on_their_own_masks() -> None:
    atoms = packed(MASKS, GRID, NAMES)
    units = marked(atoms, UNIT)
    first, second = literal_scores(atoms, units, 0, Formula(A, (("AND NOT", S),)))
    assert_allclose((first.iou, first.detection_accuracy), (2 / 9, 2 / 3))
    outside = ~MASKS[S]
    assert second.meant is False
    assert_allclose(second.iou, iou(outside, UNIT), rtol=1e-9)
    assert_allclose(second.detection_accuracy, 2 / 2)


def test_images_annotated_with_a_category() -> None:
    atoms: Atoms = replace(packed(MASKS, GRID, NAMES), categories=("part", "part", "scene"))
    result = annotated_images(atoms, [Formula(A), Formula(S), Formula(A, (("OR", S),)), None])
    assert result[:, 0].tolist() == [True, True, True, True]
    assert result[:, 1].tolist() == [False, True, False, True]
    assert result[:, 2].all() and not result[:, 3].any()


def test_published_overlaps_come_from_their_counts(shared_data: Path) -> None:
    """Network Dissection's own tables: truth, activation and shared pixels of every unit.

    1,069 rows (textures of ResNet-152) share pixels with a unit that has none: no such evidence.
    """
    checked = impossible = 0
    for path in sorted((shared_data / "netdissect_published").glob("*.csv.gz")):
        with gzip.open(path, "rt") as stream:
            rows = list(csv.DictReader(stream))
        for category in ("object", "part", "scene", "texture", "color", "material"):
            if f"{category}-truth" not in rows[0]:
                continue
            truth, active, both, printed = (
                np.array([float(row[f"{category}-{name}"]) for row in rows])
                for name in ("truth", "activation", "intersect", "iou")
            )
            possible = both <= np.minimum(active, truth)
            impossible += int((~possible).sum())
            three = [part[possible].astype(np.int64)[None] for part in (active, truth, both)]
            result = unit_iou(*three)
            assert_allclose(np.nan_to_num(result), printed[possible], rtol=1e-9, atol=1e-12)
            checked += int(possible.sum())
    assert impossible == 1069
    assert checked > 10_000


def test_settings_that_make_no_sense() -> None:
    for wrong in ({"size": 0}, {"lengths": 0}, {"lengths": 99}, {"candidates": -1}):
        with pytest.raises(EvidenceError, match="beam"):
            Beam(**wrong)
    with pytest.raises(EvidenceError, match="between 0 and 1"):
        thresholds([np.zeros((1, 1, 2, 2), np.float32)], 4, quantile=99)
    with pytest.raises(EvidenceError, match="at least one batch"):
        thresholds([], 4)


def test_what_the_beam_misses_is_that_beams_own() -> None:
    random = np.random.default_rng(0)
    masks = random.random((8, 6, 20)) < 0.3
    atoms = packed(masks, (4, 5))
    units = marked(atoms, *(random.random((30, 6, 20)) < 0.2))
    narrow = Beam(1, 3, candidates=2, distinct=False)
    result, own = optimum(atoms, units, beam=narrow), search(atoms, units, narrow)
    best = [own.best(u) for u in range(30)]
    assert_allclose(result.beam_iou, [0 if one is None else one.iou for one in best])
    assert result.missed > optimum(atoms, units).missed

"""Strongest pixels and the fit of maps: by hand, and against naive loops."""

import math

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

from support.of_evidence import of_evidence
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Fills
from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.metrics import map_fit, relevance_top
from theodolite.metrics.faithful.map_fit import sum_patches
from theodolite.testing.strategies import saliency_evidence

fit_of, top_of = of_evidence("map_fit"), of_evidence("relevance_top")
NAN = float("nan")


def test_strongest_pixels_by_hand() -> None:
    inside = np.zeros((1, 5, 8), bool)
    inside[0, :3, :] = inside[0, 3, :1] = True  # 25 pixels: the two strongest are read
    assert inside.sum() == 25
    maps = np.zeros((1, 5, 8))
    maps[0, 0, 0], maps[0, 4, 7] = 3.0, 2.0
    assert relevance_top(maps, inside) == 0.5
    maps[0, 1, 1] = 2.0  # level with the one outside
    assert relevance_top(maps, inside) == 0.75
    assert relevance_top(-maps, inside) == 0.0  # nothing above 0
    maps[0, 4, 7] = maps[0, 1, 1] = 0.0  # the second pixel is missing
    assert relevance_top(maps, inside) == 0.5
    assert math.isnan(relevance_top(maps, np.zeros_like(inside)))


def naive_top(relevance: np.ndarray, inside: np.ndarray) -> float:
    """Rank all pixels, and break ties once in favor of the object and once against it."""
    n = int(inside.sum())
    if not n:
        return NAN
    k = max(1, round(0.1 * n))
    pixels = [(max(r, 0.0), bool(o)) for r, o in zip(relevance.flat, inside.flat, strict=True)]
    pixels.sort(key=lambda pixel: -pixel[0])
    line = pixels[k - 1][0]
    hits = sum(on for r, on in pixels if r > line)
    level = [on for r, on in pixels if r == line and r > 0]
    if level:
        hits += (k - sum(r > line for r, _ in pixels)) * sum(level) / len(level)
    return hits / k


@given(evidence=saliency_evidence())
def test_strongest_pixels_equal_a_naive_ranking(evidence: SaliencyEvidence) -> None:
    each = [naive_top(m, o) for m, o in zip(evidence.maps, evidence.objects, strict=True)]
    known = [value for value in each if not math.isnan(value)]
    assert_allclose(top_of(evidence), np.mean(known) if known else NAN)


def naive_fit(relevance: np.ndarray, removed: np.ndarray, drop: np.ndarray) -> float:
    rows, columns = removed.shape[1:]
    down = [round(relevance.shape[0] * i / rows) for i in range(rows + 1)]
    across = [round(relevance.shape[1] * i / columns) for i in range(columns + 1)]
    sums = [
        sum(
            relevance[down[r] : down[r + 1], across[c] : across[c + 1]].sum()
            for r in range(rows)
            for c in range(columns)
            if subset[r, c]
        )
        for subset in removed
    ]
    if np.std(drop) <= 1e-12:
        return NAN
    return 0.0 if np.std(sums) <= 1e-9 else float(np.corrcoef(sums, drop)[0, 1])


@given(evidence=saliency_evidence())
def test_fit_equals_a_naive_correlation(evidence: SaliencyEvidence) -> None:
    for at, fill in enumerate(evidence.fills.names):
        falls = np.asarray(evidence.drop)[:, at]
        arrays = zip(evidence.maps, evidence.removed, falls, strict=True)
        known = [value for value in (naive_fit(*each) for each in arrays) if not math.isnan(value)]
        expected = np.mean(known) if known else NAN
        assert_allclose(fit_of(evidence, fill=(fill,)), [expected], atol=1e-9)


def test_patches_are_cut_by_rounding() -> None:
    ramp = np.arange(10.0)[None, :, None] * np.ones((1, 10, 9))
    sums = sum_patches(ramp, 4, 2)  # rows 0-1, 2-4, 5-7, 8-9; columns 0-3, 4-8
    assert sums[0].tolist() == [[4.0, 5.0], [36.0, 45.0], [72.0, 90.0], [68.0, 85.0]]


def test_the_size_of_a_map_does_not_count_and_its_sign_does() -> None:
    random = np.random.default_rng(0)
    maps, drop = random.normal(size=(4, 6, 6)), random.normal(size=(4, 1, 20))
    removed = random.random((4, 20, 3, 3)) < 0.5
    score = map_fit(maps, removed, drop)
    assert_allclose(map_fit(1e4 * maps, removed, 1e-3 * drop), score)
    assert_allclose(map_fit(-maps, removed, drop), -score)
    assert map_fit(0 * maps, removed, drop) == 0
    assert np.isnan(map_fit(maps, removed, 0 * drop)).all()


def test_other_fills_than_those_of_the_evidence_are_refused() -> None:
    evidence = SaliencyEvidence(
        maps=np.ones((2, 4, 4)), removed=np.ones((2, 3, 2, 2), bool), drop=np.ones((2, 1, 3)),
        best_fit=np.ones((2, 1)), fills=Fills(("blur",)),
    )  # fmt: skip
    assert_allclose(fit_of(evidence, fill=("blur",), compared="best"), [1.0])
    with pytest.raises(EvidenceError, match="fill='mean'"):
        fit_of(evidence)
    with pytest.raises(EvidenceError, match="at most one for each pixel"):
        SaliencyEvidence(maps=np.ones((2, 2, 2)), removed=np.ones((2, 3, 4, 4), bool))

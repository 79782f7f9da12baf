"""Scores of maps against their definitions, the worked numbers, and planted cases."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from support.of_evidence import of_evidence
from theodolite._planted.saliency import planted_saliency
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Chances
from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.metrics import relevance_mass, relevance_peak, relevance_rank, sparseness
from theodolite.metrics.faithful.maps import MOST, RandomizationSimilarity, make_ideal_map
from theodolite.metrics.shared.map_nulls import CHANCES, SHUFFLED_IMAGES
from theodolite.testing.strategies import saliency_evidence

max_sensitivity = of_evidence("max_sensitivity")
randomization_similarity = of_evidence("randomization_similarity")
removal_faithfulness = of_evidence("removal_faithfulness")
removal_necessity = of_evidence("removal_necessity")
removal_sufficiency = of_evidence("removal_sufficiency")

NAN = float("nan")


def mean(values: list[float]) -> float:
    known = [v for v in values if not math.isnan(v)]
    return sum(known) / len(known) if known else NAN


def by_threshold(e: SaliencyEvidence, i: int, curve: str, way: int, ts: tuple) -> list[float]:
    """Algorithm 1 as printed: each threshold goes over its own steps again."""
    result, counts = [], set()
    for t in ts:
        moved = [
            abs(e.clean[i] - getattr(e, curve)[i, way, s])
            for s, percent in enumerate(e.percents)
            if percent < t
        ]
        if moved and len(moved) not in counts:  # the same steps count once
            counts.add(len(moved))
            gone = sum(moved) / len(moved)
            result.append(math.exp(-gone) if curve == "least_first" else 1 - math.exp(-gone))
    return result


@given(
    evidence=saliency_evidence(),
    way=st.integers(0, 3),
    across=st.sampled_from(["best", "mean"]),
    thresholds=st.lists(st.integers(1, 70), min_size=1, max_size=5).map(tuple),
)
def test_removal_equals_algorithm_1(
    evidence: SaliencyEvidence, way: int, across: str, thresholds: tuple
) -> None:
    take = max if across == "best" else (lambda values: sum(values) / len(values))
    kept, lost, both = [], [], []
    for i in range(len(evidence)):
        s = by_threshold(evidence, i, "least_first", way, thresholds)
        n = by_threshold(evidence, i, "most_first", way, thresholds)
        kept.append(take(s) if s else NAN)
        lost.append(take(n) if n else NAN)
        both.append(2 * kept[-1] * lost[-1] / (kept[-1] + lost[-1]) if s else NAN)
    name = evidence.removals.names[way]
    options = {"removal": name, "across": across, "thresholds": tuple(map(float, thresholds))}
    assert_allclose(removal_sufficiency(evidence, **options), mean(kept))
    assert_allclose(removal_necessity(evidence, **options), mean(lost))
    assert_allclose(removal_faithfulness(evidence, **options), mean(both))


def worked() -> SaliencyEvidence:
    """A hundred pixels, two classes, removal by zeros: section 5.7 of the definitions."""
    x = np.random.RandomState(0).uniform(size=100)
    relevance = np.concatenate([np.arange(10.0, 0.0, -1.0), np.linspace(0.5, 0.1, 90)])
    order = np.argsort(relevance, kind="stable")

    def p(pixels: np.ndarray) -> float:
        return float(1 / (1 + np.exp(-pixels[:10].sum())))

    def curve(order: np.ndarray) -> list[float]:
        result = []
        for i in range(1, 100, 2):
            changed = x.copy()
            changed[order[:i]] = 0.0
            result.append(p(changed))
        return result

    return SaliencyEvidence(
        maps=relevance.reshape(1, 10, 10),
        clean=[p(x)],
        percents=np.arange(1.0, 100.0, 2.0),
        removals=("black",),
        least_first=[[curve(order)]],
        most_first=[[curve(order[::-1])]],
    )


def test_the_worked_numbers() -> None:
    evidence = worked()
    ts = (5.0, 10.0, 20.0, 50.0, 100.0)
    assert round(float(evidence.clean[0]), 6) == 0.997887
    kept = [round(float(removal_sufficiency(evidence, thresholds=(t,))), 6) for t in ts]
    lost = [round(float(removal_necessity(evidence, thresholds=(t,))), 6) for t in ts]
    assert kept == [1.0, 1.0, 1.0, 1.0, 0.988714]
    assert lost == [0.006446, 0.102914, 0.261582, 0.342973, 0.368059]
    assert round(float(removal_faithfulness(evidence, thresholds=ts)), 6) == 0.538075


def test_a_threshold_without_a_step_is_undefined() -> None:
    assert math.isnan(removal_faithfulness(worked(), thresholds=(1.0,)))


def test_an_ideal_map_reaches_what_is_said_to_be_the_most() -> None:
    sure = replace(worked(), clean=np.ones(1))
    assert_allclose(removal_faithfulness(make_ideal_map(sure)), MOST)
    unsure = replace(worked(), clean=np.array([0.1]), most_first=np.full((1, 1, 50), 0.9))
    assert removal_faithfulness(unsure) <= removal_faithfulness(make_ideal_map(unsure))
    assert_allclose(MOST, 2 * (1 - math.exp(-1)) / (1 + 1 - math.exp(-1)))


def test_a_way_that_was_not_tried_is_named() -> None:
    with pytest.raises(EvidenceError, match=r"road.*black"):
        removal_faithfulness(worked(), removal="road")


@pytest.mark.parametrize(
    ("values", "expected"),
    [((1, 2, 3, 4), 0.25), ((0, 0, 0, 1), 0.75), ((2, 2, 2, 2), 0.0), ((-3, 0.5, 2, 0), 0.477273)],
)
def test_sparseness_of_the_worked_numbers(values: tuple, expected: float) -> None:
    assert round(sparseness(np.array(values, float).reshape(1, 2, 2)), 6) == expected


def test_sparseness_of_nothing() -> None:
    nothing = np.zeros((1, 2, 2))
    assert math.isnan(sparseness(nothing))
    assert sparseness(nothing, form="reference") == pytest.approx(0.0, abs=1e-9)


@given(evidence=saliency_evidence(), form=st.sampled_from(["defined", "reference"]))
def test_sparseness_is_half_the_mean_difference_over_the_mean(
    evidence: SaliencyEvidence, form: str
) -> None:
    result = []
    for one in evidence.maps:
        a = np.abs(one).ravel() + (1e-7 if form == "reference" else 0.0)
        apart = np.abs(a[:, None] - a[None, :]).mean()
        result.append(apart / (2 * a.mean()) if a.sum() > 0 else NAN)
    assert_allclose(sparseness(evidence.maps, form=form), mean(result), atol=1e-9)


@given(
    evidence=saliency_evidence(),
    form=st.sampled_from(["relative", "absolute"]),
    noise=st.sampled_from(["uniform", "gaussian"]),
)
def test_sensitivity_equals_the_definition(
    evidence: SaliencyEvidence, form: str, noise: str
) -> None:
    result = []
    for i in range(len(evidence)):
        draws = evidence.changes[i, ("uniform", "gaussian").index(noise)]
        size = evidence.norms[i] if form == "relative" else 1.0
        result.append(NAN if np.isnan(draws).all() or size == 0 else max(draws) / size)
    assert_allclose(max_sensitivity(evidence, form=form, noise=noise), mean(result))


@given(evidence=saliency_evidence(), sign=st.sampled_from(["positive", "absolute"]))
def test_places_equal_their_definitions(evidence: SaliencyEvidence, sign: str) -> None:
    mass, rank, peak = [], [], []
    for one, there in zip(evidence.maps, evidence.objects, strict=True):
        e = np.abs(one) if sign == "absolute" else np.where(one > 0, one, 0.0)
        n = int(there.sum())
        mass.append(e[there].sum() / e.sum() if n and e.sum() > 0 else NAN)
        some = n and e.any()
        rank.append(_expected_hits(e.ravel(), there.ravel(), n) / n if some else NAN)
        top = one == one.max()
        peak.append(there[top].mean() if n and not top.all() else NAN)
    assert_allclose(relevance_mass(evidence.maps, evidence.objects, sign=sign), mean(mass))
    assert_allclose(relevance_rank(evidence.maps, evidence.objects, sign=sign), mean(rank))
    assert_allclose(relevance_peak(evidence.maps, evidence.objects), mean(peak))


def _expected_hits(e: np.ndarray, there: np.ndarray, n: int) -> float:
    """Level by level: equal pixels share the places that are left."""
    hits, left = 0.0, n
    for level in sorted(set(e.tolist()), reverse=True):
        equal = e == level
        taken = min(left, int(equal.sum()))
        hits += taken * there[equal].mean()
        left -= taken
    return hits


@given(evidence=saliency_evidence())
def test_randomization_is_a_mean(evidence: SaliencyEvidence) -> None:
    assert_allclose(
        randomization_similarity(evidence), mean(evidence.randomized_similarity.tolist())
    )


@pytest.mark.parametrize("score", [removal_faithfulness, relevance_mass])
def test_the_dial_turns_the_score(score: object) -> None:
    planted = [planted_saliency(alignment=share) for share in (0.0, 0.5, 1.0)]
    if score is relevance_mass:
        low, middle, high = (relevance_mass(p.maps, p.objects) for p in planted)
        assert low == pytest.approx(1 / 9, abs=0.03) and high == pytest.approx(1.0)
    else:
        low, middle, high = (removal_faithfulness(p) for p in planted)
    assert low < middle < high


def test_images_that_were_not_tried_are_not_undefined() -> None:
    maps = np.ones((3, 2, 2))
    alike = [0.5, np.nan, np.nan]
    tried = SaliencyEvidence(maps=maps, randomized_similarity=alike, randomized=[1, 1, 0])
    state = RandomizationSimilarity.of(tried)
    assert [float(n) for n in state.counted()] == [1, 1]


def test_a_null_that_was_not_drawn_is_undefined() -> None:
    planted = planted_saliency(4)
    only = replace(
        planted,
        chances=Chances(("random",)),
        chance_most_first=planted.chance_most_first[:, :1],
        chance_least_first=planted.chance_least_first[:, :1],
    )
    result = {null.name: removal_faithfulness(null.made(only, 0)) for null in CHANCES}
    assert not math.isnan(result["random_map"])
    assert math.isnan(result["center"]) and math.isnan(result["smooth_random_map"])


def test_a_image_alone_has_no_other_map() -> None:
    alone = planted_saliency(1)
    assert (SHUFFLED_IMAGES.made(alone, 0).maps == 1.0).all()


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"clean": [1.2]}, r"clean.*probabilities"),
        ({"clean": None}, r"clean.*most_first"),
        ({"percents": [3.0, 1.0]}, r"percents.*rising"),
        ({"norms": [-1.0]}, r"norms.*from 0"),
        ({"randomized_similarity": [1.5]}, r"randomized_similarity.*-1 to 1"),
        ({"objects": np.ones((1, 3, 3))}, r"objects.*height = 2"),
    ],
)
def test_the_door(changed: dict, says: str) -> None:
    sound = {"maps": np.ones((1, 2, 2)), "clean": [0.5], "percents": [1.0, 3.0],
             "most_first": [[[0.4, 0.3]]]}  # fmt: skip
    SaliencyEvidence(**sound)
    with pytest.raises(EvidenceError, match=says):
        SaliencyEvidence(**(sound | changed))

"""The answers about saliency maps, from shares with their intervals."""

import math
from dataclasses import replace

import numpy as np
import pytest

from theodolite._planted.saliency import planted_saliency
from theodolite._scoring.evaluate import MetricRequest, Resampling, evaluate
from theodolite._verdicts.from_scores import score_verdict
from theodolite.evidence.axes import Fills
from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.metrics.catalogue import find_metric
from theodolite.results import Score, Verdict


def scores_of(evidence: SaliencyEvidence, metric: str) -> list[Score]:
    entry = find_metric(metric)
    return evaluate(MetricRequest(entry, entry.fitted(evidence)), [evidence], Resampling())


def judge(evidence: SaliencyEvidence, metric: str) -> Verdict:
    scores = scores_of(evidence, metric)
    return score_verdict(scores[0], scores, validated=False)


@pytest.mark.parametrize("metric", ["relevance_top", "map_fit"])
@pytest.mark.parametrize(("alignment", "answer"), [(1.0, "yes"), (0.5, "partly"), (0.0, "no")])
def test_answers_follow_the_planted_share(metric: str, alignment: float, answer: str) -> None:
    verdict = judge(planted_saliency(100, alignment=alignment), metric)
    assert verdict.answer == answer, verdict
    share = scores_of(planted_saliency(100, alignment=alignment), metric)[0].share
    assert share is not None and share.low <= share.value <= share.high


def test_share_is_a_ratio_of_means_with_its_delta_error() -> None:
    (score,) = scores_of(planted_saliency(200, alignment=0.5), "relevance_top")
    null = next(null for null in score.nulls if score.share and null.name == score.share.null)
    assert score.share is not None
    assert score.share.value == pytest.approx((score.value - null.value) / (1 - null.value))
    each = np.array([
        [scores_of_one(planted_saliency(200, alignment=0.5), i, name) for i in range(200)]
        for name in ("value", null.name)
    ])  # fmt: skip
    moved = (each[0] - each[1] - score.share.value * (1 - each[1])) / (1 - null.value)
    assert score.share.error == pytest.approx(moved.std(ddof=1) / math.sqrt(200), rel=0.08)


def scores_of_one(evidence: SaliencyEvidence, row: int, name: str) -> float:
    entry, one = find_metric("relevance_top"), evidence[row : row + 1]
    if name == "value":
        return float(entry.state.of(one).value())
    null = next(null for null in entry.nulls if null.name == name)
    assert null.sums is None
    return float(entry.null_state(null, one).value())


def test_a_baseline_near_the_best_possible_leaves_nothing_to_tell() -> None:
    planted = planted_saliency(60)
    colored = replace(planted, saturation=np.asarray(planted.objects, float))
    verdict = judge(colored, "relevance_top")
    assert (verdict.answer, verdict.reason) == ("inconclusive", "no_headroom")
    assert "color" in verdict.summary
    edged = replace(planted, edges=np.asarray(planted.maps))
    verdict = judge(edged, "map_fit")
    assert (verdict.answer, verdict.reason) == ("inconclusive", "no_headroom")
    assert "distractors" in verdict.summary


def test_a_few_images_are_too_few() -> None:
    verdict = judge(planted_saliency(19), "relevance_top")
    assert (verdict.answer, verdict.n_required) == ("inconclusive", 20)


def test_the_lowest_of_several_fills_decides() -> None:
    good, bad = planted_saliency(80), planted_saliency(80, alignment=0.0)
    both = replace(
        good,
        drop=np.concatenate([good.drop, bad.drop], axis=1),
        best_fit=np.concatenate([good.best_fit, bad.best_fit], axis=1),
        fills=Fills(("mean", "blur")),
    )
    verdict = judge(both, "map_fit")
    assert verdict.answer == "no" and verdict.score is not None
    assert verdict.score.options["fill"] == "blur" and "yes with fill mean" in verdict.summary


def test_the_best_possible_is_never_below_the_score() -> None:
    planted = planted_saliency(80)
    low = replace(planted, best_fit=np.asarray(planted.best_fit) / 2)
    (score,) = scores_of(low, "map_fit")
    assert score.best == score.value > np.nanmax(low.best_fit)
    assert score.share is not None and score.share.value == 1

"""The verdict on attributions of a table, by what was planted."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import theodolite
from theodolite._verdicts.attributions import attribution_verdict
from theodolite.evidence.kinds.attribution import AttributionEvidence
from theodolite.metrics.catalogue import find_metric
from theodolite.results import Score, Share, Verdict

N, FEATURES = 60, 8
WEIGHTS = np.array([2.0, -1.5, 1.0, -0.8, 0.5, 0.3, -0.2, 0.1])
RANDOM = np.random.default_rng(0)
INPUTS, BACKGROUND = RANDOM.normal(size=(N, FEATURES)), RANDOM.normal(size=(40, FEATURES))
RIGHT = (INPUTS - BACKGROUND.mean(axis=0)) * WEIGHTS
OUTPUT = INPUTS @ WEIGHTS


@pytest.fixture(scope="module")
def evidence() -> AttributionEvidence:
    return AttributionEvidence(
        values=RIGHT, inputs=INPUTS, background=BACKGROUND, respond=lambda rows: rows @ WEIGHTS
    )


def scores_of(evidence: AttributionEvidence) -> list[Score]:
    names = ["attribution_fit", "ranking_fit"]
    return list(theodolite.audit(evidence, metrics=names, resamples=100, on_error="raise").scores)


def judge(evidence: AttributionEvidence, **changes: Any) -> Verdict:
    scores = scores_of(replace(evidence, **changes))
    return attribution_verdict(scores[0], scores, 0.05, 0.01, validated=False)


def equal_parts() -> np.ndarray:
    return np.tile(OUTPUT[:, None], (1, FEATURES))


@pytest.mark.parametrize(
    ("values", "answer", "words"),
    [
        (RIGHT, "yes", "of the best possible row-specific fit"),
        (100 * RIGHT, "yes", "best possible"),
        (np.roll(RIGHT, 7, axis=0), "no", "No better for their own row than"),
        (-RIGHT, "no", "No better for their own row than"),
        (RANDOM.normal(size=RIGHT.shape), "no", "another row's attributions"),
        (RIGHT + RIGHT.std() * RANDOM.normal(size=RIGHT.shape), "partly", "80 % is the pass mark"),
        (np.tile(np.abs(RIGHT).mean(axis=0), (N, 1)), "partly", "One global ranking for all rows"),
        (np.tile(np.abs(RIGHT).mean(axis=0)[::-1], (N, 1)), "no", "names features"),
        (equal_parts(), "no", "same attribution"),
        (equal_parts() * RANDOM.random(RIGHT.shape), "no", "number of removed features apart"),
        (np.abs(RIGHT), "yes", "Sizes only; signs were not given"),
        (np.abs(RIGHT)[::-1], "no", "another row's attributions"),
        (np.tile(np.abs(OUTPUT)[:, None], (1, FEATURES)) * RANDOM.random(RIGHT.shape), "no", "no b"),
    ],
    ids=[
        "right", "other scale", "other rows", "wrong sign", "noise", "half noise", "one list",
        "wrong list", "equal", "random parts", "sizes", "sizes of other rows", "sizes of nothing",
    ],
)  # fmt: skip
def test_answers_to_planted_attributions(
    evidence: AttributionEvidence, values: np.ndarray, answer: str, words: str
) -> None:
    verdict = judge(evidence, values=values)
    assert verdict.answer == answer, verdict.summary
    assert words.lower() in verdict.summary.lower()


def test_answers_to_a_single_list(evidence: AttributionEvidence) -> None:
    right = np.abs(RIGHT).mean(axis=0)

    def judge_list(features: np.ndarray) -> Verdict:
        return judge(evidence, values=np.tile(features, (N, 1)), scope="global")

    verdict = judge_list(right)
    assert verdict.answer == "yes" and "of the best single list" in verdict.summary
    assert judge_list(right[::-1]).answer == "no"
    # a list with signs is worse than its sizes: one sign for all rows cannot be right
    assert judge_list(right * np.sign(WEIGHTS)).answer == "partly"


def test_few_features_and_few_rows_are_inconclusive(evidence: AttributionEvidence) -> None:
    few = evidence[:12]
    assert judge(few).answer == "inconclusive" and "20 are needed" in judge(few).summary

    def small(d: int, **more: Any) -> AttributionEvidence:
        return AttributionEvidence(
            values=RIGHT[:, :d], inputs=INPUTS[:, :d], background=BACKGROUND[:, :d],
            respond=lambda rows: rows @ WEIGHTS[:d], **more,
        )  # fmt: skip

    assert judge(small(2)).answer == "inconclusive"
    assert judge(small(5)).answer == "yes"
    one_list = small(5, scope="global")
    verdict = judge(one_list, values=np.tile(np.abs(RIGHT[:, :5]).mean(axis=0), (N, 1)))
    assert verdict.answer == "inconclusive" and "5 features" in verdict.summary


def with_share(score: Score, value: float, error: float, room: float = 0.9) -> Score:
    share = Share(value, 0.0, 1.0, "another_sample", room, error, 59.0)
    return replace(score, share=share)


def test_shares_decide_in_the_order_of_the_table(evidence: AttributionEvidence) -> None:
    scores = scores_of(evidence)
    plain, regressed, ranking = scores

    def answer(value: float, error: float, **more: Any) -> Verdict:
        other = with_share(plain, value, error, **more)
        both = [other, with_share(regressed, 0.95, 0.01), ranking]
        return attribution_verdict(other, both, 0.05, 0.01, validated=False)

    assert answer(0.9, 0.02).answer == "yes"
    assert answer(0.82, 0.02).answer == "partly"
    assert answer(0.1, 0.02).answer == "no"
    unsure = answer(0.4, 0.3)
    assert unsure.answer == "inconclusive" and unsure.reason == "underpowered"
    # 0.4 of the way to the threshold, 0.6 wide: as many rows as make that 0.4
    assert unsure.n_required is not None and 120 < unsure.n_required < 150
    assert answer(0.9, 0.02, room=0.04).reason == "no_headroom"
    # the worse of the two fits decides
    worse = [with_share(plain, 0.95, 0.01), with_share(regressed, 0.0, 0.01), ranking]
    assert attribution_verdict(worse[0], worse, 0.05, 0.01, validated=False).answer == "no"


def test_share_interval_is_that_of_a_ratio_of_means(evidence: AttributionEvidence) -> None:
    noisy = replace(evidence, values=RIGHT + RIGHT.std() * RANDOM.normal(size=RIGHT.shape))
    (score, *_) = theodolite.audit(noisy, metrics=["attribution_fit"], resamples=2000).scores
    metric = find_metric("attribution_fit")
    fit, best = (
        metric.state.each(noisy, source=source).part[:, 0, 0] for source in ("attributions", "best")
    )
    other = metric.nulls[0].expectation(noisy, size=("mixed",), signs=("given",)).part[:, 0, 0]
    gained, room = fit - other, best - other
    share = gained.mean() / room.mean()
    error = np.std((gained - share * room) / room.mean(), ddof=1) / np.sqrt(N)
    assert score.share is not None
    assert score.share.value == pytest.approx(share)
    assert score.share.error == pytest.approx(error, rel=0.08)
    assert score.share.low == pytest.approx(share - 2 * error, abs=0.02)

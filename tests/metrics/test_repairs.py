"""Faults of 0.1.0 at the edges: single votes, tied outputs, codes of numbers, few concepts."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from theodolite._planted.concepts import planted_concepts
from theodolite._planted.leakage import planted_leakage
from theodolite._scoring.evaluate import MetricRequest, Resampling, evaluate
from theodolite._verdicts.from_scores import verdicts
from theodolite.evidence.axes import Samples
from theodolite.evidence.base import Evidence
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.metrics import rater_agreement, task_leakage_given_concept
from theodolite.metrics.accepted.raters import RaterAgreement
from theodolite.metrics.catalogue import catalogue
from theodolite.metrics.leak_free.published import leakage_warnings
from theodolite.results import Score

FIVE = np.arange(1.0, 6)
FEW = Resampling(resamples=20)


def scores(name: str, evidence: Evidence, **options: Any) -> list[Score]:
    return evaluate(MetricRequest(catalogue()[name], options), [evidence], FEW)


def test_a_single_vote_does_not_agree_with_itself() -> None:
    votes = np.array([[1.0, 2.0, np.nan], [4.0, 5.0, np.nan], [3.0, 1.0, 3.0]])
    alone = np.array([[5.0, np.nan, np.nan], [1.0, np.nan, np.nan]])
    for own in ("included", "left out"):
        both = rater_agreement(np.concatenate([votes, alone]), FIVE, own=own)
        assert_allclose(both, rater_agreement(votes, FIVE, own=own))
    every_vote = RatingEvidence(ratings=np.concatenate([votes, alone]), scale=FIVE)
    state = RaterAgreement.of(every_vote, own="included")
    assert [float(part) for part in state.counted()] == [7.0, 2.0]
    assert np.isnan(rater_agreement(alone, FIVE, own="included"))


def test_the_best_with_tied_outputs_is_what_the_network_scores_against_itself() -> None:
    outputs = np.array([[1.0, 1.0, 0.0], [2.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 3.0]])
    outputs = np.concatenate([outputs, [[1.0, 1.0, 0.0], [0.1, 0.1, 0.0]]])
    perfect = SurrogateEvidence(
        importances=np.where(np.eye(3, dtype=bool), 1.0, np.nan),
        outputs=outputs,
        projections=outputs,
    )
    (score,) = scores("surrogate_agreement", perfect)
    assert score.value == pytest.approx(4 / 6)
    assert score.best == pytest.approx(4 / 6)
    (other,) = scores("surrogate_agreement", perfect, surrogate="linear", projection="given")
    assert other.best == score.best


@pytest.mark.parametrize("steps", [100, 255, 65535])
def test_codes_of_a_number_are_numbers(steps: int) -> None:
    honest, leaking = (planted_leakage(400, leakage=leakage) for leakage in (0.0, 0.9))
    entry = catalogue()["task_leakage_given_concept"]
    for whole in (honest, leaking):
        values = np.asarray(whole.values)
        low, high = values.min(), values.max()
        codes = np.round((values - low) / (high - low) * steps)
        as_codes = entry.state.of(_with_values(whole, codes)).value().mean()
        assert abs(as_codes - entry.state.of(whole).value().mean()) < 0.08
        assert "codes of a number" in leakage_warnings(_with_values(whole, codes))[0]
        assert not leakage_warnings(whole)


def _with_values(whole: ConceptEvidence, values: np.ndarray) -> ConceptEvidence:
    return ConceptEvidence(values=values, truth=whole.truth, labels=whole.labels)


def test_hard_concepts_are_still_counted_and_not_warned_about() -> None:
    whole = planted_leakage(100)
    hard = _with_values(whole, np.asarray(whole.truth, float))
    assert not leakage_warnings(hard)
    result = catalogue()["task_leakage_given_concept"].state.of(hard).value()
    assert_allclose(result, 0.0, atol=1e-12)


def test_a_column_without_spread_leaks_nothing_and_rows_may_come_in_any_order() -> None:
    random = np.random.default_rng(0)
    truth, labels = random.random((80, 1)) < 0.5, random.integers(0, 2, 80)
    constant = np.where(truth, 0.7, 0.3)
    assert_allclose(task_leakage_given_concept(constant, truth, labels), 0.0, atol=1e-12)


@pytest.mark.parametrize("apart", [0.0, 1e-4])
def test_copies_that_are_declared_do_not_leak(apart: float) -> None:
    once = planted_leakage(100)
    rows, random = np.repeat(np.arange(100), 4), np.random.default_rng(0)
    values = np.asarray(once.values)[rows] + apart * random.normal(size=(400, 3))
    samples = Samples(index=np.arange(400), clusters=rows)
    arrays = {"truth": np.asarray(once.truth)[rows], "labels": np.asarray(once.labels)[rows]}
    for name in ("task_leakage_given_concept", "interconcept_leakage_given_concepts"):
        state = catalogue()[name].state
        alone = state.of(ConceptEvidence(values=values, **arrays)).value()
        declared = state.of(ConceptEvidence(values=values, samples=samples, **arrays)).value()
        assert alone.mean() > 0.5
        assert_allclose(declared, state.of(once).value(), atol=1e-12 if apart == 0 else 0.02)


@pytest.mark.parametrize(("n", "most"), [(12, 5), (10, 5), (9, 4), (5, 2), (3, 1), (1, 1)])
def test_the_first_concept_decides_and_half_are_scored_at_most(n: int, most: int) -> None:
    entry = catalogue()["concept_existence"]
    random = np.random.default_rng(0)
    truth = random.random((30, n)) < 0.5
    whole = ConceptEvidence(values=truth + random.normal(size=(30, n)) / 9, truth=truth)
    assert entry.headline_for(whole) == {"top": 1}
    fitted = entry.fitted(whole)
    assert 1 in fitted["top"] and max(fitted["top"]) == most
    of_all = scores("concept_existence", whole, **fitted, rank_by="value")
    (verdict,) = (v for v in verdicts(of_all) if v.question == "exists")
    assert verdict.score is not None and verdict.score.options["top"] == 1
    assert (f"top {most}" in verdict.sensitivity or f"and {most}" in verdict.sensitivity) == (
        most > 1
    )


def test_other_metrics_quote_what_their_card_says() -> None:
    entry = catalogue()["concept_global_importance"]
    assert entry.fitted(planted_concepts()) == {"form": (1, 2, 3)}
    assert entry.headline_for(planted_concepts()) == {}

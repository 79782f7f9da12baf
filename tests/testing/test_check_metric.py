"""Nine faults in a metric: check_metric names the broken law of each in one sentence."""

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from theodolite import ext
from theodolite.testing import check_kind, check_metric, planted_concepts

pytestmark = pytest.mark.usefixtures("restored_catalogue")
FIELDS: dict[str, Any] = {"question": "exists", "better": "lower", "bounds": (0.0, 1.0)}


def squared_error(values: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Mean squared error of concept predictions."""
    return ((np.clip(values, 0, 1) - truth) ** 2).mean(axis=1)


def per_sample(part: np.ndarray) -> ext.PerSample:
    return ext.PerSample(part, np.ones(len(part)), np.ones(len(part), bool))


class MeanRating(ext.SampleMean):
    """Mean rating as a share of the scale."""

    @staticmethod
    def each(evidence: ext.RatingEvidence) -> ext.PerSample:
        return per_sample(evidence.ratings.mean(axis=1) / evidence.scale.max())


class Unweighted(ext.SampleMean):
    """Mean squared error that no bootstrap can resample."""

    @classmethod
    def of(cls, evidence: Any, weights: Any = None, **options: Any) -> "Unweighted":
        ones = None if weights is None else np.ones_like(weights)
        return super().of(evidence, ones, **options)

    @staticmethod
    def each(evidence: ext.ConceptEvidence) -> ext.PerSample:
        return per_sample(squared_error(evidence.values, np.asarray(evidence.truth)))


class Reads(ext.SampleMean):
    """Mean squared error of declared arrays."""

    @staticmethod
    def each(evidence: ext.ConceptEvidence) -> ext.PerSample:
        return per_sample(squared_error(evidence.values, np.asarray(evidence.truth)))


def declare(thing: Any, **changes: Any) -> str:
    """Declare a metric and return its name."""
    ext.metric("faulty", **(FIELDS | changes))(thing)
    return "faulty"


def broken_law(name: str, **arguments: Any) -> str:
    """Return the sentence about the law that a metric breaks."""
    with pytest.raises(AssertionError) as caught:
        check_metric(name, examples=5, **arguments)
    sentence = str(caught.value)
    assert re.fullmatch(r"faulty: [^\n]+\.", sentence) and len(sentence) < 250, sentence
    return sentence


def test_check_metric_accepts_a_correct_metric() -> None:
    check_metric(declare(squared_error), examples=5)


def test_fault_1_value_outside_its_bounds() -> None:
    name = declare(lambda values, truth: 5 * squared_error(values, truth) + 5)
    assert re.fullmatch(
        r"faulty: value 5\.\d+ is above the declared upper bound 1 on planted evidence 'perfect'\.",
        broken_law(name),
    )


def test_fault_2_reversed_direction() -> None:
    sentence = broken_law(declare(squared_error, better="higher"))
    assert "not better than the baseline 'permuted values'" in sentence
    assert "although higher is better" in sentence and "'perfect'" in sentence


def test_fault_3_sample_without_data_scored_as_zero() -> None:
    def agreement(ratings: np.ndarray, scale: np.ndarray) -> np.ndarray:
        return np.nan_to_num(ratings).mean(axis=1) / scale.max()

    name = declare(agreement, question="accepted", better="higher")
    assert "a sample without data scores 0, but it must be undefined (NaN)" in broken_law(name)


def test_fault_4_undefined_sample_makes_everything_undefined() -> None:
    name = declare(MeanRating, question="accepted", better="higher", uses=("ratings", "scale"))
    assert "one undefined sample makes the score of all samples undefined" in broken_law(name)


def test_fault_5_order_of_samples() -> None:
    def ordered(values: np.ndarray, truth: np.ndarray) -> np.ndarray:
        return squared_error(values, truth) * np.linspace(0, 1, len(values))

    assert "samples in another order score" in broken_law(declare(ordered))


def test_fault_6_changes_its_input() -> None:
    def in_place(values: np.ndarray, truth: np.ndarray) -> np.ndarray:
        values -= truth
        return np.clip(values**2, 0, 1).mean(axis=1)

    assert "changes an array of the evidence" in broken_law(declare(in_place))


def test_fault_7_random_numbers_without_a_seed() -> None:
    def noisy(values: np.ndarray, truth: np.ndarray) -> np.ndarray:
        return squared_error(values, truth) * np.random.default_rng().random(len(values))

    assert "the same evidence scores" in broken_law(declare(noisy))


def test_fault_8_depends_on_the_shard() -> None:
    def standardized(values: np.ndarray, truth: np.ndarray) -> np.ndarray:
        return squared_error(values - values.mean(axis=0), truth)

    assert "shards scored and merged give" in broken_law(declare(standardized))


def test_fault_9_ignores_weights() -> None:
    name = declare(Unweighted, uses=("values", "truth"))
    assert "samples with weight 0, 1 or 2 score" in broken_law(name)


def test_check_metric_names_an_exception_of_the_metric() -> None:
    name = declare(lambda values, truth: values[:, 99])
    assert "raises IndexError" in broken_law(name)


def test_check_metric_names_an_undeclared_array() -> None:
    sentence = broken_law(declare(Reads, uses=("values",)))
    assert "reads `truth`, which is not in `uses` or `may_use`" in sentence


def test_check_metric_perfect_evidence_of_the_caller() -> None:
    def flip(values: np.ndarray, truth: np.ndarray) -> np.ndarray:
        """Mean squared error of negated predictions."""
        return squared_error(1 - values, truth)

    negated = planted_concepts()
    check_metric(declare(flip), perfect=replace(negated, values=1 - negated.values), examples=2)
    assert "not better than the baseline" in broken_law("faulty")


def test_check_metric_defect_metric_compares_with_its_reference() -> None:
    def same(evidence: Any, seed: int) -> Any:
        return evidence

    reference = ext.NullModel("itself", "the same evidence", same, random=False, is_reference=True)
    sentence = broken_law(declare(squared_error, question="leak_free", nulls=(reference,)))
    assert "no worse than the reference 'itself'" in sentence and "'defect'" in sentence


def test_check_kind_names_the_array_that_is_lost() -> None:
    @dataclass(frozen=True, eq=False, kw_only=True, repr=False)
    class LossyEvidence(ext.Evidence):
        """Numbers that change when they are saved."""

        kind = "test_lossy"
        version = 1
        score: np.ndarray = ext.array("samples")

        def check(self) -> None:
            object.__setattr__(self, "score", np.asarray(self.score) + 1)

    with pytest.raises(AssertionError) as caught:
        check_kind(LossyEvidence, examples=2)
    assert str(caught.value) == "test_lossy: `score` is different after saving and loading."


def test_check_metric_accepts_missing_ratings() -> None:
    def error(predicted: np.ndarray, ratings: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """Distance of a prediction to the mean rating, as a share of the scale."""
        rated = ~np.isnan(ratings)
        mean = np.where(rated, ratings, 0).sum(axis=1) / rated.sum(axis=1)
        return np.clip(np.abs(predicted - mean) / np.ptp(scale), 0, 1)

    check_metric(declare(error, question="accepted"), examples=3)

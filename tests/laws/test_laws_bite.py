"""A law that nothing can break proves nothing: each is shown a metric that breaks it."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.metrics.base import (
    Additive,
    Metric,
    NullModel,
    PerSample,
    SampleMean,
    Weights,
    total,
)
from theodolite.metrics.catalogue import catalogue
from theodolite.testing import laws

RANDOM = np.random.default_rng(3)
EVIDENCE = ConceptEvidence(
    values=RANDOM.uniform(0.1, 0.9, size=(6, 5)),
    truth=RANDOM.random((6, 5)) < 0.5,
    known=np.ones((6, 5), bool),
)


def broken(state: type[Any], **changes: Any) -> Metric:
    about = catalogue()["concept_existence"]
    about = replace(about, state=state, nulls=(), sweeps=(), uses_if={})
    return replace(about, **changes)


def mean_of(values: np.ndarray) -> PerSample:
    return PerSample(values, np.ones(len(values)), np.ones(len(values), bool))


class Right(SampleMean):
    @staticmethod
    def each(evidence: ConceptEvidence) -> PerSample:
        return mean_of(evidence.values.mean(axis=1))


@dataclass(frozen=True)
class MergesMeans(Additive):
    mean: np.ndarray

    @classmethod
    def of(cls, evidence: ConceptEvidence, weights: Weights = None) -> "MergesMeans":
        return cls(np.asarray(evidence.values.sum() / max(evidence.values.size, 1)))

    def __add__(self, other: "MergesMeans") -> "MergesMeans":
        return MergesMeans((self.mean + other.mean) / 2)

    def value(self) -> np.ndarray:
        return self.mean


class LeavesItsBounds(SampleMean):
    @staticmethod
    def each(evidence: ConceptEvidence) -> PerSample:
        return mean_of(evidence.values.sum(axis=1))


class ChangesItsInput(SampleMean):
    @staticmethod
    def each(evidence: ConceptEvidence) -> PerSample:
        own = evidence.values.base
        assert own is not None
        own += 1e-7  # the caller's array behind the read-only view
        return mean_of(evidence.values.mean(axis=1))


@dataclass(frozen=True)
class ForgetsOnTheWay(Additive):
    sums: np.ndarray

    @classmethod
    def of(cls, evidence: ConceptEvidence, weights: Weights = None) -> "ForgetsOnTheWay":
        return cls(total(evidence.values.mean(axis=1), weights))

    def __reduce__(self) -> tuple[Any, ...]:
        return (ForgetsOnTheWay, (np.zeros_like(self.sums),))

    def value(self) -> np.ndarray:
        return self.sums


class LooksAtTheOrder(SampleMean):
    @staticmethod
    def each(evidence: ConceptEvidence) -> PerSample:
        return mean_of(evidence.values.mean(axis=1) * np.linspace(0, 1, len(evidence)))


class LikesTheFirstConcept(SampleMean):
    @staticmethod
    def each(evidence: ConceptEvidence) -> PerSample:
        return mean_of(evidence.values[:, 0])


class IgnoresWeights(SampleMean):
    @classmethod
    def of(cls, evidence: Any, weights: Weights = None, **options: Any) -> "IgnoresWeights":
        ones = None if weights is None else np.ones_like(weights)
        return super().of(evidence, ones, **options)

    each = Right.each


class RollsDice(SampleMean):
    @staticmethod
    def each(evidence: ConceptEvidence) -> PerSample:
        np.random.random()  # noqa: NPY002
        return mean_of(evidence.values.mean(axis=1))


class DrawsWithoutASeed(SampleMean):
    @staticmethod
    def each(evidence: ConceptEvidence) -> PerSample:
        return mean_of(np.random.default_rng().random(len(evidence)))


class CountsWhatIsUnknown(SampleMean):
    @staticmethod
    def each(evidence: ConceptEvidence) -> PerSample:
        return mean_of(np.where(evidence.known, evidence.values, 0.0).mean(axis=1))


class NeedsTwo(SampleMean):
    @staticmethod
    def each(evidence: ConceptEvidence) -> PerSample:
        return mean_of(evidence.values.mean(axis=1) / (evidence.values.std(axis=0)[0] > 0))


CALLS = iter(range(10**6))
SEEDLESS = NullModel(
    "seedless", "", lambda e, _: replace(e, values=e.values * 0 + next(CALLS)), random=True
)

HALF = NullModel("half", "", expected=lambda e: mean_of(np.full(len(e), 0.5)), random=False)
OF_THE_SHARD = NullModel(
    "of the shard",
    "",
    expected=lambda e: mean_of(np.full(len(e), e.values.max(initial=0.0))),
    random=False,
)

BREAKERS = [
    (laws.same_evidence_scores_the_same, broken(DrawsWithoutASeed)),
    (laws.undefined_samples_are_counted, broken(CountsWhatIsUnknown, may_use=("known",))),
    (laws.shards_merge_to_the_whole, broken(MergesMeans)),
    (laws.value_stays_within_bounds, broken(LeavesItsBounds)),
    (laws.evidence_is_left_unchanged, broken(ChangesItsInput)),
    (laws.state_survives_travelling, broken(ForgetsOnTheWay)),
    (laws.order_of_samples_does_not_matter, broken(LooksAtTheOrder)),
    (laws.relabelling_concepts_relabels_the_result, broken(LikesTheFirstConcept)),
    (laws.weights_repeat_samples, broken(IgnoresWeights)),
    (laws.global_randomness_is_untouched, broken(RollsDice)),
    (laws.nulls_are_evidence_of_the_same_kind, broken(Right, nulls=(SEEDLESS,))),
    (laws.nulls_are_evidence_of_the_same_kind, broken(Right, nulls=(OF_THE_SHARD,))),
    (laws.one_sample_alone_is_enough, broken(NeedsTwo)),
    (laws.it_reads_what_it_declares, broken(Right, uses=("truth",))),
]


def test_every_law_has_a_breaker() -> None:
    assert {law for law, _ in BREAKERS} == set(laws.LAWS)


@pytest.mark.parametrize(("law", "entry"), BREAKERS, ids=lambda x: getattr(x, "__name__", ""))
def test_law_catches_its_breaker(law: laws.Law, entry: Metric) -> None:
    with pytest.raises((AssertionError, RuntimeWarning, IndexError)):
        law(entry, EVIDENCE, {}, 1)


@pytest.mark.parametrize("law", laws.LAWS, ids=lambda law: law.__name__)
def test_law_lets_a_right_metric_pass(law: laws.Law) -> None:
    (common,) = (b for b in catalogue()["concept_existence"].nulls if b.expected is None)
    law(broken(Right, nulls=(common, HALF), may_use=()), EVIDENCE, {}, 1)


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"make": lambda e, s: e, "expected": HALF.expected},
        {"expected": HALF.expected, "random": True},
        {"expected": HALF.expected, "random": False, "on": "state"},
    ],
)
def test_a_null_is_either_drawn_or_expected(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="null"):
        NullModel("neither", "", **wrong)


def test_a_metric_without_a_null_is_caught() -> None:
    with pytest.raises(AssertionError, match="no null baseline"):
        laws.nulls_are_evidence_of_the_same_kind(broken(Right), EVIDENCE, {}, 1)

"""Predictive scores of leakage: planted truths, and the moments that their intervals come from."""

from typing import Any

import numpy as np
import pytest

from theodolite._stats.predictive_interval import PredictiveMoments, doubt, fault_interval
from theodolite.evidence.axes import Samples
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.embedding import EmbeddingEvidence
from theodolite.metrics.leak_free.predictive import (
    PredictiveEmbeddingLeakage,
    PredictiveInterconceptLeakage,
    PredictiveTaskLeakage,
)


def concept_evidence(shift: float, n: int = 400, seed: int = 0, **axes: object) -> ConceptEvidence:
    random = np.random.default_rng(seed)
    truth, labels = random.random((n, 3)) < 0.4, random.integers(0, 2, n)
    values = 3 * truth + random.normal(size=(n, 3)) + shift * labels[:, None]
    return ConceptEvidence(values=values, truth=truth, labels=labels, **axes)  # type: ignore[arg-type]


def moments_of(state: Any, evidence: Any) -> PredictiveMoments:
    weights = np.ones((1, len(evidence)), np.float32)
    return PredictiveMoments.of(state.measure_with_moments(evidence, weights)[1])


class TestTask:
    def test_moments_go_with_the_measure(self) -> None:
        clusters = np.random.default_rng(1).integers(0, 90, 400)
        for axes in ({}, {"samples": Samples(index=np.arange(400), clusters=clusters)}):
            evidence = concept_evidence(0.8, **axes)
            weights = np.random.default_rng(2).poisson(1, (50, 400)).astype(np.float32)
            weights[0] = 1
            rows, arrays = PredictiveTaskLeakage.measure_with_moments(evidence, weights)
            np.testing.assert_array_equal(rows, PredictiveTaskLeakage.measure(evidence, weights))
            moments = PredictiveMoments.of(arrays)
            assert moments.value == pytest.approx(rows[0].mean())
            assert moments.clusters == (len(np.unique(clusters)) if axes else 400)
            assert moments.ceiling > 0.95

    def test_planted_truths(self) -> None:
        for shift, expected in ((0.0, "free"), (1.2, "too much")):
            moments = moments_of(PredictiveTaskLeakage, concept_evidence(shift))
            test = fault_interval(moments, 0.05, 0.95)
            assert doubt(moments) is None
            assert ("free" if test.high <= 0.05 else "") == ("free" if expected == "free" else "")
            assert (test.low > 0.05) == (expected == "too much")
        labels = concept_evidence(0.0).labels
        perfect = np.repeat(np.asarray(labels)[:, None], 3, axis=1).astype(float)
        whole = PredictiveTaskLeakage.of(
            ConceptEvidence(values=perfect, truth=concept_evidence(0.0).truth, labels=labels)
        ).value()
        assert (whole > 0.95).all()

    def test_largest_clusters_do_not_rule_where_each_has_one_label(self) -> None:
        """By rows, one large cluster of a clean model would be most of the score."""
        evidence = concept_evidence(0.0, 100)
        copies = np.repeat(np.arange(100), np.where(np.arange(100) < 2, 100, 1))
        samples = Samples(index=np.arange(len(copies)), clusters=copies)
        repeated = ConceptEvidence(
            values=np.asarray(evidence.values)[copies],
            truth=np.asarray(evidence.truth)[copies],
            labels=np.asarray(evidence.labels)[copies],
            samples=samples,
        )
        once, again = (PredictiveTaskLeakage.of(e).value() for e in (evidence, repeated))
        np.testing.assert_allclose(again, once, atol=1e-12)


class TestPairs:
    def test_planted_truths_and_the_order_of_concepts(self) -> None:
        evidence = concept_evidence(0.0)
        clean = PredictiveInterconceptLeakage.of(evidence, over="pairs").value()
        assert np.abs(clean).max() < 0.02
        values, truth = np.asarray(evidence.values).copy(), np.asarray(evidence.truth)
        values[:, 1] = 3 * truth[:, 1] + values[:, 0] - 3 * truth[:, 0]
        leaky = ConceptEvidence(values=values, truth=truth)
        scores = PredictiveInterconceptLeakage.of(leaky, over="pairs").value()
        assert scores[0] > 0.95
        assert np.abs(scores[1:]).max() < 0.02
        turned = ConceptEvidence(values=values[:, ::-1], truth=~truth[:, ::-1])
        again = PredictiveInterconceptLeakage.of(turned).value()[::-1]
        np.testing.assert_allclose(again, PredictiveInterconceptLeakage.of(leaky).value())

    def test_concepts_of_one_truth_and_copies(self) -> None:
        evidence = concept_evidence(0.0, 120)
        truth = np.asarray(evidence.truth)
        says_it = ConceptEvidence(values=truth.astype(float), truth=truth)
        assert (PredictiveInterconceptLeakage.of(says_it).value() == 0).all()
        rows = np.repeat(np.arange(120), 3)
        copies = ConceptEvidence(
            values=np.asarray(evidence.values)[rows],
            truth=truth[rows],
            samples=Samples(index=np.arange(360), clusters=rows),
        )
        once = PredictiveInterconceptLeakage.of(evidence).value()
        np.testing.assert_allclose(PredictiveInterconceptLeakage.of(copies).value(), once)


class TestVectors:
    def test_planted_truths_and_moments(self) -> None:
        evidence = concept_evidence(0.0)
        random, truth = np.random.default_rng(3), np.asarray(evidence.truth)
        labels = np.asarray(evidence.labels)
        for leak, low, high in ((0.0, -0.02, 0.02), (1.5, 0.2, 0.5), (9.0, 0.9, 1.0)):
            vectors = random.normal(size=(400, 3, 4)) + truth[..., None]
            vectors[:, :, 1] += leak * labels[:, None]
            own = EmbeddingEvidence(explained=evidence, vectors=vectors)
            weights = np.ones((1, 400), np.float32)
            rows, arrays = PredictiveEmbeddingLeakage.measure_with_moments(own, weights)
            moments = PredictiveMoments.of(arrays)
            assert low < moments.value < high
            assert moments.value == pytest.approx(rows[0].mean())
            assert moments.per_dimension == moments.stratum_clusters / 4
            assert moments.ceiling > 0.9
            assert doubt(moments) is None
            np.testing.assert_array_equal(rows, PredictiveEmbeddingLeakage.measure(own, weights))
            assert (fault_interval(moments, 0.05, 0.95).low > 0.05) == (leak > 0)

    def test_few_samples_for_many_dimensions(self) -> None:
        evidence = concept_evidence(0.0, 60)
        vectors = np.random.default_rng(0).normal(size=(60, 3, 20))
        own = EmbeddingEvidence(explained=evidence, vectors=vectors)
        because = doubt(moments_of(PredictiveEmbeddingLeakage, own))
        assert because is not None
        assert "dimension" in because.summary

"""Scores that look for a fault: verdicts against a clean null, and what all samples at once needs."""

from dataclasses import replace

import numpy as np
import pytest

from theodolite._planted.leakage import (
    planted_embeddings,
    planted_interventions,
    planted_leakage,
)
from theodolite._runs.auditing.front import audit
from theodolite._scoring.differences import estimate_defect
from theodolite._scoring.evaluate import MetricRequest, Resampling, evaluate
from theodolite._stats.intervals import quantile
from theodolite._verdicts.answers import verdicts
from theodolite._verdicts.rules import verdict
from theodolite.evidence.files import load, load_arrays, save
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.embedding import EmbeddingEvidence
from theodolite.evidence.kinds.intervention import InterventionEvidence
from theodolite.metrics.catalogue import find_metric
from theodolite.results import Interval, Null, Score

QUICK = Resampling(resamples=100)


def against(low: float, high: float) -> str:
    """The answer for an excess over the clean null within these limits; 0.05 is tolerated."""
    excess, df = (low + high) / 2, 1e6
    error = (high - low) / 2 / quantile(df, 0.95)
    away = Interval(low, high, 0.95, "samples", "", 100, error=error, df=df)
    score = Score(
        "task_leakage_given_concept", 1, "leak_free", 0.02 + excess, "lower", (0.0, 1.0), 0.0, 50, 0,
        "concepts", nulls=(Null("leak_free_reference", 0.02, away),),
    )  # fmt: skip
    return verdict(replace(score, defect=estimate_defect(score, 0.05, 0.95))).answer


def test_a_fault_is_absent_if_the_excess_is_surely_small() -> None:
    assert against(-0.01, 0.03) == "yes"
    assert against(0.01, 0.03) == "yes"  # there, but less than we tolerate
    assert against(0.01, 0.2) == "partly"
    assert against(0.06, 0.2) == "no"
    assert against(-0.1, 0.2) == "inconclusive"


@pytest.mark.parametrize(("dial", "answer"), [(0.0, "yes"), (0.9, "no")])
def test_audit_finds_planted_leakage_and_none_where_there_is_none(dial: float, answer: str) -> None:
    bundles = (
        planted_leakage(1500, leakage=dial),
        planted_embeddings(800, leakage=dial),
        planted_interventions(2000, leakage=dial),
    )
    for evidence in bundles:
        (result,) = [v for v in audit([evidence], QUICK).verdicts if v.question == "leak_free"]
        assert result.answer == answer, (type(evidence), result.summary)


def test_hard_concepts_are_free_of_leakage() -> None:
    soft = planted_leakage(1500, leakage=0.9)
    hard = replace(soft, values=np.asarray(soft.truth, float))
    (result,) = [v for v in audit([hard], QUICK).verdicts if v.question == "leak_free"]
    assert result.answer == "yes", result.summary


def test_too_few_samples_prove_nothing() -> None:
    for n in (1, 3):
        right = InterventionEvidence(right_after=np.ones((n, 1, 3)), right_reference=np.ones(n))
        (result,) = [v for v in audit([right], QUICK).verdicts if v.question == "leak_free"]
        assert result.answer == "inconclusive", result.summary
    four = np.array([[0], [1], [0], [1]], bool)
    few = ConceptEvidence(values=four.astype(float), truth=four, labels=np.array([0, 0, 1, 1]))
    (result,) = [v for v in audit([few], QUICK).verdicts if v.question == "leak_free"]
    assert result.answer == "inconclusive", result.summary


def test_the_clean_null_does_not_depend_on_the_order_of_samples() -> None:
    evidence = planted_leakage(300)
    order = np.random.default_rng(3).permutation(300)
    request = MetricRequest(find_metric("task_leakage_given_concept"))
    (one,), (other,) = (evaluate(request, [e], QUICK) for e in (evidence, evidence[order]))
    assert one.null.value == pytest.approx(other.null.value, abs=1e-12)
    assert one.value == pytest.approx(other.value, abs=1e-12)


@pytest.mark.parametrize("what", ["noise", "constant"])
def test_values_that_say_nothing_are_not_praised_for_leaking_nothing(what: str) -> None:
    given = planted_leakage(300)
    noise = np.random.default_rng(5).random(given.values.shape)
    silent = replace(given, values=noise if what == "noise" else np.full_like(noise, 0.5))
    result = audit([silent], QUICK)
    (leaks,) = [v for v in result.verdicts if v.question == "leak_free"]
    assert leaks.answer == "inconclusive"
    assert "nothing that could leak" in leaks.summary
    others = [s for s in result.scores if s.metric != "concept_prediction"]
    (bare,) = [v for v in verdicts(others) if v.question == "leak_free"]
    assert bare.answer == "yes", "not changed where that was not scored"


def test_a_score_whose_package_is_not_installed_decides_nothing() -> None:
    (score,) = evaluate(MetricRequest(find_metric("task_accuracy")), [planted_leakage(50)], QUICK)
    strange = replace(score, metric="crispness")
    assert {v.answer for v in verdicts([strange])} == {"not_evaluated"}


def test_the_worst_answer_counts() -> None:
    leaky = planted_interventions(2000, leakage=1.0)
    (result,) = [
        v
        for v in audit([planted_leakage(1500), leaky], QUICK).verdicts
        if v.question == "leak_free"
    ]
    assert result.answer == "no"
    assert result.score is not None and result.score.metric == "intervention_score"


def test_shards_do_not_change_a_score_that_needs_all_samples() -> None:
    evidence = planted_leakage(5000, leakage=0.5)  # three shards
    state = find_metric("interconcept_leakage").state
    (score,) = evaluate(MetricRequest(find_metric("interconcept_leakage")), [evidence], QUICK)
    np.testing.assert_allclose(score.detail.values, state.of(evidence).value(), rtol=0, atol=0)
    parts = [state.of(evidence[rows]) for rows in (slice(3000, None), slice(0, 3000))]
    assert ((parts[0] + parts[1]).value() == state.of(evidence).value()).all()


def test_intervals_of_pooled_scores_cover() -> None:
    """Of 30 new samples from the same model most fall into the interval of the first."""
    request = MetricRequest(find_metric("task_leakage_given_concept"))

    def drawn(seed: int) -> float:
        e = planted_leakage(600, leakage=0.6, smuggled="label", seed=seed)
        return float(request.metric.state.of(e).value().mean())

    first = planted_leakage(600, leakage=0.6, smuggled="label", seed=100)
    (score,) = evaluate(request, [first], Resampling(resamples=300))
    (interval,) = [i for i in score.intervals if i.over == "samples"]
    middle = np.mean([drawn(s) for s in range(30)])
    half = (interval.high - interval.low) / 2
    spread = np.std([drawn(s) for s in range(30)])
    assert 1.4 * spread < half < 4 * spread
    assert abs(score.value - middle) < 4 * spread


def test_the_seeds_of_an_experiment_are_kept() -> None:
    seeds = [planted_leakage(400, leakage=0.5, seed=s) for s in (1, 2, 3)]
    (score,) = evaluate(MetricRequest(find_metric("concept_task_leakage")), seeds, QUICK)
    each = [find_metric("concept_task_leakage").state.of(e).value().mean() for e in seeds]
    assert score.per_seed == pytest.approx(each)
    assert score.value == pytest.approx(np.mean(each))


def test_new_kinds_of_evidence_travel_through_files(tmp_path) -> None:
    vectors, corrected = planted_embeddings(30), planted_interventions(30)
    for evidence in (vectors, corrected):
        save(evidence, tmp_path / evidence.kind)
        again = load(tmp_path / evidence.kind)
        assert type(again) is type(evidence)
        for name, _ in evidence.layouts():
            assert (getattr(again, name) == getattr(evidence, name)).all()
    assert isinstance(load(tmp_path / "embedding"), EmbeddingEvidence)
    assert load(tmp_path / "intervention").policies.names == ("random", "uncertainty")
    np.savez(tmp_path / "said.npz", right_after=corrected.right_after, policies=["a", "b"])
    assert load_arrays(tmp_path / "said.npz").policies.names == ("a", "b")


def test_joining_shards_gives_the_whole() -> None:
    whole = planted_embeddings(20)
    again = EmbeddingEvidence.joined([whole[:7], whole[7:7], whole[7:]])
    assert (again.vectors == whole.vectors).all()
    assert (again.explained.truth == whole.explained.truth).all()
    assert (again.samples.index == whole.samples.index).all()
    with pytest.raises(ValueError, match="read-only"):
        again.vectors[0] = 0
    assert replace(again, positive=None).positive is None

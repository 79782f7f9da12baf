"""Scores with their intervals and nulls."""

import inspect
from dataclasses import replace

import jaxtyping
import numpy as np
import pytest
from numpy.testing import assert_allclose

from theodolite._planted.concepts import planted_concepts, planted_locations
from theodolite._runs.auditing.front import audit
from theodolite._scoring import passes
from theodolite._scoring.evaluate import MetricRequest, Resampling, evaluate, expand
from theodolite._verdicts.rules import verdict
from theodolite.errors import EvidenceError
from theodolite.evidence import shards
from theodolite.evidence.axes import Samples
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.metrics.catalogue import catalogue, find_metric
from theodolite.metrics.exists.concept_existence import ConceptExistence

EXISTENCE = MetricRequest(find_metric("concept_existence"), {"top": (1, 3)})
FEW = Resampling(resamples=200)


def test_value_is_the_metrics_own() -> None:
    evidence = planted_concepts(alignment=0.6)
    scores = evaluate(EXISTENCE, [evidence], FEW)
    assert [s.options["top"] for s in scores] == [1, 3]
    assert_allclose([s.value for s in scores], ConceptExistence.of(evidence, top=(1, 3)).value())
    assert scores[0].n == 200 and scores[0].n_undefined == 0 and scores[0].n_unit == "samples"
    interval = scores[0].interval
    assert interval is not None
    assert interval.low < scores[0].value < interval.high
    spread = np.sqrt(0.6 * 0.4 / 200)
    assert_allclose(interval.high - interval.low, 2 * 1.96 * spread, rtol=0.2)


def test_every_score_has_every_null_hardest_first() -> None:
    (score, *_) = evaluate(EXISTENCE, [planted_concepts(alignment=0.6)], FEW)
    assert {n.name for n in score.nulls} == {b.name for b in find_metric("concept_existence").nulls}
    values = [n.value for n in score.nulls]
    assert values == sorted(values, reverse=True)
    shuffled = next(n for n in score.nulls if n.name == "permuted_concepts")
    assert_allclose(shuffled.value, 0.5, atol=0.04)
    assert shuffled.difference is not None
    assert shuffled.difference.low < 0.6 - 0.5 < shuffled.difference.high


def test_shards_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same samples in one shard, in many, and in other blocks of resamples."""
    for name, evidence in (
        ("concept_existence", planted_concepts(alignment=0.5)),
        ("concept_global_importance", planted_concepts(alignment=0.5)),
        ("concept_location", planted_locations(60, alignment=0.5)),
    ):
        request = MetricRequest(find_metric(name))
        few = Resampling(resamples=50)
        one = evaluate(request, [evidence], few)
        monkeypatch.setattr(shards, "SHARD_SAMPLES", 37)
        monkeypatch.setattr(passes, "BLOCK_BYTES", 20_000)
        many = evaluate(request, [evidence], few)
        monkeypatch.undo()
        for a, b in zip(one, many, strict=True):
            assert_allclose(a.value, b.value, rtol=1e-12)
            assert [i.over for i in a.intervals] == [i.over for i in b.intervals]
            for i, j in zip(a.intervals, b.intervals, strict=True):
                assert_allclose((i.low, i.high), (j.low, j.high), rtol=1e-9)


def test_a_seed_gives_one_answer() -> None:
    evidence = [planted_concepts(alignment=0.5)]
    assert evaluate(EXISTENCE, evidence, FEW) == evaluate(EXISTENCE, evidence, FEW)
    other = evaluate(EXISTENCE, evidence, replace(FEW, seed=1))
    assert other[0].value == evaluate(EXISTENCE, evidence, FEW)[0].value
    assert other[0].interval != evaluate(EXISTENCE, evidence, FEW)[0].interval


def test_clusters_and_samples_are_kept_apart() -> None:
    """Twenty clusters of ten equal samples are twenty observations, not two hundred."""
    base = planted_concepts(20, alignment=0.5)
    rows = np.repeat(np.arange(20), 10)
    evidence = ConceptEvidence(
        **{name: getattr(base, name)[rows] for name in ("values", "truth", "labels", "predicted")},
        weights=base.weights,
        samples=Samples(clusters=rows),
    )
    (score, *_) = evaluate(EXISTENCE, [evidence], Resampling(resamples=1000))
    (alone, *_) = evaluate(
        EXISTENCE, [replace(evidence, samples=Samples())], Resampling(resamples=1000)
    )
    assert [i.over for i in score.intervals] == ["clusters"]
    assert [i.over for i in alone.intervals] == ["samples"]
    assert score.interval is not None and alone.interval is not None
    assert score.interval.error is not None and alone.interval.error is not None
    assert_allclose(score.interval.error / alone.interval.error, np.sqrt(10), rtol=0.25)
    assert score.interval.df == 19 and score.n_clusters == 20


def test_seeds_are_averaged_and_have_their_own_interval() -> None:
    seeds = [planted_concepts(alignment=a, seed=s) for s, a in enumerate((0.4, 0.5, 0.6))]
    (score, *_) = evaluate(EXISTENCE, seeds, FEW)
    values = [float(ConceptExistence.of(e, top=(1,)).value()[0]) for e in seeds]
    assert_allclose(score.value, np.mean(values))
    over_seeds = next(i for i in score.intervals if i.over == "seeds")
    assert over_seeds.n == 3 and over_seeds.low < score.value < over_seeds.high
    assert score.intervals[0].over == "samples"


def test_what_does_not_depend_on_samples_has_no_interval_over_them() -> None:
    request = MetricRequest(find_metric("concept_global_importance"))
    one, two, _ = evaluate(request, [planted_concepts(alignment=0.8)], FEW)
    assert [i.over for i in one.intervals] == ["concepts"] or one.intervals == ()
    assert "samples" in [i.over for i in two.intervals]
    assert one.detail is not None and two.detail is not None
    assert one.detail.low is None
    assert two.detail.low is not None and two.detail.high is not None
    assert (two.detail.low <= two.detail.values).all() and (
        two.detail.values <= two.detail.high
    ).all()
    assert one.n_unit == "concepts" and one.n == 12


def test_a_perfect_score_of_few_samples_is_not_certain() -> None:
    (score, *_) = evaluate(EXISTENCE, [planted_concepts(8)], FEW)
    assert score.value == 1.0 and score.interval is not None
    assert score.interval.low < 0.7 and score.interval.high == 1.0


def test_undefined_is_nan_and_counted() -> None:
    evidence = ConceptEvidence(
        values=np.ones((3, 2)), truth=np.ones((3, 2)), known=np.zeros((3, 2))
    )
    request = MetricRequest(find_metric("concept_existence"), {"top": (1,), "rank_by": "value"})
    (score,) = evaluate(request, [evidence], FEW)
    assert np.isnan(score.value) and score.n == 0 and score.n_undefined == 3
    assert score.intervals == ()
    assert verdict(score).answer == "inconclusive"


def test_missing_arrays_and_unknown_options_are_said() -> None:
    bare = ConceptEvidence(values=np.ones((2, 3)), truth=np.ones((2, 3)))
    with pytest.raises(EvidenceError, match="no weights, predicted"):
        evaluate(EXISTENCE, [bare], FEW)
    with pytest.raises(EvidenceError, match=r"'topp'; needed some of"):
        MetricRequest(find_metric("concept_existence"), {"topp": 3})
    with pytest.raises(EvidenceError, match=r"needed a score of the catalogue, such as"):
        find_metric("cemm")


def test_lists_in_a_spec_are_run_choice_by_choice_in_one_order() -> None:
    about = find_metric("concept_existence")
    options = {"population": ["all", "correct"], "rank_by": ["value", "weight"], "top": [1, 2]}
    result = [(r.options["rank_by"], r.options["population"]) for r in expand(about, options)]
    assert result == [
        ("value", "all"),
        ("value", "correct"),
        ("weight", "all"),
        ("weight", "correct"),
    ]
    again = expand(about, dict(reversed(options.items())))
    assert [r.options for r in again] == [r.options for r in expand(about, options)]
    (single,) = expand(about, {"top": 2})
    assert single.options["top"] == (2,)


@pytest.mark.parametrize(
    ("alignment", "answer"), [(1.0, "yes"), (0.75, "partly"), (0.5, "no"), (0.1, "no")]
)
def test_verdicts(alignment: float, answer: str) -> None:
    result = audit(planted_concepts(400, n_classes=20, alignment=alignment), FEW)
    (exists, *_) = result.verdicts
    assert (exists.question, exists.answer) == ("exists", answer)
    assert f"{100 * exists.score.value:.1f} %" in exists.summary  # type: ignore[union-attr]


def test_audit_asks_what_it_can_and_says_what_it_could_not() -> None:
    result = audit(ConceptEvidence(values=np.eye(4), truth=np.eye(4)), FEW)
    existence = [s for s in result.scores if s.metric == "concept_existence"]
    assert {s.metric for s in result.scores} == {
        "concept_existence", "concept_prediction", "interconcept_leakage",
        "interconcept_leakage_given_concepts",
    }  # fmt: skip
    assert all(s.options["rank_by"] == "value" for s in existence)
    assert [s.options["top"] for s in existence] == [2, 1], "half of the concepts are quoted"
    missing = {u.metric: u.needs for u in result.not_computed}
    assert missing["concept_global_importance"] == ("class_truth", "weights", "labels", "predicted")
    assert missing["concept_location"] == ("location evidence",)
    assert missing["task_leakage_given_concept"] == ("labels",)
    assert {v.question: v.answer for v in result.verdicts}["leak_free"] == "not_evaluated"


def test_location_evidence_answers_both_questions() -> None:
    result = audit(planted_locations(60), FEW)
    kinds = (ConceptEvidence, LocationEvidence)
    asked = [e for e in catalogue().values() if e.needs in kinds]
    answered = {e.name for e in asked if e.question in ("exists", "located")}
    assert {s.metric for s in result.scores} >= answered
    answers = {v.question: v.answer for v in result.verdicts}
    assert answers["located"] == answers["exists"] == "yes"


def test_the_best_possible_is_what_the_truth_would_score() -> None:
    """Two of six concepts are there: nobody can name three of three."""
    truth = np.zeros((40, 6), bool)
    truth[np.arange(40), np.arange(40) % 6] = truth[np.arange(40), (np.arange(40) + 1) % 6] = True
    oracle = ConceptEvidence(values=truth + 0.0, truth=truth)
    scores = [s for s in audit(oracle, FEW).scores if s.metric == "concept_existence"]
    assert_allclose([s.best for s in scores], [2 / 3, 1.0])
    assert_allclose([s.value for s in scores], [2 / 3, 1.0])
    assert {verdict(s).answer for s in scores} == {"yes"}


def test_where_nothing_can_be_told_nothing_is_said() -> None:
    everything = ConceptEvidence(
        values=np.random.default_rng(0).random((9, 6)), truth=np.ones((9, 6))
    )
    (exists, *_) = audit(everything, FEW).verdicts
    assert exists.answer == "inconclusive" and "already scores the best possible" in exists.summary
    (one, *_) = audit(planted_concepts(1), FEW).verdicts
    assert one.answer == "inconclusive"


def test_lower_can_be_better() -> None:
    (score, *_) = evaluate(EXISTENCE, [planted_concepts(200, n_classes=20, alignment=0.0)], FEW)
    assert verdict(score).answer == "no" and "worse than" in verdict(score).summary
    flipped = replace(score, better="lower", best=0.0)
    assert verdict(flipped).answer in ("yes", "partly")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (np.eye(3), "needed evidence"),
        ({"values": np.eye(3)}, "needed evidence"),
        ("no such file", "nothing there; needed a file"),
        (None, "got none; needed some"),
        ([1, 2], "needed evidence"),
    ],
)
def test_audit_of_something_else_is_said(given: object, says: str) -> None:
    unchecked = inspect.unwrap(audit)  # as users have it: without the types of the test run
    with pytest.raises(EvidenceError, match=says):
        unchecked(given, FEW)


def test_doubts_are_noted() -> None:
    base = planted_concepts(200, 12, 12)
    random = np.random.default_rng(0)
    weights = random.normal(size=(12, 12))
    predicted = (base.values @ weights).argmax(axis=1)
    right = replace(base, weights=weights, predicted=predicted)
    wrong = replace(base, weights=weights.T, predicted=predicted)
    ranges = audit(right, FEW).notes
    assert all("validated for" in note for note in ranges)
    (note,) = set(audit(wrong, FEW).notes) - set(ranges)
    assert "a row per concept and a column per class" in note
    (note,) = audit(ConceptEvidence(values=np.eye(4), truth=np.eye(4)), FEW).notes
    assert "rank_by=value, because" in note


def test_an_annotation_at_random_is_rarely_called_better_than_chance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The spread of the shuffles is what a score must stand out from: a permutation test."""
    request = MetricRequest(find_metric("concept_global_importance"), {"form": (1, 2)})
    few = Resampling(resamples=20, shuffles=200)
    beaten = np.zeros((50, 2, 2), bool)
    for trial in range(len(beaten)):
        random = np.random.default_rng(trial)
        labels = np.arange(60) % 6
        evidence = ConceptEvidence(
            values=random.normal(size=(60, 5)),
            class_truth=random.random((5, 6)) < 0.4,
            weights=random.normal(size=(5, 6)),
            labels=labels,
            predicted=labels,
        )
        scores = evaluate(request, [evidence], few)
        # shapes are checked once: all trials have the same, and checking takes most of the time
        monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
        for form, score in enumerate(scores):
            differences = {n.name: n.difference for n in score.nulls}
            assert {d.over for d in differences.values() if d} == {"shuffles"}
            for number, name in enumerate(("permuted_classes", "permuted_concepts")):
                difference = differences[name]
                beaten[trial, form, number] = difference is not None and difference.low > 0
    assert (beaten.mean(axis=0) <= 0.1).all(), beaten.mean(axis=0)  # 0.025 expected


def test_nulls_are_averaged_over_seeds_as_the_score_is() -> None:
    """Seeds whose truth is common or rare: the null of the mean is the mean of their nulls."""
    seeds = []
    for seed, share in enumerate((0.2, 0.8)):
        random = np.random.default_rng(seed)
        seeds.append(
            ConceptEvidence(values=random.random((500, 6)), truth=random.random((500, 6)) < share)
        )
    request = MetricRequest(find_metric("concept_existence"), {"top": (1,), "rank_by": "value"})
    (score,) = evaluate(request, seeds, FEW)
    shuffled = next(n for n in score.nulls if n.name == "permuted_concepts")
    assert_allclose(shuffled.value, 0.5, atol=0.03)
    assert shuffled.difference is not None
    assert shuffled.difference.low < 0 < shuffled.difference.high


def test_a_seed_without_an_answer_does_not_hide_the_others() -> None:
    defined = planted_concepts(50, alignment=0.5)
    nothing_known = replace(defined, known=np.zeros_like(defined.truth))
    for order in ([defined, nothing_known], [nothing_known, defined]):
        (score, *_) = evaluate(EXISTENCE, order, FEW)
        assert score.value == float(ConceptExistence.of(defined, top=(1,)).value()[0])
        assert (score.n, score.n_undefined) == (25, 25)


def test_whole_classes_are_not_resampled_where_samples_enter_as_means_of_classes() -> None:
    base = planted_concepts(120, n_classes=12, alignment=0.7)
    by_class = replace(base, samples=Samples(clusters=np.asarray(base.labels)))
    by_pairs = replace(base, samples=Samples(clusters=np.arange(120) // 2))
    request = MetricRequest(find_metric("concept_global_importance"), {"form": (2,)})
    (score,) = evaluate(request, [by_class], FEW)
    assert [(i.over, i.scope) for i in score.intervals] == [
        ("samples", "fixed"),
        ("concepts", "population"),
    ]
    (score,) = evaluate(request, [by_pairs], FEW)
    assert [i.over for i in score.intervals] == ["clusters", "concepts"]
    (score, *_) = evaluate(EXISTENCE, [by_class], FEW)
    assert [i.over for i in score.intervals] == ["clusters"]


def test_perfect_in_five_clusters_is_five_observations() -> None:
    clusters = np.arange(500) % 5
    evidence = replace(planted_concepts(500, n_classes=5), samples=Samples(clusters=clusters))
    (score, *_) = evaluate(EXISTENCE, [evidence], FEW)
    (over_clusters,) = score.intervals
    assert over_clusters.low < 0.6
    (score, *_) = evaluate(EXISTENCE, [replace(evidence, samples=Samples())], FEW)
    assert score.interval is not None and score.interval.low > 0.99
    three = replace(evidence, samples=Samples(clusters=clusters % 3))
    (score, *_) = evaluate(EXISTENCE, [three], FEW)
    assert not score.intervals and verdict(score).reason == "underpowered"


def test_intervals_stay_within_the_bounds() -> None:
    evidence = planted_concepts(30, alignment=0.97, seed=3)
    for request in (EXISTENCE, MetricRequest(find_metric("concept_global_importance"))):
        for score in evaluate(request, [evidence], FEW):
            for interval in score.intervals:
                assert score.bounds[0] <= interval.low <= interval.high <= score.bounds[1]


def test_too_few_resamples_are_refused() -> None:
    with pytest.raises(EvidenceError, match="at least 20"):
        Resampling(resamples=0)
    with pytest.raises(EvidenceError, match="between 0 and 1"):
        Resampling(level=95)


def test_numbers_stay_as_they_were_written() -> None:
    request = MetricRequest(find_metric("concept_location"), {"alpha": [1, 2.5], "top": ["3"]})
    assert repr(request.options) == "{'alpha': (1, 2.5), 'top': (3,)}"


def test_another_sample_is_never_the_same_one() -> None:
    truth = np.eye(7, dtype=bool)
    evidence = ConceptEvidence(values=np.eye(7), truth=truth)
    entry = find_metric("concept_existence")
    (other,) = (b for b in entry.nulls if b.name.startswith("another"))
    options: dict[str, Any] = {"top": (1,), "rank_by": "value"}
    assert entry.null_state(other, evidence, **options).value() == 0
    assert np.isnan(entry.null_state(other, evidence[:1], **options).value()).all()

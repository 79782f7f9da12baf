"""Scores with their intervals and nulls."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from theodolite.contracts.axes import Samples
from theodolite.contracts.evidence import ConceptEvidence
from theodolite.datasets.synthetic import planted_concepts, planted_locations
from theodolite.errors import EvidenceError
from theodolite.execution import evaluate as module
from theodolite.execution.audit import audit
from theodolite.execution.evaluate import Request, Resampling, evaluate, expand
from theodolite.execution.verdict import verdict
from theodolite.metrics._catalogue import catalogue, entry
from theodolite.metrics.alignment.concept_existence import ConceptExistence

EXISTENCE = Request(entry("concept_existence"), {"top": (1, 3)})
FEW = Resampling(resamples=200)


def test_value_is_the_metrics_own() -> None:
    evidence = planted_concepts(alignment=0.6)
    scores = evaluate(EXISTENCE, [evidence], FEW)
    assert [s.options["top"] for s in scores] == [1, 3]
    assert_allclose([s.value for s in scores], ConceptExistence.of(evidence, top=(1, 3)).value())
    assert scores[0].n == 200 and scores[0].n_undefined == 0 and scores[0].n_of == "samples"
    interval = scores[0].interval
    assert interval is not None
    assert interval.low < scores[0].value < interval.high
    spread = np.sqrt(0.6 * 0.4 / 200)
    assert_allclose(interval.high - interval.low, 2 * 1.96 * spread, rtol=0.2)


def test_every_score_has_every_null_hardest_first() -> None:
    (score, *_) = evaluate(EXISTENCE, [planted_concepts(alignment=0.6)], FEW)
    assert {n.name for n in score.nulls} == {b.name for b in entry("concept_existence").baselines}
    values = [n.value for n in score.nulls]
    assert values == sorted(values, reverse=True)
    shuffled = next(n for n in score.nulls if n.name == "shuffled concepts")
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
        request = Request(entry(name))
        few = Resampling(resamples=50)
        one = evaluate(request, [evidence], few)
        monkeypatch.setattr(module, "SHARD", 37)
        monkeypatch.setattr(module, "BLOCK_BYTES", 20_000)
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
    by = {i.over: i.high - i.low for i in score.intervals}
    assert list(by) == ["clusters", "samples"]
    assert_allclose(by["clusters"] / by["samples"], np.sqrt(10), rtol=0.25)


def test_seeds_are_averaged_and_have_their_own_interval() -> None:
    seeds = [planted_concepts(alignment=a, seed=s) for s, a in enumerate((0.4, 0.5, 0.6))]
    (score, *_) = evaluate(EXISTENCE, seeds, FEW)
    values = [float(ConceptExistence.of(e, top=(1,)).value()[0]) for e in seeds]
    assert_allclose(score.value, np.mean(values))
    over_seeds = next(i for i in score.intervals if i.over == "seeds")
    assert over_seeds.n == 3 and over_seeds.low < score.value < over_seeds.high
    assert score.intervals[0].over == "samples"


def test_what_does_not_depend_on_samples_has_no_interval_over_them() -> None:
    request = Request(entry("concept_global_importance"))
    one, two, _ = evaluate(request, [planted_concepts(alignment=0.8)], FEW)
    assert [i.over for i in one.intervals] == ["concepts"] or one.intervals == ()
    assert "samples" in [i.over for i in two.intervals]
    assert one.detail is not None and two.detail is not None
    assert one.detail.low is None
    assert two.detail.low is not None and two.detail.high is not None
    assert (two.detail.low <= two.detail.values).all() and (
        two.detail.values <= two.detail.high
    ).all()
    assert one.n_of == "concepts" and one.n == 12


def test_a_perfect_score_of_few_samples_is_not_certain() -> None:
    (score, *_) = evaluate(EXISTENCE, [planted_concepts(8)], FEW)
    assert score.value == 1.0 and score.interval is not None
    assert score.interval.low < 0.7 and score.interval.high == 1.0


def test_undefined_is_nan_and_counted() -> None:
    evidence = ConceptEvidence(
        values=np.ones((3, 2)), truth=np.ones((3, 2)), known=np.zeros((3, 2))
    )
    request = Request(entry("concept_existence"), {"top": (1,), "rank_by": "value"})
    (score,) = evaluate(request, [evidence], FEW)
    assert np.isnan(score.value) and score.n == 0 and score.n_undefined == 3
    assert score.intervals == ()
    assert verdict(score).answer == "undefined"


def test_missing_arrays_and_unknown_options_are_said() -> None:
    bare = ConceptEvidence(values=np.ones((2, 3)), truth=np.ones((2, 3)))
    with pytest.raises(EvidenceError, match="no weights, predicted"):
        evaluate(EXISTENCE, [bare], FEW)
    with pytest.raises(EvidenceError, match=r"\['topp'\]; needed some of"):
        Request(entry("concept_existence"), {"topp": 3})
    with pytest.raises(EvidenceError, match="one of concept_existence"):
        entry("cem")


def test_lists_in_a_spec_are_run_choice_by_choice_in_one_order() -> None:
    about = entry("concept_existence")
    options = {"population": ["all", "correct"], "rank_by": ["value", "weight"], "top": [1, 2]}
    found = [(r.options["rank_by"], r.options["population"]) for r in expand(about, options)]
    assert found == [
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
    found = audit(planted_concepts(400, n_classes=20, alignment=alignment), FEW)
    (exists, *_) = found.verdicts
    assert (exists.question, exists.answer) == ("exists", answer)
    assert f"{100 * exists.score.value:.1f} %" in exists.because  # type: ignore[union-attr]


def test_audit_asks_what_it_can_and_says_what_it_could_not() -> None:
    found = audit(ConceptEvidence(values=np.eye(4), truth=np.eye(4)), FEW)
    assert {s.metric for s in found.scores} == {"concept_existence"}
    assert all(s.options["rank_by"] == "value" for s in found.scores)
    assert [s.options["top"] for s in found.scores] == [1, 3], "no more than there are concepts"
    missing = {u.metric: u.needs for u in found.unanswered}
    assert missing["concept_global_importance"] == ("class_truth", "weights", "labels", "predicted")
    assert missing["concept_location"] == ("location evidence",)
    assert {v.question: v.answer for v in found.verdicts}["leaks"] == "not asked"


def test_location_evidence_answers_both_questions() -> None:
    found = audit(planted_locations(60), FEW)
    assert {s.metric for s in found.scores} == set(catalogue())
    answers = {v.question: v.answer for v in found.verdicts}
    assert answers["located"] == answers["exists"] == "yes"

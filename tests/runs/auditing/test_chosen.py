"""Some scores only, one score, gates and what lies on disk: the top level of the package."""

from pathlib import Path

import numpy as np
import pytest

import theodolite
from theodolite._runs.recomputation import recompute
from theodolite.testing import planted_concepts

EVIDENCE = planted_concepts(60)
SOME = ["concept_existence", ("concept_prediction", {"by": "auc"})]


@pytest.fixture(scope="module")
def whole() -> theodolite.AuditResult:
    return theodolite.audit(EVIDENCE, resamples=50)


@pytest.fixture(scope="module")
def some() -> theodolite.AuditResult:
    return theodolite.audit(EVIDENCE, resamples=50, metrics=SOME)


@pytest.fixture(scope="module")
def folder(some: theodolite.AuditResult, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("chosen") / "run"
    some.save(out)
    return out


def test_only_what_was_chosen_is_asked(
    some: theodolite.AuditResult, whole: theodolite.AuditResult
) -> None:
    assert {s.metric for s in some.scores} == {"concept_existence", "concept_prediction"}
    assert {s.options["by"] for s in some.scores if s.metric == "concept_prediction"} == {"auc"}
    same = {(s.metric, str(s.options)): s for s in whole.scores}
    for score in some.scores:
        key = (score.metric, str(score.options))
        assert key not in same or same[key].value == score.value
        assert key not in same or same[key].intervals == score.intervals


def test_questions_that_were_not_chosen_say_so(some: theodolite.AuditResult) -> None:
    answers = {v.question: v for v in some.verdicts}
    assert answers["exists"].answer != "not_evaluated"
    assert answers["faithful"].summary == "Not among `metrics`."
    assert "(not among `metrics`)" in " ".join(str(some).split())
    other = theodolite.audit(EVIDENCE, resamples=50, questions=["leak_free"])
    assert {s.question for s in other.scores} == {"leak_free"}
    assert "(not among `questions`)" in str(other)


def test_a_chosen_score_that_lacks_something_says_what() -> None:
    evidence = theodolite.ConceptEvidence(values=EVIDENCE.values, truth=EVIDENCE.truth)
    chosen = theodolite.audit(
        evidence, resamples=50, metrics=["concept_existence", "joint_task_leakage"]
    )
    assert "leak_free (pass labels=)" in " ".join(str(chosen).split())
    with pytest.raises(theodolite.EvidenceError, match="allows none of them; needed labels"):
        theodolite.audit(evidence, metrics=["joint_task_leakage"])


@pytest.mark.parametrize(
    ("chosen", "says"),
    [
        ({"metrics": ["concept_existense"]}, "concept_existence"),
        ({"metrics": [("concept_existence", {"tpo": 3})]}, "tpo"),
        ({"metrics": [("concept_existence", {"order": "sined"})]}, "sined"),
        ({"metrics": "concept_existence"}, "a list of names"),
        ({"metrics": []}, "empty list"),
        ({"metrics": [("concept_existence",)]}, "a name, or"),
        ({"questions": ["exist"]}, "Did you mean 'exists'"),
        ({"questions": "exists"}, "a list of"),
        ({"metrics": ["concept_existence"], "questions": ["located"]}, "none of these questions"),
    ],
)
def test_a_wrong_choice_is_refused_before_anything_is_done(
    chosen: dict[str, object], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "theodolite._runs.auditing.front.evidence_parts", lambda *_: pytest.fail("late")
    )
    with pytest.raises(theodolite.EvidenceError, match=says):
        theodolite.audit(EVIDENCE, **chosen)


def test_what_was_chosen_is_kept(folder: Path, some: theodolite.AuditResult) -> None:
    run = theodolite.load(folder)
    assert isinstance(run, theodolite.Run)
    assert [m.name for m in run.record.spec.metrics] == ["concept_existence", "concept_prediction"]
    assert [s.value for s in run.scores] == [s.value for s in some.scores]
    assert {v.summary for v in run.verdicts if v.question == "located"} == {"Not among `metrics`."}
    assert "not among `metrics`" not in (folder / "report.html").read_text().lower().replace(
        "not among `metrics`.", ""
    )


def test_one_score_is_that_of_the_audit(whole: theodolite.AuditResult) -> None:
    score = theodolite.score("concept_existence", EVIDENCE, resamples=50)
    (same,) = [s for s in whole.scores if s.metric == score.metric and s.options == score.options]
    assert score == same
    assert score.options["top"] == 1
    assert [s.options["top"] for s in score.sweep] == [3, 5]
    arrays = {"values": EVIDENCE.values, "truth": EVIDENCE.truth}
    one = theodolite.score("concept_existence", **arrays, options={"top": 3, "rank_by": "value"})
    assert one.options["top"] == 3 and one.sweep == () and one.nulls and one.interval
    with pytest.raises(theodolite.EvidenceError, match="labels"):
        theodolite.score("predictive_task_leakage", **arrays)


def test_a_gate_of_an_audit_a_run_and_a_folder(folder: Path, some: theodolite.AuditResult) -> None:
    wanted = {
        "questions": {"exists": "yes"},
        "scores": [{"metric": "concept_existence", "at_least": 0.5}],
    }
    file = folder.parent / "thresholds.yaml"
    file.write_text("questions: {located: yes}")
    for run in (some, folder, str(folder), theodolite.load(folder)):
        passed = theodolite.gate(run, wanted)
        assert passed and passed.passed and not passed.failures
        failed = theodolite.gate(run, file)
        assert not failed and [check.of for check in failed.failures] == ["located"]
        assert "inconclusive: located: not evaluated" in str(failed)
    with pytest.raises(theodolite.EvidenceError, match="Did you mean 'exists'"):
        theodolite.gate(some, {"questions": {"exist": "yes"}})


def test_evidence_is_saved_and_loaded(tmp_path: Path) -> None:
    EVIDENCE.save(tmp_path / "evidence")
    loaded = theodolite.load(tmp_path / "evidence")
    assert isinstance(loaded, theodolite.ConceptEvidence)
    assert np.array_equal(loaded.values, EVIDENCE.values)


def test_two_runs_are_compared(folder: Path, tmp_path: Path) -> None:
    theodolite.audit(planted_concepts(60, alignment=0.5), resamples=50, metrics=SOME).save(
        tmp_path / "worse"
    )
    compared = theodolite.compare(theodolite.load(folder), tmp_path / "worse", resamples=50)
    assert isinstance(compared, theodolite.Comparison)
    assert {line.score.metric for line in compared.lines} == {
        "concept_existence",
        "concept_prediction",
    }


def test_recompute_chosen_metrics_equal(folder: Path) -> None:
    assert recompute(folder) > 0

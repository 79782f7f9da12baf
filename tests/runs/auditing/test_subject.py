"""Whose reasons an audit talks about: what was measured on a stand-in is not said of the network."""

import inspect
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import theodolite
from support.runs.command_line import theodolite as command_line
from theodolite._planted.surrogates import planted_surrogates
from theodolite._runs.auditing.result import AuditResult
from theodolite._runs.comparison.compare_runs import compare_runs
from theodolite._runs.comparison.leaderboard import build_leaderboard
from theodolite._runs.comparison.loaded_runs import load_runs
from theodolite._runs.finished_run import read_finished_run
from theodolite._runs.folder_reader import RunFolder
from theodolite._runs.recomputation import recompute
from theodolite._verdicts.conflicts.matrix import conflicts
from theodolite._verdicts.gates.file import Thresholds
from theodolite._verdicts.gates.judge import broken, judged
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Samples
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.subject import Subject
from theodolite.report.exports.model_card import model_card_section
from theodolite.report.html import write_report

audit: Callable[..., AuditResult] = inspect.unwrap(theodolite.audit)
FITTED = "a linear layer trained on its features by theodolite"
STAND_IN = Subject(
    "post-hoc concept bottleneck (8 concepts)", "resnet18, layer4", "probe_only", FITTED
)
NETWORK = replace(STAND_IN, outputs="model", linear_probe="")
BARE = re.compile(r"\bthe (network|model)\b", re.IGNORECASE)
GATE = Thresholds.model_validate(
    {
        "questions": {"faithful": "yes"},
        "scores": [{"metric": "surrogate_distance", "at_most": 0.9}],
    }
)


def explained(faithfulness: float = 1.0) -> SurrogateEvidence:
    samples = Samples(ids=np.array([f"image {i}" for i in range(120)]))
    return replace(planted_surrogates(120, faithfulness=faithfulness), samples=samples)


def votes() -> RatingEvidence:
    """People accept half of the explanations."""
    ratings = np.where(np.arange(120)[:, None] < 60, 2.0, 5.0) + np.zeros(3)
    return RatingEvidence(ratings=ratings, scale=np.arange(1.0, 6.0), samples=explained().samples)


def asked_of(subject: Subject | None) -> AuditResult:
    return audit([votes(), explained()], resamples=20, subject=subject)


@pytest.fixture(scope="module")
def stood_in() -> AuditResult:
    return asked_of(STAND_IN)


@pytest.fixture(scope="module")
def own() -> AuditResult:
    return asked_of(NETWORK)


@pytest.fixture(scope="module")
def folders(
    stood_in: AuditResult, own: AuditResult, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("runs")
    for name, result in {"stood_in": stood_in, "own": own}.items():
        result.save(root / name)
    return {name: root / name for name in ("stood_in", "own")}


def verdict_on(result: Any, question: str = "faithful") -> Any:
    return next(v for v in result.verdicts if v.question == question)


def test_a_stand_in_decides_nothing(stood_in: AuditResult, own: AuditResult) -> None:
    verdict = verdict_on(stood_in)
    assert (verdict.answer, verdict.reason, verdict.score) == ("not_evaluated", "probe_only", None)
    assert verdict.summary.startswith("Not evaluated for your model") and FITTED in verdict.summary
    assert verdict_on(own).answer == "yes"
    assert repr(stood_in.scores) == repr(own.scores), "numbers are what they were"
    assert stood_in.linear_probe is not None and stood_in.linear_probe.answer == "yes"
    assert own.linear_probe is None
    text = " ".join(str(stood_in).split())
    assert "faithful for your model (pass outputs=)" in text
    assert f"faithful to the linear probe ({FITTED}): yes." in text
    assert not BARE.search(text)


def test_a_gate_cannot_tell(stood_in: AuditResult, own: AuditResult, folders: Any) -> None:
    for result in (stood_in, read_finished_run(folders["stood_in"])):
        checks = judged(GATE, result.scores, result.verdicts)
        assert {check.outcome for check in checks} == {"inconclusive"}
        assert all("not evaluated for your model" in check.sentence for check in checks)
        assert len(broken(GATE, result.scores, result.verdicts)) == len(checks) > 1
        passing = GATE.model_copy(update={"undefined": "pass"})
        assert broken(passing, result.scores, result.verdicts) == []
    assert broken(GATE, own.scores, own.verdicts) == []


def test_the_files_say_it(folders: dict[str, Path]) -> None:
    content = json.loads((folders["stood_in"] / "scores.json").read_text())
    (verdict,) = [v for v in content["verdicts"] if v["question"] == "faithful"]
    assert (verdict["answer"], verdict["reason"], verdict["metric"]) == (
        "not_evaluated",
        "probe_only",
        "",
    )
    assert content["subject"]["linear_probe"] == FITTED
    assert RunFolder(folders["stood_in"]).subject == STAND_IN
    assert RunFolder(folders["own"]).subject == NETWORK
    assert recompute(folders["stood_in"]) > 5
    again = audit(folders["stood_in"], resamples=20)
    assert again.subject == STAND_IN and verdict_on(again).reason == "probe_only"


def test_a_page_says_of_the_network_what_was_measured_on_it(folders: dict[str, Path]) -> None:
    pages = {name: (folder / "report.html").read_text() for name, folder in folders.items()}
    heads = {
        name: page[page.index("<main") : page.index('<section id="limits"')]
        for name, page in pages.items()
    }
    assert "<em>The reference is the explained model&#39;s own output.</em>" in heads["own"]
    assert "Post-hoc concept bottleneck (8 concepts) of resnet18, layer4" in heads["own"]
    head = heads["stood_in"]
    assert not BARE.search(head) and 'id="faithful"' not in head
    silent = head[head.index("Not evaluated: ") :]
    assert "faithful for your model (pass outputs=)" in silent
    assert "<h2>Faithful to the linear probe</h2>" in pages["stood_in"]
    apart = pages["stood_in"].partition('id="question-faithful"')[2]
    assert "of the probability lands on other classes than the reference" in apart
    assert "Faithful to the linear probe" not in pages["own"]


def test_a_model_card_says_the_same(folders: dict[str, Path]) -> None:
    cards = {name: model_card_section(folder) for name, folder in folders.items()}
    before = {name: card.split("### Limitations")[0] for name, card in cards.items()}
    assert "faithful for your model (pass outputs=)" in before["stood_in"]
    assert not BARE.search(before["stood_in"])
    assert "SURF" not in before["stood_in"] and "SURF" in before["own"]


def test_conflicts_leave_it_out(
    stood_in: AuditResult, own: AuditResult, folders: dict[str, Path]
) -> None:
    evidence = stood_in.source.first
    for result in (conflicts(stood_in, evidence), RunFolder(folders["stood_in"]).conflicts()):
        assert "faithful" not in {judged_record.question for judged_record in result.judged}
    assert "faithful" in {record.question for record in conflicts(own, evidence).judged}


def test_runs_held_against_different_outputs_are_not_compared(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    asked_of(None).save(tmp_path / "given")
    paths = [folders["own"], tmp_path / "given", folders["stood_in"]]
    to_given, to_stand_in = compare_runs(load_runs(paths), resamples=20)
    (faithful,) = [q for q in to_given.questions if q.question == "faithful"]
    why = "faithful to different things: the network, and the outputs you gave"
    assert faithful.line.difference is None and faithful.line.why == why
    lines = [line for line in to_given.lines if line.score.question == "faithful"]
    assert lines and all(line.difference is None for line in lines)
    (apart,) = [q for q in to_stand_in.questions if q.question == "faithful"]
    assert (apart.after, apart.line.difference) == ("not_evaluated", None)
    assert all(q.line.difference for q in to_given.questions if q.question == "accepted")


def test_a_leaderboard_ranks_like_with_like(folders: dict[str, Path], tmp_path: Path) -> None:
    asked_of(None).save(tmp_path / "given")
    for name, folder in folders.items():
        shutil.copytree(folder, tmp_path / name)
    shutil.copytree(folders["own"], tmp_path / "own too")
    (board,), _ = build_leaderboard(tmp_path)
    notes = {row.run.name: row.cells["faithful"].note for row in board.rows}
    assert notes == {
        "own": "", "own too": "", "given": "no other run has this score",
        "stood_in": "not evaluated",
    }  # fmt: skip


def test_arrays_are_given_and_runs_of_pipelines_know_better(folders: dict[str, Path]) -> None:
    given = audit(explained(), resamples=20)
    assert given.subject.outputs == "given" and verdict_on(given).answer == "yes"
    with pytest.raises(EvidenceError, match=r"one for evidence that has its own"):
        audit(folders["stood_in"], resamples=20, subject=NETWORK)
    with pytest.raises(EvidenceError, match=r"a theodolite\.Subject"):
        audit(explained(), resamples=20, subject="resnet18")
    with pytest.raises(EvidenceError, match="one of model, probe_only, concept_model"):
        Subject("e", outputs="netwrok")  # type: ignore[arg-type]


def test_a_run_of_0_1_0_from_a_pipeline_is_unknown_and_keeps_its_verdict(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(folders["own"], tmp_path / "old"))
    for name, change in {
        "scores.json": {"subject": None},
        "run.json": {
            "spec": json.loads((folder / "run.json").read_text())["spec"]
            | {"subject": None, "evidence": [], "dataset": {"name": "d"}, "pipeline": {"name": "p"}}
        },
    }.items():
        content = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps(content | change))
    assert RunFolder(folder).subject.outputs == "unknown"
    page = write_report(folder).read_text()
    assert "Whose outputs the reference is, is not known." in page


def test_the_command_line_prints_it(folders: dict[str, Path]) -> None:
    ran = command_line("audit", folders["stood_in"], "--resamples", "20")
    assert ran.returncode == 0, ran.stderr
    text = " ".join(ran.stdout.split())
    assert (
        "faithful: not evaluated for your model" in text and "faithful to the linear probe" in text
    )

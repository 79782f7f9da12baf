"""Formats of run folders: version 1 key by key, fields that were added, a newer theodolite."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from theodolite.conflicts.record import ConflictsFile
from theodolite.errors import EvidenceError, RefusedInput
from theodolite.findings.leakage import FindingsFile, read_findings
from theodolite.questions import FormerName
from theodolite.run_folder.folder import check_folder
from theodolite.run_folder.format import v1_to_v2
from theodolite.run_folder.run_file import (
    MadeRecord,
    RunRecord,
    read_produced,
    read_record,
    run_record,
    write_record,
)
from theodolite.run_folder.scores_file import ComparedFile, ScoresFile
from theodolite.run_folder.spec import RunSpec, read_spec

SCORE = {
    "metric": "concept_task_leakage", "version": 1, "question": "leaks", "value": 0.1,
    "better": "lower", "bounds": [0, 1], "best": 0, "n": 9, "n_undefined": 0, "n_of": "samples",
    "options": {}, "interval": None, "null": None, "intervals": [], "nulls": [], "detail": None,
}  # fmt: skip
VERDICT = {"question": "leaks", "answer": "no", "because": "b", "metric": "m", "options": {}}
NULL = {"name": "unrelated questions", "value": 0.1, "difference": None}
CONFLICT = {
    "good": "exists", "bad": "leaks", "of": "concepts", "n": 9, "n_conflicts": 1, "n_undefined": 0,
    "n_unmatched": 0, "share": 0.1, "interval": None, "null": NULL, "kappa": None,
    "kappa_interval": None, "examples": [],
}  # fmt: skip
JUDGED = {
    "question": "leaks", "of": "concepts", "metric": "m", "options": {}, "better": "lower",
    "line": 0.1, "line_is": "null", "n": 9, "n_undefined": 0, "n_good": 3,
}  # fmt: skip
WHOLE = {"good": "leaks", "bad": "exists", "good_answer": "yes", "bad_answer": "no"}
SPEC = {"name": "a", "evidence": ["e"], "headlines": {"leaks": {"name": "m"}}}
RUN = {
    "spec": SPEC, "command": "", "started": "", "python": "", "machine": "",
    "packages": {"theodolite": "0.1.0"},
}  # fmt: skip
CORRELATION = {"kind": "correlation", "title": "t", "against": "m", "rows": []}


def v1(name: str, **content: Any) -> dict[str, Any]:
    return {"format": f"theodolite-{name}", "format_version": 1, **content}


RUN_FILE = v1("run", **RUN)
SCORES = v1("scores", verdicts=[VERDICT], scores=[SCORE], unanswered=[])
COMPARED = v1("compared", models=[{"name": "a", "about": {}, "scores": [SCORE]}])
FINDINGS = v1("studies", studies=[CORRELATION])
CONFLICTS = v1("conflicts", verdicts=[WHOLE], judged=[JUDGED], conflicts=[CONFLICT])


@pytest.mark.parametrize(
    ("content", "kind", "place", "now"),
    [
        (RUN_FILE, RunRecord, ("spec", "headlines"), {"leak_free": {"name": "m"}}),
        (SCORES, ScoresFile, ("scores", 0, "question"), "leak_free"),
        (SCORES, ScoresFile, ("verdicts", 0, "question"), "leak_free"),
        (SCORES, ScoresFile, ("verdicts", 0, "answer"), "no"),
        (COMPARED, ComparedFile, ("models", 0, "scores", 0, "question"), "leak_free"),
        (FINDINGS, FindingsFile, ("format",), "theodolite-findings"),
        (FINDINGS, FindingsFile, ("findings",), [CORRELATION]),
        (CONFLICTS, ConflictsFile, ("verdicts", 0, "good"), "leak_free"),
        (CONFLICTS, ConflictsFile, ("judged", 0, "question"), "leak_free"),
        (CONFLICTS, ConflictsFile, ("conflicts", 0, "bad"), "leak_free"),
        (CONFLICTS, ConflictsFile, ("conflicts", 0, "good"), "exists"),
    ],
)
def test_keys_of_version_1(
    tmp_path: Path, content: dict[str, Any], kind: Any, place: tuple[Any, ...], now: object
) -> None:
    before = copy.deepcopy(content)
    item: Any = v1_to_v2(content)
    assert content == before and item["format_version"] == 2
    for key in place:
        item = item[key]
    assert item == now
    (tmp_path / "file.json").write_text(json.dumps(content))
    write_record(tmp_path / "again.json", read_record(tmp_path / "file.json", kind))
    text = (tmp_path / "again.json").read_text()
    assert '"leaks"' not in text and '"format_version": 2' in text
    assert read_record(tmp_path / "again.json", kind) == read_record(tmp_path / "file.json", kind)


def test_old_names_mean_nothing_in_version_2(tmp_path: Path) -> None:
    (tmp_path / "scores.json").write_text(json.dumps({**SCORES, "format_version": 2}))
    with pytest.raises(RefusedInput, match="question"):
        read_record(tmp_path / "scores.json", ScoresFile)


def test_what_became_known_on_the_way_had_another_name(tmp_path: Path) -> None:
    (tmp_path / "made.json").write_text('{"seconds_scoring": 1.5}')
    assert read_produced(tmp_path).seconds_scoring == 1.5
    write_record(tmp_path / "produced.json", MadeRecord(seconds_scoring=2.5))
    assert read_produced(tmp_path).seconds_scoring == 2.5
    assert '"format_version": 2' in (tmp_path / "produced.json").read_text()


def test_findings_had_another_name(tmp_path: Path) -> None:
    assert read_findings(tmp_path) == []
    (tmp_path / "studies.json").write_text(json.dumps(FINDINGS))
    assert [finding.kind for finding in read_findings(tmp_path)] == ["correlation"]


def test_fields_that_were_added_are_left_out(tmp_path: Path) -> None:
    score = {**SCORE, "question": "leak_free", "colour": "red"}
    scores = {**SCORES, "format_version": 2, "verdicts": [], "scores": [score], "more": [1]}
    (tmp_path / "scores.json").write_text(json.dumps(scores))
    assert read_record(tmp_path / "scores.json", ScoresFile).scores[0].value == 0.1
    spec = {"name": "a", "evidence": ["e"], "mood": "good", "resampling": {"manner": "new"}}
    run = {**RUN_FILE, "format_version": 2, "spec": spec, "weather": "fine"}
    (tmp_path / "run.json").write_text(json.dumps(run))
    assert read_record(tmp_path / "run.json", RunRecord).spec.name == "a"


def test_what_is_written_has_no_strange_fields() -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        MadeRecord(seconds_scoring=1.0, colour="red")  # type: ignore[call-arg]
    with pytest.raises(ValidationError, match="Extra inputs"):
        RunSpec.model_validate({"name": "a", "evidence": ["e"], "mood": "good"})


def test_a_newer_theodolite_is_said(tmp_path: Path) -> None:
    newer = {**SCORES, "format_version": 3, "scores": "something else"}
    (tmp_path / "scores.json").write_text(json.dumps(newer))
    says = r"written by a newer theodolite \(format 3\); this one reads up to 2"
    with pytest.raises(RefusedInput, match=says) as refused:
        read_record(tmp_path / "scores.json", ScoresFile)
    assert "Install a newer theodolite." in str(refused.value)
    for version, hint in (("0.9.1", "Install theodolite 0.9.1 or newer"), ("\x1b[2J", "a newer")):
        (tmp_path / "run.json").write_text(json.dumps({"packages": {"theodolite": version}}))
        with pytest.raises(RefusedInput, match=hint):
            read_record(tmp_path / "scores.json", ScoresFile)


@pytest.mark.parametrize("version", [0, -1, 1.0, True, "2", None, [], {}])
def test_strange_versions_are_refused(tmp_path: Path, version: object) -> None:
    (tmp_path / "scores.json").write_text(json.dumps({**SCORES, "format_version": version}))
    with pytest.raises(RefusedInput, match="format version"):
        read_record(tmp_path / "scores.json", ScoresFile)


@pytest.mark.parametrize("inner", [None, 3, "x", [], [3], {"a": 1}, [[]], [{"question": [1]}]])
def test_broken_files_of_version_1_are_refused(tmp_path: Path, inner: object) -> None:
    path = tmp_path / "file.json"
    for name, key, kind in (
        ("scores", "scores", ScoresFile), ("compared", "models", ComparedFile),
        ("studies", "studies", FindingsFile), ("conflicts", "judged", ConflictsFile),
        ("run", "spec", RunRecord),
    ):  # fmt: skip
        path.write_text(json.dumps(v1(name, **{key: inner})))
        if inner != [] or name in ("conflicts", "run"):
            with pytest.raises(RefusedInput):
                read_record(path, kind)


def test_a_run_that_0_1_0_did_not_finish_is_not_gone_on_with(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps(RUN_FILE))
    with pytest.raises(EvidenceError, match="an older theodolite began"):
        check_folder(tmp_path, overwrite=False)
    check_folder(tmp_path, overwrite=True)
    spec = RunSpec.model_validate({"name": "a", "evidence": ["e"]})
    write_record(tmp_path / "run.json", run_record(spec, ""))
    check_folder(tmp_path, overwrite=False)


def test_a_spec_may_say_leaks(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    text = "{name: a, evidence: [e], headlines: {leaks: {name: concept_task_leakage}}}"
    path.write_text(text)
    with pytest.warns(FormerName, match="'leaks' is called 'leak_free' now"):
        spec = read_spec(path)
    assert list(spec.headlines) == ["leak_free"]
    path.write_text(text.replace("{leaks:", "{leak_free: {name: task_accuracy}, leaks:"))
    with pytest.raises(EvidenceError, match="one question: keep 'leak_free'"):
        read_spec(path)

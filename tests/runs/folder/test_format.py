"""The format of run folders: fields that were added, other formats, a newer theodolite."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from theodolite._runs.folder.run_records import (
    ExplanationRecord,
    ProducedRecord,
    RunRecord,
    build_run_record,
    read_produced,
)
from theodolite._runs.folder.spec import RunSpec
from theodolite._storage.records import FORMAT_VERSION, read_record, write_record
from theodolite._verdicts.conflicts.record import ConflictsFile
from theodolite._verdicts.scores_file import ComparedFile, ScoresFile
from theodolite.errors import UnsafeInputError

SCORE = {
    "metric": "concept_task_leakage", "version": 1, "question": "leak_free", "value": 0.1,
    "better": "lower", "bounds": [0, 1], "best": 0, "n": 9, "n_undefined": 0, "n_unit": "samples",
    "options": {}, "interval": None, "null": None, "intervals": [], "nulls": [], "detail": None,
}  # fmt: skip


def record(name: str, **content: Any) -> dict[str, Any]:
    return {"format": f"theodolite-{name}", "format_version": FORMAT_VERSION, **content}


SCORES = record("scores", verdicts=[], scores=[SCORE], not_computed=[])


def test_produced_record_round_trip(tmp_path: Path) -> None:
    written = ProducedRecord(explained=ExplanationRecord(), seconds_scoring=2.5)
    write_record(tmp_path / "produced.json", written)
    assert read_produced(tmp_path) == written


def test_read_record_ignores_added_fields(tmp_path: Path) -> None:
    scores = {**SCORES, "scores": [SCORE | {"color": "red"}], "more": [1]}
    (tmp_path / "scores.json").write_text(json.dumps(scores))
    assert read_record(tmp_path / "scores.json", ScoresFile).scores[0].value == 0.1
    spec = RunSpec.model_validate({"name": "a", "evidence": ["e"]})
    write_record(tmp_path / "run.json", build_run_record(spec, ""))
    run = json.loads((tmp_path / "run.json").read_text()) | {"weather": "fine"}
    run["spec"] |= {"mood": "good"}
    (tmp_path / "run.json").write_text(json.dumps(run))
    assert read_record(tmp_path / "run.json", RunRecord).spec.name == "a"


def test_write_record_refuses_unknown_fields() -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        ProducedRecord(explained=ExplanationRecord(), seconds_scoring=1.0, color="red")  # type: ignore[call-arg]
    with pytest.raises(ValidationError, match="Extra inputs"):
        RunSpec.model_validate({"name": "a", "evidence": ["e"], "mood": "good"})


def test_read_record_names_a_newer_theodolite(tmp_path: Path) -> None:
    newer = {**SCORES, "format_version": FORMAT_VERSION + 1, "scores": "something else"}
    (tmp_path / "scores.json").write_text(json.dumps(newer))
    says = rf"a newer theodolite \(format {FORMAT_VERSION + 1}\); this one reads up to {FORMAT_VERSION}"
    with pytest.raises(UnsafeInputError, match=says) as refused:
        read_record(tmp_path / "scores.json", ScoresFile)
    assert "Install a newer theodolite." in str(refused.value)
    for version, hint in (("0.9.1", "Install theodolite 0.9.1 or newer"), ("\x1b[2J", "a newer")):
        (tmp_path / "run.json").write_text(json.dumps({"packages": {"theodolite": version}}))
        with pytest.raises(UnsafeInputError, match=hint):
            read_record(tmp_path / "scores.json", ScoresFile)


@pytest.mark.parametrize("version", [0, 1, -1, 1.0, True, "2", None, [], {}])
def test_read_record_refuses_other_versions(tmp_path: Path, version: object) -> None:
    (tmp_path / "scores.json").write_text(json.dumps({**SCORES, "format_version": version}))
    with pytest.raises(UnsafeInputError, match="format version"):
        read_record(tmp_path / "scores.json", ScoresFile)


@pytest.mark.parametrize("inner", [None, 3, "x", [], [3], {"a": 1}, [[]], [{"question": [1]}]])
def test_read_record_refuses_broken_files(tmp_path: Path, inner: object) -> None:
    path = tmp_path / "file.json"
    for name, key, kind in (
        ("scores", "scores", ScoresFile), ("compared", "models", ComparedFile),
        ("conflicts", "judged", ConflictsFile),
        ("run", "spec", RunRecord),
    ):  # fmt: skip
        path.write_text(json.dumps(record(name, **{key: inner})))
        if inner != [] or name in ("conflicts", "run"):
            with pytest.raises(UnsafeInputError):
                read_record(path, kind)

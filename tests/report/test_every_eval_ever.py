"""Records of Every Eval Ever: valid by its own schema, with what it has no field for."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from support.runs.command_line import theodolite
from support.runs.gated import small_run
from theodolite._runs.finished_run import read_finished_run
from theodolite.report.exports import every_eval_ever as export

COMMIT = "805ef1eb4859207dddf3ea0933644dfc8586b11d"
FIXTURES = Path(__file__).parents[1] / "fixtures" / "every_eval_ever"
SCHEMA = json.loads((FIXTURES / f"eval.schema-0.3.0-{COMMIT}.json").read_text())


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_run(tmp_path_factory.mktemp("registry") / "run")


def valid(record: dict[str, Any]) -> None:
    jsonschema.validate(record, SCHEMA)


def test_all_scores_are_there_and_valid(run: Path, tmp_path: Path) -> None:
    result = theodolite("export", run, "--every-eval-ever", tmp_path / "out.json")
    assert result.returncode == 0, result.stderr
    record = json.loads((tmp_path / "out.json").read_text())
    valid(record)
    assert record["schema_version"] == SCHEMA["version"] == "0.3.0"
    finished = read_finished_run(run)
    assert len(record["evaluation_results"]) == len(finished.scores)
    for row, score in zip(record["evaluation_results"], finished.scores, strict=True):
        details = row["score_details"]
        assert details["score"] == score.value
        assert row["metric_config"]["lower_is_better"] == (score.better == "lower")
        assert ("uncertainty" in details) == (score.interval is not None)
        if score.interval is not None:
            assert details["uncertainty"]["confidence_interval"]["lower"] == score.interval.low
        assert score.null is not None
        assert float(details["details"]["null_value"]) == score.null.value
    assert any("uncertainty" in row["score_details"] for row in record["evaluation_results"])
    again = theodolite("export", run, "--every-eval-ever", tmp_path / "out.json")
    assert again.returncode == 0  # ours, so it may be replaced
    (tmp_path / "theirs.json").write_text("{}")
    theirs = theodolite("export", run, "--every-eval-ever", tmp_path / "theirs.json")
    assert theirs.returncode == 2


def test_undefined_and_unbounded_scores(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finished = read_finished_run(run)
    first, *others = finished.scores
    changed = (
        replace(first, value=math.nan),
        replace(first, bounds=(-math.inf, math.inf), options={"top": (1, 2)}, intervals=()),
        *others,
    )
    monkeypatch.setattr(export, "read_finished_run", lambda _: replace(finished, scores=changed))
    record = json.loads(json.dumps(export.every_eval_ever(run), allow_nan=False))
    valid(record)
    assert record["source_metadata"]["additional_details"]["scores_undefined"] == "1"
    assert len(record["evaluation_results"]) == len(changed) - 1
    unbounded = record["evaluation_results"][0]["metric_config"]
    assert "score_type" not in unbounded and "min_score" not in unbounded
    assert unbounded["metric_parameters"] == {"top": "[1, 2]"}


def test_the_schema_refuses_what_is_wrong(run: Path) -> None:
    record = export.every_eval_ever(run)
    del record["model_info"]["additional_details"]["deployment_type"]
    with pytest.raises(jsonschema.ValidationError):
        valid(record)

"""An audit as text in 79 columns, and as plain data with a schema."""

import json
from importlib.resources import files
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import theodolite
from theodolite._planted.examples import plant_example
from theodolite._runs.auditing.result_file import SCHEMA, json_schema
from theodolite._runs.folder.explanation_record import EXPLANATIONS
from theodolite._verdicts.bottom_line import bottom_line
from theodolite.evidence.registry import registered_kinds

OURS = {kind.kind: kind for kind in registered_kinds() if kind.kind in EXPLANATIONS}
PUBLISHED = json.loads((files("theodolite._runs.auditing") / SCHEMA).read_text("utf-8"))


@pytest.fixture(scope="module")
def results() -> dict[str, theodolite.AuditResult]:
    """An audit of each kind of evidence, with the metrics that decide."""
    return {
        name: theodolite.audit(
            plant_example(kind, 0), resampling=theodolite.Resampling(20, shuffles=20)
        )
        for name, kind in OURS.items()
    }


def test_every_kind_has_a_name() -> None:
    ours = {k.kind for k in registered_kinds() if k.__module__.startswith("theodolite.evidence")}
    assert ours == set(EXPLANATIONS) == set(OURS)


@pytest.mark.parametrize("kind", OURS)
def test_text_of_every_kind(kind: str, results: dict[str, theodolite.AuditResult]) -> None:
    result = results[kind]
    lines = str(result).splitlines()
    assert max(map(len, lines)) <= 79
    assert (
        lines[0].startswith(f"{EXPLANATIONS[kind]}: ")
        and f"{len(result.source.first[0]):,}" in lines[0]
    )
    before, _, after = str(result).partition("\n\n")
    assert " ".join(before.splitlines()[1:]) == bottom_line(result.verdicts)
    for verdict in result.verdicts:
        assert (f"\n  {verdict.question:<9}  {verdict.answer.upper()}" in f"\n{after}") == (
            verdict.answer != "not_evaluated"
        )
    assert " ".join(lines[-1:]).endswith('result.report("report.html").')


@pytest.mark.parametrize("kind", OURS)
def test_plain_data_of_every_kind(kind: str, results: dict[str, theodolite.AuditResult]) -> None:
    content = results[kind].to_dict()
    jsonschema.validate(content, PUBLISHED)
    assert content["kind"] == kind and len(content["scores"]) == len(results[kind].scores)
    assert json.loads(results[kind].to_json()) == content
    assert json.loads(results[kind].to_json(indent=None)) == content
    (value,) = {
        v["value"] for v in content["verdicts"] if v["metric"] == content["verdicts"][0]["metric"]
    }
    score = next(v.score for v in results[kind].verdicts if v.score is not None)
    assert value is None or value == score.value


def test_published_schema_is_current_and_strict() -> None:
    assert json_schema() == PUBLISHED
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"format": "theodolite-result"}, PUBLISHED)


def test_json_is_written_to_a_file(tmp_path: Path) -> None:
    truth = np.random.default_rng(0).random((30, 3)) < 0.5
    result = theodolite.audit_concepts(truth, truth, questions=["exists"], resamples=20)
    text = result.to_json(tmp_path / "result.json")
    assert (tmp_path / "result.json").read_text("utf-8") == text + "\n"
    assert "NaN" not in text

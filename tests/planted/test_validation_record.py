"""Certificates as files: what they hold, where they hold, and who reads them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from theodolite._planted.validation.characteristics import Characteristics
from theodolite._planted.validation.code_digest import compute_code_digest
from theodolite._planted.validation.metric_validation import MetricValidation
from theodolite._planted.validation.overall_checks import OverallCheck, Power
from theodolite._planted.validation.subjects import MetricSubject
from theodolite._planted.validation.validation_record import (
    build_validation_record,
    find_stale_reasons,
    find_validated_range,
    get_record_name,
    list_unvalidated_metrics,
    summarize_validation,
    write_validation_record,
)
from theodolite.metrics.catalogue import catalogue
from theodolite.metrics.validation import get_validation, summaries_text, summarize_record

SUBJECT = MetricSubject("predictive_task_leakage")
BAD = ("false alarms: 9 of 60, at most 6",)


def cell(failures: tuple[str, ...] = (), alarms: int = 0, **changes: object) -> Characteristics:
    condition = replace(SUBJECT.generator.usual, **changes)  # type: ignore[arg-type]
    answers = {"yes": 60 - alarms, "partly": 0, "no": alarms, "inconclusive": 0}
    return Characteristics(
        condition.describe(), 0.0, 60, 0, answers, alarms, 57, 60, 0.0, 0.01, float("nan"), 0.1,
        0.0, 0.02, failures,
    )  # fmt: skip


CELLS = [
    cell(clusters=30, failures=BAD, alarms=9),
    cell(clusters=100),
    cell(clusters=300, dial=0.2),
    cell(clusters=1000),
    cell(clusters=60, rows=5, within=0.33),
    cell(clusters=10, rows=30, within=0.33, failures=BAD),
    cell(clusters=30, rows=10, failures=BAD),
    cell(labels=10, clusters=1000),
    cell(labels=200, clusters=1000, failures=BAD),
    cell(values="uint16"),
    cell(values="binary", failures=BAD),
    cell(unknown=0.2),
]
DONE = MetricValidation(
    SUBJECT,
    "ci",
    0,
    CELLS,
    [OverallCheck("order", True, "rises")],
    [Power(300, 0.11)],
    {"exponent": 1.1},
)


def test_the_range_is_where_all_lines_hold() -> None:
    within = find_validated_range(DONE)
    assert within["samples"] == [100, 1000] and within["least_clusters"] == 60
    assert within["most_labels"] == 10
    assert within["most_concepts"] is None, "never varied"
    varied = replace(DONE, cells=[*CELLS, cell(concepts=40), cell(concepts=112, failures=BAD)])
    assert find_validated_range(varied)["most_concepts"] == 40
    assert within["representations"] == ["float64", "uint16"]
    assert within["unknown"] and not within["copies"] and within["lines"]
    nowhere = replace(DONE, cells=[cell(clusters=300, failures=BAD)])
    assert find_validated_range(nowhere)["samples"] == [None, 300]
    assert find_validated_range(nowhere)["most_labels"] is None


def test_a_line_for_people() -> None:
    assert summarize_validation(DONE) == (
        "5 of 12 conditions fail; false alarms 1.4 % of 2.5 allowed; covers 95–95 %; "
        "sees 0.11 on the dial at N = 300; tried from 30 to 1,000 samples"
    )


def summaries(folder: Path, *records: dict[str, Any]) -> Path:
    """Write a file of summaries."""
    folder.mkdir(exist_ok=True)
    path = folder / "validation.json"
    path.write_text(summaries_text({r["metric"]: summarize_record(r) for r in records}))
    return path


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    content = build_validation_record(DONE, "2026-01-31")
    assert content["cells"][0]["bias"] is None, "undefined is null"
    assert content["cells"][0]["condition"] == {"clusters": 30}
    assert content["failures"][0] == "clusters 30: false alarms: 9 of 60, at most 6"
    assert content["truth"] == "exact" and content["date"] == "2026-01-31"
    write_validation_record(tmp_path / get_record_name(content), content)
    assert json.loads((tmp_path / get_record_name(content)).read_text()) == content
    name, version = SUBJECT.name, SUBJECT.metric.version
    path = summaries(tmp_path, content)
    read = get_validation(name, version, path)
    assert (
        read is not None
        and read.text == summarize_validation(DONE)
        and read.powers == ((300, 0.11),)
    )
    assert read.representations == ("float64", "uint16") and len(read.failures) == 5
    assert get_validation(name, version + 1, path) is None
    assert get_validation("../" + name, version, path) is None


@pytest.mark.parametrize(
    ("size", "says"),
    [
        ((99, None, None), "99 samples, validated from 100 on"),
        ((100, None, 10), ""),
        ((100_000, None, 2), ""),
        ((300, 300, 2), ""),
        ((300, 59, 2), "59 clusters, validated from 60 on"),
        ((300, 60, 11), "11 labels, validated up to 10"),
    ],
)
def test_evidence_may_be_outside(
    size: tuple[int, int | None, int | None], says: str, tmp_path: Path
) -> None:
    content = build_validation_record(DONE, "2026-01-31")
    read = get_validation(SUBJECT.name, SUBJECT.metric.version, summaries(tmp_path, content))
    assert read is not None and read.outside(*size) == says


def test_a_certificate_is_of_code() -> None:
    content = build_validation_record(DONE, "2026-01-31")
    assert find_stale_reasons(content) == []
    assert find_stale_reasons(content | {"digest": "of something else"}) == [
        "the code has changed since"
    ]
    digests = {compute_code_digest(name) for name in ("acceptance", "relevance_mass", "unit_iou")}
    assert len(digests) == 3


def test_a_release_needs_certificates_of_its_code(tmp_path: Path) -> None:
    deciding = [name for name, metric in catalogue().items() if metric.decides]
    assert len(list_unvalidated_metrics(summaries(tmp_path / "none"))) == len(deciding)
    subject = MetricSubject(deciding[0])
    content = build_validation_record(replace(DONE, subject=subject, cells=[]), "2026-01-31")
    assert len(list_unvalidated_metrics(summaries(tmp_path / "one", content))) == len(deciding) - 1
    other = summaries(tmp_path / "other", content | {"digest": "other"})
    assert f"{deciding[0]}: the code has changed since" in list_unvalidated_metrics(other)

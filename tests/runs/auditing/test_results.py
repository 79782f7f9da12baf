"""An audit as people use it: scores by name, tables, short forms, one file as a report."""

import builtins
import inspect
import os
import re
import sys
import tempfile
from dataclasses import FrozenInstanceError, asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import theodolite
from theodolite._planted.concepts import planted_concepts, planted_locations
from theodolite._planted.ratings import planted_ratings
from theodolite._runs.auditing.result import AuditResult
from theodolite._scoring.evaluate import Resampling
from theodolite._verdicts.lookup import find_score
from theodolite.errors import EvidenceError
from theodolite.evidence.store_writer import EvidenceWriter
from theodolite.metrics.catalogue import find_metric
from theodolite.results import Interval, Null, Score, Verdict

FEW = Resampling(resamples=20)
audit = inspect.unwrap(theodolite.audit)


@pytest.fixture(scope="module")
def result() -> AuditResult:
    return audit(planted_concepts(60, n_concepts=4, n_classes=3, alignment=0.7), FEW)


def knows(name: str) -> bool:
    try:
        return bool(find_metric(name))
    except EvidenceError:
        return False


def test_scores_by_name(result: AuditResult) -> None:
    score = result["concept_task_leakage"]
    assert score.metric == "concept_task_leakage" and float(score) == score.value
    assert "concept_task_leakage" in result and "surrogate_error" not in result
    assert 3 not in result and "banana" not in result
    assert list(result) == list(result.scores) and len(result) == len(result.scores)
    assert result["concept_existence"] is result.verdicts["exists"].score


@pytest.mark.skipif(not knows("CTL"), reason="the catalogue knows no papers' names yet")
@pytest.mark.parametrize("name", ["CTL", "ctl", "c-t_l"])
def test_scores_by_the_names_of_papers(result: AuditResult, name: str) -> None:
    assert result[name] is result["concept_task_leakage"]
    assert any(row["paper_name"] == "CTL" for row in result.to_records())


def test_scores_with_options(result: AuditResult) -> None:
    headline = result["concept_existence"]
    score = result["concept_existence", {"top": 1}]
    assert score.options == {**headline.options, "top": 1}, "the others are those to quote"
    assert result["concept_existence", {"top": 1, "rank_by": "contribution"}] is score
    with pytest.raises(KeyError) as missing:
        result["concept_existence", {"top": 9}]
    assert "top=1, " in str(missing.value) and "top=2, " in str(missing.value)


def test_options_that_fit_several_scores_list_the_choices(result: AuditResult) -> None:
    score = result["concept_existence"]
    scores = [
        replace(score, options={"top": 1, "order": "signed"}),
        replace(score, options={"top": 3, "order": "absolute"}),
        replace(score, options={"top": 3, "order": "reversed"}),
    ]
    assert find_score(scores, (), "concept_existence", scores[:1]) is scores[0]
    with pytest.raises(KeyError, match="several scores") as several:
        find_score(scores, (), ("concept_existence", {"top": 3}), scores[:1])
    assert "top=3, order=absolute; top=3, order=reversed" in str(several.value)


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("surrogate_error", "surrogate_error was not scored: it needs surrogate evidence"),
        ("concept_task_leakag", "concept_task_leakage"),
        ("exists", "result.verdicts['exists']"),
        ("concept_task_leakage_joint", "not asked for|not scored|catalogue"),
    ],
)
def test_what_is_not_there_is_explained(result: AuditResult, key: str, says: str) -> None:
    with pytest.raises(KeyError) as missing:
        result[key]
    assert re.search(re.escape(says) if "|" not in says else says, str(missing.value))


def test_verdicts_by_place_and_question(result: AuditResult) -> None:
    verdicts = result.verdicts
    assert isinstance(verdicts, tuple) and len(verdicts) == 5
    assert verdicts["exists"] is verdicts[0] and verdicts[:2] == tuple(verdicts)[:2]
    assert verdicts["located"].answer == "not_evaluated"
    with pytest.raises(KeyError, match="none of the questions exists, located"):
        verdicts["detects"]


def test_rows_of_scores_and_of_their_items(result: AuditResult) -> None:
    rows = result.to_records()
    assert [row["metric"] for row in rows] == [score.metric for score in result.scores]
    score = result["concept_existence"]
    row = rows[list(result).index(score)]
    assert (row["value"], row["low"], row["high"]) == (
        score.value, score.interval.low, score.interval.high,
    )  # fmt: skip
    assert (row["null"], row["null_value"]) == (score.null.name, score.null.value)
    assert row["option.top"] == score.options["top"] and row["n_undefined"] == score.n_undefined
    score = result["concept_task_leakage"]
    detail = [r for r in result.to_records("detail") if r["metric"] == "concept_task_leakage"]
    assert [r["name"] for r in detail] == list(score.detail.names)
    assert [r["value"] for r in detail] == pytest.approx(score.detail.values.tolist(), nan_ok=True)
    with pytest.raises(EvidenceError, match="'scores' or 'detail'"):
        inspect.unwrap(AuditResult.to_records)(result, "banana")


def test_frames(result: AuditResult) -> None:
    pytest.importorskip("pandas")
    frame = result.to_frame()
    assert len(frame) == len(result.scores)
    assert frame.columns[:13].tolist() == [
        "metric", "paper_name", "question", "value", "low", "high", "level", "null", "null_value",
        "best", "n", "n_undefined", "better",
    ]  # fmt: skip
    assert all(name.startswith("option.") for name in frame.columns[13:])
    assert len(result.to_frame("detail")) == len(result.to_records("detail"))


def test_without_pandas_the_rows_are_there(
    result: AuditResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    importing = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        if name.partition(".")[0] == "pandas":
            raise ImportError(name="pandas")
        return importing(name, *rest, **named)

    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(EvidenceError, match=r"theodolite\[notebook\]"):
        result.to_frame()
    assert len(result.to_records()) == len(result.scores)


def test_short_forms() -> None:
    names = {"values": np.random.default_rng(0).random((300, 12)),
             "truth": np.random.default_rng(1).random((300, 12)) < 0.5,
             "labels": np.arange(300) % 4}  # fmt: skip
    result = audit(**names, resampling=FEW)
    assert len(repr(result)) <= 400 and len(repr(result).splitlines()) <= 7
    assert re.match(r"AuditResult: \d+ scores, 300 samples\nexists     ", repr(result))
    assert str(result).startswith("Concept scores: 300 samples, 4 classes, 12 concepts\n")
    assert all(len(repr(score)) <= 160 and "\n" not in repr(score) for score in result.scores)
    assert all(len(repr(verdict)) <= 120 for verdict in result.verdicts)
    for score in result.scores:
        assert score.metric in repr(score) and f"{score.value:.3g}" in repr(score)
    with pytest.raises(FrozenInstanceError):
        result.scores[0].value = 1.0
    assert set(asdict(result.scores[0])) == {field.name for field in fields(Score)}


def test_short_forms_of_whatever_names() -> None:
    long = "a very long name \n\x1b[31m" * 20
    interval = Interval(float("nan"), 1e300, 0.95, "samples", "none", 0)
    score = Score("mine", 1, "exists", float("nan"), "higher", (0.0, 1.0), 1.0, 3, 3, long,
                  {"top": (1, 2), long: long}, (interval,), (Null(long, 0.5, None),))  # fmt: skip
    assert len(repr(score)) <= 160 and "\x1b" not in repr(score) and "undefined" in repr(score)
    verdict = Verdict("exists", long, "no", long, score)
    assert len(repr(verdict)) <= 120 and "\x1b" not in repr(verdict)
    six = audit(planted_concepts(30), FEW)
    six = replace(six, scores=tuple(replace(s, value=-1e9, bounds=(-1e12, 1e12)) for s in six))
    assert len(repr(six)) <= 400


def test_a_score_describes_itself(result: AuditResult) -> None:
    text = result["concept_task_leakage"].describe()
    metric = find_metric("concept_task_leakage")
    assert (
        metric.card.interpretation in text
        and metric.card.limitations in text
        and metric.title in text
    )


def test_agreement_is_a_score_like_any_other() -> None:
    alpha = audit(planted_ratings(30), FEW)["krippendorff_alpha"]
    assert "krippendorff_alpha" in repr(alpha) and "How to read it" in alpha.describe()


# one file


LINES = re.compile(r"<dt>(Started|Scoring took)</dt>|beside this file|which save\(folder\) writes")


def without_the_folder(page: str) -> list[str]:
    """The page but for what names its folder, and when and how long it was made."""
    before, _, rest = page.partition("<h3>How to check it</h3>")
    _, _, after = rest.partition('<details class="spec">')
    lines = [*before.splitlines(), *after.rpartition("<footer>")[0].splitlines()]
    return [line for line in lines if not LINES.search(line)]


def sources(kind: str, tmp_path: Path) -> Any:
    if kind == "located":
        return planted_locations(24, n_concepts=4)
    concepts = planted_concepts(40, n_concepts=4, n_classes=3)
    if kind == "pieces":
        with EvidenceWriter(tmp_path / "pieces", 50) as writer:
            writer.add(concepts)
        return tmp_path / "pieces"
    if kind == "run":
        audit(concepts, FEW).save(tmp_path / "first")
        return tmp_path / "first"
    return concepts


@pytest.mark.parametrize("kind", ["one", "located", "run"])
def test_the_page_alone_is_that_of_the_folder(kind: str, tmp_path: Path) -> None:
    result = audit(sources(kind, tmp_path), FEW)
    alone = result.report(tmp_path / "new" / "mine.html").read_text()
    folder = result.save(tmp_path / "run").read_text()
    assert without_the_folder(alone) == without_the_folder(folder)
    assert "This page was written alone" in alone and "theodolite verify ." not in alone
    assert "theodolite verify ." in folder


def test_the_page_alone_of_pieces_has_no_table_per_sample(tmp_path: Path) -> None:
    """Workers write that table, below a folder."""
    result = audit(sources("pieces", tmp_path), FEW)
    alone = result.report(tmp_path / "mine.html").read_text()
    folder = result.save(tmp_path / "run").read_text()
    assert "the others are in scores.json and per_sample.parquet." in folder
    assert "the others are in scores.json." in alone


def test_a_report_is_one_file_and_no_folder(
    result: AuditResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    made, mkdir = [], os.mkdir

    def listed(path: Any, *rest: Any, **named: Any) -> None:
        made.append(Path(path))
        mkdir(path, *rest, **named)

    monkeypatch.setattr(os, "mkdir", listed)
    result.report(tmp_path / "mine.html")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine.html", "temporary"]
    assert not list((tmp_path / "temporary").iterdir())
    assert not [path for path in made if tmp_path in path.parents]

"""Evaluation results for the Hub: the library reads back what we say."""

import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.evidence.two_questions import finished
from support.runs.command_line import theodolite
from theodolite._runs.finished import read_finished
from theodolite._runs.folder.seal import seal
from theodolite._storage.text import read_yaml
from theodolite._verdicts.scores_file import read_scores
from theodolite.bridges import hugging_face_card
from theodolite.bridges.hugging_face_card import (
    eval_result_entries,
    eval_results,
    with_eval_results,
)
from theodolite.errors import EvidenceError, VerificationFailed

hub = pytest.importorskip("huggingface_hub")
pytestmark = pytest.mark.filterwarnings("ignore:model-index:FutureWarning")

CARD = """---
license: mit
tags: [birds]
model-index:
- name: mine
  results:
  - task: {type: image-classification}
    dataset: {name: Birds, type: birds}
    metrics: [{type: accuracy, value: 0.9}]
---
# Mine

Text.
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = finished(tmp_path_factory.mktemp("hub") / "run")
    seal(made)
    return made


def test_the_scores_behind_the_verdicts(folder: Path) -> None:
    results = eval_results(folder, dataset=("me/birds", "Birds"), task_type="other")
    scores, _ = read_scores(folder / "scores.json")
    assert [one.metric_type for one in results] == ["concept_existence", "acceptance"]
    first = next(s for s in scores if s.metric == "concept_existence" and s.options["top"] == 5)
    assert results[0].metric_value == first.value
    arguments: dict[str, Any] = results[0].metric_args
    assert first.interval is not None
    assert first.null is not None
    assert arguments["interval"]["low"] == first.interval.low
    assert arguments["null"]["value"] == first.null.value
    assert (arguments["n"], arguments["n_undefined"]) == (16, 0)
    assert arguments["answer"] in ("yes", "partly", "no", "cannot tell")
    assert (results[0].dataset_type, results[0].task_type) == ("me/birds", "other")
    assert len(eval_results(folder, every=True)) == len(scores) == 3


def test_a_card_of_them_comes_back_from_the_library(folder: Path, tmp_path: Path) -> None:
    results = eval_results(folder, source_url="https://example.org/report")
    data = hub.ModelCardData(license="mit", model_name="mine", eval_results=results)
    card = hub.ModelCard(f"---\n{data.to_yaml()}\n---\n# Mine\n")
    card.save(tmp_path / "README.md")
    again = hub.ModelCard.load(tmp_path / "README.md")
    assert again.data.eval_results == results
    assert again.data.model_name == "mine"
    index = hub.metadata_load(tmp_path / "README.md")["model-index"]
    assert index[0]["results"][0]["source"]["name"] == "theodolite"
    for result in index[0]["results"]:
        assert result["task"]["type"]
        assert result["dataset"]["type"]
        assert result["dataset"]["name"]
        assert all(type(one["value"]) is float for one in result["metrics"])


def test_other_results_of_a_card_are_kept(folder: Path) -> None:
    card = hub.ModelCard(CARD)
    once = with_eval_results(card, folder)
    twice = with_eval_results(once, folder)
    types = [one.metric_type for one in twice.data.eval_results]
    assert types == ["accuracy", "concept_existence", "acceptance"]
    assert twice.data.model_name == "mine"
    assert twice.text == card.text
    assert len(card.data.eval_results) == 1  # the card that was given is as it was
    new = with_eval_results(hub.ModelCard("---\nlicense: mit\n---\n# Mine\n"), folder)
    assert new.data.model_name == "two"
    assert str(new).startswith("---\nlicense: mit\nmodel-index:\n- name: two\n")


def test_changed_numbers_are_not_quoted(folder: Path, tmp_path: Path) -> None:
    changed = Path(shutil.copytree(folder, tmp_path / "run"))
    scores = changed / "scores.json"
    scores.write_text(scores.read_text() + " ")
    for quote in (eval_results, lambda run: with_eval_results(hub.ModelCard(CARD), run)):
        with pytest.raises(VerificationFailed):
            quote(changed)


def test_what_is_not_finite_is_left_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = read_finished(folder)
    endless = [
        replace(one, value=float("inf"))
        if one.metric == "acceptance"
        else replace(one, nulls=(replace(one.nulls[0], value=float("-inf")),))
        for one in run.scores
    ]
    broken = replace(run, scores=tuple(endless))
    monkeypatch.setattr(hugging_face_card, "read_finished", lambda _: broken)
    results = eval_results(folder, every=True)
    assert {one.metric_type for one in results} == {"concept_existence"}
    assert not any("null" in one.metric_args for one in results)


def test_without_the_library(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(EvidenceError, match=r"pip install 'theodolite\[hub\]'"):
        eval_results(folder)


def test_model_index_is_on_its_way_out(folder: Path) -> None:
    with pytest.warns(FutureWarning, match="eval_results"):
        eval_results(folder)


def test_the_hub_reads_our_eval_results(folder: Path, tmp_path: Path) -> None:
    """Written by the command with the library's own functions, and read back by them."""
    options = ("--eval-results", "me/birds", "--source-url", "https://example.com/report.html")
    result = theodolite("export", folder, *options, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    rows = read_yaml(tmp_path / ".eval_results" / "theodolite.yaml")
    entries = hub.parse_eval_result_entries(rows)
    assert entries == eval_result_entries(
        folder, "me/birds", source_url="https://example.com/report.html"
    )
    assert [entry.task_id for entry in entries] == ["explanation_exists", "explanation_accepted"]
    verdicts = {v.question: v for v in read_finished(folder).verdicts}
    score = verdicts["exists"].score
    assert score is not None and entries[0].value == score.value
    assert "95 % interval" in entries[0].notes and "higher is better" in entries[0].notes
    assert score.null is not None and score.null.shown in entries[0].notes

"""A run told to W&B, without a network."""

import json
import shutil
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from support.runs.gated import partial_run, small_run
from theodolite._runs.finished_run import read_finished_run
from theodolite.bridges._logged import _name_scores, logged
from theodolite.bridges.wandb import log_run
from theodolite.errors import VerificationError


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_run(tmp_path_factory.mktemp("tracked") / "run")


def test_numbers_are_those_of_the_scores(run: Path) -> None:
    finished, about = read_finished_run(run), logged(run)
    (score,) = [
        s for s in finished.scores if s.metric == "concept_existence" and s.options["top"] == 3
    ]
    name = "concept_existence/top-3"
    assert about.numbers[name] == score.value
    assert about.numbers[f"{name}.low"] == score.interval.low
    assert about.numbers[f"{name}.high"] == score.interval.high
    assert about.numbers[f"{name}.null"] == score.null.value
    assert about.words["theodolite.located"] == "not_evaluated"
    answers = {f"theodolite.{v.question}": v.answer for v in finished.verdicts}
    assert {**about.words, **answers} == about.words
    assert [path.name for path in about.files] == ["report.html", "scores.json"]
    bare = {n for n in about.numbers if not n.endswith((".low", ".high", ".null"))}
    undefined = set(about.words.get("theodolite.undefined", "").split(", ")) - {""}
    assert len(bare | undefined) >= len(finished.scores)


def test_a_partial_run_is_called_so(run: Path, tmp_path: Path) -> None:
    assert "theodolite.partial" not in logged(run).words
    assert read_finished_run(run).failed_tasks == 0
    partial = partial_run(run, tmp_path / "run")
    assert read_finished_run(partial).failed_tasks == 3
    assert logged(partial).words["theodolite.partial"].startswith("3 tasks failed")


def test_names_stay_apart_and_are_plain(run: Path) -> None:
    (score, *_) = read_finished_run(run).scores
    awkward = [replace(score, options={"by": text}) for text in ("a b", "a\tb", "<é>", "x" * 400)]
    names = [name for name, _ in _name_scores(awkward)]
    assert len(set(names)) == 4
    assert all(n.isascii() and len(n) < 240 and not set(n) & set("<> \t") for n in names)


def test_a_changed_run_is_not_logged(run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "run")
    (tmp_path / "run" / "report.html").write_text("better")
    with pytest.raises(VerificationError):
        logged(tmp_path / "run")


def test_wandb_offline(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wandb = pytest.importorskip("wandb")
    for name in ("WANDB_CACHE_DIR", "WANDB_CONFIG_DIR", "WANDB_DATA_DIR", "WANDB_ARTIFACT_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")

    def refuse(*_: object) -> None:
        raise AssertionError("a name was looked up on the network")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    try:
        folder = log_run(run, project="birds", directory=tmp_path)
    finally:
        wandb.teardown()
    assert wandb.run is None
    (log,) = folder.glob("*.wandb")
    assert folder.name.startswith("offline-run-")
    content = log.read_bytes()
    assert b"concept_existence/top-3.low" in content and b"theodolite.exists" in content
    value = json.dumps(logged(run).numbers["concept_existence/top-3.null"]).encode()
    assert value in content

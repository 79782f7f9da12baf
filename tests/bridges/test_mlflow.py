"""A run told to MLflow, kept in files."""

from pathlib import Path

import pytest

from support.runs.gated import small_run
from support.runs.mlflow_checks import check_sink
from theodolite.bridges.mlflow import log_run
from theodolite.errors import EvidenceError


def test_without_mlflow_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "mlflow.entities", None)
    with pytest.raises(EvidenceError, match="track"):
        log_run("nowhere")


def test_mlflow_keeps_numbers_words_and_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs where MLflow is; `.ci/mlflow_sink.py` runs the same in an environment of its own."""
    pytest.importorskip("mlflow", reason="mlflow has an environment of its own")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    check_sink(small_run(tmp_path / "run"), tmp_path / "mlruns")

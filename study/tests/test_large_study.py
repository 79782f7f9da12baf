"""All ways of the benchmark of large studies, in short: its long form has a million votes."""

import json
from pathlib import Path

import large_study
import pytest

from theodolite_study.export import agreement


def test_a_study_that_is_made_of_rows(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agreement, "RESAMPLES", 20)
    monkeypatch.setattr(agreement, "MAX_TABLE_VOTES", 100)
    monkeypatch.setattr(
        large_study, "exported", lambda url, folder: _here(url, folder, monkeypatch)
    )
    figures = large_study.measured(database_url, tmp_path, 2000, 500, 5)
    assert figures["violations"] == []
    assert figures["export_problems"] == []
    assert figures["same_bytes"]
    assert len(figures["log_mb"]) >= 0 and set(large_study.LINES) <= set(figures)
    manifest = json.loads((tmp_path / "first" / "manifest.json").read_text())
    assert manifest["votes"]["counted"] == 2000
    agreed = json.loads((tmp_path / "first" / "agreement.json").read_text())
    assert "one by one" in agreed["questions"]["q1"]["scores"]["icc2"]["reason"]


def _here(url: str, folder: Path, patch: pytest.MonkeyPatch) -> dict[str, object]:
    patch.setenv("LARGE_STUDY", url)
    return large_study.export_here(folder)

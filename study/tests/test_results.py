"""The comparison that a study was planned for: by command, desk and export, the same numbers."""

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner

from support.study.folder_study import FolderStudy, study_folder
from theodolite_study.cli.app import app as study_app
from theodolite_study.results import compare_export, load_results, read_plan


def told(*words: object) -> str:
    """What a command prints; what it refuses is raised."""
    result = CliRunner().invoke(study_app, [str(word) for word in words])
    if result.exception is not None:
        raise result.exception
    return result.output


@pytest.fixture
def served(database_url: str, tmp_path: Path) -> Iterator[FolderStudy]:
    """A study of three explanations with votes of one of two people."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        study = FolderStudy(connection, study_folder(tmp_path / "s", instances=3, votes=2))
        study.taken_part("ann")
        yield study


def test_results_wait_for_the_last_vote(
    served: FolderStudy, database_url: str, tmp_path: Path
) -> None:
    where = (served.folder, "--database", database_url)
    assert "3 of 6 votes. Comparisons are shown when all votes are there." in told(
        "results", *where
    )
    looked = told("results", *where, "--interim")
    assert "Mean ratings" in looked and "looked at 1 times before the end" in looked
    told("export", *where, "--out", tmp_path / "early")
    early = json.loads((tmp_path / "early" / "results.json").read_text())
    assert early["comparison"] is None and early["looks_before_the_end"] == 1
    served.taken_part("bob")
    whole = told("results", *where)
    assert "Mean ratings" in whole and "6 of 6 votes" in whole and "looked at 1 times" in whole
    told("export", *where, "--out", tmp_path / "whole")
    assert told("results", tmp_path / "whole").splitlines()[:-1] == whole.splitlines()[:-1]
    shown = json.loads(told("results", *where, "--json"))
    stored = json.loads((tmp_path / "whole" / "results.json").read_text())
    assert shown == stored, "to the last digit"
    assert "ok" in told("verify", tmp_path / "whole")
    loaded = load_results(served.connection, served.study)
    manifest = json.loads((tmp_path / "whole" / "manifest.json").read_text())
    assert compare_export(tmp_path / "whole", list(manifest["questions"]), {}) == loaded.comparison


def test_plan_of_a_version() -> None:
    plan = read_plan(
        {"plan": {"primary": ["q2"], "compare": [["a", "b"]], "smallest": 0.5}}, ["q1"]
    )
    assert (plan.primary, plan.pairs, plan.smallest) == (("q2",), (("a", "b"),), 0.5)
    assert read_plan({}, ["q1", "q2"]).primary == ("q1",)

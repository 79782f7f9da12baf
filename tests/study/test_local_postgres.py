"""A PostgreSQL of a study's own: made, found again, mended when half made."""

import os
from pathlib import Path

import psycopg
import pytest

from theodolite.errors import EvidenceError
from theodolite.study.local_postgres import LocalPostgres, at_hand


def test_made_kept_and_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)  # PostgreSQL may run as another user
    monkeypatch.chdir(tmp_path)
    relative = Path("my-study")
    half = tmp_path / "my-study" / "postgres" / "data"
    half.mkdir(parents=True)
    with at_hand(relative, None) as url:
        with psycopg.connect(url) as connection:
            connection.execute("create table kept (n int)")
        with at_hand(relative, None) as same:  # it runs: nobody starts a second one
            assert same == url
    with at_hand(relative, None) as url, psycopg.connect(url) as connection:
        assert connection.execute("select count(*) from kept").fetchone() == (0,)
    assert not os.path.exists(tmp_path / "my-study" / "postgres" / "data" / "postmaster.pid")


def test_an_address_that_is_given_is_taken(tmp_path: Path) -> None:
    with at_hand(tmp_path, "postgresql://somewhere") as url:
        assert url == "postgresql://somewhere"
    assert list(tmp_path.iterdir()) == []


def test_why_it_does_not_start_is_said(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("")
    with pytest.raises(EvidenceError, match="whole log"):
        LocalPostgres(tmp_path, 1, "x").start(wait=20)

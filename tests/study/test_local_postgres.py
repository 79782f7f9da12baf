"""A PostgreSQL of a study's own: made, found again, mended when half made."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import psycopg
import pytest

from theodolite.errors import EvidenceError
from theodolite.study.local_postgres import LocalPostgres, at_hand


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that PostgreSQL reaches, which may run as another user."""
    folder = Path(mkdtemp(prefix="study-own-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_made_kept_and_mended(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    relative = Path("my-study")
    half = place / "my-study" / "postgres" / "data"
    half.mkdir(parents=True)
    with at_hand(relative, None) as url:
        with psycopg.connect(url) as connection:
            connection.execute("create table kept (n int)")
        with at_hand(relative, None) as same:  # it runs: nobody starts a second one
            assert same == url
    with at_hand(relative, None) as url, psycopg.connect(url) as connection:
        assert connection.execute("select count(*) from kept").fetchone() == (0,)
    assert not (half / "postmaster.pid").exists()


def test_an_address_that_is_given_is_taken(tmp_path: Path) -> None:
    with at_hand(tmp_path, "postgresql://somewhere") as url:
        assert url == "postgresql://somewhere"
    assert list(tmp_path.iterdir()) == []


def test_why_it_does_not_start_is_said(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("")
    with pytest.raises(EvidenceError, match="whole log"):
        LocalPostgres(tmp_path, 1, "x").start(wait=20)

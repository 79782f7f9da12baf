"""A PostgreSQL of a study's own: made, found again, mended when half made."""

import importlib.util
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import psycopg
import pytest

from theodolite.errors import EvidenceError
from theodolite_study import local_postgres
from theodolite_study.local_postgres import LocalPostgres, find_binaries, provide_database


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
    with provide_database(relative, None) as url:
        with psycopg.connect(url) as connection:
            connection.execute("create table kept (n int)")
        with provide_database(relative, None) as same:  # it runs: nobody starts a second one
            assert same == url
    with provide_database(relative, None) as url, psycopg.connect(url) as connection:
        assert connection.execute("select count(*) from kept").fetchone() == (0,)
    assert not (half / "postmaster.pid").exists()


def test_an_address_that_is_given_is_taken(tmp_path: Path) -> None:
    with provide_database(tmp_path, "postgresql://somewhere") as url:
        assert url == "postgresql://somewhere"
    assert list(tmp_path.iterdir()) == []


def test_why_it_does_not_start_is_said(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("")
    with pytest.raises(EvidenceError, match="whole log"):
        LocalPostgres(tmp_path, 1, "x").start(wait=20)


@pytest.fixture
def wheel_alone(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with no PostgreSQL but that of the wheel, where its user reaches it."""
    spec = importlib.util.find_spec(local_postgres.WHEEL)
    if spec is None:
        pytest.skip("no PostgreSQL in a wheel here: pip install 'theodolite-study[demo]'")
    (package,) = map(Path, spec.submodule_search_locations)
    for folder in (package, package.with_name(f"{package.name}.libs")):
        shutil.copytree(folder, place / folder.name, symlinks=True)
    monkeypatch.setattr(sys, "path", [str(place), *sys.path])
    monkeypatch.setattr(local_postgres, "_list_machine_installations", list)
    return place


def test_the_wheel_has_one(wheel_alone: Path) -> None:
    study = wheel_alone / "study"
    with provide_database(study, None) as url, psycopg.connect(url) as connection:
        (version,) = connection.execute("show server_version_num").fetchone()
        assert int(version) >= 150000
        connection.execute("create table kept (n int)")
    programs = find_binaries(study / "postgres" / "data")
    assert programs.is_relative_to(wheel_alone)
    assert find_binaries() == programs
    with provide_database(study, None) as url, psycopg.connect(url) as connection:
        assert connection.execute("select count(*) from kept").fetchone() == (0,)


def test_no_other_version_opens_a_cluster(tmp_path: Path) -> None:
    (tmp_path / "PG_VERSION").write_text("7\n")
    with pytest.raises(EvidenceError, match="version 7"):
        find_binaries(tmp_path)

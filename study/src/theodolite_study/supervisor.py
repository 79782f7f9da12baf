"""Run all parts of a study from one command: PostgreSQL, participants' pages, desk, jobs.

The supervisor binds every port before anything starts and hands the sockets on, so that a port that
is taken fails in the first second, and connections wait while a part restarts. Each part is a
process with a database login of its own. A part that ends is started again, with growing pauses.
Used by `study serve` and `study demo`; `serve --only` runs one part under another supervisor.
"""

import fcntl
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from theodolite.errors import EvidenceError
from theodolite_study.local_postgres import LocalPostgres
from theodolite_study.serve.settings import PARENT_VARIABLE, Settings

LOCK, STATE, LOG = "serve.lock", "serve.json", "serve.log"
SOCKET_VARIABLE = "THEODOLITE_STUDY_SOCKET"
WORKERS_VARIABLE = "THEODOLITE_STUDY_WORKERS"
LOGINS = {
    "pages": ("theodolite_server", "theodolite_serve"),
    "desk": ("theodolite_desk_server", "theodolite_desk"),
    "jobs": ("theodolite_jobs_server", "theodolite_jobs"),
}
"""Login of each part, and the role that says what it may do."""
STOP_SECONDS = {"pages": 12.0, "desk": 7.0, "jobs": 20.0}
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
STEADY_SECONDS = 60.0
"""A part that ran for so long starts again with the first pause."""
MAX_DEATHS = 5
CHECK_SECONDS, CHECK_TIMEOUT, MAX_MISSES = 5.0, 2.0, 3
START_SECONDS = 40.0
"""Seconds in which a part that starts need not answer."""
CHILD = "from theodolite_study.cli.part import run_part; run_part({!r})"


@dataclass
class Part:
    """One process of a study, started again when it ends."""

    name: str
    environment: dict[str, str] = field(repr=False)
    log: Path
    """File for what the process writes, so that the terminal shows what matters."""
    bound: socket.socket | None = None
    host: str = ""
    """Value of the header Host that its health check sends."""
    restarts: int = 0
    cause: str = ""
    """Last line that the process wrote before it ended."""
    state: str = "starting"
    process: "subprocess.Popen[str] | None" = None
    _deaths: deque[float] = field(default_factory=lambda: deque(maxlen=MAX_DEATHS))
    _begun: float = 0.0
    _next: float = 0.0
    _pause: float = FIRST_PAUSE
    _misses: int = 0
    _reader: threading.Thread | None = None
    _checked: float = 0.0

    def start(self) -> None:
        """Start the process. Its signals are the supervisor's alone, not the terminal's."""
        handed = [] if self.bound is None else [self.bound.fileno()]
        variables = {SOCKET_VARIABLE: str(handed[0])} if handed else {}
        self.process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", CHILD.format(self.name)], stderr=subprocess.PIPE, text=True,
            stdin=subprocess.DEVNULL, pass_fds=handed, start_new_session=True, errors="replace",
            env=os.environ | self.environment | variables | {PARENT_VARIABLE: str(os.getpid())},
        )  # fmt: skip
        self._reader = threading.Thread(target=self._forward, args=(self.process,), daemon=True)
        self._reader.start()
        self._begun, self._misses, self._checked = time.monotonic(), 0, time.monotonic()
        self.state = "running"

    def _forward(self, process: "subprocess.Popen[str]") -> None:
        assert process.stderr is not None  # noqa: S101
        with process.stderr, self.log.open("a", buffering=1) as log:
            for line in process.stderr:
                log.write(line)
                self.cause = line.strip()[-300:] or self.cause

    def watch(self) -> None:
        """Start the process again if it ended, or end it if it no longer answers."""
        now = time.monotonic()
        if self.process is None:
            if now >= self._next:
                self.start()
            return
        if self.process.poll() is not None:
            self._note_death(now)
        elif self.bound is not None and now - self._checked > CHECK_SECONDS:
            self._checked = now
            answers = self._answers() or now - self._begun < START_SECONDS
            self._misses = 0 if answers else self._misses + 1
            if self._misses >= MAX_MISSES:
                self.cause = f"no answer to {MAX_MISSES} health checks"
                self.end(10.0)

    def _note_death(self, now: float) -> None:
        assert self.process is not None  # noqa: S101
        if self._reader is not None:
            self._reader.join(1.0)  # its last line says why
        self.cause = self.cause or f"exit {self.process.returncode}"
        self._deaths.append(now)
        self._pause = (
            FIRST_PAUSE
            if now - self._begun > STEADY_SECONDS
            else min(self._pause * 2, LONGEST_PAUSE)
            if self.restarts
            else FIRST_PAUSE
        )
        self.restarts += 1
        self.process, self._next = None, now + self._pause
        often = len(self._deaths) == MAX_DEATHS and now - self._deaths[0] < STEADY_SECONDS
        self.state = "failing" if often else "restarting"

    def _answers(self) -> bool:
        assert self.bound is not None  # noqa: S101
        address, port = self.bound.getsockname()[:2]
        host = "127.0.0.1" if address in ("0.0.0.0", "::") else address  # noqa: S104
        connection = HTTPConnection(host, port, timeout=CHECK_TIMEOUT)
        try:
            connection.request("GET", "/healthz", headers={"Host": self.host})
            return connection.getresponse().status == 200
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()

    def end(self, seconds: float) -> None:
        """Ask the process to end, and kill it after so many seconds."""
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@dataclass
class Supervisor:
    """Runs the parts of a study until told to stop."""

    folder: Path
    parts: Sequence[Part]
    cluster: LocalPostgres | None = None
    tick: float = 0.2
    _stops: int = 0
    _state: dict[str, Any] = field(default_factory=dict)

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Start all parts, call ``ready``, and watch them until a signal comes."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)
        try:
            for part in self.parts:
                part.start()
            ready()
            while not self._stops:
                for part in self.parts:
                    part.watch()
                self._mend_database()
                self._write_state()
                time.sleep(self.tick)
        finally:
            for part in self.parts:
                part.end(0.0 if self._stops > 1 else STOP_SECONDS.get(part.name, 10.0))
                part.state = "stopped"
            self._write_state()

    def _stop(self, *_: object) -> None:
        """Stop; a second signal does not wait."""
        self._stops += 1
        if self._stops > 1:
            for part in self.parts:
                if part.process is not None:
                    part.process.kill()

    def _mend_database(self) -> None:
        """Start the local PostgreSQL again, on its port, if it ended."""
        if self.cluster is None or self.cluster.is_running():
            return
        with suppress(EvidenceError):  # it is tried again
            self.cluster.start()
            sys.stderr.write("database: started again\n")

    def _write_state(self) -> None:
        """Store the state of each part where `study status` and the desk read it."""
        state = {
            part.name: {"state": part.state, "restarts": part.restarts,
                        "cause": part.cause if part.restarts else ""}
            for part in self.parts
        }  # fmt: skip
        if state == self._state:
            return
        for name, now in state.items():
            before = self._state.get(name, {}).get("state")
            if now["state"] == "failing" != before:
                sys.stderr.write(f"{name}: failing. {now['cause']}\n")
        self._state = state
        write_state(self.folder, state)


def write_state(folder: Path, state: dict[str, Any]) -> None:
    """Write the state of all parts, all or nothing."""
    temporary = folder / f".{STATE}-{secrets.token_hex(6)}"
    temporary.write_text(json.dumps(state))
    os.replace(temporary, folder / STATE)


def read_state(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the state of each part; "stopped" for all if nothing serves this folder."""
    try:
        state: dict[str, dict[str, Any]] = json.loads((folder / STATE).read_text())
    except (OSError, ValueError):
        return {}
    with (folder / LOCK).open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return state
    return {name: {**part, "state": "stopped"} for name, part in state.items()}


@contextmanager
def hold_folder(folder: Path, address: str) -> Iterator[None]:
    """Refuse a folder that another `study serve` serves, and hold it."""
    with (folder / LOCK).open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.seek(0)
            raise EvidenceError(
                f"`{folder}` is served already: {lock.read().strip()}",
                hint="Stop that command first, or use the address.",
            ) from error
        lock.truncate(0)
        lock.write(f"process {os.getpid()}, {address}\n")
        lock.flush()
        yield


def bind_port(host: str, port: int, option: str) -> socket.socket:
    """Return a listening socket, or say which port is taken."""
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise EvidenceError(
            f"port {port}", "one that something else listens on", "a free one",
            f"Try {option} {port + 2}.",
        ) from error  # fmt: skip
    bound.listen(2048)
    return bound


def make_local_logins(cluster: LocalPostgres) -> dict[str, str]:
    """Give each part a login of the local cluster with a new password; return the addresses."""
    addresses = {}
    with psycopg.connect(cluster.url, autocommit=True) as connection:
        for part, (login, role) in LOGINS.items():
            password, name = secrets.token_urlsafe(24), sql.Identifier(login)
            known = connection.execute("select from pg_roles where rolname = %s", (login,))
            if known.fetchone() is None:
                connection.execute(sql.SQL("create role {} login").format(name))
            change = sql.SQL("alter role {} password {}").format(name, sql.Literal(password))
            connection.execute(change)
            connection.execute(sql.SQL("grant {} to {}").format(sql.Identifier(role), name))
            addresses[part] = cluster.database("theodolite", login, password)
    return addresses


def make_part(name: str, settings: Settings, bound: socket.socket | None, workers: int = 1) -> Part:
    """Return a part that runs with these settings and no others."""
    variables = settings.environment() | {WORKERS_VARIABLE: str(workers)}
    return Part(name, variables, settings.folder / LOG, bound, settings.host)

"""Ends processes of a study by SIGKILL, and replaces them while people work."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psycopg

from theodolite_study.local_postgres import LocalPostgres

JOB = """
import sys, threading
from pathlib import Path
from theodolite_study.keys import Keys
from theodolite_study.money.background_job import Job, JobTimes, run_with_restarts
from theodolite_study.money.payer import PayTimes
from theodolite_study.money.prolific import Prolific
url, folder, host = sys.argv[1:]
times = JobTimes(round=0.1, reconcile=2.0, pay=PayTimes(look=0.3, grace=10.0))
keys = Keys.read(Path(folder))
run_with_restarts(url, threading.Event(), lambda connection: Job(
    connection, keys, times, client_of=lambda link: Prolific(link.token, host)), pause=0.3)
"""
FUNCTIONS = r"""
    select pg_get_functiondef(oid) from pg_proc where pronamespace = 'public'::regnamespace
       and proname like 'st\_%'"""
MOST_TRIES = 100


class JobProcess:
    """The job that pays, started again whenever it was killed."""

    def __init__(self, url: str, folder: Path, host: str) -> None:
        self._command = [sys.executable, "-c", JOB, url, str(folder), host]
        self._process = subprocess.Popen(self._command, stderr=subprocess.DEVNULL)

    def __enter__(self) -> "JobProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def kill(self) -> None:
        """And another one begins."""
        assert self._process.poll() is None, "the job had ended by itself"
        self._process.kill()
        self._process.wait()
        self._process = subprocess.Popen(self._command, stderr=subprocess.DEVNULL)


def children(pid: int) -> list[int]:
    """Worker processes of a server, without the one that keeps track of shared things."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if int(stat[1]) == pid and stat[0] != "Z" and b"resource_tracker" not in command:
            found.append(int(entry.name))
    return found


def alive(pid: int) -> bool:
    """Whether a process is there and not merely waiting to be counted."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def kill_one(pids: list[int], chance: random.Random) -> bool:
    """SIGKILL to one of them."""
    if not pids:
        return False
    try:
        os.kill(chance.choice(pids), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def kill_database(cluster: LocalPostgres) -> None:
    """SIGKILL to all of its processes at once, as a power cut would."""
    first = int((cluster.folder / "data" / "postmaster.pid").read_text().split()[0])
    pids = [first, *children(first)]
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    while any(alive(pid) for pid in pids):
        time.sleep(0.01)


def upgrade(cluster: LocalPostgres, server: int, number: int) -> None:
    """Expand the tables, replace all steps, then each worker by a new one, while people work."""
    before = set(children(server))
    for _ in range(MOST_TRIES):
        try:
            # each statement by itself: whoever held several tables could lock out steps for good
            with psycopg.connect(cluster.url, autocommit=True) as connection:
                connection.execute("set lock_timeout = '1s'")
                for table in ("vote", "assignment", "participant"):
                    connection.execute(
                        f"alter table {table} add column if not exists further_{number} text"
                    )
                for (definition,) in connection.execute(FUNCTIONS).fetchall():
                    connection.execute(definition)
            break
        except psycopg.errors.LockNotAvailable:
            time.sleep(0.2)
    else:
        raise TimeoutError("no moment for an upgrade")
    os.kill(server, signal.SIGHUP)
    until = time.monotonic() + 240
    while before & set(children(server)):
        if time.monotonic() > until:
            raise TimeoutError("workers were not replaced")
        time.sleep(0.2)

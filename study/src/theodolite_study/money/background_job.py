"""Run the background job of a server: events, payments, reconciliation, lapsed participants.

One process works; others wait for its lock. Started by `study serve`.
"""

import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import psycopg

from theodolite_study.keys import Keys
from theodolite_study.money.payer import Payer, PayTimes
from theodolite_study.money.platform_link import Connection, PlatformLink, load_linked_studies
from theodolite_study.money.prolific import PlatformError, Prolific, UnclearResponseError
from theodolite_study.money.reconcile import reconcile
from theodolite_study.money.webhook_events import apply_events

LOG = logging.getLogger(__name__)
LOCK = 7203025
MAX_LAPSED_PER_ROUND = 200
"""Maximum number of lapsed participants that one round handles."""


@dataclass(frozen=True)
class JobTimes:
    """Seconds between rounds of each kind of work."""

    round: float = 5.0
    reconcile: float = 300.0
    housekeeping: float = 3600.0
    pay: PayTimes = field(default_factory=PayTimes)


def do_nothing(name: str) -> None:
    """Do nothing between steps; the default of `Job.point`."""


@contextmanager
def hold_job_lock(url: str) -> Iterator[Connection]:
    """Yield a connection that holds the lock of the job, and wait for it.

    When this process ends, its connection and the lock end too, and so does all it could still do.
    """
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("set lock_timeout = 0")
        connection.execute("select pg_advisory_lock(%s)", (LOCK,))
        yield connection


@dataclass
class Job:
    """Background job that works in rounds on the connection that holds the lock."""

    connection: Connection
    keys: Keys
    times: JobTimes = field(default_factory=JobTimes)
    client_of: Callable[[PlatformLink], Prolific] = field(default=lambda link: Prolific(link.token))
    point: Callable[[str], None] = do_nothing
    clock: Callable[[], float] = time.monotonic
    tasks: Sequence[Callable[[Connection], None]] = ()
    """Further tasks of each round; each knows when it is due."""

    def __post_init__(self) -> None:
        self._next: dict[str, float] = {}
        self.problems: list[str] = []
        """What a platform did not do in the last round, in words without ids."""

    def round(self) -> int:
        """Do everything that is due once, and return the number of payouts handled."""
        self.problems = []
        apply_events(self.connection)
        self.point("events applied")
        for _ in range(MAX_LAPSED_PER_ROUND):
            if not self._one("select job_expire()"):
                break
        self.point("lapsed")
        taken = sum(self._study(link) for link in load_linked_studies(self.connection, self.keys))
        if self._due("housekeeping", self.times.housekeeping):
            self._one("select job_forget()")
            self._one("select job_months()")
        for task in self.tasks:
            task(self.connection)
        return taken

    def run(self, ended: threading.Event) -> None:
        """Work until told to end; the current round is finished first."""
        while not ended.is_set():
            self.round()
            for problem in self.problems:
                LOG.warning("%s", problem)
            ended.wait(self.times.round)

    def _study(self, link: PlatformLink) -> int:
        """Pay one study. A platform that is unavailable does not delay other studies."""
        taken = 0
        try:
            client = self.client_of(link)
            payer = Payer(self.connection, self.keys, link, client, self.times.pay, self.point)
            taken = payer.run()
            if self._due(f"reconcile {link.study}", self.times.reconcile):
                reconcile(self.connection, self.keys, link, client)
                self.point("reconciled")
                self._pause_if_full(link, client)
        except (UnclearResponseError, PlatformError) as error:
            self.problems.append(f"{link.slug}: {error}")
        return taken

    def _pause_if_full(self, link: PlatformLink, client: Prolific) -> None:
        """Pause the platform's study while ours would turn new people away."""
        full = self._one(
            "select bool_and(d.available < v.least_items) from version v"
            " join door d on d.version_id = v.id"
            " where v.study_id = %s and v.state in ('pilot', 'open')", link.study,
        )  # fmt: skip
        paused = self._one(
            "select paused_at is not null from platform_link where study_id = %s", link.study
        )
        if full and not paused and client.study(link.external_id).status == "ACTIVE":
            client.pause_study(link.external_id)
            self.point("study paused")
        if bool(full) != bool(paused):
            self.connection.execute(
                "update platform_link set paused_at = case when %s then clock_timestamp() end"
                " where study_id = %s", (bool(full), link.study),
            )  # fmt: skip

    def _due(self, what: str, seconds: float) -> bool:
        now = self.clock()
        if now < self._next.get(what, 0.0):
            return False
        self._next[what] = now + seconds
        return True

    def _one(self, query: str, *values: object) -> object:
        row = self.connection.execute(query, values).fetchone()
        return None if row is None else row[0]


def run_jobs(url: str, keys: Keys, tasks: Sequence[Callable[[Connection], None]] = ()) -> None:
    """Run the job until SIGTERM or SIGINT; the current round is finished first."""
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    run_with_restarts(url, ended, lambda connection: Job(connection, keys, tasks=tasks))


def run_with_restarts(
    url: str, ended: threading.Event, job_of: Callable[[Connection], Job], pause: float = 5.0
) -> None:
    """Run the job, and start a new one after the database was unavailable."""
    while not ended.is_set():
        try:
            with hold_job_lock(url) as connection:
                job_of(connection).run(ended)
        except psycopg.OperationalError as error:
            LOG.warning("database: %s", type(error).__name__)
            ended.wait(pause)

"""Steps of several people at once, one statement of a function at a time: races played on purpose.

Each statement of the step functions is followed by a gate, which lets a session of a race through
only when it is told to. Statements see what was committed when they began, so that a session that
stands at a gate is one that the machine happened to leave there.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from time import monotonic, sleep
from typing import Any, TypeAlias

import psycopg

from theodolite_study.store import FOLDER, read_sql

Connection: TypeAlias = psycopg.Connection[Any]
Act = Callable[[Connection], Any]
END = 10**6
"""More gates than there are."""
MOST_PEOPLE = 3
LONGEST = 30.0
POLL = 0.001
STEP_FILES = (*sorted(path.name for path in FOLDER.glob("step*.sql")), "money.sql",
              "table_triggers.sql", "desk.sql")  # fmt: skip
FUNCTION = re.compile(r"^create function (\w+)\(.*?\n?(?:end )?\$\$;\n", re.S | re.M)
STATEMENT = re.compile(r";([ \t]*--[^\n]*)?\n")
GATE = """
create sequence gate_at_{n}; create sequence gate_to_{n};
"""
GATE_FUNCTION = """
create function st_gate() returns boolean language plpgsql security definer
set search_path = public, pg_temp as $$
declare
    who text := coalesce(current_setting('gate.who', true), ''); n bigint;
begin
    if who = '' then return true; end if;
    n := nextval('gate_at_' || who);
    while coalesce(pg_sequence_last_value(('gate_to_' || who)::regclass), 0) < n loop
        perform pg_sleep(0.0005);
    end loop;
    return true;
end $$;
"""


def step_functions() -> dict[str, str]:
    """The text of each function of the steps, by its name."""
    found: dict[str, str] = {}
    for name in STEP_FILES:
        for match in FUNCTION.finditer(read_sql(name)):
            found[match[1]] = match[0].replace("create function", "create or replace function", 1)
    return found


def gated(function: str) -> str:
    """With a gate after each statement, if it changes anything and has statements."""
    head, begins, body = function.partition("\nbegin\n")
    if not begins or " stable" in head or "returns trigger" in head:
        return function
    inside, end, rest = body.rpartition("end $$;")
    return head + begins + STATEMENT.sub(r"; assert st_gate();\1\n", inside) + end + rest


class Gates:
    """Lets sessions through their gates; sees who waits for a lock."""

    def __init__(self, url: str) -> None:
        self._watch = psycopg.connect(url, autocommit=True)
        self._sessions = [self._session(url, number) for number in range(MOST_PEOPLE)]
        self._threads = ThreadPoolExecutor(MOST_PEOPLE)
        self.waited: set[int] = set()
        """Who had to wait for a lock of another."""
        self.steps: list[int] = []
        """How many gates each went through."""

    @staticmethod
    def _session(url: str, number: int) -> Connection:
        session = psycopg.connect(url, autocommit=True)
        session.execute(f"set gate.who = '{number}'; set deadlock_timeout = '50ms'")
        return session

    def close(self) -> None:
        """All sessions end."""
        self._threads.shutdown()
        for session in (*self._sessions, self._watch):
            session.close()

    def run(self, acts: Sequence[Act], first: int, mine: int, others: int) -> list[Any]:
        """`first` goes through so many gates, the others through `others` of theirs; then all end.

        Returns:
            What each of them got: a result or an exception.
        """
        order = [first, *(n for n in range(len(acts)) if n != first)]
        self.waited = set()
        for n in order:
            self._watch.execute(
                f"select setval('gate_at_{n}', 1, false), setval('gate_to_{n}', 1, false)"
            )
        running: dict[int, Future[Any]] = {}
        for n in order:
            self._let(n, mine if n == first else others)
            running[n] = self._threads.submit(self._act, acts[n], self._sessions[n])
            self._settle(running, mine if n == first else others, n)
        for n in order:
            self._let(n, END)
            self._settle(running, END, n)
        seen = [running[n].result(LONGEST) for n in range(len(acts))]
        self.steps = [self._at(n) for n in range(len(acts))]
        return seen

    @staticmethod
    def _act(act: Act, session: Connection) -> Any:
        try:
            return act(session)
        except BaseException as error:  # noqa: BLE001  told to the test
            return error

    def _let(self, who: int, to: int) -> None:
        if to:
            self._watch.execute(f"select setval('gate_to_{who}', {to})")

    def _at(self, who: int) -> int:
        query = f"select coalesce(pg_sequence_last_value('gate_at_{who}'), 0)"
        return int(self._watch.execute(query).fetchone()[0])  # type: ignore[index]

    def _settle(self, running: dict[int, Future[Any]], to: int, who: int) -> None:
        """Until somebody stands at a gate, has ended, or waits for a lock."""
        until = monotonic() + LONGEST
        query = (
            f"select coalesce(pg_sequence_last_value('gate_at_{who}'), 0),"
            f" cardinality(pg_blocking_pids({self._sessions[who].info.backend_pid})) > 0"
        )
        while not running[who].done():
            at, blocked = self._watch.execute(query).fetchone()  # type: ignore[misc]
            if blocked:
                self.waited.add(who)
            if at > to or blocked:
                return
            assert monotonic() < until, "a race that stands still"
            sleep(POLL)


@contextmanager
def gates(url: str) -> Iterator[Gates]:
    """Gates in all functions of a database's steps."""
    with psycopg.connect(url, autocommit=True) as connection:
        for n in range(MOST_PEOPLE):
            connection.execute(GATE.format(n=n))
        connection.execute(GATE_FUNCTION)
        for function in step_functions().values():
            connection.execute(gated(function))
    made = Gates(url)
    try:
        yield made
    finally:
        made.close()

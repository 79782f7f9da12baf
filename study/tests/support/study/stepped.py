"""Several people at once, one SQL statement at a time: races played on purpose."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from sqlalchemy import event

from theodolite_study.database import Database

Act = Callable[[], Any]
Choose = Callable[[list[int]], int]
AT_GATE, GO, RUNNING, DONE = "at gate", "go", "running", "done"
POLL = 0.002
LONGEST = 30.0


def preferring(first: int, steps: int, then: int) -> Choose:
    """`first` makes so many steps, the others make `then`, `first` ends, the others end."""
    made = {"first": 0, "then": 0}

    def choose(ready: list[int]) -> int:
        others = [n for n in ready if n != first]
        mine = first in ready
        if made["first"] < steps and mine:
            made["first"] += 1
            return first
        if made["first"] >= steps and made["then"] < then and others:
            made["then"] += 1
            return others[0]
        return first if mine else others[0]

    return choose


class Stepped:
    """Lets exactly one thread run one statement; sees who waits for a lock."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._local = threading.local()
        self._changed = threading.Condition()
        self._state: dict[int, str] = {}
        self._pid: dict[int, int] = {}
        self._outcome: dict[int, Any] = {}
        self.steps: dict[int, int] = {}
        self.waited: set[int] = set()
        """Who had to wait for a lock."""
        self._watch = psycopg.connect(database.url, autocommit=True)
        for name in ("before_cursor_execute", "commit"):
            event.listen(database.engine, name, self._gate)

    def close(self) -> None:
        """The engine is as it was."""
        for name in ("before_cursor_execute", "commit"):
            event.remove(self._database.engine, name, self._gate)
        self._watch.close()

    def run(self, acts: Sequence[Act], choose: Choose) -> list[Any]:
        """What each of them got: a result or an exception."""
        self._state = dict.fromkeys(range(len(acts)), RUNNING)
        self._pid, self._outcome, self.steps = {}, {}, dict.fromkeys(self._state, 0)
        self.waited = set()
        threads = [
            threading.Thread(target=self._live, args=(n, act), daemon=True)
            for n, act in enumerate(acts)
        ]
        for thread in threads:
            thread.start()
        self._settle()
        while ready := self._who(AT_GATE):
            chosen = choose(ready)
            self.steps[chosen] += 1
            with self._changed:
                self._state[chosen] = GO
                self._changed.notify_all()
            self._settle()
            self._wait_if_all_wait()
        for thread in threads:
            thread.join(LONGEST)
            assert not thread.is_alive()
        return [self._outcome[n] for n in range(len(acts))]

    def _who(self, *states: str) -> list[int]:
        return [n for n, state in self._state.items() if state in states]

    def _live(self, number: int, act: Act) -> None:
        self._local.number = number
        try:
            self._outcome[number] = act()
        except BaseException as error:  # noqa: BLE001  told to the test
            self._outcome[number] = error
        with self._changed:
            self._state[number] = DONE
            self._changed.notify_all()

    def _gate(self, connection: Any, *_: Any) -> None:
        number = getattr(self._local, "number", None)
        if number is None:
            return
        with self._changed:
            self._pid[number] = connection.connection.dbapi_connection.info.backend_pid
            self._state[number] = AT_GATE
            self._changed.notify_all()
            assert self._changed.wait_for(lambda: self._state[number] == GO, LONGEST)
            self._state[number] = RUNNING

    def _settle(self) -> None:
        """Until everybody stands at a gate, has ended, or waits for a lock of somebody who does."""
        while True:
            with self._changed:
                if self._changed.wait_for(lambda: not self._who(GO, RUNNING), POLL):
                    return
                moving = self._who(GO, RUNNING)
            if all(n in self._pid and self._blocked(self._pid[n]) for n in moving):
                self.waited |= set(moving)
                return

    def _wait_if_all_wait(self) -> None:
        """A deadlock: the database ends it, and one of them gets the error."""
        with self._changed:
            while not self._who(AT_GATE) and self._who(GO, RUNNING):
                assert self._changed.wait(LONGEST)
        self._settle()

    def _blocked(self, pid: int) -> bool:
        row = self._watch.execute("select cardinality(pg_blocking_pids(%s)) > 0", (pid,)).fetchone()
        return bool(row and row[0])


@contextmanager
def stepped(database: Database) -> Iterator[Stepped]:
    """A scheduler for one database."""
    made = Stepped(database)
    try:
        yield made
    finally:
        made.close()

"""Fill a study with people who abandon, fall silent and return, in several threads at once.

    python study/benchmarks/inactive_people.py [runs] [explanations] [threads]

Every seat must be filled exactly once, nothing may deadlock, and the door must say at every look
what a recount of seats and promises says. A quarter of all arrivals abandon after Begin; of those
who agree a quarter fall silent with an item open, and a quarter pause for longer than the patience.
"""

import sys
import threading
import time
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import Any

import psycopg

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.study.stepped_study import SteppedStudy, Walker, template_database
from theodolite_study.local_postgres import create_cluster, create_database, open_cluster

PATIENCE = 0.3
VOTES = 5
DOOR = (
    "select d.available, st_available(d.version_id) from door d"
    " join version v on v.id = d.version_id where v.study_id = %s"
)
OVER = (
    "select count(*) from (select instance_id from vote where counted"
    " group by 1 having count(*) > %s) every"
)


@dataclass
class Run:
    """One study, and what happened in it."""

    url: str
    explanations: int
    threads: int
    seed: int
    seconds: float = 120.0
    faults: list[str] = field(default_factory=list)
    freed: int = 0
    surplus: int = 0

    def play(self) -> "Run":
        """Let people come until every seat is filled."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            self.study = SteppedStudy(
                connection, instances=self.explanations, votes=VOTES, quota=8, places=100_000,
                lease=PATIENCE / 3,  # walkers send no signs of life: three times as long
                settings={"patience": {"before": PATIENCE / 3}}, slug=f"stress{self.seed}",
            )  # fmt: skip
            self._ended, self._names = threading.Event(), count()
            crowd = [threading.Thread(target=self._come, args=(n,)) for n in range(self.threads)]
            for thread in crowd:
                thread.start()
            until = time.monotonic() + self.seconds
            while not self._is_full(connection) and time.monotonic() < until and not self.faults:
                self._look(connection)
                time.sleep(0.1)
            self._ended.set()
            for thread in crowd:
                thread.join()
            self._look(connection)
            self._count(connection)
        return self

    def _come(self, number: int) -> None:
        chance = Random(self.seed * 1000 + number)
        with psycopg.connect(self.url, autocommit=True) as connection:
            try:
                while not self._ended.is_set():
                    name = f"p{next(self._names)}"
                    self._take_part(self.study.person(name, connection), chance)
            except psycopg.Error as error:
                self.faults.append(f"{type(error).__name__}: {error}")

    def _take_part(self, walker: Walker, chance: Random) -> None:
        if walker.arrives()["word"] != "ok":
            time.sleep(0.05)
            return
        if chance.random() < 0.25:
            return  # abandoned after Begin
        if walker.agrees()["word"] != "ok":
            return
        walker.step("st_begin", walker.token)
        habit = chance.random()
        while not self._ended.is_set():
            went = walker.next()
            if went["go"] == "wait":
                time.sleep(0.05)
                continue
            if went["go"] != "item":
                walker.leaves()
                return
            if habit < 0.25 and chance.random() < 0.3:
                return  # silent, in the middle of an item
            walker.says(went["item"])
            if habit > 0.75 and chance.random() < 0.1:
                time.sleep(PATIENCE * 2)
            walker.item(went["item"])
            walker.rates(went["item"])

    def _look(self, connection: psycopg.Connection[Any]) -> None:
        said, recounted = connection.execute(DOOR, (self.study.study,)).fetchone() or (0, 0)
        if said != recounted:
            self.faults.append(f"the door says {said}, a recount {recounted}")

    def _is_full(self, connection: psycopg.Connection[Any]) -> bool:
        return connection.execute(
            "select not exists (select from slot where study_id = %s and state <> 'filled')",
            (self.study.study,),
        ).fetchone() == (True,)

    def _count(self, connection: psycopg.Connection[Any]) -> None:
        one = self.study.one
        counted = one(
            "select count(*) from vote v join slot s on s.id = v.slot_id"
            " where s.study_id = %s and v.counted", self.study.study,
        )  # fmt: skip
        if counted != self.explanations * VOTES:
            self.faults.append(f"{counted} of {self.explanations * VOTES} votes")
        if one(OVER, VOTES):
            self.faults.append("an explanation has more votes than seats")
        self.faults += self.study.broken()
        self.freed = one("select count(*) from participant where away_at is not null")
        self.surplus = one("select count(*) from vote where not counted")


def main(runs: int = 20, explanations: int = 80, threads: int = 10) -> int:
    """Play runs of a new cluster; return 1 if anything is wrong."""
    place = Path(mkdtemp(prefix="inactive-pg-"))
    create_cluster(place, durable=False)
    cluster = open_cluster(place)
    wrong = 0
    try:
        for seed in range(runs):
            create_database(cluster, f"run{seed}", template_database(cluster))
            run = Run(cluster.database(f"run{seed}"), explanations, threads, seed).play()
            wrong += bool(run.faults)
            print(f"run {seed}: {run.freed} freed, {run.surplus} surplus, faults: {run.faults}")
    finally:
        cluster.stop()
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))

"""What a vote costs with the traffic of browsers (P1).

One worker and one PostgreSQL, 13 requests a vote, images of 448 pixels. Printed per vote:
statements, transactions, CPU of server and database.
Run, about a minute: python study/benchmarks/hot_path.py
"""

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import psycopg
from annotators import Annotator, Witness, run_people
from benchmark_server import SLUG, ServerProcess, opened_study, serving
from browsers import Browser

from theodolite_study.local_postgres import LocalPostgres

TICKS = os.sysconf("SC_CLK_TCK")
COUNTED = """
    select sum(calls), sum(calls) filter (where query ~* '^(begin|start transaction)'),
           coalesce(sum(calls) filter (where query ~* '^(commit|rollback)'), 0)
      from pg_stat_statements s join pg_database d on d.oid = s.dbid
     where toplevel and datname = %s and query !~ 'pg_stat_statements'"""


def cpu_of(pids: list[int]) -> float:
    """Seconds of CPU of processes, with those that they waited for."""
    total = 0
    for pid in pids:
        try:
            parts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(int(part) for part in parts[11:15])
    return total / TICKS


def below(pid: int) -> list[int]:
    """A process and all that it started."""
    text = subprocess.run(["ps", "-eo", "pid,ppid"], capture_output=True, text=True, check=True)  # noqa: S607
    pairs = [tuple(map(int, line.split())) for line in text.stdout.splitlines()[1:]]
    tree = [pid]
    for parent in tree:
        tree += [child for child, of in pairs if of == parent]
    return tree


def postmaster(cluster: LocalPostgres) -> int:
    """The number of the database's first process."""
    return int((cluster.folder / "data" / "postmaster.pid").read_text().split()[0])


@dataclass
class Measured:
    """A server, and what it cost so far."""

    cluster: LocalPostgres
    url: str
    server: ServerProcess
    sums: Counter[str] = field(default_factory=Counter)
    witness: Witness = field(default_factory=Witness)

    async def begin(self, people: int) -> None:
        """Some people come and give a vote each, which fills caches and is not counted."""
        browsers = [
            Browser(self.server.port, self.witness.traffic, Random(n)) for n in range(people)
        ]
        self._people = [Annotator(browser, SLUG, self.witness) for browser in browsers]
        self._pages = [await person.begins() for person in self._people]
        await self._each_votes(1)

    async def _each_votes(self, votes: int) -> None:
        for _ in range(votes):
            both = zip(self._people, self._pages, strict=True)
            self._pages = list(await asyncio.gather(*(one.item(page) for one, page in both)))

    async def vote(self, votes: int) -> None:
        """So many of each."""
        database = postmaster(self.cluster)
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("select pg_stat_statements_reset()")
            before = (len(self.witness.acknowledged), self.witness.traffic.requests)
            cpu = [cpu_of(below(self.server.pid)), cpu_of(below(database))]
            begun = time.monotonic()
            await self._each_votes(votes)
            wall = time.monotonic() - begun
            after = [cpu_of(below(self.server.pid)), cpu_of(below(database))]
            name = self.url.rpartition("/")[2]
            ((statements, begins, ends),) = connection.execute(COUNTED, (name,)).fetchall()
        assert not self.witness.faults, self.witness.faults
        assert not self.witness.traffic.faults, self.witness.traffic.faults
        self.sums.update({
            "votes": len(self.witness.acknowledged) - before[0],
            "requests": self.witness.traffic.requests - before[1],
            "statements": int(statements), "transactions": int(begins or statements),
            "statements without begin and commit": int(statements - (begins or 0) - ends),
            "server CPU ms": 1000 * (after[0] - cpu[0]),
            "database CPU ms": 1000 * (after[1] - cpu[1]),
            "CPU ms": 1000 * (sum(after) - sum(cpu)), "wall ms": 1000 * wall,
        })  # fmt: skip

    def each(self) -> dict[str, float]:
        """A vote."""
        votes = self.sums["votes"]
        return {"votes": votes} | {
            name: round(n / votes, 2) for name, n in self.sums.items() if name != "votes"
        }


async def measure(server: Measured, people: int, votes: int) -> None:
    """Let people vote: one vote each that is not counted, then so many in all."""
    await server.begin(people)
    await server.vote(votes // people)


def main() -> None:
    """Measure one server and print its figures per vote."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--votes", type=int, default=200)
    parser.add_argument("--people", type=int, default=8)
    chosen = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="hot-path-"))
    place.chmod(0o755)
    load = os.getloadavg()[0]
    size = {"instances": chosen.votes, "votes": 5, "quota": chosen.votes // chosen.people + 9}
    try:
        with opened_study(place, **size) as study:
            url = study.cluster.url
            with serving(url, study.folder) as process:
                server = Measured(study.cluster, url, process)
                run_people(measure(server, chosen.people, chosen.votes))
    finally:
        shutil.rmtree(place, ignore_errors=True)
    loads = {"load average before": load, "and after": os.getloadavg()[0]}
    print(json.dumps(loads | server.each(), indent=1))


if __name__ == "__main__":
    main()

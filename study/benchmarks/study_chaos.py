"""A study is taken by many people while its processes are killed (C1).

Workers of the server, PostgreSQL (all of its processes at once, as a power cut would) and the job
that pays are ended by SIGKILL at random moments; meanwhile the server is upgraded, its workers
replaced one after the other. Afterwards: exactly n votes of n people for each explanation, nothing
lost that was acknowledged, nothing seen early, no deadlock, everybody paid once.
Run, some twenty minutes of two cores: python study/benchmarks/study_chaos.py
"""

import argparse
import asyncio
import json
import os
import random
import secrets
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import psycopg
from annotators import Annotator, Behavior, Witness, run_people
from benchmark_images import SIDE, drawn_images
from benchmark_server import ServerProcess, serving
from browsers import Answer, Browser
from killing import JobProcess, children, kill_database, kill_one, upgrade
from psycopg.types.json import Jsonb

from support.study.money_study import MoneyStudy
from support.study.prolific_double import doubled
from support.study.stepped_study import INSTRUMENT
from theodolite_study.database import migrate
from theodolite_study.keys import Keys
from theodolite_study.local_postgres import LocalPostgres, create_cluster, open_cluster
from theodolite_study.money.platform_link import digest_submission
from theodolite_study.money.rehearsal import compute_balance
from theodolite_study.session_tokens import digest_session_token

GROUPS = 100
"""Explanations whose six images are their own; further ones have the same again."""
QUESTIONS = [
    {"name": f"q{n}", "kind": "likert", "points": 5, "required": True} for n in range(1, 7)
]
SETTINGS = {"needs": {"q5": "same", "q6": "different"}}
SESSION = "__Host-theodolite"
OUTCOME = "select outcome from participant where submission_digest = %s"
UNFILLED = "select count(*) from slot where state <> 'filled'"
LONGEST_SILENCE = 60.0
RECOVERY = "automatic recovery in progress"


@dataclass(frozen=True)
class Chaos:
    """How large, how long, how rough."""

    annotators: int = 200
    instances: int = 1000
    votes: int = 5
    quota: int = 12
    """Votes that are promised to one person: others come after them."""
    worker_kills: int = 100
    database_kills: int = 40
    job_kills: int = 20
    upgrades: int = 3
    lease: float = 30.0
    workers: int = 2
    seed: int = 0
    longest: float = 3600.0
    pause: tuple[float, float] = (0.5, 3.0)
    """Seconds between two kills."""
    behavior: Behavior = Behavior(
        think=4.0, peek=0.2, abandon=0.02, away=40.0, twice=0.1, other=0.03, skip=0.02, stop=0.01,
        withdraw=0.003,
    )  # fmt: skip


async def asked(url: str, query: str, *values: Any, again: bool = True) -> Any:
    """One value from the database; where it is away, again when it is back."""
    while True:
        try:
            async with await psycopg.AsyncConnection.connect(
                url, autocommit=True, connect_timeout=5
            ) as connection:
                row = await (await connection.execute(query.encode(), values)).fetchone()
            return None if row is None else row[0]
        except psycopg.OperationalError:
            await asyncio.sleep(0.3)
            if not again:
                return None


class PaidAnnotator(Annotator):
    """Whom the platform sent: comes in by the step, as that door is tested elsewhere."""

    study: MoneyStudy
    url: str
    name: str

    async def comes(self) -> Answer:
        """The first page, then a session of one's own."""
        await super().comes()
        keys, slug = self.study.keys, self.slug
        ends = datetime.now(timezone.utc) + timedelta(hours=6)
        came, query = {"word": ""}, f"select st_arrive({', '.join(['%s'] * 13)})"
        while not came["word"]:
            token = secrets.token_urlsafe(32)
            values = (
                slug, "prolific", keys.digest_person(slug, "prolific", self.name),
                keys.encrypt(self.name, slug),
                keys.digest_barred_person(slug, "prolific", self.name),
                f"p-{self.name}", keys.encrypt(self.name, slug), digest_submission(keys, self.name),
                "en", digest_session_token(token), ends, False, None,
            )  # fmt: skip
            came = await asked(self.url, query, *values, again=False) or came
        if came["word"] != "ok":
            return Answer("/s/", 200, [], b"")
        self.browser.cookies[SESSION] = token
        return await self.browser.go("GET", "/go")


@dataclass
class Fire:
    """A study, its people and whoever kills its processes."""

    chaos: Chaos
    study: MoneyStudy
    cluster: LocalPostgres
    server: ServerProcess
    job: JobProcess
    hidden: dict[str, set[str]]
    witness: Witness = field(default_factory=Witness)
    killed: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    filled: bool = False

    async def burns(self) -> None:
        """Until every seat is filled and all kills are done."""
        trouble = asyncio.create_task(self._trouble())
        watch = asyncio.create_task(self._watch())
        try:
            number = 0
            while True:
                people = self.chaos.annotators if not number else 8
                crowd = [self._stream(number + k) for k in range(people)]
                await asyncio.wait_for(asyncio.gather(*crowd), self.chaos.longest)
                number += people
                if trouble.done() and not await self._unfilled():
                    break
            trouble.result()
        finally:
            trouble.cancel()
            watch.cancel()

    async def _stream(self, number: int) -> None:
        """One person after another, as long as there is something to do."""
        chance = random.Random(self.chaos.seed * 100_000 + number)
        await asyncio.sleep(chance.uniform(0, min(5.0, self.chaos.annotators / 20)))
        while not self.filled:
            name = self.study.double.reserve()
            if name is None:  # the job paused the study there, as it was full
                await asyncio.sleep(chance.uniform(0.2, 0.6))
                self.study.double.status = "ACTIVE"
                continue
            self.study.double.starts(name)
            browser = Browser(self.server.port, self.witness.traffic, chance)
            person = PaidAnnotator(
                browser, self.study.slug, self.witness, self.chaos.behavior, self.hidden
            )
            person.study, person.url, person.name = self.study, self.cluster.url, name
            how = await person.works()
            await browser.close()
            if how == "full":
                self.left[how] += 1
                self.study.double.returns(name)
                await asyncio.sleep(chance.uniform(0.5, 2))
                continue
            outcome = person.left
            if outcome != "withdrawn":
                outcome = await asked(self.cluster.url, OUTCOME,
                                      digest_submission(self.study.keys, name))  # fmt: skip
            self.left[str(outcome)] += 1
            kind = "other" if outcome in ("withdrawn", None) else "stopped"
            if outcome in ("finished", "ran_out"):
                kind = chance.choice(("finished", "approved"))
            self.study.double.submits(name, kind)

    async def _unfilled(self) -> int:
        unfilled: int = await asked(self.cluster.url, UNFILLED)
        return unfilled

    async def _watch(self) -> None:
        while True:
            self.filled = not await self._unfilled()
            await asyncio.sleep(0.5)

    async def _trouble(self) -> None:
        chaos, chance = self.chaos, random.Random(self.chaos.seed)
        plan = (["worker"] * chaos.worker_kills + ["database"] * chaos.database_kills
                + ["job"] * chaos.job_kills + ["upgrade"] * chaos.upgrades)  # fmt: skip
        chance.shuffle(plan)
        wait = asyncio.get_running_loop().run_in_executor
        for what in plan:
            await asyncio.sleep(chance.uniform(*chaos.pause))
            if what == "worker":
                while not kill_one(children(self.server.pid), chance):
                    await asyncio.sleep(0.1)
            elif what == "database":
                await wait(None, kill_database, self.cluster)
                await asyncio.sleep(chance.uniform(0, 0.5))
                await wait(None, self.cluster.start)
            elif what == "job":
                await wait(None, self.job.kill)
            else:
                await wait(None, upgrade, self.cluster, self.server.pid, self.killed["upgrade"])
            self.killed[what] += 1


def run(chaos: Chaos) -> dict[str, Any]:
    """One study under fire; what is wrong afterwards."""
    place = Path(tempfile.mkdtemp(prefix="study-chaos-"))
    place.chmod(0o755)
    create_cluster(place / "cluster")
    cluster = open_cluster(place / "cluster")
    try:
        migrate(cluster.url)
        keys = Keys.create(place / "keys.json")
        with psycopg.connect(cluster.url, autocommit=True) as connection:
            study = MoneyStudy(
                connection, instances=chaos.instances, votes=chaos.votes, quota=chaos.quota,
                places=20_000, lease=chaos.lease, settings=SETTINGS, keys=keys,
                instrument=INSTRUMENT | {"after": [{"blocks": QUESTIONS}]},
            )  # fmt: skip
            hidden = _images(study, place)
        begun = time.monotonic()
        with (
            doubled(study.double) as host,
            serving(cluster.url, place, workers=chaos.workers) as server,
            JobProcess(cluster.url, place, host) as job,
        ):
            fire = Fire(chaos, study, cluster, server, job, hidden)
            run_people(fire.burns())
            wall = time.monotonic() - begun
            with psycopg.connect(cluster.url, autocommit=True) as connection:
                study.connection = connection
                _settled(study)
                return _judged(fire, wall)
    finally:
        cluster.stop()
        shutil.rmtree(place, ignore_errors=True)


def _images(study: MoneyStudy, place: Path) -> dict[str, set[str]]:
    """Each explanation gets its images; what nobody may see early, by the first image."""
    rows = study.connection.execute("select id from instance order by id").fetchall()
    groups = min(GROUPS, len(rows))
    names = drawn_images(place / "images", 6 * groups)
    hidden = {}
    for number, (instance,) in enumerate(rows):
        files = names[6 * (number % groups) : 6 * (number % groups) + 6]
        parts = {
            part: {"image": files[2 * n], "map": files[2 * n + 1], "predicted": "dog"}
            for n, part in enumerate(("shown", "same", "different"))
        }
        shown = parts | {"sizes": {file: [SIDE, SIDE] for file in files}}
        study.connection.execute(
            "update instance set shown = %s where id = %s", (Jsonb(shown), instance)
        )
        hidden[files[0]] = set(files[1:])
    return hidden


def _settled(study: MoneyStudy, longest: float = 120.0) -> None:
    """Until the job has paid what is owed."""
    until = time.monotonic() + longest
    while time.monotonic() < until and not study.ledger().keys() <= {"confirmed", "void"}:
        time.sleep(0.2)


def _judged(fire: Fire, wall: float) -> dict[str, Any]:
    study, witness, chaos = fire.study, fire.witness, fire.chaos
    run_ = study.connection.execute
    counted = [n for (n,) in run_("select count(*) from vote where counted group by instance_id")]
    stored = dict(run_("select assignment_id, answers from vote").fetchall())
    kept = {n: given for n, given in witness.acknowledged.items() if n not in witness.taken_back}
    books = compute_balance(study.connection, study.keys, study.study, study.double.paid())
    log = (fire.cluster.folder / "log").read_text(errors="replace")
    return {
        "people": dict(fire.left), "seconds": round(wall, 1), "load average": os.getloadavg()[0],
        "killed": dict(fire.killed), "recoveries": log.count(RECOVERY),
        "503": witness.traffic.busy, "broken connections": witness.traffic.broken,
        "longest silence": round(witness.traffic.silence, 1),
        "requests": witness.traffic.requests, "acknowledged": len(witness.acknowledged),
        "counted": sum(counted), "withdrawn votes": len(witness.taken_back),
        "surplus": study.one("select count(*) from vote where not counted"),
        "peeks": witness.peeks, "paid": len(study.double.paid()), "paid in all": books.platform,
        "over": sum(n > chaos.votes for n in counted),
        "under": chaos.instances - sum(n >= chaos.votes for n in counted),
        "repeats": study.one(
            "select count(*) from (select from vote where counted"
            " group by participant_id, instance_id having count(*) > 1) again"
        ),
        "acknowledged and lost": sum(stored.get(n) != given for n, given in kept.items()),
        "withdrawn and still there": len(stored.keys() & witness.taken_back),
        "early": witness.early, "deadlocks": log.count("deadlock detected"),
        "paid otherwise than owed": books.unequal, "owed and not paid": books.unsettled,
        "owed and forgotten": books.forgotten, "faults": dict(witness.traffic.faults),
        "wrong answers": witness.faults[:5], "broken rules": study.broken(),
    }  # fmt: skip


NOTHING = (
    "over", "under", "repeats", "acknowledged and lost", "withdrawn and still there", "early",
    "deadlocks", "paid otherwise than owed", "owed and not paid", "owed and forgotten", "faults",
    "wrong answers", "broken rules",
)  # fmt: skip


def wrong(result: dict[str, Any]) -> list[str]:
    """What must be nothing and is not; and kills that did nothing."""
    found = [f"{name}: {result[name]}" for name in NOTHING if result[name]]
    if result["recoveries"] < result["killed"].get("database", 0):
        found.append(f"recoveries: {result['recoveries']}")
    if result["longest silence"] > LONGEST_SILENCE:
        found.append(f"longest silence: {result['longest silence']} s")
    if not result["503"] + result["broken connections"]:
        found.append("nobody felt a kill")
    return found


def main() -> None:
    """The long form."""
    parser = argparse.ArgumentParser(description=__doc__)
    numbers = ("annotators", "instances", "votes", "quota", "worker_kills", "database_kills",
               "job_kills", "upgrades", "seed")  # fmt: skip
    for name in numbers:
        parser.add_argument(f"--{name}", type=int, default=getattr(Chaos, name))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    result = run(Chaos(**vars(parser.parse_args())))
    print(json.dumps(result, indent=1))
    faults = wrong(result)
    print("WRONG" if faults else "nothing wrong", *faults, sep="\n  ")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()

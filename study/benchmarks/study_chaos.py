"""A study is taken by many people while workers of the server and the database are killed.

Afterwards: exactly n votes of n different people for each explanation, nothing that was
acknowledged is lost, nobody saw an explanation early, no deadlock.
Run: python benchmarks/study_chaos.py
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
from PIL import Image
from sqlalchemy import text
from study_annotators import Annotator, Behaviour, Seen, alive, children, kill_one

from theodolite.io.paths import sha256_of
from theodolite.study_material.material import (
    PICTURES,
    Explained,
    Instance,
    Material,
    write_material,
)
from theodolite_study.database import Database, migrate
from theodolite_study.intake import load
from theodolite_study.invariants import violations
from theodolite_study.keys import Keys
from theodolite_study.lifecycle import become
from theodolite_study.local_postgres import LocalPostgres, create
from theodolite_study.new_study import Beginning, begin_study

SLUG = "chaos"


@dataclass(frozen=True)
class Chaos:
    """How large, how long, how rough."""

    annotators: int = 200
    instances: int = 1000
    votes: int = 5
    worker_kills: int = 50
    database_kills: int = 20
    lease_seconds: float = 30.0
    workers: int = 2
    seed: int = 0
    longest: float = 1800.0
    pause: tuple[float, float] = (2.0, 7.0)
    """Seconds between two kills."""
    behaviour: Behaviour = Behaviour()


def make_folder(folder: Path, instances: int, votes: int, lease_seconds: float) -> None:
    """Explanations of small pictures, half of them with concepts."""
    (folder / PICTURES).mkdir(parents=True)
    names = []
    for number in range(40):
        path = folder / PICTURES / "draft.png"
        Image.fromarray(np.full((30, 40, 3), 6 * number, np.uint8)).save(path)
        names.append(f"{sha256_of(path)}.png")
        path.rename(folder / PICTURES / names[-1])
    made = []
    for number in range(instances):
        picture, drawn = names[number % 20], names[20 + number % 20]
        concepts = {"fur": 0.5, "beak": -0.2} if number % 2 else None
        shown = Explained(
            picture=picture, predicted="dog", concepts=concepts, map=None if concepts else drawn
        )
        twin = None if concepts else shown
        made.append(
            Instance(key=f"i{number}", picture_key=f"p{number}", technique=f"t{number % 4}",
                     shown=shown, same=twin, different=twin)
        )  # fmt: skip
    material = Material(instances=made)
    write_material(folder, material)
    begin_study(folder, material, Beginning(title="Chaos", contact="x", slug=SLUG, votes=votes))
    settings = (folder / "study.yaml").read_text()
    settings = settings.replace("lease_minutes: 30", f"lease_minutes: {lease_seconds / 60}")
    settings = settings.replace("quota: 20", f"quota: {instances}")
    (folder / "study.yaml").write_text(settings)


@contextmanager
def served(folder: Path, url: str, workers: int) -> Iterator[tuple[str, int]]:
    """The server in a process of its own; its address and number."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable, "-c", "from theodolite.cli import main; main()", "study", "serve",
        str(folder), "--database", url,
        "--port", str(port), "--workers", str(workers),
    ]  # fmt: skip
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    try:
        until = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                if time.monotonic() > until or server.poll() is not None:
                    raise RuntimeError((folder / "server.log").read_text()[-2000:]) from None
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}", server.pid
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(15)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)


def kill_database(cluster: LocalPostgres) -> None:
    """SIGKILL to all of its processes at once, as a power cut would."""
    first = int((cluster.folder / "data" / "postmaster.pid").read_text().split()[0])
    pids = [first, *children(first)]
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    while any(alive(pid) for pid in pids):
        time.sleep(0.01)


async def _trouble(
    chaos: Chaos, server: int, cluster: LocalPostgres, stop: asyncio.Event
) -> tuple[int, int]:
    rng = random.Random(chaos.seed)
    plan = ["worker"] * chaos.worker_kills + ["database"] * chaos.database_kills
    rng.shuffle(plan)
    killed = {"worker": 0, "database": 0}
    loop = asyncio.get_running_loop()
    for what in plan:
        try:
            await asyncio.wait_for(stop.wait(), rng.uniform(*chaos.pause))
            break
        except asyncio.TimeoutError:
            pass
        if what == "worker":
            while not kill_one(children(server), rng):
                await asyncio.sleep(0.2)
        else:
            await loop.run_in_executor(None, kill_database, cluster)
            await asyncio.sleep(rng.uniform(0, 1))
            await loop.run_in_executor(None, cluster.start)
        killed[what] += 1
    return killed["worker"], killed["database"]


async def _run(
    chaos: Chaos, origin: str, server: int, cluster: LocalPostgres
) -> tuple[Seen, tuple[int, int]]:
    seen, stop = Seen(), asyncio.Event()
    timeout = aiohttp.ClientTimeout(total=20)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(timeout=timeout, connector=connector,
                                     cookie_jar=aiohttp.DummyCookieJar()) as http:  # fmt: skip
        trouble = asyncio.create_task(_trouble(chaos, server, cluster, stop))
        people = [
            Annotator(http, origin, SLUG, seen, chaos.seed * 10_000 + k, chaos.behaviour).work()
            for k in range(chaos.annotators)
        ]
        work = asyncio.ensure_future(asyncio.gather(*people))
        both: list[asyncio.Future[Any]] = [work, trouble]
        done, _ = await asyncio.wait(
            both, timeout=chaos.longest, return_when=asyncio.FIRST_EXCEPTION
        )
        stop.set()
        if work not in done:
            work.cancel()
            if trouble in done:
                trouble.result()
            raise TimeoutError("the study did not come to its end")
        work.result()
        return seen, await trouble


def run(chaos: Chaos) -> dict[str, Any]:
    """One study under fire; what is wrong afterwards."""
    place = Path(tempfile.mkdtemp(prefix="study-chaos-"))
    cluster = create(Path(tempfile.mkdtemp(prefix="study-chaos-pg-")))
    cluster.start()
    try:
        folder = place / "study"
        make_folder(folder, chaos.instances, chaos.votes, chaos.lease_seconds)
        migrate(cluster.url)
        database = Database(cluster.url)
        load(database, folder, Keys.read(folder))
        become(database, SLUG, "open", staff="benchmark")
        database.close()
        begun = time.monotonic()
        with served(folder, cluster.url, chaos.workers) as (origin, server):
            seen, killed = asyncio.run(_run(chaos, origin, server, cluster))
        wall = time.monotonic() - begun
        if not cluster.answers():
            cluster.start()
        return _judged(chaos, cluster, seen, killed, wall)
    finally:
        cluster.stop()
        shutil.rmtree(place, ignore_errors=True)
        shutil.rmtree(cluster.folder, ignore_errors=True)


def _judged(
    chaos: Chaos, cluster: LocalPostgres, seen: Seen, killed: tuple[int, int], wall: float
) -> dict[str, Any]:
    database = Database(cluster.url)
    with database.owning() as connection:
        counted = dict(
            tuple(row) for row in connection.execute(
                text("select instance_id, count(*) from vote where counted group by instance_id")
            )
        )  # fmt: skip
        stored = {
            row.assignment_id: {n: v for n, v in row._mapping.items() if n[0] == "q" and v}
            for row in connection.execute(
                text("select assignment_id, q1, q2, q3, q4, q5, q6 from vote")
            )
        }
        surplus = connection.execute(text("select count(*) from vote where not counted")).scalar()
    rules = [str(one) for one in violations(database)]
    database.close()
    log = (cluster.folder / "log").read_text(errors="replace")
    values = list(counted.values())
    return {
        "annotators": chaos.annotators,
        "worker kills": killed[0],
        "database kills": killed[1],
        "seconds": round(wall, 1),
        "counted": sum(values),
        "over": sum(n > chaos.votes for n in values),
        "under": chaos.instances - sum(n >= chaos.votes for n in values),
        "acknowledged": len(seen.acknowledged),
        "acknowledged and lost": sum(
            stored.get(number) != answers for number, answers in seen.acknowledged.items()
        ),
        "surplus": int(surplus or 0),
        "peeks": seen.peeks,
        "early reveals": seen.early,
        "deadlocks": log.count("deadlock detected"),
        "busy answers": seen.busy,
        "broken connections": seen.lost,
        "loaded again": dict(seen.again),
        "faults": [f"{what}: {n}" for what, n in seen.faults.items()],
        "broken rules": rules,
    }


def wrong(result: dict[str, Any]) -> list[str]:
    """What must be nothing and is not."""
    nothing = ("over", "under", "acknowledged and lost", "early reveals", "deadlocks", "faults",
               "broken rules")  # fmt: skip
    return [f"{name}: {result[name]}" for name in nothing if result[name]]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("annotators", "instances", "votes", "worker_kills", "database_kills", "seed"):
        parser.add_argument(f"--{name}", type=int, default=getattr(Chaos, name))
    result = run(Chaos(**vars(parser.parse_args())))
    print(json.dumps(result, indent=1))
    faults = wrong(result)
    print("WRONG" if faults else "nothing wrong", *faults, sep="\n  ")
    sys.exit(bool(faults))

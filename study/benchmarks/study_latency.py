"""How long a study's pages take with many people at their usual pace, and what it can bear.

Two hundred people with two minutes an item on one machine beside PostgreSQL; then the same people
without any pause. Run: python benchmarks/study_latency.py
"""

import argparse
import asyncio
import json
import shutil
import tempfile
import time
from pathlib import Path

import aiohttp
import numpy as np
from study_annotators import Annotator, Behaviour, Seen
from study_chaos import SLUG, make_folder, served

from theodolite_study.database import Database, migrate
from theodolite_study.intake import load
from theodolite_study.keys import Keys
from theodolite_study.lifecycle import become
from theodolite_study.local_postgres import create


async def people(
    origin: str, count: int, seconds: float, behaviour: Behaviour, seed: int
) -> tuple[Seen, float]:
    """So many at once for so long; they come in over the first tenth of the time."""
    seen = Seen()
    timeout = aiohttp.ClientTimeout(total=30)
    connector = aiohttp.TCPConnector(limit=0)
    jar = aiohttp.DummyCookieJar()
    async with aiohttp.ClientSession(timeout=timeout, connector=connector, cookie_jar=jar) as http:

        async def one(k: int) -> None:
            await asyncio.sleep(k / count * min(seconds / 10, 30))
            await Annotator(http, origin, SLUG, seen, seed + k, behaviour).work()

        begun = time.monotonic()
        tasks = [asyncio.create_task(one(k)) for k in range(count)]
        _, waiting = await asyncio.wait(tasks, timeout=seconds)
        wall = time.monotonic() - begun
        for task in waiting:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return seen, wall


def routes(seen: Seen) -> dict[str, dict[str, float]]:
    """Milliseconds of each route, without pictures."""
    found = {}
    for route, seconds in sorted(seen.seconds.items()):
        if "/asset/" not in route:
            low, middle, high = np.percentile(np.array(seconds) * 1000, [50, 95, 99])
            found[route] = {"n": len(seconds), "p50": round(low, 1), "p95": round(middle, 1),
                            "p99": round(high, 1)}  # fmt: skip
    return found


def main() -> None:
    """Print both, the slowest route last."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--annotators", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--think", type=float, default=120)
    parser.add_argument("--saturated", type=float, default=40)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    place, data = (Path(tempfile.mkdtemp(prefix="study-latency-")) for _ in range(2))
    cluster = create(data)
    cluster.start()
    try:
        make_folder(place / "study", 2200, 5, 1800)
        migrate(cluster.url)
        database = Database(cluster.url)
        load(database, place / "study", Keys.read(place / "study"))
        become(database, SLUG, "open", staff="benchmark")
        database.close()
        with served(place / "study", cluster.url, given.workers) as (origin, _):
            usual = Behaviour(abandon=0, twice=0.02, other=0, think=given.think, patience=1e9)
            calm, _ = asyncio.run(people(origin, given.annotators, given.seconds, usual, 0))
            eager = Behaviour(abandon=0, twice=0, other=0, peek=0, patience=1e9)
            full, wall = asyncio.run(
                people(origin, given.annotators, given.saturated, eager, 10_000)
            )
    finally:
        cluster.stop()
        shutil.rmtree(place, ignore_errors=True)
        shutil.rmtree(data, ignore_errors=True)
    table = routes(calm)
    print(
        json.dumps({"usual pace": table, "faults": dict(calm.faults), "busy": calm.busy}, indent=1)
    )
    slow = routes(full)
    print(json.dumps({"no pause": slow, "faults": dict(full.faults), "busy": full.busy}, indent=1))
    print(f"no pause: {len(full.acknowledged) / wall:.1f} votes/s, {full.busy} told to come back, "
          f"{sum(full.faults.values())} faults")  # fmt: skip
    worst = max(table.values(), key=lambda route: route["p95"])
    print(f"usual pace, slowest route: p95 {worst['p95']} ms, p99 "
          f"{max(route['p99'] for route in table.values())} ms")  # fmt: skip


if __name__ == "__main__":
    main()

"""How quick pages are with 200 people, and how many votes a second two cores bear (P2, P3).

P2: votes per second of 200 people who never pause; driver, two workers and PostgreSQL share the
cores. P3: milliseconds of each route with 200 people at a browser's true pace. Images of 448
pixels, 13 requests a vote.
Run, about four minutes: python study/benchmarks/study_latency.py
"""

import argparse
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from annotators import Behavior, Crowd, Witness, run_people, taking_part
from benchmark_server import SLUG, opened_study, serving


def routes(witness: Witness) -> dict[str, dict[str, float]]:
    """Milliseconds of each route."""
    table = {}
    for route, seconds in sorted(witness.traffic.seconds.items()):
        low, high, highest = np.percentile(np.array(seconds) * 1000, [50, 95, 99])
        table[route] = {"n": len(seconds), "p50": round(low, 1), "p95": round(high, 1),
                        "p99": round(highest, 1)}  # fmt: skip
    return table


def closed_loop(port: int, people: int, seconds: float) -> dict[str, Any]:
    """Nobody pauses."""
    load = os.getloadavg()[0]
    witness, wall = run_people(taking_part(port, SLUG, Crowd(people, seconds, seed=50_000)))
    assert not witness.faults, witness.faults[:3]
    return {
        "votes a second": round(len(witness.acknowledged) / wall, 1),
        "requests a second": round(witness.traffic.requests / wall, 1),
        "503": witness.traffic.busy, "429": witness.traffic.limited,
        "faults": dict(witness.traffic.faults), "load average before": load,
    }  # fmt: skip


def usual_pace(port: int, people: int, seconds: float, think: float) -> dict[str, Any]:
    """Everybody thinks; they come over the first third of the time."""
    load = os.getloadavg()[0]
    crowd = Crowd(people, seconds, Behavior(think=think, twice=0.02), min(seconds / 3, 60))
    witness, wall = run_people(taking_part(port, SLUG, crowd))
    table = routes(witness)
    return {
        "votes a second": round(len(witness.acknowledged) / wall, 2), "routes": table,
        "503": witness.traffic.busy, "429": witness.traffic.limited,
        "faults": dict(witness.traffic.faults), "wrong answers": witness.faults[:3],
        "slowest p95": max(row["p95"] for row in table.values()),
        "slowest p99": max(row["p99"] for row in table.values()),
        "load average before": load, "and after": os.getloadavg()[0],
    }  # fmt: skip


def main() -> None:
    """Measure P3, then P2."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--think", type=float, default=90)
    parser.add_argument("--closed", type=float, default=30)
    parser.add_argument("--workers", type=int, default=2)
    chosen = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="study-latency-"))
    place.chmod(0o755)
    results: dict[str, Any] = {}
    try:
        with (
            opened_study(place, instances=900, votes=10, quota=20) as study,
            serving(study.cluster.url, study.folder, workers=chosen.workers) as server,
        ):
            results["usual pace"] = usual_pace(
                server.port, chosen.people, chosen.seconds, chosen.think
            )
            results["no pause"] = closed_loop(server.port, chosen.people, chosen.closed)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    print(json.dumps(results, indent=1))
    print(f"no pause: {results['no pause']['votes a second']} votes a second; "
          "usual pace, slowest route: "
          f"p95 {results['usual pace']['slowest p95']} ms, "
          f"p99 {results['usual pace']['slowest p99']} ms")  # fmt: skip


if __name__ == "__main__":
    main()

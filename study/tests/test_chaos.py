"""A study under fire, in short: python study/benchmarks/study_chaos.py is the long form."""

import os

from annotators import Behavior
from study_chaos import Chaos, run, wrong

WORKER_KILLS, DATABASE_KILLS = (3, 2) if os.environ.get("THEODOLITE_FULL") else (2, 1)


def test_killed_processes_lose_and_double_nothing() -> None:
    roughly = Behavior(
        think=0.3, peek=0.5, abandon=0.05, away=4.0, twice=0.2, other=0.1, skip=0.05, stop=0.1,
        withdraw=0.05,
    )  # fmt: skip
    chaos = Chaos(
        annotators=5, instances=8, votes=3, quota=4, worker_kills=WORKER_KILLS,
        database_kills=DATABASE_KILLS, job_kills=1, upgrades=1, lease=3.0, workers=1,
        pause=(0.1, 0.5), behavior=roughly,
    )  # fmt: skip
    result = run(chaos)
    assert wrong(result) == [], result
    assert result["counted"] == chaos.instances * chaos.votes
    assert result["killed"] == {
        "worker": WORKER_KILLS, "database": DATABASE_KILLS, "job": 1, "upgrade": 1,
    }  # fmt: skip
    assert result["peeks"] and result["paid"]

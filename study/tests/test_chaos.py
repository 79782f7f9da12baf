"""A study under fire, in short: python benchmarks/study_chaos.py is the long form."""

import os

from study_annotators import Behaviour
from study_chaos import Chaos, run, wrong


def test_killed_workers_and_databases_lose_and_double_nothing() -> None:
    longer = int(os.environ.get("THEODOLITE_STUDY_CHAOS", "1"))
    chaos = Chaos(
        annotators=6, instances=12 * longer, votes=3, worker_kills=2 * longer,
        database_kills=longer, lease_seconds=6, pause=(0.4, 1.6),
        behaviour=Behaviour(think=2.0, away=8.0),
    )  # fmt: skip
    result = run(chaos)
    assert wrong(result) == []
    assert result["counted"] == chaos.instances * chaos.votes
    assert result["worker kills"] >= 2 * longer
    assert result["database kills"] >= longer
    assert result["peeks"]

"""What is said of a run before it begins and while it goes on."""

import json
import urllib.error
import urllib.request
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from support.runs.work_pieces import (
    counted,
    merge,
    numbers,
    slow_at_first,
    work,
    wrong_at,
)
from theodolite._runs.engine.checkpoints import CheckpointStore
from theodolite._runs.engine.local_processes import CurrentProcess
from theodolite._runs.engine.process_identity import Identity, MismatchedNode
from theodolite._runs.engine.prometheus_port import serve_metrics
from theodolite._runs.engine.rehearsal import Rehearsal
from theodolite._runs.engine.run_cost import PassCost, RunCost
from theodolite._runs.engine.run_progress import FILE, RunProgress
from theodolite._runs.engine.tasks import Task, TaskOutcome
from theodolite._runs.engine.worker_choice import Engine, limit_workers, open_worker_pool
from theodolite._runs.engine.worker_pool import WorkerPool
from theodolite._storage.stores import Store
from theodolite._storage.traffic import Traffic
from theodolite.errors import EvidenceError


def pool(folder: Path) -> WorkerPool:
    return WorkerPool(CurrentProcess(), CheckpointStore(Store.at(folder / "pieces")))


def test_two_pieces_of_a_pass_are_timed_warm_and_left_in_the_ledger(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    todo = work(40, partial(counted, marks, 0.02))
    rehearsal = Rehearsal(pool(tmp_path))
    assert rehearsal.reduced(todo, merge) is not None
    (step,) = rehearsal.passes
    assert (step.pieces, step.left, len(step.seconds)) == (40, 40, 2)
    assert all(0.02 <= seconds < 0.5 for seconds in step.seconds)
    assert step.checkpoint_bytes > 64 * 8 and not step.in_driver
    assert len(pool(tmp_path).checkpoints.done()) == 2, "both are kept for the run"
    after = pool(tmp_path)
    after.reduced(todo, merge)
    assert after.computed == 38
    again = Rehearsal(pool(tmp_path))
    again.reduced(todo, merge)
    assert again.passes[0].left == 0 and again.passes[0].core_seconds() == 0


def test_what_a_rehearsal_gives_has_the_form_of_the_real_thing(tmp_path: Path) -> None:
    rehearsal = Rehearsal(pool(tmp_path))
    parts = list(rehearsal.each(work(9)))
    assert len(parts) == 9 and all(part is not None for part in parts)
    assert rehearsal.once({"x": 1}, "d", lambda: numbers(3)).keys() == numbers(3).keys()
    assert [step.in_driver for step in rehearsal.passes] == [False, True]


def test_work_whose_results_stay_has_a_price(tmp_path: Path) -> None:
    todo = work(6, partial(numbers, seconds=0.02))
    for left in (6, 0):
        rehearsal = Rehearsal(pool(tmp_path))
        assert len(rehearsal.entries(todo)) == 6
        (step,) = rehearsal.passes
        assert (step.pieces, step.left, len(step.seconds)) == (6, left, bool(left))
        assert 0.02 * left <= step.wall(1) <= rehearsal.seconds


def test_what_is_over_once_is_no_price_of_pieces(tmp_path: Path) -> None:
    rehearsal = Rehearsal(pool(tmp_path))
    rehearsal.wake()
    before = rehearsal.start_seconds
    assert before > 0 and not rehearsal.passes
    rehearsal.reduced(work(40, partial(slow_at_first, tmp_path, 0.5)), merge)
    assert rehearsal.start_seconds - before > 0.4
    assert rehearsal.passes[0].seconds[0] < 0.4


def test_the_price_in_one_line() -> None:
    first = PassCost("sums", 1000, 1000, (6.0, 8.0), Traffic(10**9, 16), 3_100_000)
    second = PassCost("pieces", 1000, 500, (1.0, 1.0), Traffic(0, 0))
    alone = PassCost("at once", 1, 1, (100.0,), in_driver=True)
    estimate = RunCost([first, second, alone], 8, 20.0, 1_400_000_000)
    assert estimate.wall() == pytest.approx(7000 / 8 + 500 / 8 + 100 + 20)
    assert replace(estimate, start_seconds=9.0).wall() == pytest.approx(estimate.wall() + 9)
    assert estimate.core_seconds() == 7000 + 500 + 100 + 20
    assert estimate.wall_range()[0] == pytest.approx(6000 / 8 + 500 / 8 + 120)
    assert estimate.line() == (
        "about 18 min on 8 workers (16 min to 20 min; 2.1 core-hours; pass 1 of 3: 15 min), "
        "1.0 TB read in 16,000 requests, at most 1.4 GB a process, 3.1 GB of checkpoints"
    )
    assert "500 of 1,000 tasks left, 1 s each" in estimate.table()[1]


def test_counts_of_a_run(tmp_path: Path) -> None:
    with open_worker_pool(Engine("local", 1), tmp_path) as workers:
        first = json.loads((tmp_path / FILE).read_text())
        workers.reduced(work(12, partial(wrong_at, 5)), merge)
    last = json.loads((tmp_path / FILE).read_text())
    assert first["state"] == "running" and first["seconds_left"] is None
    assert last["state"] == "ended" and last["seconds_left"] == 0
    assert (last["done"], last["total"], last["failed"], last["retried"]) == (12, 12, 1, 2)
    assert last["computed"] == 11 and last["requests"] >= 11
    assert last["rate"] > 0 and last["workers"] == 1 and last["mismatched_nodes"] == 0
    assert str(tmp_path) not in json.dumps(last)


class TwoNodes(CurrentProcess):
    """Every second task goes to a node that has another numpy, until it is avoided."""

    def __init__(self) -> None:
        super().__init__()
        self.avoided: list[MismatchedNode] = []

    def submit(self, task: Task) -> int:
        ours = task.identity
        if not self.avoided and self._number % 2 == 0 and ours is not None:
            theirs = Identity({**ours.parts, "packages: numpy": "9.9.9"})
            task = replace(task, identity=theirs)
        return super().submit(task)

    def avoid(self, mismatch: MismatchedNode) -> None:
        self.avoided.append(mismatch)


def test_worker_pool_mismatched_nodes_counted_once_not_as_failures(tmp_path: Path) -> None:
    nodes = TwoNodes()
    nodes.size = 2  # so that it is given two tasks before the first comes back
    crew = WorkerPool(nodes, CheckpointStore(Store.at(tmp_path / "pieces")))
    assert crew.reduced(work(12), merge) is not None
    counts = crew.watch.snapshot()
    assert len(nodes.avoided) > 1
    assert (counts["mismatched_nodes"], counts["retried"], counts["computed"]) == (1, 0, 12)


def test_workers_are_not_more_than_memory_allows() -> None:
    gigabyte = 10**9
    asked = Engine("local", 8)
    assert limit_workers(asked, gigabyte, 100 * gigabyte) == (8, "")
    assert limit_workers(asked, 0, 1) == limit_workers(asked, gigabyte, None) == (8, "")
    workers, note = limit_workers(asked, gigabyte, 10 * gigabyte)
    assert workers == 3 and note.startswith("3 of 8 workers: shards of 1.0 GB")
    assert limit_workers(asked, gigabyte, 0)[0] == 1
    assert limit_workers(Engine("ray", 8), gigabyte, 0) == (8, ""), "other machines have theirs"


def test_time_left_counts_passes_to_come(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("theodolite._runs.engine.run_progress.time.monotonic", lambda: now[0])
    watch = RunProgress(2)
    watch.expect([10.0, 30.0])
    watch.begin("sums", 100)
    for pieces in (2, 2, 10, 10, 10):
        now[0] += 20.0
        watch.add(pieces, TaskOutcome(computed=pieces))
    result = watch.snapshot()
    assert result["rate"] == pytest.approx(0.5), "of the last minute"
    assert result["seconds_left"] == pytest.approx(66 / 0.5 + 30)


def test_counts_on_a_port_of_this_machine() -> None:
    watch = RunProgress(3)
    watch.begin("pieces", 7)
    watch.add(2, TaskOutcome(computed=2, traffic=Traffic(500, 4)))
    with serve_metrics(0, watch.snapshot) as port:
        address = f"http://127.0.0.1:{port}"
        text = urllib.request.urlopen(f"{address}/metrics").read().decode()  # noqa: S310
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{address}/")  # noqa: S310
        with (
            pytest.raises(EvidenceError, match="taken"),
            serve_metrics(port, watch.snapshot),
        ):
            pass
    assert "theodolite_done 2\n" in text and "theodolite_bytes_total 500\n" in text
    assert "# TYPE theodolite_bytes_total counter" in text
    assert "theodolite_workers 3\n" in text

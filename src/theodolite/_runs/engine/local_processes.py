"""Run tasks in processes on this machine."""

import multiprocessing
import os
import signal
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from typing import Any, NoReturn

from theodolite._runs.engine.process_identity import MismatchedNode, check_unchanged
from theodolite._runs.engine.tasks import Task, TaskOutcome, run_task
from theodolite.errors import EvidenceError, VerificationError

READY = "ready"


class CurrentProcess:
    """This very process, one task after the other."""

    size = 1
    name = "local"
    elsewhere = False

    def __init__(self) -> None:
        self._tasks: list[Task] = []
        self._number = 0

    def submit(self, task: Task) -> int:
        self._tasks.append(task)
        return self._number + len(self._tasks) - 1

    def wait(self) -> tuple[int, TaskOutcome | None]:
        task = self._tasks.pop(0)
        self._number += 1
        return self._number - 1, run_task(task, alone=True)

    def avoid(self, mismatch: MismatchedNode) -> None:
        _refuse_mismatch(mismatch)

    def drop(self) -> None:
        self._number += len(self._tasks)
        self._tasks.clear()

    def close(self) -> None:
        self.drop()


@dataclass
class _Worker:
    """A process and the line to it. It ends when the line is cut, also if we were killed."""

    process: Any
    line: Connection
    number: int | None = None
    """The task that it is at."""
    ready: bool = False
    """Whether it has said that it is there."""
    tool: str = ""
    """The tool that it has."""


class LocalProcesses:
    """Several processes, each with a line of its own: if one dies, it is known over which task."""

    name = "local"
    elsewhere = True

    def __init__(self, size: int) -> None:
        self.size = size
        self._waiting: list[tuple[int, Task]] = []
        self._submitted = 0
        self._lanes: list[_Worker] = []

    def submit(self, task: Task) -> int:
        self._waiting.append((self._submitted, task))
        self._submitted += 1
        self._start()
        return self._submitted - 1

    def _start(self) -> None:
        """Give waiting tasks to free processes."""
        while self._waiting:
            lane = next((lane for lane in self._lanes if lane.number is None), None)
            if lane is None and len(self._lanes) < self.size:
                lane = _start_worker()
                self._lanes.append(lane)
            if lane is None:
                return
            number, task = self._waiting[0]
            has_it = lane.tool == task.tool_key
            try:  # what is slow to send is sent once
                lane.line.send(replace(task, tool=None) if has_it else task)
            except OSError:  # it died while it had nothing to do
                self._lost(lane)
                continue
            lane.number, lane.tool = number, task.tool_key or lane.tool
            del self._waiting[0]

    def wait(self) -> tuple[int, TaskOutcome | None]:
        while True:
            busy = {lane.line: lane for lane in self._lanes if lane.number is not None}
            if not busy:
                message = "nothing is going on that could be waited for"
                raise RuntimeError(message)
            lane = busy[wait(list(busy))[0]]  # type: ignore[index]
            try:
                outcome = lane.line.recv()
            except (EOFError, OSError):
                outcome = None
            if outcome == READY:
                lane.ready = True
                continue
            number, lane.number = lane.number, None
            assert number is not None  # noqa: S101  it was busy
            if outcome is None:
                self._lost(lane)
            if isinstance(outcome, BaseException):
                raise outcome
            self._start()
            return number, outcome

    def _lost(self, lane: _Worker) -> None:
        self._lanes.remove(lane)
        lane.process.join()
        lane.line.close()
        if not lane.ready and lane.process.exitcode == 1:
            raise EvidenceError(
                "workers", "a process that could not start", "one that can",
                "In a script, start runs below `if __name__ == '__main__':`.",
            )  # fmt: skip

    def avoid(self, mismatch: MismatchedNode) -> None:
        _refuse_mismatch(mismatch)

    def drop(self) -> None:
        self._waiting = []
        for lane in [lane for lane in self._lanes if lane.number is not None]:
            lane.process.kill()  # files appear only when complete, so nothing is left half done
            lane.ready = True
            self._lost(lane)

    def close(self) -> None:
        for lane in self._lanes:
            lane.process.kill()
        for lane in self._lanes:
            lane.process.join()
            lane.line.close()
        self._lanes, self._waiting = [], []


def _refuse_mismatch(mismatch: MismatchedNode) -> NoReturn:
    """On one machine a process differs only if something was edited since the start."""
    check_unchanged()
    raise VerificationError(
        "a process of this machine", str(mismatch), "the same from start to end", "Run it again."
    )


def _start_worker() -> _Worker:
    context = multiprocessing.get_context("spawn")  # a fork would copy locks of other threads
    ours, theirs = context.Pipe()
    process = context.Process(target=_run_worker, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, ours)


def _run_worker(line: Connection) -> None:
    """Do tasks until the line is cut."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent process
    os.environ["NUMBA_NUM_THREADS"] = "1"  # there is a process for each core
    line.send(READY)
    while True:
        try:
            task = line.recv()
        except (EOFError, OSError):
            return
        try:
            outcome: Any = run_task(task)
        except BaseException as error:  # noqa: BLE001  it is raised again on the other side
            outcome = error
        try:
            line.send(outcome)
        except OSError:  # the reader was killed
            return

"""Processes on this machine."""

import multiprocessing
import os
import signal
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from theodolite.execution.pieces import Done, Task, perform


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Here:
    """This very process, one task after the other."""

    size = 1
    name = "local"

    def __init__(self) -> None:
        self._tasks: list[Task] = []
        self._number = 0

    def submit(self, task: Task) -> int:
        self._tasks.append(task)
        return self._number + len(self._tasks) - 1

    def wait(self) -> tuple[int, Done | None]:
        task = self._tasks.pop(0)
        self._number += 1
        return self._number - 1, perform(task, alone=True)

    def close(self) -> None:
        self._tasks.clear()


@dataclass
class _Lane:
    """A process and the line to it. It ends when the line is cut, also if we were killed."""

    process: Any
    line: Connection
    number: int | None = None
    """The task that it is at."""


class Processes:
    """Several processes, each with a line of its own: if one dies, it is known over which task."""

    name = "local"

    def __init__(self, size: int) -> None:
        self.size = size
        self._waiting: list[tuple[int, Task]] = []
        self._submitted = 0
        self._lanes: list[_Lane] = []

    def submit(self, task: Task) -> int:
        self._waiting.append((self._submitted, task))
        self._submitted += 1
        self._start()
        return self._submitted - 1

    def _start(self) -> None:
        """Give what waits to whoever is free."""
        while self._waiting:
            lane = next((lane for lane in self._lanes if lane.number is None), None)
            if lane is None and len(self._lanes) < self.size:
                lane = _new_lane()
                self._lanes.append(lane)
            if lane is None:
                return
            lane.number, task = self._waiting.pop(0)
            lane.line.send(task)

    def wait(self) -> tuple[int, Done | None]:
        busy = {lane.line: lane for lane in self._lanes if lane.number is not None}
        lane = busy[wait(list(busy))[0]]  # type: ignore[index]
        number, lane.number = lane.number, None
        assert number is not None  # noqa: S101  it was busy
        try:
            outcome = lane.line.recv()
        except (EOFError, OSError):
            self._lanes.remove(lane)
            lane.process.join()
            outcome = None
        if isinstance(outcome, BaseException):
            raise outcome
        self._start()
        return number, outcome

    def close(self) -> None:
        for lane in self._lanes:
            lane.process.kill()  # files appear only when complete, so nothing is left half done
        for lane in self._lanes:
            lane.process.join()
            lane.line.close()
        self._lanes, self._waiting = [], []


def _new_lane() -> _Lane:
    context = multiprocessing.get_context("spawn")  # a fork would copy locks of other threads
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    return _Lane(process, ours)


def _serve(line: Connection) -> None:
    """Do tasks until the line is cut."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever started us
    os.environ["NUMBA_NUM_THREADS"] = "1"  # there is a process for each core
    while True:
        try:
            task = line.recv()
        except (EOFError, OSError):
            return
        try:
            outcome: Any = perform(task)
        except BaseException as error:  # noqa: BLE001  it is raised again on the other side
            outcome = error
        line.send(outcome)

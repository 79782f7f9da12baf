"""Pieces of work for tests of the engines: small, pure, and able to go wrong as real ones do."""

import errno
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.errors import UnsafeInputError
from theodolite.evidence.read_ahead import take_item
from theodolite.evidence.workers import Arrays, Work


def numbers(item: int, seconds: float = 0.0) -> Arrays:
    """Floats whose sum depends on the order in which it is made."""
    started = time.perf_counter()
    drawn = np.random.default_rng(item).normal(size=64) * 10.0 ** (item % 9)
    while time.perf_counter() - started < seconds:
        np.sort(drawn)
    return {":.sum": drawn, ":.n": np.array(1)}


def merge(left: Any, right: Any) -> Arrays:
    return {name: np.asarray(left[name] + right[name]) for name in left}


def wrong_at(bad: int, item: int) -> Arrays:
    if item == bad:
        message = "\x1b[31mthis one cannot be done"
        raise ZeroDivisionError(message)
    return numbers(item)


def refused_at(bad: int, item: int) -> Arrays:
    if item == bad:
        raise UnsafeInputError("piece", "changed bytes", "its own")
    return numbers(item)


def dies_at(bad: int, times: int, folder: Path, item: int) -> Arrays:
    """The process is killed over one item, so often."""
    before = len(list(folder.glob(f"died-{item}-*")))
    if item == bad and before < times:
        (folder / f"died-{item}-{before}").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return numbers(item)


def dies_late(bad: int, folder: Path, item: int) -> Arrays:
    """The process is killed once over one item, when others have long ended."""
    if item == bad and not (folder / "died").exists():
        (folder / "died").touch()
        time.sleep(2.0)
        os.kill(os.getpid(), signal.SIGKILL)
    return numbers(item)


def no_space(item: int) -> Arrays:
    raise OSError(errno.ENOSPC, "No space left on device")


def counted(folder: Path, seconds: float, item: int) -> Arrays:
    """Leaves a mark for every time that it is done."""
    mark = folder / f"{item}-{time.monotonic_ns()}-{os.getpid()}"
    mark.touch()
    return numbers(item, seconds)


def slow_at_first(folder: Path, seconds: float, item: int) -> Arrays:
    """As what compiles or loads something."""
    if not (folder / "warm").exists():
        (folder / "warm").touch()
        time.sleep(seconds)
    return numbers(item)


def with_tool(item: int, tool: dict[str, int]) -> Arrays:
    tool["used"] += 1
    return {"item": np.array(item), "made_by": np.array(tool["made"]), "used": np.array(0)}


def make_tool(folder: Path) -> dict[str, int]:
    made = len(list(folder.glob("tool-*")))
    (folder / f"tool-{os.getpid()}-{made}").touch()
    return {"made": 1, "used": 0}


@dataclass(frozen=True)
class NotedPiece:
    """A piece that can be read ahead, and leaves a mark when it is read."""

    number: int
    folder: Path

    def read(self) -> int:
        (self.folder / f"read-{self.number}").touch()
        return self.number

    def unpacked_bytes(self) -> int:
        return 8


def of_a_piece(item: NotedPiece) -> Arrays:
    return numbers(take_item(item))


def work(n: int, do: Any = numbers, **more: Any) -> Work:
    about = more.pop("about", {"test": "work"})
    return Work(
        what="numbers", do=do, items=list(range(n)), digests=[f"{i}" for i in range(n)],
        about=about, **more,
    )  # fmt: skip

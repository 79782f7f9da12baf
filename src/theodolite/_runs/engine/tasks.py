"""A block of pieces, done in some process: found as a checkpoint, or computed and kept there."""

import errno
import hashlib
import socket
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from theodolite._runs.engine.checkpoints import CheckpointName, CheckpointRecord, CheckpointStore
from theodolite._runs.engine.process_identity import (
    Identity,
    MismatchedNode,
    digest_arithmetic,
    get_identity,
)
from theodolite._stats.threads import limit_to_one_core
from theodolite._storage.packed_arrays import digest_arrays
from theodolite._storage.traffic import Traffic, get_traffic
from theodolite.errors import EvidenceError, VerificationError, printable
from theodolite.evidence.read_ahead import read_ahead
from theodolite.evidence.workers import Arrays, Merge, Tree

DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
AGAIN = "Run the same command again: finished tasks are kept."
MAX_TRIES = 3
"""Number of failures after which a task is given up."""


@dataclass(frozen=True)
class FailedTask:
    """A piece that was given up."""

    piece: str
    key: str
    error: str
    message: str
    traceback_sha256: str
    tries: int = MAX_TRIES


@dataclass(frozen=True)
class Task:
    """What a process is given: a few pieces of one work, in order."""

    do: Callable[..., Arrays]
    items: Sequence[Any]
    pieces: Sequence[CheckpointName]
    names: Sequence[str]
    """What people call them."""
    checkpoints: CheckpointStore | None
    identity: Identity | None = None
    """Identity of the driver: a process that differs refuses the task."""
    modules: tuple[str, ...] = ()
    """Modules outside our package that it uses."""
    merge: Merge | None = None
    """If given, what the pieces gave is merged before it is sent back."""
    stays: bool = False
    """Whether what the pieces gave stays in its checkpoint, and nothing of it is sent back."""
    tool: Callable[[], Any] | None = None
    tool_key: str = ""
    network: bool = False
    recheck: frozenset[str] | None = None
    """If given, all pieces must have checkpoints; these are computed again, and must come out the
    same."""
    given_up: frozenset[str] = frozenset()
    rehearsed: bool = False
    """Whether it is done to be timed: pieces are computed twice, for the first time compiles."""


@dataclass
class TaskOutcome:
    """What came of it."""

    parts: list[Any] = field(default_factory=list)
    """Of each piece, or of all of them merged."""
    failed: list[FailedTask] = field(default_factory=list)
    computed: int = 0
    """Pieces that were not in the checkpoint store."""
    seconds: float = 0.0
    entries: list[CheckpointRecord] = field(default_factory=list)
    """What the checkpoint store has of them now."""
    nearly: int = 0
    """Pieces that came out the same but for last digits, which another arithmetic had made."""
    mismatch: MismatchedNode | None = None
    """The process that was given it and would not have computed the same: nothing was done."""
    lost: Literal["", "node", "memory"] = ""
    """Whether it was lost with its machine, or for want of memory: nothing came of it."""
    piece_seconds: list[float] = field(default_factory=list)
    """Of each piece that was computed."""
    retried: int = 0
    """Pieces that failed and were tried again."""
    traffic: Traffic = field(default_factory=Traffic)
    peak_bytes: int = 0
    """The most memory that its process ever had."""


@runtime_checkable
class TaskPool(Protocol):
    """Processes that do tasks, here or elsewhere."""

    size: int
    """How many at once."""
    name: str
    elsewhere: bool
    """Whether tasks leave this process."""

    def submit(self, task: Task) -> Any:
        """Begin a task; what comes back stands for it."""

    def wait(self) -> tuple[Any, TaskOutcome | None]:
        """Return the next task that ended; it has no outcome if its process died.

        Faults that we understand (evidence refused, a full disk) are raised.
        """

    def avoid(self, mismatch: MismatchedNode) -> None:
        """Give that node nothing more to do; where that cannot be, it is raised."""

    def drop(self) -> None:
        """Forget all tasks, including running ones."""

    def close(self) -> None:
        """Stop, including running tasks."""


_tools: dict[str, Any] = {}
_makers: dict[str, Callable[[], Any]] = {}
"""What makes the tool of the work at hand: it comes with the first task, which may not need it."""


def run_task(task: Task, *, alone: bool = False) -> TaskOutcome:
    """Do a task, in whatever process this is: on one core, unless it is the only process."""
    started, done, before = time.perf_counter(), TaskOutcome(), get_traffic()
    if task.identity is not None:
        own = get_identity(task.modules, network=task.network)
        if differences := task.identity.differences(own):
            return TaskOutcome(mismatch=MismatchedNode(socket.gethostname(), differences))
    _register_tool(task)
    parts: list[Arrays | None] = []
    with nullcontext() if alone else limit_to_one_core():
        there = [_read_checkpoint(task, piece) for piece in task.pieces]
        done.entries += [known[1] for known in there if known is not None]
        left = [item for item, known in zip(task.items, there, strict=True) if known is None]
        for item, piece, name, known in zip(
            task.items, task.pieces, task.names, there, strict=True
        ):
            arrays = None if known is None else known[0]
            if task.recheck is not None:
                _recompute_piece(task, item, known, piece.key, name, done)
            elif known is None:
                if task.rehearsed:
                    _compute_piece(
                        replace(task, checkpoints=None), item, piece, name, TaskOutcome()
                    )
                    before = get_traffic()
                read_ahead(left)  # what is in the checkpoint store is not needed
                arrays = _compute_piece(task, item, piece, name, done)
                del left[0]
            parts.append({} if task.stays and arrays is not None else arrays)
        if task.merge is None:
            done.parts = list(parts)
        else:
            tree = Tree(task.merge)
            for part in parts:
                tree.add(part, 1)
            done.parts = [tree.whole()]
    done.seconds = time.perf_counter() - started
    done.traffic = get_traffic().since(before)
    done.peak_bytes = measure_peak_memory()
    return done


def measure_peak_memory() -> int:
    """Return the peak memory of this process in bytes; 0 if the system does not report it."""
    try:
        import resource  # noqa: PLC0415  not on Windows
    except ImportError:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _compute_piece(
    task: Task, item: Any, piece: CheckpointName, name: str, done: TaskOutcome
) -> Arrays | None:
    for attempt in range(MAX_TRIES):
        started = time.perf_counter()
        try:
            arrays = task.do(item, *_get_tool(task))
        except EvidenceError:
            raise  # it would be the same with every piece, or must not be passed over
        except Exception as error:
            if isinstance(error, OSError) and error.errno in DISK_FULL:
                raise
            if attempt == MAX_TRIES - 1:
                done.failed.append(describe_failure(name, piece.key, error))
            else:
                done.retried += 1
            continue
        done.computed += 1
        if task.checkpoints is not None:
            done.entries.append(
                task.checkpoints.write(piece, arrays, digest_arithmetic(task.network))
            )
        done.piece_seconds.append(time.perf_counter() - started)
        return arrays
    return None


def _read_checkpoint(task: Task, piece: CheckpointName) -> tuple[Arrays, CheckpointRecord] | None:
    """What the checkpoint store has of a piece; without the arrays where nobody looks at them."""
    known = None if task.checkpoints is None else task.checkpoints.read(piece.key)
    return known if known is None or not task.stays or task.recheck is not None else ({}, known[1])


def _recompute_piece(
    task: Task,
    item: Any,
    known: tuple[Arrays, CheckpointRecord] | None,
    key: str,
    name: str,
    done: TaskOutcome,
) -> None:
    if known is None:
        if key not in task.given_up:
            raise VerificationError(name, "no such checkpoint", "all that the run did")
    elif key in (task.recheck or ()):
        done.nearly += check_recomputed(
            known, task.do(item, *_get_tool(task)), name, network=task.network
        )


def check_recomputed(
    known: tuple[Arrays, CheckpointRecord], again: Arrays, name: str, *, network: bool = False
) -> bool:
    """Refuse what is not the same when computed again: bit for bit where the arithmetic is that of
    the entry, else but for last digits; whether these differ."""
    arrays, entry = known
    if digest_arrays(again) == entry.content:
        return False
    if entry.made_on in ("", digest_arithmetic(network)) or not is_nearly_equal(arrays, again):
        raise VerificationError(
            name, "other numbers when computed again", "those of the checkpoint"
        )
    return True


def is_nearly_equal(arrays: Arrays, again: Arrays) -> bool:
    """Return whether two sets of arrays are the same to 1e-9 of their numbers."""
    if {n: (a.dtype, a.shape) for n, a in arrays.items()} != {
        n: (a.dtype, a.shape) for n, a in again.items()
    }:
        return False
    return all(
        np.allclose(array, again[name], rtol=1e-9, atol=1e-12, equal_nan=True)
        if array.dtype.kind == "f"
        else np.array_equal(array, again[name])
        for name, array in arrays.items()
    )


def _register_tool(task: Task) -> None:
    """Remember what makes the tool, if it was sent along."""
    if task.tool is not None:
        _makers.clear()
        _makers[task.tool_key] = task.tool


def _get_tool(task: Task) -> tuple[Any, ...]:
    """What is slow to make is made once in a process."""
    if not task.tool_key:
        return ()
    if task.tool_key not in _tools:
        _tools.clear()
        _tools[task.tool_key] = _makers[task.tool_key]()
    return (_tools[task.tool_key],)


def describe_failure(name: str, key: str, error: BaseException) -> FailedTask:
    """Return the error in one line, with a digest of its traceback to tell causes apart."""
    text = "".join(traceback.format_exception(error))
    digest = hashlib.sha256(text.encode()).hexdigest()
    return FailedTask(name, key, type(error).__name__, printable(error), digest)

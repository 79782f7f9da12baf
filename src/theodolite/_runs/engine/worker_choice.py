"""Choose where tasks run (this process, several, or Ray), and explain the choice."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from theodolite._runs.engine.checkpoints import CheckpointStore
from theodolite._runs.engine.local_processes import CurrentProcess, LocalProcesses
from theodolite._runs.engine.process_identity import (
    ARITHMETIC,
    NodeMismatchError,
    check_unchanged,
    get_identity,
)
from theodolite._runs.engine.prometheus_port import serve_metrics
from theodolite._runs.engine.ray_tasks import CLUSTER_TIMEOUT, Inference, RayTasks
from theodolite._runs.engine.run_cost import format_bytes
from theodolite._runs.engine.run_progress import PublishingPool, RunProgress, write_progress
from theodolite._runs.engine.signed_checksums import read_seal_key
from theodolite._runs.engine.tasks import TaskPool
from theodolite._runs.engine.worker_pool import WorkerPool
from theodolite._stats.threads import count_cores
from theodolite._storage.stores import Store
from theodolite.errors import EngineFallback, EvidenceError
from theodolite.evidence.pipeline_output import Progress, silent

EngineName = Literal["auto", "local", "ray"]
CHECKPOINT_FOLDER = "pieces"
PROCESS_BYTES = 200_000_000
"""What a process takes before it has read a piece."""


@dataclass(frozen=True)
class Engine:
    """What was asked for."""

    name: EngineName = "auto"
    workers: int | None = None
    """How many processes; as many as there are cores if not given."""
    ray_address: str | None = None
    """A Ray cluster that runs already. Without it nothing is ever attached to."""
    checkpoint_dir: str | None = None
    """Where finished pieces are kept, if not in the run folder: machines of a cluster must all
    reach it."""
    inference: Inference = "auto"
    """How networks are run on Ray."""
    cluster_timeout: float = CLUSTER_TIMEOUT
    """Seconds that a cluster may be without a free CPU while no node joins."""
    metrics_port: int | None = None
    """Where counts of the run can be read, on this machine alone."""
    mixed_cpus: bool = False
    """Whether machines may differ in last digits; the notes say which did how much."""

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise EvidenceError("workers", f"{self.workers}", "at least 1")
        if self.ray_address is not None and self.name == "local":
            raise EvidenceError("ray address", "engine local", "engine ray, or auto")
        if self.checkpoint_dir is not None and "://" not in self.checkpoint_dir:
            # other processes, and later checks, may have another working directory
            object.__setattr__(self, "checkpoint_dir", str(Path(self.checkpoint_dir).resolve()))

    def chosen(self) -> tuple[Literal["local", "ray"], str]:
        """The engine, and why it is this one."""
        if self.name == "ray":
            return "ray", "Ray, as asked for"
        if self.name == "auto" and self.ray_address is not None:
            return "ray", "Ray, because the address of a cluster was given"
        n = self.workers or count_cores()
        if self.name == "auto":
            why = "one machine, where Ray takes seconds to start and gives the same bytes"
            return "local", f"local, {n} processes: {why}"
        return "local", f"local, {n} processes, as asked for"


@contextmanager
def open_worker_pool(
    engine: Engine, out: Path, progress: Progress = silent, piece_bytes: int = 0
) -> Iterator[WorkerPool]:
    """Workers for the time of a run; however it ends, its processes end too.

    On this machine they are not more than memory allows, if it is known how large a piece is.
    """
    store = (
        Store.at(engine.checkpoint_dir)
        if engine.checkpoint_dir
        else Store.at(out.resolve() / CHECKPOINT_FOLDER)
    )
    read_seal_key()  # one that cannot be used is said before anything is started
    fitting, note = limit_workers(engine, piece_bytes, measure_available_memory())
    pool, instead = _start_pool(replace(engine, workers=fitting), out.name)
    watch = RunProgress(pool.size)
    others = [pool.publish] if isinstance(pool, PublishingPool) else []
    workers = WorkerPool(pool, CheckpointStore(store), progress, watch=watch)
    workers.mixed_cpus, workers.instead = engine.mixed_cpus, instead
    workers.notes += [note] * bool(note)
    try:
        with serve_metrics(engine.metrics_port, watch.snapshot), write_progress(watch, out, others):
            yield workers
    finally:
        pool.close()
    check_unchanged()


def limit_workers(
    engine: Engine, piece_bytes: int, available: int | None
) -> tuple[int | None, str]:
    """How many workers there is memory for, as many as asked for at most; and a note if fewer."""
    if not piece_bytes or available is None or engine.chosen()[0] == "ray":
        return engine.workers, ""
    workers = engine.workers or count_cores()
    # a piece is decoded, changed for a null and counted; the rest is the interpreter
    most = max((available - PROCESS_BYTES) // (3 * piece_bytes + PROCESS_BYTES), 1)
    if workers <= most:
        return engine.workers, ""
    return most, (
        f"{most} of {workers} workers: shards of {format_bytes(piece_bytes)} leave no memory for "
        f"more ({format_bytes(available)} are free)."
    )


def measure_available_memory() -> int | None:
    """Bytes that processes can still have on this machine; nothing where it does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = (
            next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable")) * 1024
        )
    except (OSError, StopIteration, ValueError):
        return None
    try:  # what its container may have
        most, current = (
            int(Path("/sys/fs/cgroup", name).read_text(encoding="ascii"))
            for name in ("memory.max", "memory.current")
        )
    except (OSError, ValueError):
        return free
    return min(free, most - current)


def _start_pool(engine: Engine, run: str) -> tuple[TaskPool, str]:
    """The pool; and why it is another than the one that was chosen, if it is."""
    name, _ = engine.chosen()
    workers = engine.workers or count_cores()
    instead = ""
    if name == "ray":
        try:
            return _start_ray_pool(engine, run), ""
        except NodeMismatchError:
            raise
        except EvidenceError as error:
            if engine.name != "auto":
                raise
            instead = f"local, {workers} processes, because Ray did not start: {error}"
            warnings.warn(instead, EngineFallback, stacklevel=4)
    return CurrentProcess() if workers == 1 else LocalProcesses(workers), instead


def _start_ray_pool(engine: Engine, run: str) -> RayTasks:
    pool = RayTasks(
        address=engine.ray_address,
        workers=engine.workers,
        run=run or "theodolite",
        inference=engine.inference,
        cluster_timeout=engine.cluster_timeout,
    )
    own = get_identity()
    try:
        pool.check_node_identity(own.without(ARITHMETIC) if engine.mixed_cpus else own)
    except BaseException:
        pool.close()
        raise
    return pool

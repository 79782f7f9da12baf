"""A dictionary from end to end: how fast, in how much memory, and against what others count with.

Codes are made piece by piece and written into a folder. A fresh process dissects them and measures
its own peak; others time the bare loops on the same piece in memory, np.bincount and polars. CPU
seconds throughout. ``--ray`` compares the engine on Ray with bare Ray tasks of the same work.
Prints what was measured and, last, the first pass's values a second as a ratio to the bare loops.

    python benchmarks/dictionaries.py --units 100000 --positions 1e7 --concepts 1000 --active 32
"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from generated_codes import code_piece

from theodolite._runs.engine.checkpoints import CheckpointStore
from theodolite._runs.engine.local_processes import CurrentProcess
from theodolite._runs.engine.ray_tasks import RayTasks
from theodolite._runs.engine.worker_choice import Engine, open_worker_pool
from theodolite._runs.engine.worker_pool import WorkerPool
from theodolite._storage.stores import Store
from theodolite.evidence.workers import SerialWorkers, Work
from theodolite.language.sae import passes
from theodolite.language.sae.activation_shard import SparseActivationShard
from theodolite.language.sae.counting import UnitCounts, count_piece, sort_values
from theodolite.language.sae.dissect import dissect_sae
from theodolite.language.sae.evidence import SparseActivationEvidence
from theodolite.language.sae.inventory import Inventory, take_inventory
from theodolite.language.sae.singles import TABLE_BYTES, choose_candidates, count_range
from theodolite.language.sae.writer import SparseActivationWriter

PIECE = 1 << 19


def cpu() -> float:
    """Seconds of this process and of those that it waited for."""
    return sum(os.times()[:4])


def peak() -> float:
    """Gigabytes that this process had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What it gives, and its CPU seconds."""
    before = cpu()
    result = work()
    return result, cpu() - before


def write(folder: Path, units: int, positions: int, concepts: int, active: int) -> None:
    """Codes of that size."""
    names = [f"concept {c}" for c in range(concepts)]
    with SparseActivationWriter(folder, units=units, concepts=names, positions=PIECE) as writer:
        done = 0
        while done < positions:
            piece = code_piece(
                len(names) + done, min(PIECE, positions - done), units, concepts, active
            )
            writer.add(piece)
            done += len(piece)


class Stages(WorkerPool):
    """Remembers the CPU seconds that each kind of work took."""

    seconds: dict[str, float]

    def each(self, work: Work) -> Any:
        before = cpu()
        for part in super().each(work):
            self._note(work.what, before)
            yield part
            before = cpu()
        self._note(work.what, before)

    def _note(self, what: str, before: float) -> None:
        self.seconds[what] = self.seconds.get(what, 0.0) + cpu() - before


def whole(folder: Path, null_units: int | None) -> dict[str, Any]:
    """The dissection, in this process, with its stages."""
    evidence = SparseActivationEvidence.open(folder)
    warm()
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as out:
        crew = Stages(CurrentProcess(), CheckpointStore(Store.at(out)))
        crew.seconds = {}
        result, seconds = timed(partial(dissect_sae, evidence, workers=crew, null_units=null_units))
    facts = result.summary()
    return {
        "wall_s": time.perf_counter() - started, "cpu_s": seconds, "peak_gb": peak(),
        "values": evidence.values, "stages_cpu_s": crew.seconds, **facts,
        "median_gap": float(np.nanmedian(result.gap)),
        "above_64_candidates": int((result.candidates > 64).sum()),
    }  # fmt: skip


def warm() -> None:
    """Loops are compiled once, ever."""
    piece = code_piece(0, 2048, 64, 20, 4)
    dissect_sae(SparseActivationEvidence([piece], units=64, concepts=[f"c{i}" for i in range(20)]))


def first_pass(folder: Path) -> dict[str, float]:
    """Values a CPU second of the first pass through the engine, files and ledger included; and of
    the bare loops over the same pieces in memory, in turn."""
    evidence = SparseActivationEvidence.open(folder)
    warm()
    inventory = take_inventory(evidence, SerialWorkers())
    units, limits = np.arange(evidence.units), np.zeros(evidence.units, np.float32)
    bare_seconds = 0.0
    counts = UnitCounts.zeros(evidence.units, len(evidence.concepts))
    for number in range(len(evidence)):
        piece = SparseActivationShard(
            **{n: np.array(a) for n, a in evidence.piece(number).arrays().items()}
        )
        _ = piece.document
        _, seconds = timed(partial(count_piece, piece, units, counts))
        bare_seconds += seconds
    del counts
    _, seconds = timed(lambda: through_engine(evidence, inventory, units, limits))
    return {
        "engine_m_values_s": evidence.values / seconds / 1e6,
        "bare_m_values_s": evidence.values / bare_seconds / 1e6,
        "engine_over_bare": bare_seconds / seconds,
    }


def through_engine(
    evidence: SparseActivationEvidence, inventory: Inventory, units: np.ndarray, limits: np.ndarray
) -> None:
    with (
        tempfile.TemporaryDirectory() as out,
        open_worker_pool(Engine("local", 1), Path(out)) as crew,
    ):
        choose_candidates(evidence, crew, inventory, units, limits, candidates=64, precision=0.01)


def others(units: int, concepts: int, active: int) -> dict[str, float]:
    """The loops against np.bincount on expanded keys and polars, on one small piece."""
    import polars as pl  # noqa: PLC0415

    piece = code_piece(1, 1 << 16, units, concepts, active)
    chosen = np.arange(units)
    warm()
    counts = UnitCounts.zeros(units, concepts)
    count_piece(piece, chosen, counts)
    _, ours = timed(lambda: count_piece(piece, chosen, counts))
    _, sorting = timed(lambda: sort_values(piece, chosen, 9))
    owner = np.repeat(np.arange(len(piece)), np.diff(piece.start))
    sizes = np.diff(piece.set_start).astype(np.int64)[piece.atom]

    def expanded() -> np.ndarray:
        per_value = sizes[owner]
        value = np.repeat(np.arange(len(owner)), per_value)
        within = np.arange(len(value)) - np.repeat(np.cumsum(per_value) - per_value, per_value)
        label = piece.set_label[piece.set_start[piece.atom[owner[value]]] + within]
        return np.bincount(
            piece.unit[value].astype(np.int64) * concepts + label, minlength=units * concepts
        )

    plain, bincount = timed(expanded)
    position = np.repeat(np.arange(len(piece)), sizes)
    within = np.arange(len(position)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    codes = pl.DataFrame({"position": owner, "unit": piece.unit})
    labels = pl.DataFrame(
        {
            "position": position,
            "label": piece.set_label[piece.set_start[piece.atom[position]] + within],
        }
    )
    joined, polars = timed(
        lambda: codes.join(labels, on="position").group_by("unit", "label").len()
    )
    assert np.array_equal(plain.reshape(units, concepts) * 2, counts.table[:, :, 0])
    assert len(joined) == np.count_nonzero(plain)
    return {
        "times_bincount": bincount / ours, "times_polars": polars / ours,
        "sorting_m_values_s": len(piece.unit) / max(sorting, 1e-9) / 1e6,
    }  # fmt: skip


def exponent(units: int, concepts: int, active: int) -> float:
    """Growth of the first pass's CPU seconds with positions."""
    sizes, seconds = [1 << 16, 1 << 18], []
    chosen = np.arange(units)
    warm()
    for size in sizes:
        piece = code_piece(2, size, units, concepts, active)
        counts = UnitCounts.zeros(units, concepts)
        count_piece(piece, chosen, counts)  # touches the table
        seconds.append(timed(partial(count_piece, piece, chosen, counts))[1])
    return math.log(seconds[1] / seconds[0]) / math.log(sizes[1] / sizes[0])


def on_ray(folder: Path) -> dict[str, float]:
    """Wall time of the first pass by the engine on Ray and by bare Ray tasks, in turn; medians."""
    evidence = SparseActivationEvidence.open(folder)
    units, limits = np.arange(evidence.units), np.zeros(evidence.units, np.float32)
    pool = RayTasks(workers=2)
    import ray  # noqa: PLC0415  not before the engine's settings

    do = partial(count_range, units=units, limits=limits, seed=None, device=None)
    # as the dissection cuts it: blocks so long that keeping a table is little beside counting it
    cut = passes.plan_cut(evidence, evidence.units, 8 * len(evidence.concepts), TABLE_BYTES)
    work = passes.Pass("single concepts", do, cut, units, {}).work(evidence)
    bare: Any = ray.remote(lambda item, shared: do(item, shared)).options(num_cpus=1)

    def by_bare() -> None:
        shared = ray.put(evidence)
        waiting = [bare.remote(item, shared) for item in work.items]
        while waiting:
            done, waiting = ray.wait(waiting)
            ray.get(done[0])

    def by_engine() -> None:
        with tempfile.TemporaryDirectory() as out:
            for _ in WorkerPool(pool, CheckpointStore(Store.at(out))).each(work):
                pass

    times: dict[str, list[float]] = {"bare": [], "engine": []}
    by_bare()
    by_engine()
    for _ in range(3):
        for name, task in (("bare", by_bare), ("engine", by_engine)):
            started = time.perf_counter()
            task()
            times[name].append(time.perf_counter() - started)
    pool.close()
    engine, plain = float(np.median(times["engine"])), float(np.median(times["bare"]))
    return {"ray_s": engine, "bare_ray_s": plain, "ray_over_bare": engine / plain}


def main() -> None:
    """Each part in a process of its own, so that peaks are its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--units", type=int, default=5_000)
    parser.add_argument("--positions", type=float, default=1e5)
    parser.add_argument("--concepts", type=int, default=200)
    parser.add_argument("--active", type=int, default=32)
    parser.add_argument("--null-units", type=int)
    parser.add_argument("--ray", action="store_true")
    parser.add_argument("--folder", type=Path, help="Codes that were written before, or will be.")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    options = parser.parse_args()
    size = (options.units, options.concepts, options.active)
    if options.part:
        folder = options.folder
        parts: dict[str, Callable[[], Any]] = {
            "write": lambda: write(folder, size[0], int(options.positions), *size[1:]),
            "whole": lambda: whole(folder, options.null_units),
            "first": lambda: first_pass(folder),
            "others": lambda: others(*size),
            "exponent": lambda: {"exponent": exponent(*size)},
            "ray": lambda: on_ray(folder),
        }
        print(json.dumps(parts[options.part]() or {}))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary) / "codes"
        names = [] if (folder / "codes.json").exists() else ["write"]
        names += ["ray"] if options.ray else ["whole", "others", "exponent", "first"]
        for name in names:
            more = ["--part", name, "--folder", str(folder)]
            done = subprocess.run(
                [sys.executable, __file__, *sys.argv[1:], *more], check=True, capture_output=True
            )
            facts = json.loads(done.stdout.splitlines()[-1])
            for fact, value in facts.items():
                text = f"{value:,.4g}" if isinstance(value, float) else f"{value}"
                print(f"{fact}: {text}", flush=True)
    ratio = facts["ray_over_bare" if options.ray else "engine_over_bare"]
    print(json.dumps({"ratio": round(ratio, 3)}))


if __name__ == "__main__":
    main()

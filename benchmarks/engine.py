"""What the engine costs, and whether it gives the same bytes everywhere, over generated samples.

    python benchmarks/engine.py [--samples 50000] [--repeats 2] [--faults]

CEM, CLM and SURF with intervals and nulls, over evidence on disk in pieces of 512 samples. The
peers do the same work: a plain loop, and bare Ray tasks of four pieces each, merged in the same
tree. They keep nothing and check nothing; ours checks every piece against its digest and keeps
what it gave. Then the dissection of as many images on each engine: counts must be equal bytes.
``--faults`` adds a cluster of three nodes on this machine, undisturbed and with one node killed.
The ratios are printed last: ours over the peer's, of the shortest times; Ray's is the last line.
"""

import argparse
import hashlib
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from generated_evidence import written
from planted_maps import PlantedMaps

from theodolite._runs.engine.checkpoints import CheckpointStore
from theodolite._runs.engine.local_processes import CurrentProcess, LocalProcesses
from theodolite._runs.engine.ray_connection import apply_local_settings
from theodolite._runs.engine.ray_tasks import RayTasks
from theodolite._runs.engine.tasks import TaskPool
from theodolite._runs.engine.worker_pool import WorkerPool
from theodolite._scoring.evaluate import MetricRequest, MetricRun, Resampling, evaluate_all
from theodolite._storage.stores import Store
from theodolite.dissection.sharded import dissect_shards
from theodolite.evidence.manifests import stored_shards as pieces_room
from theodolite.evidence.manifests.stored_shards import StoredShard, StoredShards
from theodolite.evidence.shards import compute_evidence_digest
from theodolite.evidence.store import stored
from theodolite.evidence.workers import Merge, SerialWorkers, Tree, Work, Workers
from theodolite.metrics.catalogue import find_metric

QUICK = Resampling(resamples=200)
METRICS = ("concept_existence", "concept_location", "surrogate_distance", "surrogate_error")
BLOCK = 4


class Unchecked(StoredShard):
    """A piece that is read without being checked, when it is needed."""

    def evidence(self) -> Any:
        room: Any = pieces_room
        digest, room.compute_content_digest = room.compute_content_digest, AsWritten
        try:
            return self.read()
        finally:
            room.compute_content_digest = digest


class AsWritten(bytes):
    """Equal to whatever digest it is held against."""

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = None  # type: ignore[assignment]


class Bare(StoredShards):
    """Evidence as a plain loop would read it."""

    def shards(self) -> list[Unchecked]:
        return [Unchecked(**vars(piece)) for piece in super().shards()]


def block(work_do: Any, merge: Merge, items: list[Any]) -> Any:
    """A few pieces, merged: all that a bare task does."""
    tree = Tree(merge)
    for item in items:
        tree.add(work_do(item), 1)
    return tree.whole()


class BareRay(SerialWorkers):
    """The same work written bare: tasks of four pieces, results in order, nothing else."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._block = ray.remote(block)

    def reduced(self, work: Work, merge: Merge) -> Any:
        cuts = range(0, len(work.items), BLOCK)
        items = [list(work.items[at : at + BLOCK]) for at in cuts]
        tree = Tree(merge)
        for some, part in zip(
            items,
            self._ray.get([self._block.remote(work.do, merge, one) for one in items]),
            strict=True,
        ):
            tree.add(part, len(some))
        return tree.whole()


def scores(sources: Mapping[str, StoredShards], workers: Workers) -> str:
    """A digest of all scores with intervals and nulls."""
    asked = [MetricRun(MetricRequest(find_metric(name)), [sources[name]]) for name in METRICS]
    groups = [[asdict(score) for score in group] for group in evaluate_all(asked, QUICK, workers)]
    return hashlib.sha256(repr(groups).encode()).hexdigest()[:16]


def counts(maps: PlantedMaps, workers: Workers) -> str:
    """A digest of all counts of a dissection."""
    result = dissect_shards(maps, workers)
    digest = hashlib.sha256(result.limits.tobytes())
    for shard in result.evidence():
        digest.update(compute_evidence_digest(shard).encode())
    return digest.hexdigest()[:16]


def timed(name: str, work: Callable[[], str]) -> tuple[float, str]:
    started = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - started
    print(f"{name:34} {seconds:8.1f} s   {result}", flush=True)
    return seconds, result


def kept(pool: TaskPool, folder: Path, progress: Any = None) -> WorkerPool:
    """A worker pool with an empty ledger."""
    shutil.rmtree(folder, ignore_errors=True)
    return WorkerPool(pool, CheckpointStore(Store.at(folder)), progress or (lambda *_: None))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--samples", type=int, default=50_000)
    options.add_argument("--repeats", type=int, default=2)
    options.add_argument("--faults", action="store_true")
    given = options.parse_args()
    root = Path(tempfile.gettempdir()) / "theodolite-engine"
    location, surrogate = written(root, given.samples)
    concept = stored(root / f"location-{given.samples}", "explained")
    sources = dict(zip(METRICS, (concept, location, surrogate, surrogate), strict=True))
    bare = {name: Bare(**vars(one)) for name, one in sources.items()}
    maps = PlantedMaps(n_images=given.samples, n_units=32, n_concepts=24)
    ledger = root / "pieces"
    result: dict[str, list[tuple[float, str]]] = {}

    def run(name: str, work: Callable[[], str]) -> None:
        result.setdefault(name, []).append(timed(name, work))

    for _ in range(given.repeats):
        run("plain loop", lambda: scores(bare, SerialWorkers()))
        run("local, one process", lambda: scores(sources, kept(CurrentProcess(), ledger)))
    two = LocalProcesses(2)
    run("local, two processes", lambda: scores(sources, kept(two, ledger)))
    run("dissection, plain loop", lambda: counts(maps, SerialWorkers()))
    run("dissection, two processes", lambda: counts(maps, kept(two, ledger)))
    two.close()

    tasks = RayTasks(workers=2)
    for _ in range(given.repeats):
        run("bare Ray, two workers", lambda: scores(bare, BareRay(tasks._ray)))
        run("Ray, two workers", lambda: scores(sources, kept(tasks, ledger)))
    run("dissection, Ray", lambda: counts(maps, kept(tasks, ledger)))
    tasks.close()
    if given.faults:
        three_nodes(sources, maps, ledger, run)

    for kind in ("dissection", ""):
        digests = {
            digest
            for name, runs in result.items()
            if name.startswith("dissection") == bool(kind)
            for _, digest in runs
        }
        print(f"{kind or 'scores'}: {'equal' if len(digests) == 1 else 'DIFFERENT'} bytes")
    best = {name: min(seconds for seconds, _ in runs) for name, runs in result.items()}
    if given.faults:
        lost = best["Ray, three nodes, one killed"] / best["Ray, three nodes"]
        print(f"a node killed: {lost:.3f}")
    print(f"local over a plain loop: {best['local, one process'] / best['plain loop']:.3f}")
    print(f"Ray over bare Ray: {best['Ray, two workers'] / best['bare Ray, two workers']:.3f}")


def three_nodes(
    sources: Mapping[str, StoredShards],
    maps: PlantedMaps,
    ledger: Path,
    run: Callable[[str, Callable[[], str]], None],
) -> None:
    """Three nodes with a core each, of which one is killed after a third of the pieces."""
    apply_local_settings()
    from ray.cluster_utils import Cluster  # noqa: PLC0415  not before our settings

    head = {"num_cpus": 1, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    cluster.wait_for_nodes()
    tasks = RayTasks(address=cluster.address)
    run("Ray, three nodes", lambda: scores(sources, kept(tasks, ledger)))
    run("dissection, Ray, three nodes", lambda: counts(maps, kept(tasks, ledger)))
    raylet = [nodes[0].all_processes["raylet"][0].process.pid]

    def kill(what: str, done: int, of: int) -> None:
        if what == "pieces" and 3 * done >= of and raylet:
            os.kill(raylet.pop(), signal.SIGKILL)
            print("a node was killed", flush=True)

    run("Ray, three nodes, one killed", lambda: scores(sources, kept(tasks, ledger, kill)))
    assert not raylet
    tasks.close()
    tasks._ray.shutdown()
    cluster.shutdown()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main()

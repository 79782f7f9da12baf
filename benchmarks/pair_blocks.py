"""All pairs of concepts on workers: CPU against the bare estimator, memory, wall time of two.

    python benchmarks/pair_blocks.py share    # one item of 32 x 32 pairs at 50,000 samples
    python benchmarks/pair_blocks.py small    # 1,000 concepts x 2,000 samples, some items of it
    python benchmarks/pair_blocks.py workers  # 1 and 2 workers, wall: on an idle machine only;
                                              # beside it what two bare processes gain here

Each prints one line of JSON, the ratio last. What is extrapolated says so in its name.
"""

import json
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._runs.engine.checkpoints import CheckpointStore
from theodolite._runs.engine.local_processes import CurrentProcess, LocalProcesses
from theodolite._runs.engine.worker_pool import WorkerPool
from theodolite._scoring.evaluate import MetricRequest, MetricRun, Resampling, evaluate_all
from theodolite._scoring.plan import Plan
from theodolite._stats.information import Columns, pair_terms
from theodolite._storage.stores import Store
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.shards import InMemoryShards
from theodolite.metrics.blocks import BLOCK, BlockContext, BlockItem, Common
from theodolite.metrics.catalogue import find_metric

METRIC = "interconcept_leakage"
CONCEPTS = 1_000
PAIRS = CONCEPTS * (CONCEPTS - 1) // 2
EVALUATIONS = 4
"""The score, and three draws of its null."""


def made(n: int, k: int, seed: int = 0) -> ConceptEvidence:
    """Values that share a little beyond their true concepts."""
    random = np.random.default_rng(seed)
    truth = random.random((n, k)) < 0.3
    values = truth + 0.6 * random.normal(size=(n, k)) + 0.2 * random.normal(size=(n, 1))
    return ConceptEvidence(values=values, truth=truth)


def cpu(do: Callable[[], Any]) -> float:
    """Seconds of this process."""
    before = time.process_time()
    do()
    return time.process_time() - before


def item_against_bare(n: int, k: int, parts: int) -> dict[str, float]:
    """CPU of items of ``k`` x ``k`` pairs with 1,000 resamples, and of the estimator alone."""
    evidence = made(n, 2 * k)
    metric = find_metric(METRIC)
    plan = Plan(metric, n, None, Resampling())
    item = BlockItem(range(k), range(k, 2 * k))
    block = BlockContext(item, 2 * k, Common.of(evidence))
    columns = Columns(np.asarray(evidence.values))
    for _ in pair_terms(columns, block.pairs[:4], k=3):  # compiled before it is timed
        pass
    metric.state.part(made(1_500, 4), plan.grouped_weights(made(1_500, 4), slice(0, 2)),
                      BlockContext(BlockItem(range(2), range(2, 4)), 4, block.common))  # fmt: skip
    whole, bare = [], []
    for _ in range(parts):  # in turn, so that a busy machine slows both
        bare.append(cpu(lambda: [None for _ in pair_terms(columns, block.pairs, k=3)]))
        whole.append(
            cpu(
                lambda: metric.state.part(
                    evidence, plan.grouped_weights(evidence, slice(0, len(plan))), block
                )
            )
        )
    pairs = k * k
    return {
        "samples": n,
        "pairs": pairs,
        "bare_ms_a_pair": 1e3 * min(bare) / pairs,
        "ms_a_pair": 1e3 * min(whole) / pairs,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "extrapolated_cpu_hours_1000_concepts": EVALUATIONS * PAIRS * min(whole) / pairs / 3600,
        "extrapolated_cpu_seconds_an_evaluation": PAIRS * min(whole) / pairs,
        "bare_cpu_seconds_an_evaluation": PAIRS * min(bare) / pairs,
        "ratio": min(whole) / min(bare),
    }


def on_workers(n: int, k: int, workers: int) -> dict[str, float]:
    """A whole evaluation of all pairs; wall seconds, and the largest worker."""
    resampling = Resampling(most_null_draws=1)
    run = MetricRun(MetricRequest(find_metric(METRIC)), [InMemoryShards(made(n, k))])
    with tempfile.TemporaryDirectory() as folder:
        pool = CurrentProcess() if workers == 1 else LocalProcesses(workers)
        crew = WorkerPool(pool, CheckpointStore(Store.at(Path(folder))))
        started = time.perf_counter()
        evaluate_all([run], resampling, crew)
        wall = time.perf_counter() - started
        pool.close()
    peak = resource.getrusage(resource.RUSAGE_CHILDREN if workers > 1 else resource.RUSAGE_SELF)
    return {"wall": wall, "peak_gb": peak.ru_maxrss / 1e6}


def bare_loop(n: int, k: int, ready: Any) -> float:
    """Seconds of the estimator alone, begun when all processes are ready."""
    os.environ["THEODOLITE_THREADS"] = "1"
    columns = Columns(np.asarray(made(n, k).values))
    pairs = np.stack(np.triu_indices(k, 1), axis=1)
    ready.wait()
    started = time.perf_counter()
    for _ in pair_terms(columns, pairs, k=3):
        pass
    return time.perf_counter() - started


def bare_speed_up(n: int, k: int) -> float:
    """What this machine's second core is worth to the estimator: cores may share their parts."""
    seconds = []
    with multiprocessing.Manager() as manager:
        for processes in (1, 2, 1, 2):
            with ProcessPoolExecutor(processes) as pool:
                ready = manager.Barrier(processes)
                jobs = [pool.submit(bare_loop, n, k, ready) for _ in range(processes)]
                seconds.append(max(job.result() for job in jobs))
    return 2 * min(seconds[0], seconds[2]) / min(seconds[1], seconds[3])


def speed_up(n: int, k: int) -> dict[str, float]:
    """Each in a process of its own, so that nothing is warm for the second."""
    outcomes = []
    for workers in (1, 2):
        command = [sys.executable, __file__, "run", str(n), str(k), str(workers)]
        # a single process would spread its loops over all cores: then there is nothing to gain
        alone = os.environ | {"NUMBA_NUM_THREADS": "1"}
        text = subprocess.run(command, check=True, capture_output=True, text=True, env=alone).stdout
        outcomes.append(json.loads(text.splitlines()[-1]))
    return {
        "samples": n,
        "concepts": k,
        "peak_gb_a_worker": outcomes[1]["peak_gb"],
        "wall_1": outcomes[0]["wall"],
        "wall_2": outcomes[1]["wall"],
        "load": os.getloadavg()[0],
        "bare_speed_up": bare_speed_up(n, min(k, BLOCK)),
        "ratio": outcomes[0]["wall"] / outcomes[1]["wall"],
    }


def main() -> None:
    what, *numbers = sys.argv[1:] or ["share"]
    sizes = [int(number) for number in numbers]
    if what == "share":
        outcome = item_against_bare(*(sizes or [50_000, BLOCK, 1]))
    elif what == "small":
        outcome = item_against_bare(*(sizes or [2_000, BLOCK, 3]))
    elif what == "run":
        outcome = on_workers(*sizes)
    else:
        outcome = speed_up(*(sizes or [50_000, 200]))
    print(json.dumps(outcome))


if __name__ == "__main__":
    main()

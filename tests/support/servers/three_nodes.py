"""A cluster of three nodes on this machine: the same work undisturbed, and with a node killed.

Run as a program with a folder for the ledger; prints digests.
"""

import os
import signal
import sys
import time
from functools import partial
from pathlib import Path

from support.runs.work_pieces import merge, numbers, work
from theodolite._runs.engine.checkpoints import CheckpointStore
from theodolite._runs.engine.ray_connection import get_local_settings
from theodolite._runs.engine.ray_tasks import RayTasks
from theodolite._runs.engine.worker_pool import WorkerPool
from theodolite._storage.packed_arrays import digest_arrays
from theodolite._storage.stores import Store


def main(folder: Path) -> None:
    os.environ.update(get_local_settings())  # before ray is loaded, which reads them
    import ray  # noqa: PLC0415
    from ray.cluster_utils import Cluster  # noqa: PLC0415

    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    cluster.wait_for_nodes()
    pool = RayTasks(address=cluster.address)
    assert pool.size == 3, pool.size
    assert not pool.notes, pool.notes
    for name in ("undisturbed", "killed"):
        raylet = nodes[0].all_processes["raylet"][0].process.pid

        def progress(what: str, done: int, of: int, name: str = name, raylet: int = raylet) -> None:
            if name == "killed" and of // 3 <= done < of:
                try:
                    os.kill(raylet, signal.SIGKILL)
                except ProcessLookupError:
                    return

        crew = WorkerPool(pool, CheckpointStore(Store.at(folder / name)), progress)
        started = time.perf_counter()
        result = crew.reduced(work(60, partial(numbers, seconds=0.05)), merge)
        assert not crew.failed, crew.failed
        print(f"={name} {digest_arrays(result or {})}")
        print(f"seconds {time.perf_counter() - started:.1f}")
    address = ray.get_runtime_context().gcs_address
    print("=listening", "loopback" if address.startswith("127.0.0.1:") else address)
    pool.close()
    ray.shutdown()
    cluster.shutdown()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

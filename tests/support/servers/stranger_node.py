"""A cluster of which one node has other code, another numpy and another CPU: it joins while others
work, then it is there from the start.

Run as a program with a folder; prints what happened.
"""

import os
import shutil
import sys
from functools import partial
from pathlib import Path

from support.runs.work_pieces import merge, numbers, work
from theodolite._runs.engine.checkpoints import CheckpointStore
from theodolite._runs.engine.process_identity import ROOT, NodeMismatchError, get_identity
from theodolite._runs.engine.ray_connection import get_local_settings
from theodolite._runs.engine.ray_tasks import RayTasks
from theodolite._runs.engine.worker_pool import WorkerPool
from theodolite._storage.packed_arrays import digest_arrays
from theodolite._storage.stores import Store


def other_machine(folder: Path) -> dict[str, str]:
    """The environment of a node with one constant changed in a copy of our package."""
    shutil.copytree(ROOT, folder / "theodolite", ignore=shutil.ignore_patterns("__pycache__"))
    changed = folder / "theodolite" / "engine" / "pieces.py"
    changed.write_text(changed.read_text().replace("TRIES = 3", "TRIES = 4"))
    info = folder / "numpy-9.9.9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 9.9.9\n")
    return {
        "PYTHONPATH": os.pathsep.join([str(folder), os.environ["PYTHONPATH"]]),
        "OPENBLAS_CORETYPE": "Nehalem",
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4",
    }


def main(folder: Path) -> None:
    os.environ.update(get_local_settings())  # before ray is loaded, which reads them
    import ray  # noqa: PLC0415
    from ray.cluster_utils import Cluster  # noqa: PLC0415

    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    pool = RayTasks(address=cluster.address)
    pool.check_node_identity(get_identity())
    settings = other_machine(folder / "other")
    joined = []

    def progress(what: str, done: int, of: int) -> None:
        if done > 4 and not joined:
            joined.append(cluster.add_node(num_cpus=1, env_vars=settings))

    crew = WorkerPool(pool, CheckpointStore(Store.at(folder / "pieces")), progress)
    slow = work(40, partial(numbers, seconds=0.3))
    print(f"=late {digest_arrays(crew.reduced(slow, merge) or {})}")
    assert not crew.failed, crew.failed
    print(f"=notes {' '.join(pool.notes)}")
    print(f"=counted {crew.watch.snapshot()['strangers']}")
    print(f"=kinds {len({entry.made_on for entry in crew.used.values()})}")
    try:
        pool.check_node_identity(get_identity())
    except NodeMismatchError as error:
        print(f"=start {error.exit_code} {error}")
    pool.close()
    ray.shutdown()
    cluster.shutdown()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""The Ray engine on a real cluster: the same bytes, whatever is killed, and no door left open."""

import importlib.util
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from support.evidence.codes import planted_codes
from support.runs.work_pieces import (
    dies_at,
    make_tool,
    merge,
    refused_at,
    with_tool,
    work,
    wrong_at,
)
from theodolite._runs.engine.checkpoints import CheckpointStore
from theodolite._runs.engine.ray_connection import get_local_settings, our_settings, start_ray
from theodolite._runs.engine.ray_tasks import RayTasks, _choose_inference
from theodolite._runs.engine.worker_pool import WorkerPool
from theodolite._storage.packed_arrays import digest_arrays
from theodolite._storage.stores import Store
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.evidence.workers import SerialWorkers
from theodolite.language.sae.dissect import dissect_sae
from theodolite.language.sae.result import CodeDissection

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}


def listening() -> set[tuple[str, str]]:
    """Addresses and ports that something listens on, as the kernel has them."""
    result = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            local, state = line.split()[1], line.split()[3]
            if state == "0A":
                address, port = local.split(":")
                result.add((address, port))
    return result


@pytest.fixture(scope="module")
def sockets_before() -> set[tuple[str, str]]:
    return listening()


def started() -> RayTasks:
    """Ray waits half a minute for its own servers, which a busy machine may need: three times."""
    for _ in range(2):
        try:
            return RayTasks(workers=2)
        except Exception as error:
            if "did not start in time" not in str(error):
                raise
            sys.modules["ray"].shutdown()
    return RayTasks(workers=2)


@pytest.fixture(scope="module")
def pool(sockets_before: set[tuple[str, str]]) -> Iterator[RayTasks]:
    with pytest.MonkeyPatch.context() as patch:
        tests = str(Path(__file__).parents[2])  # where work_pieces is
        patch.setenv("PYTHONPATH", tests, prepend=os.pathsep)
        result = started()
        yield result
        result.close()


def crew(pool: RayTasks, folder: Path) -> WorkerPool:
    return WorkerPool(pool, CheckpointStore(Store.at(folder / "pieces")))


EXPECTED = digest_arrays(SerialWorkers().reduced(work(37), merge) or {})


def test_the_same_bytes(pool: RayTasks, tmp_path: Path) -> None:
    doing = crew(pool, tmp_path)
    assert digest_arrays(doing.reduced(work(37), merge) or {}) == EXPECTED
    assert doing.computed == 37
    again = crew(pool, tmp_path)
    assert digest_arrays(again.reduced(work(37), merge) or {}) == EXPECTED
    assert again.computed == 0


def test_a_dictionary_gives_the_same_bytes(pool: RayTasks, tmp_path: Path) -> None:
    """Thresholds, counts, sets, search and null: Ray hands arrays over that cannot be written to."""
    evidence = planted_codes(2, units=24, concepts=8, dense=3)
    dissected = partial(dissect_sae, evidence, quantile=0.9, candidates=4, gap=0.05)
    on_ray, alone = dissected(workers=crew(pool, tmp_path)), dissected()
    assert (alone.thresholds > 0).any() and (alone.candidates > 4).any()
    assert bytes_of(on_ray) == bytes_of(alone)


def bytes_of(dissection: CodeDissection) -> str:
    """A digest of all numbers of all units."""
    columns = dissection.columns()
    return digest_arrays({name: np.asarray(column) for name, column in columns.items()})


def test_nothing_listens_off_loopback(
    pool: RayTasks, sockets_before: set[tuple[str, str]], tmp_path: Path
) -> None:
    crew(pool, tmp_path).reduced(work(4), merge)  # workers have started too
    ours = listening() - sockets_before
    assert len(ours) >= 4
    assert {address for address, _ in ours} <= LOOPBACK
    with socket.socket() as plug:
        plug.settimeout(1)
        assert plug.connect_ex(("127.0.0.1", 8265)) != 0, "a dashboard listens"


ASK = """
import sys
from ray._raylet import GcsClient
try:
    print("let in:", len(GcsClient(address=sys.argv[1]).get_all_node_info(timeout=10)))
except Exception as error:
    print("refused:", type(error).__name__)
"""


@pytest.mark.parametrize("token", ["own", "none", "wrong"])
def test_a_request_without_the_token_is_refused(pool: RayTasks, token: str) -> None:
    import ray  # noqa: PLC0415  not before our settings

    address = ray.get_runtime_context().gcs_address
    assert "RAY_AUTH_TOKEN" not in os.environ, "the environment is as it was"
    environment = os.environ | our_settings
    if token == "none":
        environment["RAY_AUTH_MODE"] = "disabled"
        environment.pop("RAY_AUTH_TOKEN")
    elif token == "wrong":
        environment["RAY_AUTH_TOKEN"] = "0" * 64
    asked = subprocess.run(
        [sys.executable, "-c", ASK, address], env=environment, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    expected = "let in: 1" if token == "own" else "refused: AuthenticationError"
    assert asked.stdout.strip() == expected


def test_never_attached_by_accident(pool: RayTasks, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EvidenceError, match="open connection"):
        start_ray(None, 1, "other")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    assert get_local_settings()["RAY_AUTH_MODE"] == "token"
    assert len(get_local_settings()["RAY_AUTH_TOKEN"]) == 64
    assert get_local_settings()["RAY_AUTH_TOKEN"] != get_local_settings()["RAY_AUTH_TOKEN"]


def test_failures_and_refusals(pool: RayTasks, tmp_path: Path) -> None:
    doing = crew(pool, tmp_path / "a")
    result = doing.reduced(work(10, partial(wrong_at, 6)), merge)
    assert result is not None and int(result[":.n"]) == 9
    assert [one.error for one in doing.failed] == ["ZeroDivisionError"]
    with pytest.raises(UnsafeInputError, match="changed bytes"):
        crew(pool, tmp_path / "b").reduced(work(6, partial(refused_at, 3)), merge)
    doing = crew(pool, tmp_path / "c")
    assert digest_arrays(doing.reduced(work(37), merge) or {}) == EXPECTED, "the pool can go on"


@pytest.mark.parametrize("times", [1, 99])
def test_workers_that_are_killed(pool: RayTasks, tmp_path: Path, times: int) -> None:
    doing = crew(pool, tmp_path)
    result = doing.reduced(work(12, partial(dies_at, 5, times, tmp_path)), merge)
    assert result is not None
    if times == 1:
        assert digest_arrays(result) == digest_arrays(
            SerialWorkers().reduced(work(12), merge) or {}
        )
        assert not doing.failed
    else:
        assert int(result[":.n"]) == 11
        assert [one.piece for one in doing.failed] == ["numbers 5"]
        assert len(list(tmp_path.glob("died-5-*"))) == 3


def test_networks_by_ray_data(pool: RayTasks, tmp_path: Path) -> None:
    """Actors that hold a tool each; the results are those of tasks, in order."""
    assert not pool.uses_ray_data and "only adds" in pool.why
    pool.uses_ray_data = True
    try:
        todo = work(10, with_tool, tool=partial(make_tool, tmp_path), network=True)
        doing = crew(pool, tmp_path)
        result = list(doing.each(todo))
        assert [int((one or {})["item"]) for one in result] == list(range(10))
        assert len(list(tmp_path.glob("tool-*"))) == 1
        assert doing.computed == 10
        again = crew(pool, tmp_path)
        assert [int((one or {})["item"]) for one in again.each(todo)] == list(range(10))
        assert again.computed == 0
        damaged = sorted((tmp_path / "pieces").iterdir())[4]
        damaged.write_bytes(damaged.read_bytes()[:50])
        mended = crew(pool, tmp_path)
        assert [int((one or {})["item"]) for one in mended.each(todo)] == list(range(10))
        assert mended.computed == 1
        assert pool.notes == [pool.why], "said once"
    finally:
        pool.uses_ray_data = False


def test_how_networks_are_run_is_chosen() -> None:
    assert _choose_inference("auto", 8, 0)[0] is False
    assert _choose_inference("auto", 8, 4) == (
        True,
        "Networks were run by Ray Data: 4 GPUs, each fed as fast as it works.",
    )
    assert _choose_inference("data", 8, 0)[0] is True
    assert _choose_inference("tasks", 8, 4)[0] is False
    with pytest.raises(EvidenceError, match="one to feed it"):
        _choose_inference("data", 1, 0)


@pytest.mark.skipif("THEODOLITE_THREE_NODES" not in os.environ, reason="a minute of every core")
def test_a_cluster_of_three_nodes_one_of_which_is_killed(tmp_path: Path) -> None:
    """In a process of its own: the driver is connected to another cluster there."""
    script = Path(__file__).parents[1] / "support" / "servers" / "three_nodes.py"
    ran = subprocess.run(
        [sys.executable, script, tmp_path], capture_output=True, text=True, timeout=240, check=False
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    said = dict(line.split(" ", 1) for line in ran.stdout.splitlines() if line.startswith("="))
    assert said["=undisturbed"] == said["=killed"] == _slow_digest()
    assert said["=listening"] == "loopback"


def _slow_digest() -> str:
    return digest_arrays(SerialWorkers().reduced(work(60), merge) or {})


@pytest.mark.skipif("THEODOLITE_THREE_NODES" not in os.environ, reason="a minute of every core")
def test_strangers_are_refused_or_given_no_work(tmp_path: Path) -> None:
    """In a process of its own, on a cluster of its own: a node that has other code, another numpy
    and another CPU joins while others work, then is there from the start."""
    script = Path(__file__).parents[1] / "support" / "servers" / "stranger_node.py"
    ran = subprocess.run(
        [sys.executable, script, tmp_path], capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    said = dict(line.split(" ", 1) for line in ran.stdout.splitlines() if line.startswith("="))
    assert said["=late"] == digest_arrays(SerialWorkers().reduced(work(40), merge) or {})
    assert (said["=kinds"], said["=counted"]) == ("1", "1")
    for text in (said["=notes"], said["=start"]):
        assert "node " in text and "code: theodolite" in text
        assert "packages: numpy 9.9.9 (ours" in text and "arithmetic" in text
    assert said["=start"].startswith("2 ")

"""Ray that does not start, and machines that are lost: said in words, and nobody's fault."""

import importlib.util
import warnings
from pathlib import Path

import pytest

from support.runs.work_pieces import merge, work
from theodolite._runs.engine import ray_demand
from theodolite._runs.engine.checkpoints import CheckpointStore
from theodolite._runs.engine.local_processes import CurrentProcess
from theodolite._runs.engine.ray_errors import LOCALLY, explain_start_failure, read_last_lines
from theodolite._runs.engine.ray_failures import RESPONSES, NodeHealth, get_response
from theodolite._runs.engine.tasks import TaskOutcome
from theodolite._runs.engine.worker_choice import Engine, open_worker_pool
from theodolite._runs.engine.worker_pool import WorkerPool
from theodolite._storage.packed_arrays import digest_arrays
from theodolite._storage.stores import Store
from theodolite.errors import EngineFallback, EvidenceError
from theodolite.evidence.workers import SerialWorkers


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (RuntimeError("Version mismatch: The cluster was started with: Ray: 2.9"), "another Pyth"),
        (RuntimeError("InvalidAuthToken: Unauthenticated: token"), "a token that"),
        (Exception("The current node timed out during startup."), "did not start in time"),
        (ConnectionError("ray client failed to connect"), "no answer"),
        (OSError(28, "No space left on device"), "a full disk"),
        (ValueError("something new\nin two lines"), "ValueError: something new"),
    ],
)
def test_causes_are_told_apart(error: Exception, cause: str) -> None:
    told = explain_start_failure(error, "10.0.0.1:6379")
    assert told.exit_code == 2 and cause in str(told)
    assert "--engine local" in str(told) and "\n" not in str(told)


def test_the_end_of_rays_log_is_shown(tmp_path: Path) -> None:
    (tmp_path / "raylet.err").write_text("".join(f"line {n}\n" for n in range(9)))
    assert read_last_lines(tmp_path) == "line 4 | line 5 | line 6 | line 7 | line 8"
    assert read_last_lines(tmp_path / "none") == ""


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_auto_falls_back_and_says_so(tmp_path: Path) -> None:
    nobody = "127.0.0.1:1"
    asked_for = open_worker_pool(Engine("ray", 1, ray_address=nobody), tmp_path)
    with pytest.raises(EvidenceError, match="no server answers") as caught:
        asked_for.__enter__()
    assert caught.value.hint == LOCALLY
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always", EngineFallback)
        with open_worker_pool(Engine("auto", 1, ray_address=nobody), tmp_path) as workers:
            assert workers.pool.name == "local"
            assert workers.instead.startswith("local, 1 processes, because Ray did not start")
    assert [m.category for m in messages if m.category is EngineFallback] == [EngineFallback]


LOST = TaskOutcome(lost="node")
ALIVE = {"a": "host-a (a)", "b": "host-b (b)"}


def crash(name: str = "WorkerCrashedError") -> Exception:
    """An exception of Ray as its own code raises it, without a cluster."""
    exceptions = pytest.importorskip("ray.exceptions")
    kind = getattr(exceptions, name)
    error: Exception = kind("gone") if name == "RaySystemError" else kind.__new__(kind)
    return error


def test_every_exception_of_ray_has_a_response() -> None:
    exceptions = pytest.importorskip("ray.exceptions")
    unknown = {
        name
        for name, kind in vars(exceptions).items()
        if isinstance(kind, type)
        and issubclass(kind, exceptions.RayError)
        and not {one.__name__ for one in kind.__mro__} & {*RESPONSES}
    }
    # of code that a task runs, of actors and streams that the engine does not have
    assert unknown == {
        "RayError", "RayTaskError", "CrossLanguageError", "UserCodeException", "GetTimeoutError",
        "AsyncioActorExit", "ObjectRefStreamEndOfStreamError", "ActorAlreadyExistsError",
        "OufOfBandObjectRefSerializationException", "ActorHandleNotFoundError",
    }  # fmt: skip
    assert get_response(crash("OwnerDiedError")) == "elsewhere", "as every ObjectLostError"


@pytest.mark.parametrize(("name", "response"), sorted(RESPONSES.items()))
def test_each_exception_is_charged_to_who_failed(name: str, response: str) -> None:
    health, error = NodeHealth(), crash(name)
    if response == "stop":
        with pytest.raises(EvidenceError, match="Run the same command again") as caught:
            health.judge(error, ["x"], "a", ALIVE)
        assert "memory" not in str(caught.value)
        return
    expected = {"elsewhere": LOST, "memory": TaskOutcome(lost="memory"), "try": None}[response]
    assert health.judge(error, ["x"], "a", ALIVE) == expected
    assert health.judge(error, ["x"], "gone", ALIVE) == LOST, "its node is gone, whatever it says"


def test_node_that_fails_fast_is_left_out() -> None:
    seconds = iter(range(99))
    health = NodeHealth(clock=lambda: next(seconds))
    assert health.judge(crash(), ["x"], "a", ALIVE) is None
    assert health.list_avoided(["x"], (), ALIVE) == {"a"}, "the next try is made elsewhere"
    assert health.list_avoided(["y"], (), ALIVE) == set()
    assert health.list_avoided(["x"], (), {"a": ""}) == set(), "but made, if there is no other"
    for key in ("x", "x", "x"):
        health.judge(crash(), [key], "a", ALIVE)
    assert not health.left_out, "one shard that kills its process is no fault of a node"
    for key in ("y", "z"):
        health.judge(crash(), [key], "a", ALIVE)
    assert health.left_out == {"a"}
    for key in ("x", "y", "z"):
        health.judge(crash(), [key], "b", ALIVE)
    assert health.left_out == {"a"}, "the last node stays"


def test_slow_deaths_and_successes_leave_a_node_in() -> None:
    seconds = iter((0, 6, 12, 20, 24, 25))
    health = NodeHealth(clock=lambda: next(seconds))
    for key in ("x", "y", "z", "x", "y"):
        health.judge(crash(), [key], "a", ALIVE)
    health.succeed("a")
    health.judge(crash(), ["z"], "a", ALIVE)
    assert not health.left_out


class Cluster:
    """What a demand asks of Ray: how many CPUs there are, and who holds them."""

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 0.0}


def test_cluster_that_grows_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each node that joins begins the patience anew; without any, the wait ends in words."""
    monkeypatch.setattr(ray_demand, "PROMISE", 0.1)
    nodes: dict[str, str] = {}
    demand = ray_demand.CpuDemand(Cluster(), 0.8, lambda: nodes)
    looks = iter(range(99))

    def ready() -> bool:
        look = next(looks)
        nodes.update({str(look): ""} if look < 4 else {})
        return look == 4

    with pytest.warns(EngineFallback, match="waiting for a node: up to 1 s"):
        demand.wait_for("a node", ready)
    with (
        pytest.warns(EngineFallback, match="for a free CPU"),
        pytest.raises(EvidenceError, match="none of 0 CPUs free"),
    ):
        demand.wait_for("a free CPU", lambda: False)


def test_last_node_of_a_cluster_that_is_lost() -> None:
    demand = ray_demand.CpuDemand(Cluster(), 0.0, dict)
    with pytest.warns(EngineFallback, match="the cluster has none left"):
        demand.check_nodes()
    with pytest.raises(EvidenceError, match="none of 0 CPUs free"):
        demand.check_nodes()


class Losing(CurrentProcess):
    """This process, which at first loses what it was given."""

    def __init__(self, times: int, how: str) -> None:
        super().__init__()
        self.times, self.how = times, how

    def wait(self) -> tuple[int, TaskOutcome | None]:
        if self.times == 0:
            return super().wait()
        self.times -= 1
        del self._tasks[0]
        self._number += 1
        return self._number - 1, TaskOutcome(lost=self.how)  # type: ignore[arg-type]


@pytest.mark.parametrize(("times", "how"), [(15, "node"), (2, "memory"), (3, "memory")])
def test_machines_that_are_lost(tmp_path: Path, times: int, how: str) -> None:
    """More often than a piece may fail; a lack of memory is a failure like others."""
    crew = WorkerPool(Losing(times, how), CheckpointStore(Store.at(tmp_path)))
    whole = crew.reduced(work(1), merge)
    if (times, how) == (3, "memory"):
        assert whole is None and [failed.error for failed in crew.failed] == ["ProcessDied"]
    else:
        assert digest_arrays(whole or {}) == digest_arrays(
            SerialWorkers().reduced(work(1), merge) or {}
        )
        assert not crew.failed


def test_task_lost_again_and_again_stops_the_run(tmp_path: Path) -> None:
    crew = WorkerPool(Losing(99, "node"), CheckpointStore(Store.at(tmp_path)))
    with pytest.raises(EvidenceError, match="lost with its node 20 times"):
        crew.reduced(work(1), merge)
    assert not crew.failed

"""Processes of a Ray cluster: our own on this machine, or one that was named."""

import os
import secrets
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

from theodolite._runs.engine.checkpoints import CheckpointName
from theodolite._runs.engine.process_identity import (
    CODE,
    Identity,
    MismatchedNode,
    NodeMismatchError,
    get_identity,
)
from theodolite._runs.engine.ray_data import run_with_ray_data
from theodolite._runs.engine.ray_errors import LOCALLY, build_no_cpu_error, explain_start_failure
from theodolite._runs.engine.run_progress import HELP, Snapshot, get_metric_name
from theodolite._runs.engine.tasks import Task, TaskOutcome, run_task
from theodolite._storage.optional import require
from theodolite.errors import EvidenceError

OLDEST = (2, 56)
PATIENCE = 60
"""Seconds that nodes have to say who they are, and that a free core is waited for."""
GROWS_EVERY = 5.0
STOPS = (signal.SIGTERM, signal.SIGINT)
Inference = Literal["auto", "tasks", "data"]


READ_ONCE = ("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "RAY_AUTH_MODE")
_ours: dict[str, str] = {}
"""The settings that Ray was loaded with in this process: it reads them once."""


def get_local_settings() -> dict[str, str]:
    """Settings of a cluster of our own: on loopback alone, with a token of its own."""
    settings = {
        # Ray replaces 127.0.0.1 by an address that others reach, except where clusters are off
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    }
    return settings | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


def _apply_local_settings() -> None:
    """Put the settings into the environment, before Ray is loaded."""
    if not _ours:
        settings = get_local_settings()
        if "ray" in sys.modules and any(
            os.environ.get(name) != settings[name] for name in READ_ONCE
        ):
            raise EvidenceError(
                "engine ray", "ray, loaded with settings of its own", "it not to be loaded yet",
                "Use the command line, or begin with theodolite.",
            )  # fmt: skip
        _ours.update(settings)
    os.environ.update(_ours)


def start_ray(address: str | None, workers: int | None, run: str) -> Any:
    """Connect to Ray, and return its module.

    Without an address a cluster of our own is started, without dashboard. Ray would attach to any
    cluster that it finds; here it does not.
    """
    ray = _import_ray()
    common: dict[str, Any] = {
        "log_to_driver": False,
        "namespace": run,
        "logging_level": "ERROR",
        # there is a process for each core
        "runtime_env": {"env_vars": {"NUMBA_NUM_THREADS": "1"}},
    }
    if ray.is_initialized():
        if address is not None and address == ray.get_runtime_context().gcs_address:
            return ray
        raise EvidenceError(
            "engine ray", "a connection that this process has already", "none",
            "Call ray.shutdown() first, or pass the cluster's address.",
        )  # fmt: skip
    if address is not None:
        _check_reachable(address)
        ray.init(address=address, **common)
        return ray
    ray.init(
        address="local",
        num_cpus=workers,
        include_dashboard=False,
        dashboard_host="127.0.0.1",
        _node_ip_address="127.0.0.1",
        **common,
    )
    return ray


def _check_reachable(address: str) -> None:
    """Return whether a server listens there: Ray itself would try for minutes."""
    host, _, port = address.rpartition("://")[2].partition(":")
    if not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except OSError as error:
        needed = "the address of a Ray cluster, such as 10.0.0.1:6379"
        raise EvidenceError("ray address", f"{address}, where nobody answers", needed) from error


def _import_ray() -> Any:
    ray = require("ray", "engine ray", "ray")
    if tuple(int(part) for part in ray.__version__.split(".")[:2]) < OLDEST:
        needed = f"at least {OLDEST[0]}.{OLDEST[1]}, for safety's sake"
        raise EvidenceError("engine ray", f"ray {ray.__version__}", needed, "Update ray.")
    return ray


def _warn_open_cluster(address: str | None) -> list[str]:
    """What must be said of a cluster that lets anybody in."""
    if address is None or os.environ.get("RAY_AUTH_MODE") == "token":
        return []
    return [
        f"The Ray cluster at {address} answers without a token: whoever reaches it can run code on "
        "it. Start it with RAY_AUTH_MODE=token."
    ]


def _choose_inference(inference: Inference, cores: int, gpus: int) -> tuple[bool, str]:
    """Return whether networks are run by Ray Data, and why."""
    if inference == "data":
        if cores < 2:
            raise EvidenceError("inference", "one core", "two: one to work, one to feed it")
        return True, "Networks were run by Ray Data, as asked for."
    if inference == "tasks":
        return False, "Networks were run by tasks, as asked for."
    if gpus > 1:
        return True, f"Networks were run by Ray Data: {gpus} GPUs, each fed as fast as it works."
    why = "without several GPUs Ray Data only adds to the work"
    return False, f"Networks were run by tasks of Ray: {why}."


def _get_node_identity() -> Identity:
    return get_identity()


def _run_task(task: Task, tool: Any) -> TaskOutcome:
    done = run_task(replace(task, tool=tool))
    if done.mismatch is not None:
        node = sys.modules["ray"].get_runtime_context().get_node_id()
        done.mismatch = replace(done.mismatch, place=node)
    return done


class RayTasks:
    """Tasks without memory: a node that dies costs what it was at, and no more."""

    name = "ray"
    elsewhere = True

    def __init__(
        self,
        *,
        address: str | None = None,
        workers: int | None = None,
        run: str = "theodolite",
        inference: Inference = "auto",
    ) -> None:
        self._own = address is None
        self._connected = "ray" not in sys.modules or not sys.modules["ray"].is_initialized()
        before, signals = dict(os.environ), [signal.getsignal(n) for n in STOPS]
        try:
            if self._own:
                _apply_local_settings()
            self._ray = start_ray(address, workers, run)
        except Exception as error:  # whatever it is, it is told in words
            if self._connected and "ray" in sys.modules:
                sys.modules["ray"].shutdown()
            raise explain_start_failure(error, address) from error
        finally:
            for name in _ours:  # what the user starts next is the user's
                os.environ.pop(name, None)
                if name in before:
                    os.environ[name] = before[name]
            if threading.current_thread() is threading.main_thread():
                for number, handler in zip(STOPS, signals, strict=True):  # Ray takes them
                    signal.signal(number, handler)
        self.notes = _warn_open_cluster(address)
        resources = self._ray.cluster_resources()
        self.size = workers or max(int(resources.get("CPU", 1)), 1)
        self.gpus = int(resources.get("GPU", 0))
        self.uses_ray_data, self.why = _choose_inference(inference, self.size, self.gpus)
        self._running: dict[Any, int] = {}
        self._submitted = 0
        self._fixed_size, self._looked = workers is not None, time.monotonic()
        self._nodes = self._alive()
        self._lost_before = 0
        """Tasks with lower numbers may have been lost with a node."""
        self._remote = self._ray.remote(_run_task)
        self._options: dict[str, Any] = {}
        self._tool: tuple[str, Any] = ("", None)
        self.mismatched: dict[str, MismatchedNode] = {}
        """Nodes that get nothing to do, by Ray's names of them."""
        self._gauges: dict[str, Any] = {}

    def _alive(self) -> dict[str, str]:
        """Nodes that can work: Ray's names of them, and people's."""
        return {
            node["NodeID"]: f"{node['NodeManagerHostname']} ({node['NodeID'][:8]})"
            for node in self._ray.nodes()
            if node["Alive"] and {"CPU", "GPU"} & node["Resources"].keys()
        }

    def check_node_identity(self, own: Identity) -> None:
        """Have every node say who it is, before any work; a mismatch ends the run."""
        nodes = self._alive()
        ask = self._ray.remote(_get_node_identity)
        to = sys.modules["ray"].util.scheduling_strategies.NodeAffinitySchedulingStrategy
        # a node that is busy can still say who it is
        probes = {
            node: ask.options(num_cpus=0, max_retries=2, scheduling_strategy=to(node, soft=False))
            for node in nodes
        }
        answers = {node: probe.remote() for node, probe in probes.items()}
        self._ray.wait(list(answers.values()), num_returns=len(answers), timeout=PATIENCE)
        mismatched = []
        for node, answer in answers.items():
            differences = own.differences(self._answer(answer, nodes[node]))
            if differences:
                mismatched.append(MismatchedNode(nodes[node], differences, node))
        if mismatched:
            raise NodeMismatchError.naming(mismatched)
        self._wait_for_a_cpu()

    def _answer(self, answer: Any, node: str) -> Identity:
        try:
            their: Identity = self._ray.get(answer, timeout=1)
        except self._ray.exceptions.GetTimeoutError as error:
            got, needed = f"no answer for {PATIENCE} s", "nodes that answer"
            raise EvidenceError(f"node {node}", got, needed, LOCALLY) from error
        except self._ray.exceptions.RayTaskError:  # it has no theodolite, or one without identities
            return Identity({})
        except self._ray.exceptions.RayError as error:
            raise explain_start_failure(error, node) from error
        return their

    def _wait_for_a_cpu(self) -> None:
        end = time.monotonic() + PATIENCE
        while not self._own and self._ray.available_resources().get("CPU", 0) < 1:
            if time.monotonic() > end:
                raise build_no_cpu_error(self._ray, PATIENCE)
            time.sleep(0.5)

    def submit(self, task: Task) -> int:
        if task.identity is not None:  # functions of a script travel by themselves
            modules = tuple(name for name in task.modules if name != "__main__")
            task = replace(task, identity=task.identity.without(f"{CODE}__main__"), modules=modules)
        if task.tool_key and task.tool_key != self._tool[0]:
            self._tool = (task.tool_key, self._ray.put(task.tool))  # sent once, not with each task
        tool = self._tool[1] if task.tool_key else None
        if task.network:
            self._say_why()
        kind = {"num_gpus": 1} if self.gpus and task.network else {"num_cpus": 1}
        # a lost task is given out again by the pool, which counts how often
        remote = self._remote.options(max_retries=0, **kind, **self._options)
        self._running[remote.remote(replace(task, tool=None), tool)] = self._submitted
        self._submitted += 1
        return self._submitted - 1

    def _say_why(self) -> None:
        """The run's notes say how networks were run, and why so."""
        if self.why not in self.notes:
            self.notes.append(self.why)

    def wait(self) -> tuple[int, TaskOutcome | None]:
        ended: list[Any] = []
        while not ended:  # a signal is only seen in between
            ended = self._call(lambda: self._ray.wait(list(self._running), timeout=0.5)[0])
        number = self._running.pop(ended[0])
        try:
            done: TaskOutcome = self._call(lambda: self._ray.get(ended[0]))
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except self._ray.exceptions.OutOfMemoryError:
            return number, TaskOutcome(lost="memory")
        except self._ray.exceptions.RayError as error:  # worker, node or result were lost
            return number, TaskOutcome(lost="node") if self._with_node(error, number) else None
        self._grow()
        return number, done

    def _with_node(self, error: Exception, number: int) -> bool:
        """Return whether a task was lost by no fault of its own: its machine is gone."""
        alive = self._alive()
        if self._nodes.keys() - alive.keys():
            self._lost_before = self._submitted
        self._nodes = alive
        died = isinstance(error, self._ray.exceptions.NodeDiedError)
        return died or number < self._lost_before

    def _grow(self) -> None:
        """Use nodes that joined meanwhile; who they are, their first task says."""
        if self._fixed_size or time.monotonic() < self._looked + GROWS_EVERY:
            return
        self._looked, self._nodes = time.monotonic(), self._alive()
        self.size = max(int(self._ray.cluster_resources().get("CPU", 1)), 1)

    def _call(self, ask: Callable[[], Any]) -> Any:
        """Ray wraps what a signal raises while it waits: that is what is meant."""
        try:
            return ask()
        except SystemError as error:
            raise error.__cause__ or error from None

    def avoid(self, mismatch: MismatchedNode) -> None:
        """A node that joined later and would not compute the same."""
        if mismatch.place not in self.mismatched:
            mismatch = replace(mismatch, node=self._alive().get(mismatch.place, mismatch.node))
            self.mismatched[mismatch.place] = mismatch
            self.notes.append(f"Given no work: {mismatch}.")
        if self._alive().keys() <= self.mismatched.keys():
            raise NodeMismatchError.naming(list(self.mismatched.values()))
        selector = {"ray.io/node-id": f"!in({','.join(sorted(self.mismatched))})"}
        self._options["label_selector"] = selector

    def drop(self) -> None:
        # they end by themselves, and what they did is kept; to cancel a task that is just ending
        # can bring Ray's own process down
        self._running = {}

    def infer(
        self, task: Task, items: Sequence[tuple[Any, CheckpointName, str]]
    ) -> Iterator[tuple[int, TaskOutcome]]:
        """Pieces that need a network, by actors that hold one each."""
        self._say_why()
        # actors that took every core would leave none for feeding them, and wait for ever
        actors = self.gpus or max(self.size - 1, 1)
        return run_with_ray_data(self._ray, task, items, actors=actors, gpus=self.gpus)

    def publish(self, snapshot: Snapshot) -> None:
        """Counts of the run where clusters collect theirs, beside their own."""
        if not self._gauges:
            from ray.util.metrics import Gauge  # noqa: PLC0415  only here

            self._gauges = {
                key: Gauge(get_metric_name(key), description=text)
                for key, (_, text) in HELP.items()
            }
        for key, gauge in self._gauges.items():
            if snapshot[key] is not None:
                gauge.set(snapshot[key])

    def close(self) -> None:
        self.drop()
        if self._connected:
            self._ray.shutdown()

"""Processes of a Ray cluster: our own on this machine, or one that was named."""

import os
import secrets
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
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
from theodolite._runs.engine.ray_connection import (
    apply_local_settings,
    is_reachable,
    our_settings,
    start_ray,
    warn_open_cluster,
)
from theodolite._runs.engine.ray_data import run_with_ray_data
from theodolite._runs.engine.ray_demand import CpuDemand
from theodolite._runs.engine.ray_errors import LOCALLY, explain_start_failure
from theodolite._runs.engine.ray_failures import (
    IN_A_ROW,
    NodeHealth,
    build_stop_error,
    get_response,
)
from theodolite._runs.engine.run_progress import HELP, Snapshot, get_metric_name
from theodolite._runs.engine.tasks import AGAIN, Task, TaskOutcome, run_task
from theodolite.errors import EvidenceError

PATIENCE = 60
"""Seconds that nodes have to say who they are."""
CLUSTER_TIMEOUT = 900.0
"""Seconds that a cluster may be without a free CPU while no node joins."""
GROWS_EVERY = CHECKS_EVERY = 5.0
GCS_PATIENCE = 15
"""Seconds that a cluster may be without its server."""
STOPS = (signal.SIGTERM, signal.SIGINT)
Inference = Literal["auto", "tasks", "data"]


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


def _run_task(task: Task, tool: Any, place: str) -> TaskOutcome:
    """Do a task, and leave a note where it runs: an error of Ray does not say where that was."""
    node = sys.modules["ray"].get_runtime_context().get_node_id()
    with suppress(Exception):  # without the note a death is not charged to the node
        _internal_kv()._internal_kv_put(place, node)
    done = run_task(replace(task, tool=tool))
    if done.mismatch is not None:
        done.mismatch = replace(done.mismatch, place=node)
    return done


def _internal_kv() -> Any:
    """Return Ray's table of small texts, which every node of a cluster reads."""
    from ray.experimental import internal_kv  # noqa: PLC0415

    return internal_kv


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
        cluster_timeout: float = CLUSTER_TIMEOUT,
    ) -> None:
        self._own = address is None
        self._connected = "ray" not in sys.modules or not sys.modules["ray"].is_initialized()
        before, signals = dict(os.environ), [signal.getsignal(n) for n in STOPS]
        try:
            if self._own:
                apply_local_settings()
            self._ray = start_ray(address, workers, run)
        except Exception as error:  # whatever it is, it is told in words
            if self._connected and "ray" in sys.modules:
                sys.modules["ray"].shutdown()
            raise explain_start_failure(error, address) from error
        finally:
            for name in our_settings:  # what the user starts next is the user's
                os.environ.pop(name, None)
                if name in before:
                    os.environ[name] = before[name]
            if threading.current_thread() is threading.main_thread():
                for number, handler in zip(STOPS, signals, strict=True):  # Ray takes them
                    signal.signal(number, handler)
        self.notes = warn_open_cluster(address)
        resources = self._ray.cluster_resources()
        self.size = workers or max(int(resources.get("CPU", 1)), 1)
        self.gpus = int(resources.get("GPU", 0))
        self.uses_ray_data, self.why = _choose_inference(inference, self.size, self.gpus)
        self._running: dict[Any, tuple[int, list[str]]] = {}
        self._submitted = 0
        self._places = f"theodolite-{secrets.token_hex(8)}-"
        self._most, self._looked = workers, time.monotonic()
        self._demand = CpuDemand(self._ray, cluster_timeout, self._alive)
        context = self._ray.get_runtime_context()
        through_client = address is not None and address.startswith("ray://")
        self._server = str(address if through_client else context.gcs_address)
        """Where the cluster is reached from here: with ray:// only its door is."""
        self._checked = time.monotonic()
        self.health = NodeHealth()
        self._remote = self._ray.remote(_run_task)
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
        if not self._own:
            self.request(1)
            self._demand.wait_for("a node with a CPU", lambda: bool(self._alive()))
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
        if not self._own:
            self._demand.wait_for(
                "a free CPU", lambda: self._ray.available_resources().get("CPU", 0) >= 1
            )
            self._resize()

    def request(self, tasks: int) -> None:
        """Ask the cluster for as many CPUs as tasks can use at once."""
        if not self._own:
            self._demand.request(min(tasks, self._most or tasks))

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

    def submit(self, task: Task) -> int:
        if task.identity is not None:  # functions of a script travel by themselves
            modules = tuple(name for name in task.modules if name != "__main__")
            task = replace(task, identity=task.identity.without(f"{CODE}__main__"), modules=modules)
        if task.tool_key and task.tool_key != self._tool[0]:
            self._tool = (task.tool_key, self._ray.put(task.tool))  # sent once, not with each task
        tool = self._tool[1] if task.tool_key else None
        if task.network:
            self._say_why()
        kind: dict[str, Any] = {"num_gpus": 1} if self.gpus and task.network else {"num_cpus": 1}
        keys = [piece.key for piece in task.pieces]
        if avoided := self._avoided(keys):
            kind["label_selector"] = {"ray.io/node-id": f"!in({','.join(sorted(avoided))})"}
        # a lost task is given out again by the pool, which counts how often
        remote = self._remote.options(max_retries=0, **kind)
        place = f"{self._places}{self._submitted}"
        self._running[remote.remote(replace(task, tool=None), tool, place)] = self._submitted, keys
        self._submitted += 1
        return self._submitted - 1

    def _avoided(self, keys: Sequence[str]) -> set[str]:
        alive = self._alive() if self.health.has_deaths else {}
        return self.health.list_avoided(keys, self.mismatched, alive)

    def _say_why(self) -> None:
        """The run's notes say how networks were run, and why so."""
        if self.why not in self.notes:
            self.notes.append(self.why)

    def wait(self) -> tuple[int, TaskOutcome | None]:
        ended: list[Any] = []
        while not ended:  # a signal is only seen in between
            ended = self._call(lambda: self._ray.wait(list(self._running), timeout=0.5)[0])
            self._check_cluster()
        number, keys = self._running.pop(ended[0])
        try:
            done: TaskOutcome = self._call(lambda: self._ray.get(ended[0]))
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except self._ray.exceptions.RayError as error:
            return number, self._judge(error, number, keys)
        if self.health.has_deaths:
            self.health.succeed(self._place(number))
        self._grow()
        return number, done

    def _judge(self, error: Exception, number: int, keys: list[str]) -> TaskOutcome | None:
        """Return what came of a task that Ray lost, and report a node that is left out for it."""
        if get_response(error) == "stop":
            raise build_stop_error(error) from error
        before, alive = set(self.health.left_out), self._alive()
        outcome = self.health.judge(error, keys, self._place(number), alive)
        for node in self.health.left_out - before:
            self.notes.append(
                f"Given no work: node {alive[node]}, on which {IN_A_ROW} tasks in a row died."
            )
        return outcome

    def _place(self, number: int) -> str:
        """Return the node on which a task began, if that is known."""
        place = None
        with suppress(Exception):
            place = _internal_kv()._internal_kv_get(f"{self._places}{number}")
        return (place or b"").decode()

    def _check_cluster(self) -> None:
        """End the run if the cluster's server (GCS) is gone: Ray would end this process later."""
        if time.monotonic() < self._checked + CHECKS_EVERY:
            return
        self._checked = time.monotonic()
        while not is_reachable(self._server):
            if time.monotonic() > self._checked + GCS_PATIENCE:
                cause = f"the cluster's server (GCS) at {self._server}, silent for {GCS_PATIENCE} s"
                raise EvidenceError("engine ray", cause, "a cluster that works", AGAIN)
            time.sleep(0.5)
        if not self._own:
            self._demand.check_nodes()

    def _grow(self) -> None:
        """Use nodes that joined meanwhile; who they are, their first task says."""
        if self._most or time.monotonic() < self._looked + GROWS_EVERY:
            return
        self._looked = time.monotonic()
        self._resize()

    def _resize(self) -> None:
        if not self._most:
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
        with suppress(Exception):
            if is_reachable(self._server):
                self._demand.release()
                _internal_kv()._internal_kv_del(self._places, del_by_prefix=True)
        if self._connected:
            self._ray.shutdown()

"""Processes of a Ray cluster: our own on this machine, or one that was named."""

import os
import secrets
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from theodolite.errors import EvidenceError
from theodolite.execution.pieces import Done, Task, perform
from theodolite.execution.ray_data import by_ray_data

OLDEST = (2, 56)
Inference = Literal["auto", "tasks", "data"]


_ours: dict[str, str] = {}
"""The settings that Ray was loaded with in this process: it reads them once."""


def own_settings() -> dict[str, str]:
    """Settings of a cluster of our own: on loopback alone, with a token of its own."""
    settings = {
        # Ray replaces 127.0.0.1 by an address that others reach, except where clusters are off
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    }
    if "RAY_AUTH_MODE" not in os.environ:
        settings |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    return settings


def _settle() -> None:
    """Put the settings into the environment, before Ray is loaded."""
    if not _ours:
        wanted = own_settings()
        if "ray" in sys.modules and any(os.environ.get(k) != v for k, v in wanted.items()):
            raise EvidenceError(
                "engine ray", "ray, loaded with settings of its own", "it not to be loaded yet",
                "Use the command line, or begin with theodolite.",
            )  # fmt: skip
        _ours.update(wanted)
    os.environ.update(_ours)


def start(address: str | None, workers: int | None, run: str) -> Any:
    """The ray module, connected.

    Without an address a cluster of our own is started, without dashboard. Ray would attach to any
    cluster that it finds; here it does not.
    """
    ray = _ray()
    common: dict[str, Any] = {
        "log_to_driver": False,
        "namespace": run,
        "logging_level": "ERROR",
        # there is a process for each core
        "runtime_env": {"env_vars": {"NUMBA_NUM_THREADS": "1"}},
    }
    if ray.is_initialized():
        if address is not None:
            return ray
        raise EvidenceError(
            "engine ray", "a connection that this process has already", "none",
            "Call ray.shutdown() first, or pass the cluster's address.",
        )  # fmt: skip
    if address is not None:
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


def _ray() -> Any:
    try:
        import ray  # noqa: PLC0415  a second, and optional
    except ModuleNotFoundError as error:
        raise EvidenceError(
            "engine ray", "no ray here", "that package", 'pip install "theodolite[ray]"'
        ) from error
    if tuple(int(part) for part in ray.__version__.split(".")[:2]) < OLDEST:
        needed = f"at least {OLDEST[0]}.{OLDEST[1]}, for safety's sake"
        raise EvidenceError("engine ray", f"ray {ray.__version__}", needed, "Update ray.")
    return ray


def _without_token(address: str | None) -> list[str]:
    """What must be said of a cluster that lets anybody in."""
    if address is None or os.environ.get("RAY_AUTH_MODE") == "token":
        return []
    return [
        f"The Ray cluster at {address} answers without a token: whoever reaches it can run code on "
        "it. Start it with RAY_AUTH_MODE=token."
    ]


def _inference(asked: Inference, cores: int, gpus: int) -> tuple[bool, str]:
    """Whether networks are run by Ray Data, and why."""
    if asked == "data":
        if cores < 2:
            raise EvidenceError("inference", "one core", "two: one to work, one to feed it")
        return True, "networks by Ray Data, as asked for"
    if asked == "tasks":
        return False, "networks by tasks, as asked for"
    if gpus > 1:
        return True, f"networks by Ray Data: {gpus} GPUs, each fed as fast as it works"
    return False, "networks by tasks: without several GPUs Ray Data only adds to the work"


class RayTasks:
    """Tasks without memory: a node that dies costs what it was at, and no more."""

    name = "ray"

    def __init__(
        self,
        *,
        address: str | None = None,
        workers: int | None = None,
        run: str = "theodolite",
        inference: Inference = "auto",
    ) -> None:
        self._own = address is None
        self._before = dict(os.environ)
        if self._own:
            _settle()
        self._ray = start(address, workers, run)
        self.notes = _without_token(address)
        resources = self._ray.cluster_resources()
        self.size = workers or max(int(resources.get("CPU", 1)), 1)
        self.gpus = int(resources.get("GPU", 0))
        self.uses_ray_data, self.why = _inference(inference, self.size, self.gpus)
        self._running: dict[Any, int] = {}
        self._submitted = 0
        # a lost task is given out again by the crew, which counts how often
        self._perform = self._ray.remote(perform).options(num_cpus=1, max_retries=0)
        self._on_gpu = self._ray.remote(perform).options(num_gpus=1, max_retries=0)

    def submit(self, task: Task) -> int:
        remote = self._on_gpu if self.gpus and task.tool is not None else self._perform
        self._running[remote.remote(task)] = self._submitted
        self._submitted += 1
        return self._submitted - 1

    def wait(self) -> tuple[int, Done | None]:
        (ended, *_), _ = self._ray.wait(list(self._running), num_returns=1)
        number = self._running.pop(ended)
        try:
            done: Done = self._ray.get(ended)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except self._ray.exceptions.RayError:  # the worker, the node or the result was lost
            return number, None
        return number, done

    def infer(self, task: Task, items: Sequence[tuple[Any, str, str]]) -> Iterator[Done]:
        """Pieces that need a network, by actors that hold one each."""
        # actors that took every core would leave none for feeding them, and wait for ever
        actors = self.gpus or max(self.size - 1, 1)
        return by_ray_data(self._ray, task, items, actors=actors, gpus=self.gpus)

    def close(self) -> None:
        for task in self._running:
            self._ray.cancel(task, force=True)
        self._running = {}
        if self._own:
            self._ray.shutdown()
            for name in _ours:  # what the user starts next is the user's
                os.environ.pop(name, None)
                if name in self._before:
                    os.environ[name] = self._before[name]

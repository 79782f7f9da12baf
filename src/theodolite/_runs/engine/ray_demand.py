"""Request CPUs from a Ray cluster, and wait while its autoscaler adds nodes."""

import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from theodolite._runs.engine.ray_errors import build_no_cpu_error
from theodolite.errors import EngineFallback

PROMISE = 5.0
"""Seconds after which a wait is reported."""


class CpuDemand:
    """What a run asks a cluster for: a cluster that can grow from nothing sees only this."""

    def __init__(self, ray: Any, timeout: float, list_nodes: Callable[[], dict[str, str]]) -> None:
        self._ray, self._timeout, self._list_nodes = ray, timeout, list_nodes
        self._requested = 0
        self._without: float | None = None
        """Since when the cluster has no node that can work."""

    def request(self, cpus: int) -> None:
        """Request this number of CPUs in total, until the next request or ``release``."""
        if cpus != self._requested:
            from ray.autoscaler.sdk import request_resources  # noqa: PLC0415  slow

            with suppress(Exception):  # a cluster of fixed size has nobody to ask
                request_resources(num_cpus=cpus)
            self._requested = cpus

    def release(self) -> None:
        """Let the autoscaler take its nodes back."""
        if self._requested:
            self.request(0)

    def wait_for(self, what: str, ready: Callable[[], bool]) -> None:
        """Wait until there is something; longer as long as nodes join."""
        began = started = time.monotonic()
        reported, nodes = False, len(self._list_nodes())
        while not ready():
            now, many = time.monotonic(), len(self._list_nodes())
            if many > nodes:
                started = now
            nodes = many
            if now > started + self._timeout:
                raise build_no_cpu_error(self._ray, self._timeout)
            if not reported and now > began + PROMISE:
                self._report(what)
                reported = True
            time.sleep(0.5)

    def check_nodes(self) -> None:
        """Report that the last node is gone; raise if none came back in time."""
        if self._list_nodes():
            self._without = None
            return
        now = time.monotonic()
        if self._without is None:
            self._without = now
            self._report("a node: the cluster has none left")
        if now > self._without + self._timeout:
            raise build_no_cpu_error(self._ray, self._timeout)

    def _report(self, what: str) -> None:
        request = f" ({self._requested} CPUs are requested)" if self._requested else ""
        limit = f"{self._timeout:.0f} s, as --cluster-timeout says"
        text = f"waiting for {what}{request}: up to {limit}"
        warnings.warn(text, EngineFallback, stacklevel=2)

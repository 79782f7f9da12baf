"""Connect to a Ray cluster, or start one that only this machine can reach."""

import os
import secrets
import socket
import sys
from contextlib import suppress
from typing import Any

from theodolite._storage.optional import require
from theodolite.errors import EvidenceError

OLDEST = (2, 56)
READ_ONCE = ("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "RAY_AUTH_MODE")
our_settings: dict[str, str] = {}
"""The settings that Ray was loaded with in this process: it reads them once."""


def get_local_settings() -> dict[str, str]:
    """Return settings of a private cluster: on loopback only, with its own token."""
    settings = {
        # Ray replaces 127.0.0.1 by an address that others reach, except where clusters are off
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    }
    return settings | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


def apply_local_settings() -> None:
    """Put the settings into the environment, before Ray is loaded."""
    if not our_settings:
        settings = get_local_settings()
        if "ray" in sys.modules and any(
            os.environ.get(name) != settings[name] for name in READ_ONCE
        ):
            raise EvidenceError(
                "engine ray", "ray, already loaded with other settings", "ray not loaded yet",
                "Use the command line, or begin with theodolite.",
            )  # fmt: skip
        our_settings.update(settings)
    os.environ.update(our_settings)


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
            "engine ray", "an open connection in this process", "none",
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
    """Raise unless a server listens there: Ray itself would try for minutes."""
    if not is_reachable(address):
        needed = "the address of a Ray cluster, such as 10.0.0.1:6379"
        raise EvidenceError("ray address", f"{address}, where no server answers", needed)


def is_reachable(address: str) -> bool:
    """Return whether a server listens at HOST:PORT; other addresses are not tried."""
    host, _, port = address.rpartition("://")[2].partition(":")
    with suppress(OSError):
        if port.isdecimal():
            socket.create_connection((host, int(port)), timeout=10).close()
        return True
    return False


def _import_ray() -> Any:
    ray = require("ray", "engine ray", "ray")
    if tuple(int(part) for part in ray.__version__.split(".")[:2]) < OLDEST:
        needed = f"at least {OLDEST[0]}.{OLDEST[1]}, for security"
        raise EvidenceError("engine ray", f"ray {ray.__version__}", needed, "Update ray.")
    return ray


def warn_open_cluster(address: str | None) -> list[str]:
    """Return warnings about a cluster that accepts requests without a token."""
    if address is None or os.environ.get("RAY_AUTH_MODE") == "token":
        return []
    return [
        f"The Ray cluster at {address} answers without a token: anyone who reaches it can run code "
        "on it. Start it with RAY_AUTH_MODE=token."
    ]

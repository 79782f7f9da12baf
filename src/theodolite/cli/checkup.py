"""What this installation has: packages, extras, compiled loops, threads, caches."""

import importlib
import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from theodolite import __version__
from theodolite._runs.engine.base import available_memory
from theodolite._stats.native.library import kernels_version
from theodolite._stats.threads import cores, threads
from theodolite._storage.atomic import default_cache
from theodolite._storage.optional import NOT_FOR_USERS, extras, installed, module_of
from theodolite.errors import printable

BASE = ("numpy", "scipy", "scikit-learn", "pyarrow", "pydantic", "pillow")


@dataclass(frozen=True)
class ExtraState:
    """An extra, and what of it is not installed."""

    name: str
    missing: tuple[str, ...]

    @property
    def missing_text(self) -> str:
        """The first few."""
        more = f" and {len(self.missing) - 4} more" if len(self.missing) > 4 else ""
        return ", ".join(self.missing[:4]) + more


@dataclass(frozen=True)
class Checkup:
    """What `theodolite doctor` prints."""

    facts: tuple[tuple[str, str], ...]
    extras: tuple[ExtraState, ...]
    broken: tuple[tuple[str, str], ...]

    def to_json(self) -> dict[str, Any]:
        """The same for programs."""
        missing = {extra.name: list(extra.missing) for extra in self.extras}
        return {"facts": dict(self.facts), "missing": missing, "broken": dict(self.broken)}


def checkup() -> Checkup:
    """Look at everything once. Nothing is fetched, and no environment variable is told."""
    states = tuple(
        ExtraState(name, tuple(p for p in brings if installed(p) is None))
        for name, brings in extras().items()
        if name not in (*NOT_FOR_USERS, "all")
    )
    broken = tuple(_broken([*BASE, *(p for brings in extras().values() for p in brings)]))
    return Checkup((*_versions(), *_machine()), states, broken)


def _broken(distributions: list[str]) -> list[tuple[str, str]]:
    """Packages that are installed and cannot be imported: torch and its kin take a while."""
    why = []
    for name in dict.fromkeys(distributions):
        if installed(name) is None or name not in COMPILED:
            continue
        try:
            importlib.import_module(module_of(name))
        except Exception as error:  # noqa: BLE001  whatever a broken package raises
            why.append((name, printable(f"{type(error).__name__}: {error}", 200)))
    return why


COMPILED = (
    *BASE,
    "numba",
    "torch",
    "shap",
    "lime",
    "captum",
    "onnxruntime",
    "h5py",
    "zarr",
    "matplotlib",
)
"""Packages with compiled parts, where a broken installation is most likely."""


def _versions() -> list[tuple[str, str]]:
    there = [(name, installed(name)) for name in (*BASE, "numba", "torch", "theodolite-study")]
    return [
        ("theodolite", __version__),
        ("Python", platform.python_version()),
        *((name, version) for name, version in there if version is not None),
    ]


def _machine() -> list[tuple[str, str]]:
    cache = default_cache()
    facts = [
        ("cores for this process", str(cores())),
        ("memory available", _memory()),
        ("compiled loops of scores", kernels_version()),
        ("threads", str(threads())),
        ("cache", f"{cache}: {'can be written' if _writeable(cache) else 'CANNOT be written'}"),
    ]
    if installed("torch") is not None:
        import torch

        device = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "none"
        facts.append(("GPU", printable(device, 80)))
    return facts


def _memory() -> str:
    free = available_memory()
    return "not known" if free is None else f"{free / 1e9:.1f} GB"


def _writeable(folder: Path) -> bool:
    while not folder.exists():
        folder = folder.parent
    return os.access(folder, os.W_OK)

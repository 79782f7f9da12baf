"""The command that says what is installed, what is missing, and what it would bring."""

import importlib
import os
import platform
from pathlib import Path

import typer

from theodolite import __version__
from theodolite._runs.engine.worker_choice import measure_available_memory
from theodolite._stats.native.library import kernels_version
from theodolite._stats.threads import count_cores, count_threads
from theodolite._storage.cache_folder import get_default_cache
from theodolite._storage.optional import (
    NOT_FOR_USERS,
    get_installed_version,
    get_module_name,
    list_extras,
)
from theodolite.cli.options import Json
from theodolite.cli.tables import print_json, print_table
from theodolite.errors import printable

BASE = ("numpy", "scipy", "scikit-learn", "pyarrow", "pydantic", "pillow")
COMPILED = (
    *BASE, "numba", "torch", "shap", "lime", "captum", "onnxruntime", "h5py", "zarr", "matplotlib",
)  # fmt: skip
"""Packages with compiled parts, where a broken installation is most likely."""


def doctor(as_json: Json = False) -> None:
    """Show which optional packages are installed. Nothing is downloaded.

    Exit code 2: an installed package is broken.
    """
    facts, missing, broken = [*_versions(), *_machine()], _missing(), _broken()
    if as_json:
        print_json({"facts": dict(facts), "missing": missing, "broken": broken})
    else:
        print_table(("", ""), facts)
        typer.echo()
        rows = [(name, "no" if lacks else "yes", _few(lacks)) for name, lacks in missing.items()]
        print_table(("extra", "complete", "missing"), rows)
        typer.echo("\nTo install one: pip install 'theodolite[NAME]'")
        for package, why in broken.items():
            typer.echo(f"broken: {package}: {why}")
    if broken:
        raise typer.Exit(2)


def _missing() -> dict[str, list[str]]:
    return {
        name: [package for package in packages if get_installed_version(package) is None]
        for name, packages in list_extras().items()
        if name not in (*NOT_FOR_USERS, "all")
    }


def _few(packages: list[str]) -> str:
    more = f" and {len(packages) - 4} more" if len(packages) > 4 else ""
    return ", ".join(packages[:4]) + more


def _broken() -> dict[str, str]:
    """Import what is installed and return the errors; torch and its kin take a while."""
    errors = {}
    for name in COMPILED:
        if get_installed_version(name) is not None:
            try:
                importlib.import_module(get_module_name(name))
            except Exception as error:  # noqa: BLE001  whatever a broken package raises
                errors[name] = printable(f"{type(error).__name__}: {error}", 200)
    return errors


def _versions() -> list[tuple[str, str]]:
    there = [
        (name, get_installed_version(name))
        for name in (*BASE, "numba", "torch", "theodolite-study")
    ]
    return [
        ("theodolite", __version__),
        ("Python", platform.python_version()),
        *((name, version) for name, version in there if version is not None),
    ]


def _machine() -> list[tuple[str, str]]:
    cache = get_default_cache()
    facts = [
        ("cores for this process", str(count_cores())),
        ("memory available", _memory()),
        ("native kernels", kernels_version()),
        ("threads", str(count_threads())),
        ("cache", f"{cache}: {'writable' if _writable(cache) else 'NOT writable'}"),
    ]
    if get_installed_version("torch") is not None:
        import torch

        device = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "none"
        facts.append(("GPU", printable(device, 80)))
    return facts


def _memory() -> str:
    free = measure_available_memory()
    return "not known" if free is None else f"{free / 1e9:.1f} GB"


def _writable(folder: Path) -> bool:
    while not folder.exists():
        folder = folder.parent
    return os.access(folder, os.W_OK)

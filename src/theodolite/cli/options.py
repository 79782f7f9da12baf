"""Options that several commands share, and what is made of them."""

import functools
import inspect
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from theodolite.errors import EvidenceError


def option(text: str, *names: str, **settings: Any) -> Any:
    """Declare an option with this help; without names, it is called like its parameter."""
    return typer.Option(*names, help=text, **settings)


def argument(text: str, **settings: Any) -> Any:
    """Declare an argument with this help."""
    return typer.Argument(help=text, show_default=False, **settings)


Run = Annotated[Path, argument("Run folder")]
Out = Annotated[Path, option("Run folder to write")]
Page = Annotated[Path | None, option("HTML page to write", "--out")]
Overwrite = Annotated[bool, option("Replace an earlier run in OUT", "--overwrite")]
OverwriteFile = Annotated[bool, option("Replace a file of another program", "--overwrite")]
Cache = Annotated[Path | None, option("Folder for cached features")]
Quiet = Annotated[bool, option("Hide progress on stderr", "--quiet")]
Json = Annotated[bool, option("Print JSON instead of a table", "--json")]
DryRun = Annotated[bool, option("Estimate time and cost, then stop", "--dry-run")]
Seed = Annotated[int, option("Random seed", min=0)]
Resamples = Annotated[int, option("Resamples for intervals", min=0, max=100_000)]
Weights = Annotated[Path | None, option("Weights (.safetensors, .pt). Default: downloaded")]
Classes = Annotated[Path | None, option("Class names of the model's outputs (.txt or .json)")]
Preprocess = Annotated[Path | None, option("Size, mean and std of images (.json)")]
TrustModel = Annotated[bool, option("Run the code of python: and export:", "--trust-model")]
Layer = Annotated[str | None, option("Layer. Default: the last one with a spatial grid")]
Quantile = Annotated[float, option("A unit is active above this quantile")]

ENGINE: dict[str, tuple[Any, Any]] = {
    "engine": (
        Annotated[Literal["auto", "local", "ray"], option("Execution backend")], "auto",
    ),
    "workers": (Annotated[int | None, option("Processes. Default: one per core", min=1)], None),
    "ray_address": (Annotated[str | None, option("Ray cluster: auto, HOST:PORT or ray://")], None),
    "cluster_timeout": (
        Annotated[float, option("Seconds to wait for a CPU of the cluster", min=0)], 900.0,
    ),
    "checkpoint_dir": (
        Annotated[str | None, option("Folder or s3:// for checkpoints. Default: OUT")], None,
    ),
    "inference": (
        Annotated[Literal["auto", "tasks", "data"], option("Run models as Ray tasks or Ray Data")],
        "auto",
    ),
    "mixed_cpus": (
        Annotated[bool, option("Allow unlike CPUs: last digits may differ", "--mixed-cpus")], False,
    ),
    "metrics_port": (
        Annotated[int | None, option("Port for Prometheus metrics", min=1, max=65535)], None,
    ),
}  # fmt: skip
"""Options of the execution backend: each one's type and default."""


def engine_options(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add options of ``ENGINE`` to a command, which is called with the ``engine`` they choose.

    Args:
        names: Options besides the backend, its processes and its cluster.
    """
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in ENGINE.items()
        if name in ("engine", "workers", "ray_address", "cluster_timeout", *names)
    ]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def with_engine(*arguments: Any, **values: Any) -> None:
            chosen = {p.name: values.pop(p.name, p.default) for p in added}
            command(*arguments, engine=_engine(**chosen), **values)

        own = inspect.signature(command).parameters
        every = [*(p for name, p in own.items() if name != "engine"), *added]
        with_engine.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
        with_engine.__annotations__ = {p.name: p.annotation for p in every}
        return with_engine

    return decorate


def _engine(engine: str, checkpoint_dir: str | None = None, **chosen: Any) -> Any:
    from theodolite._runs.engine.worker_choice import Engine

    return Engine(engine, checkpoint_dir=checkpoint_dir, **chosen)  # type: ignore[arg-type]


def _set_max_memory(text: str | None) -> str | None:
    from theodolite._storage.memory_limit import parse_bytes, set_memory_limit

    set_memory_limit(None if text is None else parse_bytes(text, "--max-memory"))
    return text


MaxMemory = Annotated[
    str | None,
    option(
        "Memory for unpacked data. Default: 25 %, at most 4 GiB",
        metavar="SIZE",
        callback=_set_max_memory,
    ),
]


def check_there(path: Path) -> None:
    """Refuse a folder that is not there."""
    if not path.is_dir():
        raise EvidenceError(f"folder {str(path)!r}", "nothing there", "a folder")


def below_one_folder(*paths: Path | None) -> tuple[Path, list[str]]:
    """Return the folder that all paths are in, and where in it each one is."""
    full = [path.resolve() for path in paths if path is not None]
    root = Path(os.path.commonpath([path.parent for path in full]))
    return root, [path.relative_to(root).as_posix() for path in full]


def command_line() -> str:
    """Return the command as it was given, for the record."""
    return shlex.join(["theodolite", *sys.argv[1:]])

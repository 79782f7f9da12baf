"""Protocols of installed packages: specs and sweeps by name.

A package adds a folder of YAML files through the entry point group ``theodolite.protocols``: the
name of a package that has them.
"""

from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from theodolite._runs.folder.spec import RunSpec
from theodolite._storage.text import read_yaml
from theodolite.errors import UnsafeInputError
from theodolite.evidence.plugins import load_plugins

GROUP = "protocols"
READS = ("root", "weights", "pooled", "archive", "class_names")
"""Arguments that name a place in the data."""
SHORT = 100
"""Resamples of a short form."""


@dataclass(frozen=True)
class Protocol:
    """A spec or a sweep of a package."""

    name: str
    title: str
    data: tuple[str, ...]
    """What it reads, in the folder that is given as data: folders and files."""
    file: Path
    sweep: bool

    @property
    def text(self) -> str:
        """The file as it is."""
        return self.file.read_text(encoding="utf-8")


def protocols() -> tuple[Protocol, ...]:
    """Return the protocols of installed packages, by name."""
    return tuple(_read_protocol(path) for _, path in sorted(list_protocol_files().items()))


@cache
def list_protocol_files() -> dict[str, Path]:
    """Return the files of protocols by name."""
    folders = (Path(module.__file__).parent for _, _, module in load_plugins(GROUP, nullcontext))
    paths = (path for folder in folders for path in folder.glob("*.yaml"))
    return {path.name.removesuffix(".yaml"): path for path in paths}


def find_protocol_file(name: Path | str) -> Path:
    """Return a file, or the protocol of that name where there is no such file."""
    path = Path(name)
    if path.exists():
        return path
    known = list_protocol_files()
    stem = path.name.removesuffix(".yaml")
    if stem in known:
        return known[stem]
    hint = "" if known else "Install them: pip install theodolite-reproductions."
    raise UnsafeInputError(
        "protocol", repr(str(name)), "a file, or a name that `theodolite papers list` lists", hint
    )


def shorten_spec(spec: RunSpec) -> RunSpec:
    """One seed and few resamples: shows that a run goes through, and no more."""
    resampling = spec.resampling.model_copy(
        update={"resamples": min(SHORT, spec.resampling.resamples)}
    )
    return spec.model_copy(update={"seeds": spec.seeds[:1], "resampling": resampling})


def _read_protocol(path: Path) -> Protocol:
    content = read_yaml(path)
    base = content if "dataset" in content else read_yaml(path.with_name(content["protocol"]))
    reads = sorted(set(_find_paths(base["dataset"])) | set(_find_paths(base["pipeline"])))
    name = path.name.removesuffix(".yaml")
    return Protocol(name, content["title"], tuple(reads), path, "dataset" not in content)


def _find_paths(arguments: Any) -> list[str]:
    """The first folder of every argument that names a place in the data."""
    if isinstance(arguments, dict):
        named = [v for k, v in arguments.items() if k in READS and isinstance(v, str)]
        inside = [p for v in arguments.values() for p in _find_paths(v)]
        return [value.split("/")[0] for value in named] + inside
    if isinstance(arguments, list):
        return [p for v in arguments for p in _find_paths(v)]
    return []

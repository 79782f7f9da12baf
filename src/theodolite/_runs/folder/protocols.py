"""Find protocols, which are specs and sweeps that installed packages provide, by name.

The entry point group ``theodolite.protocols`` names Python packages with YAML files, such as those
of `theodolite-reproductions`. Used by `theodolite run` and the commands of the reproductions.
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
PATH_ARGUMENTS = ("root", "weights", "pooled", "archive", "class_names", "lesions")
"""Arguments of data sets and pipelines that are paths below the data folder."""
MAX_SHORT_RESAMPLES = 100
"""Maximum number of resamples of a shortened spec."""


@dataclass(frozen=True)
class Protocol:
    """A spec or a sweep that an installed package provides."""

    name: str
    title: str
    data: tuple[str, ...]
    """Folders and files that it reads below the data folder."""
    datasets: tuple[str, ...]
    """Names of the loaders that it uses."""
    file: Path
    sweep: bool

    @property
    def text(self) -> str:
        """Content of the file."""
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
    """Return a file, or the protocol of that name: of its file or, for a sweep, its own."""
    path = Path(name)
    if path.exists():
        return path
    known = list_protocol_files()
    stem = path.name.removesuffix(".yaml")
    sweeps = (path for name, path in known.items() if name.endswith(".sweep"))
    named = known | {str(read_yaml(sweep)["name"]): sweep for sweep in sweeps}
    if stem in named:
        return named[stem]
    hint = "" if known else "Install them: pip install theodolite-reproductions."
    raise UnsafeInputError(
        "protocol", repr(str(name)), "a file, or a name that `theodolite papers list` lists", hint
    )


def shorten_spec(spec: RunSpec) -> RunSpec:
    """Return the spec with one seed and few resamples, to test that a run completes."""
    resampling = spec.resampling.model_copy(
        update={"resamples": min(MAX_SHORT_RESAMPLES, spec.resampling.resamples)}
    )
    return spec.model_copy(update={"seeds": spec.seeds[:1], "resampling": resampling})


def _read_protocol(path: Path) -> Protocol:
    content = read_yaml(path)
    base = content if "dataset" in content else read_yaml(path.with_name(content["protocol"]))
    reads = sorted(set(_find_paths(base["dataset"])) | set(_find_paths(base["pipeline"])))
    name = path.name.removesuffix(".yaml")
    loaders = tuple(sorted(set(_find_loaders(base))))
    return Protocol(name, content["title"], tuple(reads), loaders, path, "dataset" not in content)


def find_protocols_of(dataset: str) -> tuple[str, ...]:
    """Return the names of the protocols that use a loader; sweeps are not among them."""
    named = (p for _, p in sorted(list_protocol_files().items()) if dataset in p.read_text("utf-8"))
    return tuple(
        p.name for p in map(_read_protocol, named) if dataset in p.datasets and not p.sweep
    )


def _find_loaders(spec: dict[str, Any]) -> list[str]:
    """Return the loader of a spec, and those that it joins, takes forms of or learns from."""
    dataset, concepts = spec["dataset"], spec["pipeline"].get("concepts")
    parts = [name for name, _ in dataset.get("parts", ())]
    forms = [form.get("of") for form in dataset.get("forms", {}).values()]
    learned = concepts.get("data") if isinstance(concepts, dict) else None
    return [n for n in (dataset["name"], dataset.get("of"), learned, *parts, *forms) if n]


def _find_paths(arguments: Any) -> list[str]:
    """Return the first folder of each path below the data folder."""
    if isinstance(arguments, dict):
        named = [v for k, v in arguments.items() if k in PATH_ARGUMENTS and isinstance(v, str)]
        named += [v for v in arguments.values() if isinstance(v, str) and v.endswith(".gguf")]
        named += [folder for _, folder in arguments.get("parts", ())]
        if isinstance(concepts := arguments.get("concepts"), dict) and "data" in concepts:
            named.append(concepts["data"])
        inside = [p for v in arguments.values() for p in _find_paths(v)]
        return [value.split("/")[0] for value in named if value != "."] + inside
    if isinstance(arguments, list):
        return [p for v in arguments for p in _find_paths(v)]
    return []

"""The protocols that come with the package: specs and sweeps by name."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from theodolite.errors import RefusedInput
from theodolite.io.text import read_yaml
from theodolite.run_folder.spec import RunSpec

PROTOCOLS = Path(__file__).parent / "protocol_files"
READS = ("root", "weights", "pooled", "archive", "class_names")
"""Arguments that name a place in the data."""
SHORT = 100
"""Resamples of a short form."""


@dataclass(frozen=True)
class Protocol:
    """A spec or a sweep of the package."""

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
    """The protocols that come with the package, by name.

    >>> protocols()[2].name, protocols()[2].data
    ('accepted_text_variants', ('minilm_int8', 'votes_text_explanations'))
    """
    return tuple(_protocol(path) for path in sorted(PROTOCOLS.glob("*.yaml")))


def protocol_file(name: Path | str) -> Path:
    """A file, or the package's protocol of that name where there is no such file.

    >>> protocol_file("alignment_monumai").name
    'alignment_monumai.yaml'
    """
    path = Path(name)
    if path.exists():
        return path
    known = {file.name.removesuffix(".yaml"): file for file in PROTOCOLS.glob("*.yaml")}
    stem = path.name.removesuffix(".yaml")
    if stem in known:
        return known[stem]
    raise RefusedInput(
        "protocol", repr(str(name)), "a file, or a name that `theodolite protocols` lists"
    )


def short_form(spec: RunSpec) -> RunSpec:
    """One seed and few resamples: shows that a run goes through, and no more."""
    resampling = spec.resampling.model_copy(
        update={"resamples": min(SHORT, spec.resampling.resamples)}
    )
    return spec.model_copy(update={"seeds": spec.seeds[:1], "resampling": resampling})


def _protocol(path: Path) -> Protocol:
    content = read_yaml(path)
    base = content if "dataset" in content else read_yaml(path.with_name(content["protocol"]))
    reads = sorted(set(_paths(base["dataset"])) | set(_paths(base["pipeline"])))
    name = path.name.removesuffix(".yaml")
    return Protocol(name, content["title"], tuple(reads), path, "dataset" not in content)


def _paths(arguments: Any) -> list[str]:
    """The first folder of every argument that names a place in the data."""
    if isinstance(arguments, dict):
        named = [v for k, v in arguments.items() if k in READS and isinstance(v, str)]
        inside = [p for v in arguments.values() for p in _paths(v)]
        return [value.split("/")[0] for value in named] + inside
    if isinstance(arguments, list):
        return [p for v in arguments for p in _paths(v)]
    return []

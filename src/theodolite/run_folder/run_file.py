"""What a run folder tells about its run: before it, after it, and the list of its files."""

import json
import platform
import sys
from collections.abc import Mapping
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from theodolite.engine.identity import arithmetic, code_version, packages_in_use
from theodolite.engine.seal import key_id
from theodolite.errors import RefusedInput
from theodolite.io.text import json_text, read_json, write_json
from theodolite.native.library import kernels_version
from theodolite.run_folder.format import PRODUCED, current
from theodolite.run_folder.spec import READING, RunSpec, Strict, first_fault
from theodolite.threads import cores

PACKAGES = (
    "theodolite", "numpy", "scipy", "scikit-learn", "numba", "pyarrow", "pillow", "torch", "timm",
    "ray", "zarr", "fsspec",
)  # fmt: skip


def _open(schema: dict[str, Any]) -> None:
    """Whoever reads our files by their schema is not stopped by fields that were added either."""
    schema.pop("additionalProperties", None)


class Record(Strict, BaseModel):
    """A file that we write and check when we read it again.

    Fields that a newer version of the same format added are left out in reading.
    """

    model_config = ConfigDict(json_schema_extra=_open)


class IdentityRecord(Record):
    """What decides numbers besides the code: packages, and bits of arithmetic."""

    packages: dict[str, str]
    arithmetic: str
    seal: str = ""
    """The id of the key that pieces were sealed with."""


class RunRecord(Record):
    """The file ``run.json``: what is known before the start."""

    format: Literal["theodolite-run"] = "theodolite-run"
    format_version: Literal[2] = 2
    spec: RunSpec
    command: str
    started: str
    python: str
    machine: str
    packages: dict[str, str]
    code: str = ""
    """The version, with a digest of the code."""
    identity: IdentityRecord
    cores: int = 0
    kernels: str = ""
    """What ran hot loops: ``native`` and which library, or ``numpy``."""
    engine: str = ""
    """Where work was to be done, and why there."""
    inputs: dict[str, str] = {}
    """Digests of what is known before the start."""


class ExampleRecord(Record):
    """A picture that was kept for the report."""

    row: Annotated[int, Field(ge=0)]
    sample: str
    file: str


class UnitCardRecord(Record):
    """A unit that the report shows with pictures."""

    unit: str
    why: str
    formula: str
    alone: str
    stopped: str
    literals: list[tuple[str, float | None, float | None]]
    files: list[str]


class ConceptCardRecord(Record):
    """A concept that the report shows with patches of pictures."""

    of: str
    concept: str
    importance: float
    adds: float
    files: list[str]


class ExplainedRecord(Record):
    """Which explanation was audited, as the title of its report says it."""

    claim: str = ""
    """What the explanation says, as whoever relies on it would put it."""
    method: str = ""
    model: str = ""
    data: str = ""
    n: int | None = None
    """Samples."""
    counts: list[tuple[str, int]] = []
    """How many of what, samples first."""
    noun: str = "concepts"
    """What the data set calls its concepts."""


class MadeRecord(Record):
    """The file ``produced.json``: what became known on the way."""

    format: Literal["theodolite-produced"] = "theodolite-produced"
    format_version: Literal[2] = 2
    explained: ExplainedRecord
    notes: list[str] = []
    facts: list[tuple[str, int | float | str]] = []
    inputs: dict[str, str] = {}
    examples: list[ExampleRecord] = []
    conflict_examples: list[ExampleRecord] = []
    """Pictures on which the questions disagree."""
    cards: list[UnitCardRecord] = []
    concept_cards: list[ConceptCardRecord] = []
    seconds_scoring: float
    stored: list[str] = []
    """Where the evidence lies, if it was not copied into the run folder."""
    pieces: str = ""
    """Where finished pieces of work are, if not in the run folder."""
    failed_pieces: int = 0
    """Pieces of work that were given up: the run is partial."""


class ManifestRecord(Record):
    """The file ``manifest.json``: a digest of every other file."""

    format: Literal["theodolite-manifest"] = "theodolite-manifest"
    files: dict[str, str]


AnyRecord = TypeVar("AnyRecord", bound=Record)


def read_record(path: Path, kind: type[AnyRecord]) -> AnyRecord:
    """Read one of these files, or say what is wrong with it."""
    try:
        content = current(read_json(path, "record"), path)
        return kind.model_validate(content, context=READING)
    except ValidationError as error:
        raise RefusedInput(
            f"record {path.name!r}", first_fault(error), "what theodolite wrote"
        ) from error


def read_produced(folder: Path) -> MadeRecord:
    """Read what became known on the way."""
    return read_record(folder / PRODUCED, MadeRecord)


def write_record(path: Path, record: Record) -> None:
    """Write one: equal content is equal bytes."""
    write_json(path, record.model_dump(mode="json"))


def as_written(record: AnyRecord) -> AnyRecord:
    """The record as it would be read from its file, in which names are in order."""
    return type(record).model_validate(json.loads(json_text(record.model_dump(mode="json"))))


def run_record(
    spec: RunSpec, command: str, engine: str = "", inputs: Mapping[str, str] | None = None
) -> RunRecord:
    """What is known before the start."""
    return RunRecord(
        spec=spec,
        command=command,
        started=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        python=sys.version.split()[0],
        machine=f"{platform.system()} {platform.machine()}",
        packages=_packages(),
        code=code_version(),
        identity=IdentityRecord(
            packages=dict(packages_in_use()), arithmetic=arithmetic(), seal=key_id()
        ),
        cores=cores(),
        kernels=kernels_version(),
        engine=engine,
        inputs=dict(inputs or {}),
    )


def begin(path: Path, record: RunRecord) -> None:
    """Write ``run.json`` before anything else. A run that goes on after a break keeps its own."""
    try:
        earlier = read_record(path, RunRecord)
    except RefusedInput:
        earlier = None
    changing = {"started": "", "command": "", "engine": ""}
    if earlier is None or earlier.model_copy(update=changing) != record.model_copy(update=changing):
        write_record(path, record)


def _packages() -> dict[str, str]:
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions

"""Records of a run folder: what was planned, what was produced, and the list of files."""

import platform
import sys
from collections.abc import Mapping
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from theodolite._runs.engine.process_identity import (
    digest_arithmetic,
    get_code_version,
    list_packages,
)
from theodolite._runs.engine.signed_checksums import get_key_id
from theodolite._runs.folder.file_names import PRODUCED
from theodolite._runs.folder.spec import RunSpec
from theodolite._stats.native.library import kernels_version
from theodolite._stats.threads import count_cores
from theodolite._storage.records import Record, read_record, write_record
from theodolite.errors import UnsafeInputError

PACKAGES = (
    "theodolite", "numpy", "scipy", "scikit-learn", "numba", "pyarrow", "pillow", "torch", "timm",
    "ray", "zarr", "fsspec",
)  # fmt: skip


class IdentityRecord(Record):
    """What decides numbers besides the code: packages, and bits of arithmetic."""

    packages: dict[str, str]
    arithmetic: str
    checksum: str = ""
    """Id of the key that signed the checkpoints."""


class RunRecord(Record):
    """The file ``run.json``: what is known before the start."""

    format: Literal["theodolite-run"] = "theodolite-run"
    format_version: Literal[3] = 3
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
    """An image that was kept for the report."""

    row: Annotated[int, Field(ge=0)]
    sample: str
    file: str


class UnitCardRecord(Record):
    """A unit that the report shows with images."""

    unit: str
    why: str
    formula: str
    alone: str
    stopped: str
    literals: list[tuple[str, float | None, float | None]]
    files: list[str]


class ConceptCardRecord(Record):
    """A concept that the report shows with patches of images."""

    of: str
    concept: str
    importance: float
    adds: float
    files: list[str]


class ExaminedRecord(Record):
    """How much evidence of one kind was examined."""

    kind: str
    n: int
    unit: str
    """What ``n`` counts, such as "test images × 15 concepts"."""


class ExplanationRecord(Record):
    """Which explanation was audited, as the title of its report says it."""

    claim: str = ""
    """Claim of the explanation, in the words of its users."""
    method: str = ""
    model: str = ""
    data: str = ""
    n: int | None = None
    """Samples."""
    counts: list[tuple[str, int]] = []
    """How many of what, samples first."""
    noun: str = "concepts"
    """What the data set calls its concepts."""
    examined: list[ExaminedRecord] = []
    """How much evidence of each kind was examined."""


class ProducedRecord(Record):
    """The file ``produced.json``: what became known on the way."""

    format: Literal["theodolite-produced"] = "theodolite-produced"
    format_version: Literal[3] = 3
    explained: ExplanationRecord = ExplanationRecord()
    notes: list[str] = []
    facts: list[tuple[str, int | float | str]] = []
    inputs: dict[str, str] = {}
    examples: list[ExampleRecord] = []
    conflict_examples: list[ExampleRecord] = []
    """Images on which the questions disagree."""
    cards: list[UnitCardRecord] = []
    concept_cards: list[ConceptCardRecord] = []
    seconds_scoring: float
    stored: list[str] = []
    """Where the evidence lies, if it was not copied into the run folder."""
    checkpoints: str = ""
    """Where checkpoints are, if not in the run folder."""
    failed_tasks: int = 0
    """Number of tasks that were given up: the run is incomplete."""


class ManifestRecord(Record):
    """The file ``manifest.json``: a digest of every other file."""

    format: Literal["theodolite-manifest"] = "theodolite-manifest"
    files: dict[str, str]


def read_produced(folder: Path) -> ProducedRecord:
    """Read what became known on the way."""
    return read_record(folder / PRODUCED, ProducedRecord)


def build_run_record(
    spec: RunSpec, command: str, engine: str = "", inputs: Mapping[str, str] | None = None
) -> RunRecord:
    """Return the record of a run before it starts."""
    return RunRecord(
        spec=spec,
        command=command,
        started=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        python=sys.version.split()[0],
        machine=f"{platform.system()} {platform.machine()}",
        packages=_list_packages(),
        code=get_code_version(),
        identity=IdentityRecord(
            packages=dict(list_packages()), arithmetic=digest_arithmetic(), checksum=get_key_id()
        ),
        cores=count_cores(),
        kernels=kernels_version(),
        engine=engine,
        inputs=dict(inputs or {}),
    )


def write_run_record(path: Path, record: RunRecord) -> None:
    """Write ``run.json`` before anything else. A resumed run keeps its own."""
    try:
        earlier = read_record(path, RunRecord)
    except UnsafeInputError:
        earlier = None
    changing = {"started": "", "command": "", "engine": ""}
    if earlier is None or earlier.model_copy(update=changing) != record.model_copy(update=changing):
        write_record(path, record)


def _list_packages() -> dict[str, str]:
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions

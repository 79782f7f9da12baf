"""Answers of protocol runs to entries, in small sealed files that come with the package."""

import hashlib
import re
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from theodolite._runs.engine.checkpoints import to_canonical_json
from theodolite._storage.paths import sha256_of
from theodolite._storage.records import describe_first_error
from theodolite._storage.text import read_json, read_yaml, write_json
from theodolite.errors import UnsafeInputError, VerificationError
from theodolite.metrics.catalogue import catalogue
from theodolite_reproductions.claims.entry import PaperPart, Reason
from theodolite_reproductions.claims.ledger import ledger

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Figure = float | str | None
SAME = "same"
StandIn = Annotated[str, Field(pattern=r"^(same|(part|stand-in): .+)$")]
PRINTED = "printed_tables"
"""The name of answers that are computed from a paper's own printed figures, without a run."""
PRINTED_FIGURES = re.compile(r"printed figures of paper (00[0-4])")


class EntryAnswer(PaperPart):
    """What a run says of an entry in one cell of its settings."""

    entry: str
    settings: dict[str, Any] = Field(default_factory=dict)
    """The cell: what was chosen where the paper leaves it open, or where the claim is about several
    things."""
    nearest: bool = False
    """Whether it is the cell nearest to the paper's text."""
    effect: float | None = None
    """Signed: positive is as the paper says. For a rank the share of resamples that meet it."""
    low: float | None = None
    high: float | None = None
    p: float | None = None
    unit: str | None = None
    n: int | None = None
    """Units that were resampled."""
    min_detectable_effect: float | None = None
    """The effect that four of five such runs find."""
    ours: dict[str, Figure] = Field(default_factory=dict)
    """Our figures, beside the printed ones."""
    reason: Reason | None = None
    """Why this cell cannot show it."""

    @field_validator("ours")
    @classmethod
    def _undefined_is_none(cls, ours: dict[str, Figure]) -> dict[str, Figure]:
        """JSON has no NaN."""
        return {name: None if value != value else value for name, value in ours.items()}

    @model_validator(mode="after")
    def _decidable(self) -> "EntryAnswer":
        bounds = (self.effect, self.low, self.high)
        if any(value != value for value in bounds):
            raise ValueError(f"{self.entry}: an effect that is not a number")
        if any(value is None for value in bounds) and any(value is not None for value in bounds):
            raise ValueError(f"{self.entry}: an effect has two bounds")
        if self.effect is None and not self.ours and self.reason is None:
            raise ValueError(f"{self.entry}: an answer that says nothing")
        return self


class StandIns(PaperPart):
    """What took the place of the paper's data, network, inputs and measured quantity."""

    data: StandIn
    network: StandIn
    inputs: StandIn
    quantity: StandIn
    entries: tuple[str, ...] = ()
    """Entries that ``quantity`` holds for; for all, where there are none."""
    unless: dict[str, str] = Field(default_factory=dict)
    """A setting whose cells have the paper's own quantity."""
    only: str = ""
    """The data set of the run, for claims over several."""
    notes: str = ""

    def of(self, answer: EntryAnswer) -> dict[str, str]:
        """What holds for a cell of an entry, by field."""
        known = {"data": self.data, "network": self.network, "inputs": self.inputs}
        elsewhere = bool(self.entries) and answer.entry not in self.entries
        elsewhere |= bool(self.unless) and self.unless.items() <= answer.settings.items()
        return known | {"quantity": SAME if elsewhere else self.quantity}


class OptionMove(PaperPart):
    """By how much a choice that the paper leaves open moves the effect of an entry."""

    option: str
    entry: str
    before: Any
    after: Any
    value: float
    low: float
    high: float


class ResultFile(PaperPart):
    """The file ``results/NAME.json``."""

    format: Literal["theodolite-ledger-answers"] = "theodolite-ledger-answers"
    format_version: Literal[1] = 1
    protocol: str
    """The name of the protocol or sweep."""
    files: dict[str, Digest]
    """Protocol files by name, with their digests; or the printed figures of a paper."""
    metrics: dict[str, int]
    """Versions of the scores that the run computed."""
    run: Digest
    """The digest of what the run computed."""
    code: str
    """The code of the run."""
    stand_in: StandIns
    answers: tuple[EntryAnswer, ...]
    moves: tuple[OptionMove, ...] = ()
    seal: str = ""

    def digest(self) -> str:
        """SHA-256 of all but the seal, as canonical JSON."""
        content = self.model_dump(mode="json", exclude={"seal"})
        return hashlib.sha256(to_canonical_json(content).encode()).hexdigest()

    def sealed(self) -> "ResultFile":
        """The same with its seal."""
        return self.model_copy(update={"seal": self.digest()})


def write_result(folder: Path, result: ResultFile) -> Path:
    """Seal and write; the name is the protocol's."""
    path = folder / f"{result.protocol}.json"
    write_json(path, result.sealed().model_dump(mode="json"))
    return path


def read_result(path: Path) -> ResultFile:
    """Read and check; a file whose seal is broken is refused."""
    try:
        result = ResultFile.model_validate(read_json(path, "results"))
    except ValidationError as error:
        raise UnsafeInputError(
            f"results {path.name!r}", describe_first_error(error), "answers"
        ) from error
    if result.seal != result.digest():
        raise VerificationError(
            f"results {path.name!r}", "content that was changed", "the one that was sealed",
            "Run the protocol again: theodolite papers findings run.",
        )  # fmt: skip
    return result


@cache
def stored_results() -> tuple[ResultFile, ...]:
    """All that come with the package."""
    with as_file(files("theodolite_reproductions.claims") / "results") as folder:
        return tuple(read_result(path) for path in sorted(folder.glob("*.json")))


def outdated(result: ResultFile, protocols: Path) -> list[str]:
    """Protocol files and scores that are no longer those of the run."""
    changed = [
        f"{name} was changed after the run"
        for name, digest in result.files.items()
        if _digest_today(name, protocols) != digest
    ]
    versions = {name: metric.version for name, metric in catalogue().items()}
    return changed + [
        f"{name} has version {versions.get(name)}, the run had {version}"
        for name, version in result.metrics.items()
        if versions.get(name) != version
    ]


def _digest_today(name: str, protocols: Path) -> str | None:
    if match := PRINTED_FIGURES.fullmatch(name):
        return printed_digest(match.group(1))
    return sha256_of(protocols / name) if (protocols / name).is_file() else None


def printed_digest(paper: str) -> str:
    """Digest of all figures that the ledger has from a paper."""
    figures = {e.id: e.printed for e in ledger().entries if e.paper == paper and e.printed}
    return hashlib.sha256(to_canonical_json(figures).encode()).hexdigest()


@cache
def stand_ins() -> dict[str, StandIns]:
    """What takes the place of the paper's material, by protocol."""
    with as_file(files("theodolite_reproductions.claims") / "stand_ins.yaml") as path:
        return {name: StandIns(**own) for name, own in read_yaml(path, "fields of results").items()}

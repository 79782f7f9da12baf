"""Input and output of a pipeline: context, evidence per seed, and material for the report."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from theodolite.evidence.base import Evidence
from theodolite.evidence.subject import Claim, Subject
from theodolite.evidence.workers import SerialWorkers, Workers

Progress = Callable[[str, int, int], None]
"""Callback (step, done, total)."""


def silent(what: str, done: int, total: int) -> None:
    """Ignore progress; the default callback."""


def no_pages(run: Path) -> None:
    """Write nothing; the default of further pages."""


@dataclass(frozen=True)
class WorkContext:
    """Context of a pipeline: seeds, a cache folder, a progress callback and workers."""

    seeds: Sequence[int]
    cache: Path
    progress: Progress = silent
    workers: Workers = SerialWorkers()


@dataclass(frozen=True, eq=False)
class Produced:
    """Result of a pipeline: evidence for each seed and what the run folder and report show."""

    evidence: Sequence[Sequence[Evidence]]
    """One set of bundles per seed; the same kinds and samples in each."""
    compared: Sequence["ComparedModel"] = ()
    """Further models that the run compares with the main one."""
    tables: Mapping[str, Mapping[str, Sequence[Any]]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    facts: Sequence[tuple[str, float | int | str]] = ()
    """Single numbers for the report, such as the model's accuracy."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Digests of the files that were read."""
    model: Mapping[str, np.ndarray] = field(default_factory=dict)
    image: Callable[[str], bytes] | None = None
    """Function that returns a sample's image as JPEG by its id."""
    thumbnails: Mapping[int, bytes] = field(default_factory=dict)
    """Images of a few samples as JPEG or PNG, by row, in place of ``image``."""
    images: Mapping[str, bytes] = field(default_factory=dict)
    """Further images for the run folder, by file name."""
    cards: Sequence["UnitCard"] = ()
    concept_cards: Sequence["ConceptCard"] = ()
    pages: Callable[[Path], None] = no_pages
    """Function that writes further pages below the run folder."""
    about: Mapping[str, float | int | str] = field(default_factory=dict)
    """Settings that distinguish the model from those it is compared with."""
    subject: Subject | None = None
    """Explanation that is audited and what it is compared with; None if unknown."""
    claim: Claim | None = None
    """Claim of the explanation, for the report's title; None for the default."""


@dataclass(frozen=True, eq=False)
class ComparedModel:
    """One of several models of a run, with its settings and evidence."""

    name: str
    about: Mapping[str, float | int | str]
    evidence: Sequence[Sequence[Evidence]]
    """One set of bundles per seed, as in ``Produced``."""


@dataclass(frozen=True)
class UnitCard:
    """One unit for the report: its label and images on which it is active."""

    unit: str
    why: str
    """Reason why the unit is shown."""
    formula: str
    alone: str
    """Best single concept, with its scores."""
    stopped: str
    """Formula that the stopping rule keeps, with its scores."""
    literals: tuple[tuple[str, float, float], ...]
    """Parts of the formula, each with its overlap and detection accuracy."""
    files: tuple[str, ...]


@dataclass(frozen=True)
class ConceptCard:
    """One concept of a class for the report, with its strongest patches."""

    of: str
    """Class that the concept explains."""
    concept: str
    importance: float
    adds: float
    """Mean contribution to the class's output over the class's samples."""
    files: tuple[str, ...]


class Pipeline(Protocol):
    """Interface of a pipeline: turns a data set into evidence."""

    def make(self, data: Any, context: WorkContext) -> Produced:
        """Return the evidence of a data set."""

"""What a pipeline hands over: evidence, and what a report needs beside it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from theodolite.evidence.base import Evidence
from theodolite.evidence.subject import Claim, Subject
from theodolite.evidence.workers import SerialWorkers, Workers

Progress = Callable[[str, int, int], None]
"""(what, done, of how many)"""


def silent(what: str, done: int, total: int) -> None:
    """No progress shown."""


@dataclass(frozen=True)
class WorkContext:
    """Where a pipeline works: its seeds, a folder for what can be used again, a progress bar, and
    whoever does work that can be cut into pieces."""

    seeds: Sequence[int]
    cache: Path
    progress: Progress = silent
    workers: Workers = SerialWorkers()


@dataclass(frozen=True, eq=False)
class Produced:
    """Evidence for each seed, and what goes with it into the run folder."""

    evidence: Sequence[Sequence[Evidence]]
    """One set of bundles per seed; the same kinds and samples in each."""
    compared: Sequence["ComparedModel"] = ()
    """Further models that the run compares with the one that the verdicts are about."""
    tables: Mapping[str, Mapping[str, Sequence[Any]]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    facts: Sequence[tuple[str, float | int | str]] = ()
    """Single numbers worth knowing, such as the model's accuracy."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Digests of what was read."""
    model: Mapping[str, np.ndarray] = field(default_factory=dict)
    image: Callable[[str], bytes] | None = None
    """A sample's image as JPEG, by its id."""
    images: Mapping[str, bytes] = field(default_factory=dict)
    """Further images for the run folder, by file."""
    cards: Sequence["UnitCard"] = ()
    concept_cards: Sequence["ConceptCard"] = ()
    about: Mapping[str, float | int | str] = field(default_factory=dict)
    """What tells the model from those it is compared with."""
    subject: Subject | None = None
    """Which explanation this is, and what it is held against; None: not said."""
    claim: Claim | None = None
    """What the explanation says, for the title of the report; None: the usual for its kind."""


@dataclass(frozen=True, eq=False)
class ComparedModel:
    """One of several models of a run: what tells it from the others, and its evidence."""

    name: str
    about: Mapping[str, float | int | str]
    evidence: Sequence[Sequence[Evidence]]
    """As in ``Produced``: one set of bundles per seed."""


@dataclass(frozen=True)
class UnitCard:
    """One unit for the report: what it is said to detect, and images on which it is active."""

    unit: str
    why: str
    """Why it is shown."""
    formula: str
    alone: str
    """The best single concept, with its scores."""
    stopped: str
    """What the stopping rule keeps, with its scores."""
    literals: tuple[tuple[str, float, float], ...]
    """Each part of the formula with its own overlap and detection accuracy."""
    files: tuple[str, ...]


@dataclass(frozen=True)
class ConceptCard:
    """One concept of a class for the report: patches in which it is strongest."""

    of: str
    """The class that it explains."""
    concept: str
    importance: float
    adds: float
    """What it adds to the class's output, on average over the class's samples."""
    files: tuple[str, ...]


class Pipeline(Protocol):
    """Turns a data set into evidence."""

    def make(self, data: Any, context: WorkContext) -> Produced:
        """Do it."""

"""Results: scores, never bare numbers, with intervals, nulls and counts; and verdicts."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from theodolite.questions import Question

Answer = Literal["yes", "partly", "no", "cannot tell", "not asked"]
Better = Literal["higher", "lower"]
Scope = Literal["these", "population"]
Reason = Literal[
    "", "underpowered", "empty", "undefined", "outside the certificate", "evidence in doubt"
]
"""Why a question cannot be answered; empty where it can."""
Items = Literal["concepts", "pairs", "classes", "units"]
Source = Literal[
    "samples", "clusters", "seeds", "concepts", "pairs", "classes", "units", "shuffles"
]


@dataclass(frozen=True)
class Interval:
    """Where the value would fall again, and what was varied to find out."""

    low: float
    high: float
    level: float
    over: Source
    method: str
    n: int
    """How many resamples, seeds or shuffles."""
    of: Scope = "these"
    """What it is about: these concepts, classes, units, raters or trained models on new samples, or
    the population that they were drawn from."""
    error: float | None = None
    """The standard error behind it; none where draws were counted instead."""
    df: float | None = None
    """Degrees of freedom of its Student t."""


@dataclass(frozen=True)
class Null:
    """The same score with the explanation made meaningless, and how far we are from it."""

    name: str
    value: float
    difference: Interval | None
    """Interval of score minus null: resampled together, or over the null's own shuffles."""
    per_seed: tuple[float, ...] = ()
    """The null of each seed of the experiment, where there are several."""
    p: float | None = None
    """How likely chance alone would put the score as far from this null, on either side."""


@dataclass(frozen=True)
class FaultTest:
    """What a score that looks for a fault shows: p-values, each doubled for its two sides."""

    low: float
    high: float
    """Between which the fault lies, at the level of the quoted interval."""
    p_free: float
    """Of a fault as large as is accepted, or larger."""
    p_some: float
    """Of no fault."""
    p_too_much: float
    """Of a fault as large as is accepted, or smaller."""
    error: float
    """Standard error of a fault of the size that is accepted."""
    df: float


@dataclass(frozen=True)
class Doubt:
    """Why some answers cannot be read from a score, whatever its value."""

    reason: Reason
    because: str
    answers: tuple[Answer, ...] = ("yes", "partly", "no")
    """The answers that it stands against."""


@dataclass(frozen=True)
class Detail:
    """The score of each concept, class or unit behind the headline."""

    over: Items
    names: tuple[str, ...]
    values: Float[np.ndarray, " n"]
    low: Float[np.ndarray, " n"] | None
    high: Float[np.ndarray, " n"] | None


@dataclass(frozen=True)
class Score:
    """One number that can be relied upon as far as its interval and its nulls allow."""

    metric: str
    version: int
    question: Question
    value: float
    better: Better
    bounds: tuple[float, float]
    best: float
    """The best that any explanation could score on this evidence."""
    n: int
    n_undefined: int
    n_of: str
    """What was counted: samples, concepts, classes, units."""
    options: dict[str, Any] = field(default_factory=dict)
    intervals: tuple[Interval, ...] = ()
    """The first is the one to quote; the others vary something else."""
    nulls: tuple[Null, ...] = ()
    """The hardest to beat first."""
    detail: Detail | None = None
    per_seed: tuple[float, ...] = ()
    """The value of each seed of the experiment, where there are several."""
    n_samples: int | None = None
    """How many samples it was computed from, whatever ``n`` counts."""
    n_clusters: int | None = None
    """How many clusters the samples come in; none where each is its own."""
    fault: FaultTest | None = None
    """Of a score that looks for a fault."""
    doubt: Doubt | None = None
    sweep: tuple["Score", ...] = field(default=(), repr=False, compare=False)
    """Of ``theodolite.score``: the scores with the other values of options that take several."""

    @property
    def interval(self) -> Interval | None:
        """The interval to quote."""
        return self.intervals[0] if self.intervals else None

    @property
    def null(self) -> Null | None:
        """The null that is hardest to beat."""
        return self.nulls[0] if self.nulls else None


@dataclass(frozen=True)
class Verdict:
    """The answer to one question."""

    question: Question
    asks: str
    answer: Answer
    because: str
    score: Score | None = None
    reason: Reason = ""
    """Why it cannot be told."""
    p: float | None = None
    """Of the claim, corrected for the other questions (Holm)."""
    detectable: float | None = None
    """The smallest effect that would be seen in four of five such samples."""
    needed: int | None = None
    """Samples that an effect of use would need."""

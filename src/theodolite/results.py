"""Results: scores, never bare numbers, with intervals, nulls and counts; and verdicts."""

import importlib
import math
from dataclasses import dataclass, field
from typing import Any, Literal, SupportsIndex, overload

import numpy as np
from jaxtyping import Float

from theodolite.errors import ResultNotFoundError, printable
from theodolite.questions import Question

LONGEST_SCORE = 160
LONGEST_VERDICT = 120
"""Characters of a ``repr``: a list of results is read line by line."""
Answer = Literal["yes", "partly", "no", "inconclusive", "not_evaluated"]
Better = Literal["higher", "lower"]
Scope = Literal["fixed", "population"]
Reason = Literal[
    "",
    "underpowered",
    "no_headroom",
    "undefined",
    "outside_validated_range",
    "data_quality",
    "metric_error",
    "probe_only",
]
"""Why a question cannot be answered, or was not asked of the network; empty where it can."""
Items = str
"""What a score has detail of: ``concepts``, ``pairs`` of these, ``classes``, ``units``, or another
named axis of its evidence."""
Source = str
"""What an interval is over: ``samples``, ``clusters``, ``seeds``, ``shuffles``, or items."""


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
    scope: Scope = "fixed"
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
    draws: tuple[float, ...] = ()
    """The score of each of its draws, where these travel in the evidence: a claim must exceed
    all of them."""
    label: str = ""
    """Display text; the name with spaces if not given."""

    def __post_init__(self) -> None:
        if not self.label:
            object.__setattr__(self, "label", self.name.replace("_", " "))


@dataclass(frozen=True)
class DefectTest:
    """What a score that looks for a fault shows: p-values, each doubled for its two sides."""

    low: float
    high: float
    """Between which the fault lies, at the level of the quoted interval."""
    p_below_tolerance: float
    """Of a fault as large as is accepted, or larger."""
    p_nonzero: float
    """Of no fault."""
    p_above_tolerance: float
    """Of a fault as large as is accepted, or smaller."""
    error: float
    """Standard error of a fault of the size that is accepted."""
    df: float


@dataclass(frozen=True)
class AnnotationAllowance:
    """How much of a leak wrong annotations of the concepts could explain."""

    error: float
    """Rate of wrong annotations that is allowed for; the largest, where concepts differ."""
    declared: bool
    """Whether the evidence says so, or the default is assumed."""
    share: float
    """The score that honest values could reach because of them."""
    p_nonzero: float
    """Of a fault of that share, or smaller."""
    p_above_tolerance: float
    """Of a fault of the tolerance and that share together, or smaller."""
    tipping: float | None
    """The smallest rate tried that would explain the lower end; None if none does."""


@dataclass(frozen=True)
class Caveat:
    """Why some answers cannot be read from a score, whatever its value."""

    reason: Reason
    summary: str
    answers: tuple[Answer, ...] = ("yes", "partly", "no")
    """The answers that it stands against."""


@dataclass(frozen=True, eq=False)
class DetailDraws:
    """Each concept, class or unit held against draws of a null that travel in the evidence."""

    null: str
    mean: Float[np.ndarray, " n"]
    """Over the draws."""
    low: Float[np.ndarray, " n"]
    high: Float[np.ndarray, " n"]
    """Between which value minus mean lies."""
    beaten: Float[np.ndarray, " n"]
    """How many draws the value is better than."""
    n: Float[np.ndarray, " n"]
    """Draws that are defined."""
    answers: tuple[Answer, ...]
    """Whether each is better than the draws: than all of them, and surely than their mean."""


@dataclass(frozen=True, eq=False)
class DetailTests:
    """Tests of the fault of each concept; p-values are doubled for their two sides."""

    tolerance: float
    low: Float[np.ndarray, " n"]
    high: Float[np.ndarray, " n"]
    p_below_tolerance: Float[np.ndarray, " n"]
    p_above_tolerance: Float[np.ndarray, " n"]
    """Allows for wrong annotations."""
    allowance: Float[np.ndarray, " n"]
    """What wrong annotations could explain."""


@dataclass(frozen=True)
class Detail:
    """The score of each concept, class or unit behind the headline."""

    over: Items
    names: tuple[str, ...]
    values: Float[np.ndarray, " n"]
    low: Float[np.ndarray, " n"] | None
    high: Float[np.ndarray, " n"] | None
    chosen: Float[np.ndarray, " n"] | None = None
    """The same on the samples that something was chosen on: no evidence, and beside the value so
    that a reader sees by how much it flatters."""
    draws: DetailDraws | None = None
    tests: DetailTests | None = None


@dataclass(frozen=True)
class Share:
    """How much of the way from a baseline to the best possible a score has gone."""

    value: float
    """At most 1."""
    low: float
    high: float
    null: str
    """The baseline, by name."""
    room: float
    """The best possible minus the baseline."""
    error: float
    df: float


@dataclass(frozen=True)
class PairShare:
    """Two concepts, and the weight of models that use the product of their values."""

    first: str
    second: str
    weight: float


@dataclass(frozen=True, repr=False)
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
    n_unit: str
    """What was counted: samples, concepts, classes, units."""
    options: dict[str, Any] = field(default_factory=dict)
    intervals: tuple[Interval, ...] = ()
    """The first is the one to quote; the others vary something else."""
    nulls: tuple[Null, ...] = ()
    """The strongest first."""
    detail: Detail | None = None
    per_seed: tuple[float, ...] = ()
    """The value of each seed of the experiment, where there are several."""
    n_samples: int | None = None
    """How many samples it was computed from, whatever ``n`` counts."""
    n_clusters: int | None = None
    """How many clusters the samples come in; none where each is its own."""
    defect: DefectTest | None = None
    """Of a score that looks for a fault."""
    caveat: Caveat | None = None
    n_labels: int | None = None
    """Number of labels, for a score that reads them."""
    n_rarest_label: int | None = None
    """Samples or clusters of the rarest label."""
    n_concepts: int | None = None
    """Number of concepts, for a score that reads all of them together."""
    annotation: AnnotationAllowance | None = None
    """What wrong annotations could explain, for a score that allows for them."""
    pairs: tuple[PairShare, ...] = ()
    """Pairs of concepts whose values tell something together, the heaviest first."""
    n_required: int | None = None
    """Samples or clusters that the good answer needs, for a score that knows."""
    share: Share | None = None
    """Of a score that is read as a share of the way to the best possible."""
    facts: dict[str, float] = field(default_factory=dict)
    """Numbers about the evidence that a verdict reads beside the value."""
    sweep: tuple["Score", ...] = field(default=(), repr=False, compare=False)
    """Of ``theodolite.score``: the scores with the other values of options that take several."""

    @property
    def interval(self) -> Interval | None:
        """The interval to quote."""
        return self.intervals[0] if self.intervals else None

    @property
    def null(self) -> Null | None:
        """The strongest baseline."""
        return self.nulls[0] if self.nulls else None

    def __float__(self) -> float:
        return float(self.value)

    def __repr__(self) -> str:
        """The number, how sure it is, what to hold it against: one line."""
        low_high = ""
        if self.interval is not None:
            low_high = f" [{number_text(self.interval.low)}, {number_text(self.interval.high)}]"
        parts = [f"{self.metric} {number_text(self.value)}{low_high}"]
        if self.null is not None:
            parts.append(f"null {number_text(self.null.value)} {printable(self.null.label, 40)!r}")
        parts += [f"{self.better} is better", f"{self.n:,} {self.n_unit}"]
        parts += [f"{name}={value}" for name, value in self.options.items()]
        return f"Score({printable(', '.join(parts), LONGEST_SCORE - len('Score()'))})"

    def _repr_html_(self) -> str:
        return str(viewer().score_html(self))

    def describe(self) -> str:
        """What the score's card says of it, with this number."""
        return str(viewer().description(self))


@dataclass(frozen=True)
class Failed:
    """A score that was asked for and could not be computed, because its metric raised an error."""

    metric: str
    options: dict[str, Any]
    stage: str
    """What it was at: ``value``, ``null NAME``, ``ideal`` (the best possible), ``read`` (from sums
    to a score) or ``options`` (those that suit the evidence)."""
    error: str
    places: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """Where it happened: file, line and function, the innermost last."""

    def __str__(self) -> str:
        options = ", ".join(f"{name}={value}" for name, value in self.options.items())
        label = f"{self.metric} ({options})" if options else self.metric
        return f"{label} failed at {self.stage}: {self.error}"


@dataclass(frozen=True, repr=False)
class Verdict:
    """The answer to one question."""

    question: Question
    question_text: str
    answer: Answer
    summary: str
    score: Score | None = None
    reason: Reason = ""
    """Why it cannot be told, or was asked of a stand-in only."""
    p: float | None = None
    """Of the claim, corrected for the other questions (Holm)."""
    min_detectable_effect: float | None = None
    """The smallest effect that would be seen in four of five such samples."""
    n_required: int | None = None
    """Samples that an effect of use would need."""
    needs: str = ""
    """Arguments without which it was not evaluated, such as ``masks=``."""

    def __repr__(self) -> str:
        metric = "" if self.score is None else f"{self.score.metric} "
        text = f"{self.question}: {self.answer}, {metric}{self.summary}"
        return f"Verdict({printable(text, LONGEST_VERDICT - len('Verdict()'))})"

    def _repr_html_(self) -> str:
        return str(viewer().verdict_html(self))


class Verdicts(tuple[Verdict, ...]):
    """The verdicts in the order of the questions; ``[]`` takes a place or a question."""

    __slots__ = ()

    @overload
    def __getitem__(self, key: str | SupportsIndex, /) -> Verdict: ...
    @overload
    def __getitem__(self, key: slice, /) -> tuple[Verdict, ...]: ...
    def __getitem__(self, key: str | SupportsIndex | slice, /) -> Verdict | tuple[Verdict, ...]:
        if not isinstance(key, str):
            return super().__getitem__(key)
        for verdict in self:
            if verdict.question == key:
                return verdict
        message = f"{key!r} is none of the questions {', '.join(v.question for v in self)}"
        raise ResultNotFoundError(message)


def number_text(value: float) -> str:
    """A number in three digits, or that there is none.

    >>> number_text(0.04123), number_text(float("nan"))
    ('0.0412', 'undefined')
    """
    return "undefined" if math.isnan(value) else f"{float(value):.3g}"


def viewer(name: str = "notebook") -> Any:
    """The module that draws results for people.

    It lies above what it draws, so it is looked up by name.
    """
    return importlib.import_module(f"theodolite.report.{name}")

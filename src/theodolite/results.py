"""What an audit returns: scores with intervals, baselines and counts, and verdicts.

Scoring creates scores, `_verdicts` creates verdicts, and reports and run files read both. Nothing
is computed here.
"""

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
"""Maximum number of characters of a ``repr``, so that each result of a list fits on one line."""
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
"""Why a question has no answer, or one for a probe only (``probe_only``); empty if it has one."""
Items = str
"""Items that a score has one value each for: ``concepts``, ``pairs``, ``classes``, ``units``, or
another named axis of its evidence."""
Source = str
"""What was varied to compute an interval: ``samples``, ``clusters``, ``seeds``, ``shuffles``, or
items."""


@dataclass(frozen=True)
class Interval:
    """Confidence interval of a score or of a difference, and what was varied to compute it."""

    low: float
    high: float
    level: float
    over: Source
    method: str
    n: int
    """Number of resamples, seeds or shuffles."""
    scope: Scope = "fixed"
    """``fixed``: it holds for these concepts, classes, units, raters or models on new samples;
    ``population``: also for new ones from the population that they were drawn from."""
    error: float | None = None
    """Standard error; None if the interval was not computed from one."""
    df: float | None = None
    """Degrees of freedom of its Student t."""


@dataclass(frozen=True)
class Null:
    """Baseline: the score of an uninformative explanation, and its difference from the score."""

    name: str
    value: float
    difference: Interval | None
    """Interval of score minus baseline: paired resamples, or the draws of the baseline."""
    per_seed: tuple[float, ...] = ()
    """Baseline of each seed of the experiment, if there are several."""
    p: float | None = None
    """Two-sided p-value of the hypothesis that the score equals this baseline."""
    draws: tuple[float, ...] = ()
    """Score of each draw, if the evidence contains draws: a claim must exceed all of them."""
    label: str = ""
    """Display text; the name with spaces if not given."""

    def __post_init__(self) -> None:
        if not self.label:
            object.__setattr__(self, "label", self.name.replace("_", " "))


@dataclass(frozen=True)
class DefectTest:
    """Interval and p-values of a score that measures a defect, such as leakage.

    Each p-value is doubled, because the test has two sides.
    """

    low: float
    high: float
    """Interval of the defect, at the level of the interval to quote."""
    p_below_tolerance: float
    """Null hypothesis: the defect is at least the tolerance."""
    p_nonzero: float
    """Null hypothesis: there is no defect."""
    p_above_tolerance: float
    """Null hypothesis: the defect is at most the tolerance."""
    error: float
    """Standard error of a defect as large as the tolerance."""
    df: float


@dataclass(frozen=True)
class AnnotationAllowance:
    """How much of the measured leakage wrong annotations of the concepts could explain."""

    error: float
    """Assumed rate of wrong annotations; the largest one, if concepts differ."""
    declared: bool
    """True if the evidence declares the rate, False if it is the default."""
    share: float
    """Score that values without leakage could reach because of wrong annotations."""
    p_nonzero: float
    """Null hypothesis: the defect is at most ``share``."""
    p_above_tolerance: float
    """Null hypothesis: the defect is at most the tolerance plus ``share``."""
    tipping: float | None
    """Smallest rate tried that would explain the lower end of the interval; None if none does."""


@dataclass(frozen=True)
class Caveat:
    """Reason why a score rules out some answers, whatever its value."""

    reason: Reason
    summary: str
    answers: tuple[Answer, ...] = ("yes", "partly", "no")
    """Answers that it rules out."""


@dataclass(frozen=True, eq=False)
class DetailDraws:
    """Comparison of each concept, class or unit with the baseline draws of the evidence."""

    null: str
    mean: Float[np.ndarray, " n"]
    """Mean over the draws."""
    low: Float[np.ndarray, " n"]
    high: Float[np.ndarray, " n"]
    """Interval of value minus mean."""
    beaten: Float[np.ndarray, " n"]
    """Number of draws that the value beats."""
    n: Float[np.ndarray, " n"]
    """Number of defined draws."""
    answers: tuple[Answer, ...]
    """Whether each value beats all draws and is significantly better than their mean."""


@dataclass(frozen=True, eq=False)
class DetailTests:
    """Test of the defect of each concept; p-values are doubled, because the test has two sides."""

    tolerance: float
    low: Float[np.ndarray, " n"]
    high: Float[np.ndarray, " n"]
    p_below_tolerance: Float[np.ndarray, " n"]
    p_above_tolerance: Float[np.ndarray, " n"]
    """Takes wrong annotations into account."""
    allowance: Float[np.ndarray, " n"]
    """Part of the defect that wrong annotations could explain."""


@dataclass(frozen=True)
class Detail:
    """Score of each concept, class or unit."""

    over: Items
    names: tuple[str, ...]
    values: Float[np.ndarray, " n"]
    low: Float[np.ndarray, " n"] | None
    high: Float[np.ndarray, " n"] | None
    chosen: Float[np.ndarray, " n"] | None = None
    """Values on the samples that were used to choose something, such as a unit. They are biased
    upward and shown only for comparison."""
    draws: DetailDraws | None = None
    tests: DetailTests | None = None


@dataclass(frozen=True)
class Share:
    """Score rescaled so that 0 is a baseline and 1 is the best possible."""

    value: float
    """At most 1."""
    low: float
    high: float
    null: str
    """Name of the baseline."""
    room: float
    """The best possible minus the baseline."""
    error: float
    df: float


@dataclass(frozen=True)
class PairShare:
    """Two concepts, and the weight of the models that use the product of their values."""

    first: str
    second: str
    weight: float


@dataclass(frozen=True, repr=False)
class Score:
    """Value of one metric with its intervals, baselines, counts and options."""

    metric: str
    version: int
    question: Question
    value: float
    better: Better
    bounds: tuple[float, float]
    best: float
    """Best score that any explanation could reach on this evidence."""
    n: int
    n_undefined: int
    n_unit: str
    """What ``n`` counts: samples, concepts, classes or units."""
    options: dict[str, Any] = field(default_factory=dict)
    intervals: tuple[Interval, ...] = ()
    """The first is the one to quote; the others vary something else, such as seeds."""
    nulls: tuple[Null, ...] = ()
    """Baselines, the strongest first."""
    detail: Detail | None = None
    per_seed: tuple[float, ...] = ()
    """Value of each seed of the experiment, if there are several."""
    n_samples: int | None = None
    """Number of samples that it was computed from, whatever ``n`` counts."""
    n_clusters: int | None = None
    """Number of clusters of samples; None if samples are not clustered."""
    defect: DefectTest | None = None
    """Set for a score that measures a defect."""
    caveat: Caveat | None = None
    n_labels: int | None = None
    """Number of labels, for a score that reads them."""
    n_rarest_label: int | None = None
    """Number of samples or clusters of the rarest label."""
    n_concepts: int | None = None
    """Number of concepts, for a score that reads all of them together."""
    annotation: AnnotationAllowance | None = None
    """Set for a score that takes wrong annotations into account."""
    pairs: tuple[PairShare, ...] = ()
    """Pairs of concepts that are informative only together, the largest weight first."""
    n_required: int | None = None
    """Number of samples or clusters that the best answer requires, if the metric computes it."""
    share: Share | None = None
    """Set for a score that is reported as a share of the headroom above a baseline."""
    facts: dict[str, float] = field(default_factory=dict)
    """Numbers about the evidence that a verdict reads beside the value."""
    sweep: tuple["Score", ...] = field(default=(), repr=False, compare=False)
    """Scores for the other values of swept options; set by ``theodolite.score`` only."""

    @property
    def interval(self) -> Interval | None:
        """Confidence interval to quote, or None."""
        return self.intervals[0] if self.intervals else None

    @property
    def null(self) -> Null | None:
        """Strongest baseline, or None without baselines."""
        return self.nulls[0] if self.nulls else None

    def __float__(self) -> float:
        return float(self.value)

    def __repr__(self) -> str:
        """Return value, interval, baseline and options on one line."""
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
        """Return the text of the metric's card, filled in with this score."""
        return str(viewer().description(self))


@dataclass(frozen=True)
class Failed:
    """A requested score that was not computed because its metric raised an error."""

    metric: str
    options: dict[str, Any]
    stage: str
    """Step that failed: ``value``, ``null NAME``, ``ideal`` (the best possible score), ``read``
    (from sums to a score) or ``options`` (choosing options that suit the evidence)."""
    error: str
    places: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """Traceback: file, line and function of each frame, the innermost last."""

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
    """Why the answer is inconclusive, not evaluated, or about a probe only."""
    p: float | None = None
    """p-value of the claim, Holm-corrected for the other questions."""
    min_detectable_effect: float | None = None
    """Smallest effect that samples like these detect with 80 % power."""
    n_required: int | None = None
    """Number of samples required to detect the smallest relevant effect."""
    needs: str = ""
    """Missing arguments that evaluating it requires, such as ``masks=``."""
    sensitivity: str = ""
    """Answers for other numbers of named concepts; empty if none were scored."""

    def __repr__(self) -> str:
        metric = "" if self.score is None else f"{self.score.metric} "
        text = f"{self.question}: {self.answer}, {metric}{self.summary}"
        return f"Verdict({printable(text, LONGEST_VERDICT - len('Verdict()'))})"

    def _repr_html_(self) -> str:
        return str(viewer().verdict_html(self))


class Verdicts(tuple[Verdict, ...]):
    """Verdicts in the order of the questions; ``[]`` takes an index or a question."""

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
    """Format a number with three significant digits; NaN is "undefined".

    >>> number_text(0.04123), number_text(float("nan"))
    ('0.0412', 'undefined')
    """
    return "undefined" if math.isnan(value) else f"{float(value):.3g}"


def viewer(name: str = "notebook") -> Any:
    """Return a module of `report` that renders results for notebooks.

    It is imported by name because `report` imports this module.
    """
    return importlib.import_module(f"theodolite.report.{name}")

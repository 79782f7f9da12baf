"""Base class of metrics: a state that is computed from evidence, its baselines, and its card."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, wraps
from types import MappingProxyType
from typing import Any, Literal, cast

import numpy as np

from theodolite.errors import EvidenceError, did_you_mean
from theodolite.evidence.base import Evidence
from theodolite.evidence.plugins import Package, list_packages
from theodolite.metrics import options as option_checks
from theodolite.metrics.null_model import NullModel
from theodolite.metrics.states import (
    Additive,
    PerSample,
    Pooled,
    SampleMean,
    State,
    Weights,
    added,
    arrays_of,
    constant,
    ratio,
    state_from,
    total,
)
from theodolite.questions import Question
from theodolite.results import Better

__all__ = [
    "CATALOGUE",
    "Additive",
    "Card",
    "Metric",
    "NullModel",
    "PerSample",
    "Pooled",
    "SampleMean",
    "Weights",
    "added",
    "arrays_of",
    "constant",
    "metric",
    "metric_of",
    "ratio",
    "state_from",
    "total",
]
"""States are named here too: a file with a metric needs both."""


@dataclass(frozen=True)
class Card:
    """What a reader must know before quoting a score."""

    question: str
    """The question in plain words."""
    interpretation: str
    """How to read the number."""
    limitations: str
    """When not to believe it."""
    cost: str
    template: str = ""
    """A sentence of the report, needed where a verdict is read from it (``report.sentences``)."""


@dataclass(frozen=True)
class Metric:
    """A metric in the catalogue: everything that docs, tests, command line and report need."""

    name: str
    title: str
    state: type[Any]
    question: Question
    better: Better
    bounds: tuple[float, float]
    card: Card
    cite: str
    nulls: tuple[NullModel, ...]
    uses: tuple[str, ...]
    """Arrays of the evidence without which the score cannot be had."""
    version: int = 1
    uses_if: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    """Further arrays that an option needs: option -> choice -> arrays."""
    may_use: tuple[str, ...] = ()
    """Arrays that the score or a null reads if they are there."""
    nulls_use: tuple[str, ...] = ()
    """Arrays that only the nulls read: without them there is a value, and no score."""
    paper_names: tuple[str, ...] = ()
    """What papers call it: a name for it everywhere, unless several metrics share it."""
    sweeps: tuple[str, ...] = ()
    """Options given as several values at once: the leading axes of the value."""
    detail: bool = False
    """Whether the last axis of the value runs over concepts, classes or units (option ``over``)."""
    per_class: bool = False
    """Whether samples enter as means of their class: whole classes are then not resampled."""
    headline: dict[str, Any] = field(default_factory=dict)
    """Of the swept options, those to quote first."""
    opt_in: bool = False
    """Whether it is left out where everything is asked that the evidence allows: superseded, and
    slow."""
    decides: bool = True
    """Whether a verdict may be read from it; else it only tells more about other scores."""
    threshold: float | None = None
    """From this share of the best possible on we would rely on it; a convention, on the card."""
    is_percentage: bool = False
    """Whether it is read as a percentage although it may lie below 0: then it is none."""
    tolerance: float | None = None
    """How much more than a clean null we would still accept; a convention, on the card."""
    judged_with: tuple[str, ...] = ()
    """Metrics whose scores its verdict reads beside its own."""
    item_tolerance: float | None = None
    """The same of a single concept, for a score whose verdict looks at each."""
    asked_as: str = ""
    """Its question in words that fit the kind of evidence, where the usual ones do not."""
    threshold_from: Literal["worst", "null"] = "worst"
    """What that share is counted from: the worst bound, or the strongest baseline."""
    share_from: tuple[str, ...] = ()
    """Baselines from the strongest of which the score is also given as a share of the way to the
    best possible, with an interval of that share."""
    best_varies: bool = True
    """Whether that interval covers the error of the best possible; else it is taken as known."""
    ideal: Callable[[Any], Any] | None = None
    """Evidence -> the same with an ideal explanation, where even that does not reach the bound."""
    ideal_options: dict[str, Any] = field(default_factory=dict)
    """Options with which an ideal explanation must be read, whatever the request says."""
    warns: Callable[[Any], list[str]] | None = None
    """Evidence -> what to know about the arrays, where that is more than their kind can tell."""
    fitting: Callable[[Any], dict[str, Any]] | None = None
    """Evidence -> choices of swept options that suit it, those to quote first; nothing if none."""

    @property
    def needs(self) -> type[Evidence]:
        """The kind of evidence, read from the signature that counts."""
        kind: type[Evidence] = option_checks.get_hints(self._counts())["evidence"]
        return kind

    @cached_property
    def packages(self) -> list[Package]:
        """The packages whose code decides its values, beside ours: those of its state, of its kind
        of evidence and of its nulls."""
        functions = [f for n in self.nulls for f in (n.make, n.expected, n.sums)]
        things = [*self.state.__mro__, *self.needs.__mro__, *functions, self.ideal]
        return list_packages(thing for thing in things if thing is not None)

    @property
    def streams(self) -> bool:
        """Whether it adds up piece by piece, in constant memory; else it needs all samples."""
        return not issubclass(self.state, Pooled)

    def fitted(self, evidence: Evidence) -> dict[str, Any]:
        """The swept options to ask of this evidence: the defaults, or what suits it better."""
        defaults = {name: self.default(name) for name in self.sweeps}
        return defaults if self.fitting is None else defaults | self.fitting(evidence)

    def headline_for(self, evidence: Evidence) -> dict[str, Any]:
        """Of the swept options, those to quote first for this evidence.

        Where the usual choice is not among the fitted ones, it is the first of these; so a reader
        of stored scores takes the one with most of ``headline``, and of equals the first.
        """
        fitted = self.fitted(evidence)
        return {
            name: choice if choice in fitted[name] else fitted[name][0]
            for name, choice in self.headline.items()
            if fitted[name]
        }

    def null_state(
        self,
        null: NullModel,
        evidence: Any,
        weights: Weights = None,
        sums: Mapping[str, np.ndarray] | None = None,
        **options: Any,
    ) -> Any:
        """The state of a null on evidence: of what ``made`` gives, or of the evidence as it is
        where the null is an expectation."""
        if null.expected is None:
            return self.state.of(evidence, weights, **options)
        every = self.counting_options() | options
        return self.state.of_each(null.expectation(evidence, sums, **every), weights)

    @property
    def is_defect_metric(self) -> bool:
        """Whether the score must not exceed a clean null, instead of beating another."""
        return any(null.is_reference for null in self.nulls)

    def _counts(self) -> Callable[..., Any]:
        """The function whose options change the counting."""
        for name in ("each", "part", "measure"):
            if hasattr(self.state, name):
                counts: Callable[..., Any] = getattr(self.state, name)
                return counts
        return self.state.of  # type: ignore[no-any-return]

    def missing(self, evidence: Evidence, options: dict[str, Any]) -> list[str]:
        """Arrays that the evidence lacks for this score with these options."""
        names = [*self.uses, *self.nulls_use]
        for option, choices in self.uses_if.items():
            names += choices.get(str(options.get(option, self.default(option))), ())
        return [name for name in dict.fromkeys(names) if not evidence.has(name)]

    def default(self, option: str) -> Any:
        """The documented default of an option."""
        return self.options()[option]

    def choices(self, option: str) -> tuple[Any, ...]:
        """What an option can be chosen among, where that is a list."""
        return option_checks.get_choices(self.hints()[option])

    def sentence(self, option: str) -> str:
        """What an option says."""
        return option_checks.get_sentence(self.hints()[option])

    def hints(self) -> dict[str, Any]:
        """The types of the options, with their limits."""
        return {**option_checks.get_hints(self._counts()), **option_checks.get_hints(_value(self))}

    def options(self) -> dict[str, Any]:
        """All options with their defaults."""
        return {**self.counting_options(), **_keywords(_value(self))}

    def counting_options(self) -> dict[str, Any]:
        """The options that change what is counted; the others change only the finish."""
        return dict(_keywords(self._counts()))

    def check(
        self, options: Mapping[str, Any], among: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The options, each known and allowed: the check of every door.

        >>> from theodolite.metrics.catalogue import find_metric
        >>> find_metric("krippendorff_alpha").check({"level": "nomial"})
        Traceback (most recent call last):
        theodolite.errors.EvidenceError: krippendorff_alpha: level: got 'nomial'; needed ordinal, \
interval or nominal. Did you mean 'nominal'?
        """
        known = self.options() if among is None else among
        return {option: self._checked(option, options[option], known) for option in options}

    def _checked(self, option: str, choice: Any, known: Mapping[str, Any]) -> Any:
        # every resample comes through here: what was checked once is looked up
        key = (self.state, option, repr(choice))
        if option in known and key in _CHECKED:
            return _CHECKED[key]
        if option not in known:
            raise EvidenceError(
                f"options of {self.name}", repr(option), f"some of {', '.join(known) or 'none'}",
                did_you_mean(option, known),
            )  # fmt: skip
        value = option_checks.check_choice(self.name, option, self.hints()[option], choice)
        if isinstance(choice, str | int | float | tuple | None):
            _CHECKED[key] = value
        return value


@cache
def _keywords(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Its options and their defaults; kept, as every resample asks for them."""
    parameters = inspect.signature(function).parameters.values()
    return MappingProxyType(
        {p.name: p.default for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}
    )


_CHECKED: dict[tuple[type[Any], str, str], Any] = {}


def _unchecked(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function below the check of options, should there be one."""
    below: Callable[..., Any] = getattr(function, "unchecked", function)
    return below


def _value(entry: Metric) -> Callable[..., Any]:
    return _unchecked(entry.state.value)


def _check_options_of(entry: Metric) -> None:
    """Let the state itself refuse options that it does not know: ``of`` and ``value``."""
    state = entry.state
    count = _unchecked(state.of.__func__)
    read = _value(entry)

    @wraps(count)
    def of(cls: type[Any], evidence: Any, weights: Any = None, **options: Any) -> Any:
        return count(cls, evidence, weights, **entry.check(options, entry.counting_options()))

    @wraps(read)
    def value(self: Any, **options: Any) -> Any:
        return read(self, **entry.check(options, _keywords(read)))

    of.unchecked, value.unchecked = count, read  # type: ignore[attr-defined]
    state.of = classmethod(cast("Any", of))
    state.value = value


def _check_nulls(metric: Metric) -> None:
    """Refuse nulls that this state cannot have, when it is declared and not in an audit."""
    for null in metric.nulls:
        if null.expected is not None and not issubclass(metric.state, SampleMean):
            message = (
                f"{metric.name}: the null {null.name!r} says what each sample contributes, and "
                f"{metric.state.__name__} is no SampleMean: give `make` instead of `expected`"
            )
            raise ValueError(message)


CATALOGUE: dict[str, Metric] = {}


def metric(name: str, **attributes: Any) -> Callable[[type[State]], type[State]]:
    """Enter a state into the catalogue under the metric's name."""

    def enter(state: type[State]) -> type[State]:
        if name in CATALOGUE and CATALOGUE[name].state.__qualname__ != state.__qualname__:
            message = f"two metrics are called {name!r}"
            raise ValueError(message)
        entered = Metric(name=name, state=state, **attributes)
        _check_nulls(entered)
        _check_options_of(entered)
        CATALOGUE[name] = entered
        return state

    return enter


def metric_of(state: type[Any]) -> Metric:
    """The metric that a state was entered under."""
    return next(entry for entry in CATALOGUE.values() if entry.state is state)

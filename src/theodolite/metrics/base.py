"""What a metric is: a state that is made from evidence, adds, and is read once at the end."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeVar, get_args, get_type_hints

import numpy as np
from jaxtyping import Bool, Float

from theodolite.evidence.base import Evidence
from theodolite.evidence.sampling import POOLED, one_pool
from theodolite.evidence.shards import order_of
from theodolite.questions import Question
from theodolite.results import Better

State = TypeVar("State", bound="Additive")
Weights = Float[np.ndarray, "resamples samples"] | None
"""How often each sample counts, one row per resample; ``None`` counts each once."""


def ratio(
    part: Float[np.ndarray, "*n"], whole: Float[np.ndarray, "*#n"]
) -> Float[np.ndarray, "*n"]:
    """Divide; where the whole is empty the answer is undefined, so NaN."""
    part, whole = np.broadcast_arrays(part, whole)
    result = np.full(whole.shape, np.nan)
    np.divide(part, whole, out=result, where=whole > 0)
    return result


def total(each: Float[np.ndarray, "samples *n"], weights: Weights = None) -> np.ndarray:
    """Sum over samples; with weights, one sum per resample along a new first axis."""
    if weights is None:
        return np.asarray(each.sum(axis=0))
    return np.tensordot(weights, each, axes=1)


def constant() -> Any:
    """A field of a state that is the same in every shard: it is kept, not added."""
    return field(metadata={"constant": True})


@dataclass(frozen=True)
class Additive:
    """A state whose fields are sums over samples: merging is adding, field by field."""

    counts_of: ClassVar[str] = "samples"
    """What ``counted`` counts, for a state that has that method."""

    def __add__(self: State, other: State) -> State:
        if type(other) is not type(self):
            return NotImplemented
        sums = {
            f.name: np.asarray(getattr(self, f.name) + getattr(other, f.name))
            for f in fields(self)
            if not f.metadata.get("constant")
        }
        return replace(self, **sums)

    def __radd__(self: State, zero: Literal[0]) -> State:  # lets sum() start from its own 0
        return self


SUM, SAME = ".", "="
"""What an array of a state is marked with: a sum over samples, or the same in every shard."""


def arrays_of(state: "Additive") -> dict[str, np.ndarray]:
    """A state as plain arrays, which can be kept and sent without being pickled."""
    return {
        (SAME if f.metadata.get("constant") else SUM) + f.name: np.asarray(getattr(state, f.name))
        for f in fields(state)
    }


def state_from(kind: type[State], arrays: Mapping[str, np.ndarray]) -> State:
    """The state again."""
    return kind(
        **{
            name[1:]: array.item() if name[0] == SAME and not array.ndim else array
            for name, array in arrays.items()
        }
    )


def added(left: Mapping[str, np.ndarray], right: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Two shards' arrays merged as ``+`` merges their states; names end in a state's own.

    Own names that begin with ``~`` are of a pool of samples: of two pools one is made.
    """
    merged: dict[str, np.ndarray] = {}
    pools: dict[str, list[str]] = {}
    for name, array in left.items():
        owner, _, own = name.rpartition(":")
        if own.startswith(POOLED):
            pools.setdefault(owner, []).append(own)
        else:
            merged[name] = array if f":{SAME}" in name else np.asarray(array + right[name])
    for owner, names in pools.items():
        before = f"{owner}:" if owner else ""
        pool, other = ({own: side[before + own] for own in names} for side in (left, right))
        merged |= {before + own: array for own, array in one_pool(pool, other).items()}
    return merged


@dataclass(frozen=True)
class PerSample:
    """What each sample contributes: a part of a whole, where the question was asked of it."""

    part: Float[np.ndarray, "samples *n"]
    whole: Float[np.ndarray, "samples *n"]
    asked: Bool[np.ndarray, " samples"]


@dataclass(frozen=True)
class SampleMean(Additive):
    """Sum of parts over sum of wholes: such a metric only says what ``each`` sample gives."""

    part: np.ndarray
    whole: np.ndarray
    defined: np.ndarray
    asked: np.ndarray

    each: ClassVar[Callable[..., PerSample]]
    """(evidence, *, options) -> what each sample contributes"""

    @classmethod
    def of(
        cls: type["MeanState"], evidence: Evidence, weights: Weights = None, **options: Any
    ) -> "MeanState":
        """The state of a shard; the options are those of ``each``."""
        each = cls.each(evidence, **options)
        eligible = np.zeros(each.part.shape, bool)
        eligible[each.asked] = True
        defined = eligible & (each.whole > 0)
        return cls(
            part=total(np.where(defined, each.part, 0.0), weights),
            whole=total(np.where(defined, each.whole, 0.0), weights),
            defined=total(defined.astype(float), weights),
            asked=total(eligible.astype(float), weights),
        )

    def counted(self) -> tuple[np.ndarray, np.ndarray]:
        """Samples that entered, and samples that could not."""
        return self.defined, np.asarray(self.asked - self.defined)

    def value(self) -> np.ndarray:
        """The mean; undefined where no sample had anything to count."""
        return ratio(self.part, self.whole)


MeanState = TypeVar("MeanState", bound=SampleMean)


@dataclass(frozen=True, eq=False)
class Pooled(Additive):
    """A state for estimates that need all samples at once: neighbours, ranks, fitted predictors.

    Merging only collects. ``measure`` gets all samples in the order of their numbers, and weights
    with one row per resample; its neighbours and fits are those of the samples as they are, and the
    weights say how often what a sample contributes is counted.
    """

    shards: tuple[tuple[Evidence, np.ndarray], ...]
    options: dict[str, Any]
    plain: bool
    """Whether no weights were given."""

    measure: ClassVar[Callable[..., np.ndarray]]
    """(evidence, weights, *, options) -> one row of values per row of weights"""
    measure_with_moments: ClassVar[
        Callable[..., tuple[np.ndarray, dict[str, np.ndarray]]] | None
    ] = None
    """The same, and what ``fault_test`` and ``doubt`` are made from, for a score whose error is
    more than resampling its terms shows."""

    @classmethod
    def of(
        cls: type["PooledState"], evidence: Evidence, weights: Weights = None, **options: Any
    ) -> "PooledState":
        """The state of a shard; the options are those of ``measure``."""
        counted = np.ones((1, len(evidence))) if weights is None else weights
        return cls(((evidence, counted.astype(np.float32)),), options, weights is None)

    def __add__(self: "PooledState", other: "PooledState") -> "PooledState":
        if type(other) is not type(self):
            return NotImplemented
        return replace(self, shards=self.shards + other.shards)

    def value(self) -> np.ndarray:
        """Values, in rows if weights were given."""
        evidence, weights = self._whole()
        rows = np.asarray(self.measure(evidence, weights, **self.options))
        return np.asarray(rows[0]) if self.plain else rows

    def value_with_moments(self) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Values in rows, and what is known of their error beside; nothing for most scores."""
        if self.measure_with_moments is None:
            return self.value(), {}
        return self.measure_with_moments(*self._whole(), **self.options)

    def __len__(self) -> int:
        return sum(len(evidence) for evidence, _ in self.shards)

    def _whole(self) -> tuple[Evidence, np.ndarray]:
        bundles = [evidence for evidence, _ in self.shards]
        weights = np.concatenate([part for _, part in self.shards], axis=1)
        whole = bundles[0] if len(bundles) == 1 else type(bundles[0]).joined(bundles)
        order = order_of(whole)
        return (whole, weights) if order is None else (whole[order], weights[:, order])


PooledState = TypeVar("PooledState", bound=Pooled)


@dataclass(frozen=True)
class NullModel:
    """A null: the same evidence with the explanation made meaningless, or with no fault left."""

    name: str
    says: str
    """What it stands for, in a reader's words."""
    make: Callable[..., Any]
    """(evidence, seed) -> evidence; or (state, seed) -> state. Evidence may be a shard of many, and
    the same seed is given with each: draw what holds for all samples from the seed alone, and what
    is a sample's own from the seed and its number (``evidence.sampling.uniform``)."""
    sums: Callable[[Any], Mapping[str, np.ndarray]] | None = None
    """(evidence) -> sums over samples, or a pool of them (``evidence.sampling.pool_of``), for a
    null that must know all of them: then ``make`` gets (evidence, seed, sums)."""
    on: Literal["evidence", "state"] = "evidence"
    """A null that only changes what the sums are compared with is made on the state: cheap, so it
    is drawn often, and its own spread is what the score must stand out from."""
    random: bool = True
    clean: bool = False
    """The same evidence without the fault that the score looks for: what it must not exceed, where
    other nulls are what a score must beat."""
    per_item: bool = False
    """Whether each concept, class or unit has a chance of its own: then how far the score is from
    it is known as well as there are items, too."""
    options: dict[str, Any] = field(default_factory=dict)
    """Options of the metric that only make sense otherwise under this null."""

    def made(self, evidence: Any, seed: int) -> Any:
        """The null of evidence that is at hand as a whole."""
        if self.sums is None:
            return self.make(evidence, seed)
        return self.make(evidence, seed, self.sums(evidence))


@dataclass(frozen=True)
class Card:
    """What a reader must know before quoting a score."""

    asks: str
    """The question in plain words."""
    read: str
    """How to read the number."""
    misleads: str
    """When not to believe it."""
    cost: str


@dataclass(frozen=True)
class Metric:
    """A metric in the catalogue: everything that docs, tests, command line and report need."""

    name: str
    title: str
    state: type[Any]
    version: int
    question: Question
    better: Better
    bounds: tuple[float, float]
    card: Card
    cite: str
    baselines: tuple[NullModel, ...]
    uses: tuple[str, ...]
    """Arrays of the evidence without which the score cannot be had."""
    uses_if: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    """Further arrays that an option needs: option -> choice -> arrays."""
    sweeps: tuple[str, ...] = ()
    """Options given as several values at once: the leading axes of the value."""
    detail: bool = False
    """Whether the last axis of the value runs over concepts, classes or units (option ``over``)."""
    per_class: bool = False
    """Whether samples enter as means of their class: whole classes are then not resampled."""
    headline: dict[str, Any] = field(default_factory=dict)
    """Of the swept options, those to quote first."""
    on_request: bool = False
    """Whether it is left out where everything is asked that the evidence allows: superseded, and
    slow."""
    decides: bool = True
    """Whether a verdict may be read from it; else it only tells more about other scores."""
    enough: float | None = None
    """From this share of the best possible on we would rely on it; a convention, on the card."""
    enough_from: Literal["worst", "null"] = "worst"
    """Where that share is counted from: the worst possible, or the null that is hardest to beat."""
    share: bool = False
    """Whether it is read as a percentage although it may lie below 0: then it is none."""
    tolerance: float | None = None
    """How much more than a clean null we would still accept; a convention, on the card."""
    asked_as: str = ""
    """Its question in words that fit the kind of evidence, where the usual ones do not."""
    best: Callable[[Any], Any] | None = None
    """Evidence -> the same with an ideal explanation, where even that does not reach the bound."""

    @property
    def needs(self) -> type[Evidence]:
        """The kind of evidence, read from the signature that counts."""
        kind: type[Evidence] = get_type_hints(self._counts())["evidence"]
        return kind

    @property
    def streams(self) -> bool:
        """Whether it adds up piece by piece, in constant memory; else it needs all samples."""
        return not issubclass(self.state, Pooled)

    @property
    def looks_for_a_fault(self) -> bool:
        """Whether the score must not exceed a clean null, instead of beating another."""
        return any(baseline.clean for baseline in self.baselines)

    def _counts(self) -> Callable[..., Any]:
        """The function whose options change the counting."""
        for name in ("each", "measure"):
            if hasattr(self.state, name):
                counts: Callable[..., Any] = getattr(self.state, name)
                return counts
        return self.state.of  # type: ignore[no-any-return]

    def missing(self, evidence: Evidence, options: dict[str, Any]) -> list[str]:
        """Arrays that the evidence lacks for this score with these options."""
        names = list(self.uses)
        for option, choices in self.uses_if.items():
            names += choices.get(str(options.get(option, self.default(option))), ())
        return [name for name in dict.fromkeys(names) if not evidence.has(name)]

    def default(self, option: str) -> Any:
        """The documented default of an option."""
        return self.options()[option]

    def choices(self, option: str) -> tuple[Any, ...]:
        """What an option can be chosen among, where that is a list."""
        return get_args(self.hints()[option])

    def hints(self) -> dict[str, Any]:
        """The types of the options."""
        return get_type_hints(self._counts()) | get_type_hints(self.state.value)

    def options(self) -> dict[str, Any]:
        """All options with their defaults."""
        return {**self.counting_options(), **_keywords(self.state.value)}

    def counting_options(self) -> dict[str, Any]:
        """The options that change what is counted; the others change only the finish."""
        return dict(_keywords(self._counts()))


@cache
def _keywords(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Its options and their defaults; kept, as every resample asks for them."""
    parameters = inspect.signature(function).parameters.values()
    return MappingProxyType(
        {p.name: p.default for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}
    )


CATALOGUE: dict[str, Metric] = {}


def metric(name: str, **attributes: Any) -> Callable[[type[State]], type[State]]:
    """Enter a state into the catalogue under the metric's name."""

    def enter(state: type[State]) -> type[State]:
        if name in CATALOGUE and CATALOGUE[name].state.__qualname__ != state.__qualname__:
            message = f"two metrics are called {name!r}"
            raise ValueError(message)
        CATALOGUE[name] = Metric(name=name, state=state, **attributes)
        return state

    return enter

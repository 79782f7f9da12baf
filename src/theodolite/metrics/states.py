"""States of metrics: made of evidence, added up over its pieces, and read once at the end."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike

from theodolite._stats.groups import SampleGroups, sum_groups
from theodolite._stats.sampling import POOLED, merge_pools
from theodolite._stats.weighted_sums import sum_weighted
from theodolite.evidence.base import Evidence
from theodolite.evidence.shards import find_sample_order

State = TypeVar("State", bound="Additive")
ITEM, LIMIT, ANNOTATION, PAIR, FACT = "item.", "limit.", "annotation.", "pairs", "fact."
"""What the names of moments begin with: of each concept, of the size of the evidence, of what
wrong annotations explain; the name of pairs of concepts with their weights; and of single numbers
that a verdict reads beside the value."""
TRIALS, CHOSEN = "trials", "chosen"
"""Names of what a pooled state may tell beside its values: of each item how many independent
samples there are of the kind that is rarer, and the value on the samples it was chosen on."""
Weights = Float[np.ndarray, "resamples samples"] | SampleGroups | None
"""How often each sample counts, one row per resample; ``None`` counts each once. Of very many
samples, the group that each belongs to, and a sum for each group."""


def ratio(part: ArrayLike, whole: ArrayLike) -> Float[np.ndarray, "*n"]:
    """Divide; where the whole is empty the answer is undefined, so NaN."""
    part, whole = np.broadcast_arrays(part, whole)
    result = np.full(whole.shape, np.nan)
    np.divide(part, whole, out=result, where=whole > 0)
    return result


def total(each: Float[np.ndarray, "samples *n"], weights: Weights = None) -> np.ndarray:
    """Sum over samples; with weights, one sum per resample along a new first axis."""
    if weights is None:
        return np.asarray(each.sum(axis=0))
    if isinstance(weights, SampleGroups):
        return sum_groups(each, weights)
    return sum_weighted(weights, each)


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
        merged |= {before + own: array for own, array in merge_pools(pool, other).items()}
    return merged


@dataclass(frozen=True)
class PerSample:
    """What each sample contributes: a part of a whole, where the question was asked of it."""

    part: Float[np.ndarray, "samples *n"]
    whole: Float[np.ndarray, "samples *n"]
    asked: Bool[np.ndarray, " samples"]

    @classmethod
    def from_values(
        cls,
        part: np.ndarray,
        whole: np.ndarray | None = None,
        eligible: np.ndarray | None = None,
    ) -> "PerSample":
        """Ask every sample, or the ``eligible`` ones. Without ``whole`` each value counts once, and
        NaN is undefined.

        >>> PerSample.from_values(np.array([0.5, np.nan])).whole
        array([1., 0.])
        """
        if whole is None:
            whole = ~np.isnan(part)
            part = np.where(whole, part, 0.0)
        part = part if part.dtype.kind == "f" else part.astype(float)
        every = np.ones(len(part), bool) if eligible is None else np.asarray(eligible)
        return cls(part, np.asarray(whole, float), every)


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
        return cls.of_each(cls.each(evidence, **options), weights)

    @classmethod
    def of_each(cls: type["MeanState"], each: PerSample, weights: Weights = None) -> "MeanState":
        """The state of what each sample of a shard contributes."""
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
    """A state for estimates that need all samples at once: neighbors, ranks, fitted predictors.

    Merging only collects. ``measure`` gets all samples in the order of their numbers, and weights
    with one row per resample; its neighbors and fits are those of the samples as they are, and the
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
    """The same, and what interval and doubts are made from, for a score whose error is more than
    resampling its terms shows."""

    @classmethod
    def of(
        cls: type["PooledState"], evidence: Evidence, weights: Weights = None, **options: Any
    ) -> "PooledState":
        """The state of a shard; the options are those of ``measure``."""
        if isinstance(weights, SampleGroups):
            weights = weights.to_weights()
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
        order = find_sample_order(whole)
        return (whole, weights) if order is None else (whole[order], weights[:, order])


PooledState = TypeVar("PooledState", bound=Pooled)

"""What a generator is: evidence with a planted truth, and what that truth is."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from theodolite._planted.conditions import Condition
from theodolite._planted.draws import PlantedRows, layout_of
from theodolite.evidence.base import Evidence
from theodolite.metrics.base import Metric
from theodolite.metrics.catalogue import catalogue, find_metric

How = Literal["exact", "large sample"]
Make = Callable[[str, Condition, np.random.Generator, PlantedRows], Evidence]
"""(metric, condition, source of chance of what is not sampled, rows) -> evidence"""
Exact = Callable[[str, Condition, np.random.Generator], float]
CHUNK = 4000
"""A truth from a large sample is from so many rows, several times."""
POOLED_CHUNKS = 3
"""How often, for scores that need all rows at once."""


@dataclass(frozen=True, eq=False)
class Planted:
    """One draw: evidence, one bundle for each seed of the experiment, and the truth."""

    evidence: tuple[Evidence, ...]
    truth: float
    """Of these concepts, units or raters."""
    population: float
    """Of the population that they are drawn from."""


@dataclass(frozen=True)
class Generator:
    """A way to plant a truth."""

    name: str
    says: str
    """What is planted, in a reader's words."""
    serves: tuple[str, ...]
    """The metrics that it is for."""
    make: Make
    usual: Condition = field(default_factory=Condition)
    exact: Exact | None = None
    """The truth of these items; from a large sample if not given."""
    population: Exact | None = None
    """That of a population of items, where it differs."""
    per_model: bool = False
    """Whether the truth depends on what the draw is made of besides samples, such as its units."""
    chunks: int = 10
    """How many times ``CHUNK`` rows a truth from a large sample comes from."""
    varies: tuple[str, ...] = ()
    """Side conditions that it can draw besides rows and clusters."""
    dials: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    reference: float = 0.75
    """The setting at which a score is expected to say something."""
    dial_at: Callable[[str, float], float] = field(default=lambda metric, fault: fault)
    """(metric, size of the fault) -> the dial at which it is that large"""
    no_ends: tuple[str, ...] = ()
    """Metrics whose best value no explanation of this kind reaches."""

    @property
    def how(self) -> How:
        """Where the truth is from."""
        return "large sample" if self.exact is None else "exact"

    def draw(self, metric: str, condition: Condition, seed: int) -> Planted:
        """One draw: it depends on the condition, the metric and the seed alone."""
        evidence = tuple(
            self.make(
                metric,
                condition,
                np.random.default_rng((seed, 1)),
                layout_of(condition, (seed, 2), number),
            )
            for number in range(condition.seeds)
        )
        return Planted(evidence, *self.truth(metric, condition, seed))

    def truth_rows(self, metric: str) -> float:
        """How many rows a truth is from; infinite where it is exact."""
        if self.exact is not None:
            return float("inf")
        streams = metric in catalogue() and catalogue()[metric].streams
        return CHUNK * (self.chunks if streams else POOLED_CHUNKS)

    def truth(self, metric: str, condition: Condition, seed: int) -> tuple[float, float]:
        """Of the items of this draw, and of their population."""
        if self.exact is not None:
            truth = float(self.exact(metric, condition, np.random.default_rng((seed, 1))))
        else:
            truth = _large_sample(
                self, metric, _plain_rows(condition), seed if self.per_model else 0
            )
        if self.population is None:
            return truth, truth
        return truth, float(self.population(metric, condition, np.random.default_rng(0)))


def _plain_rows(condition: Condition) -> Condition:
    """The same as many rows that have nothing to do with each other."""
    return replace(
        condition, clusters=CHUNK, rows=1, within=0.0, unequal=False, declared=True, unknown=0.0,
        seeds=1,
    )  # fmt: skip


@lru_cache(maxsize=4096)
def _large_sample(generator: Generator, metric: str, condition: Condition, seed: int) -> float:
    """The value of many rows; those of a score that pools them, the mean over few times as many."""
    card = find_metric(metric)

    def chunks(n: int) -> Iterable[Evidence]:
        for number in range(n):
            models = np.random.default_rng((seed, 1))
            yield generator.make(metric, condition, models, layout_of(condition, (number, 3)))

    if card.streams:
        return value_of(card, list(chunks(generator.chunks)))
    return float(np.nanmean([value_of(card, [chunk]) for chunk in chunks(POOLED_CHUNKS)]))


def quoted_options(metric: Metric) -> dict[str, Any]:
    """Of the options that are swept, the choice that is quoted."""
    return {name: (metric.headline.get(name, metric.default(name)[0]),) for name in metric.sweeps}


def value_of(metric: Metric, shards: Sequence[Evidence]) -> float:
    """The quoted value of evidence in pieces, without intervals and nulls."""
    options = quoted_options(metric)
    counting = {name: v for name, v in options.items() if name in metric.counting_options()}
    finish = {name: v for name, v in options.items() if name not in counting}
    state: Any = sum(metric.state.of(shard, **counting) for shard in shards)
    values = np.asarray(state.value(**finish), float)
    values = values.reshape(values.shape[len(metric.sweeps) :])
    return float(np.nanmean(values)) if metric.detail else float(values)

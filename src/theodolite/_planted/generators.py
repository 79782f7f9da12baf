"""Define what a generator is: a function that draws evidence, and its planted truth."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from theodolite._planted.conditions import Condition
from theodolite._planted.draws import Draw, start_draw
from theodolite.evidence.base import Evidence
from theodolite.metrics.base import Metric
from theodolite.metrics.catalogue import catalogue, find_metric

How = Literal["exact", "large sample"]
Arrays = dict[str, Any]
"""What a kind of evidence is made of, without its samples."""
CHUNK = 4000
"""Rows of one large sample; a truth comes from several."""
POOLED_CHUNKS = 3
"""Number of large samples for scores that need all rows at once."""
FAULT_DIALS = (0.0, 0.05, 0.2, 0.5, 1.0)
"""Settings for faults: most scores see a small one already."""


@dataclass(frozen=True, eq=False)
class Planted:
    """One draw: evidence, one bundle for each seed of the experiment, and the truth."""

    evidence: tuple[Evidence, ...]
    truth: float
    """Of these concepts, units or raters."""
    population: float
    """Of the population that they are drawn from."""


@dataclass(frozen=True, kw_only=True)
class Generator:
    """A way to plant a truth."""

    name: str
    says: str
    """What is planted, in a reader's words."""
    serves: tuple[str, ...]
    """The metrics that it is for."""
    kind: Callable[..., Evidence]
    make: Callable[[Draw], Arrays]
    """Draws the arrays of the kind."""
    usual: Condition = field(default_factory=Condition)
    exact: Callable[[Draw], float] | None = None
    """The truth of these items; from a large sample if not given."""
    population: Callable[[Draw], float] | None = None
    """That of a population of items, where it differs."""
    per_model: bool = False
    """Whether the truth depends on what the draw is made of besides samples, such as its units."""
    chunks: int = 10
    """How many times ``CHUNK`` rows a truth from a large sample comes from."""
    varies: tuple[str, ...] = ()
    """Side conditions that it can draw besides rows and clusters."""
    dials: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    reference: float = 0.5
    """The setting at which a score is expected to say something."""
    dial_at: Callable[[str, float], float] = field(default=lambda metric, fault: fault)
    """(metric, size of the fault) -> the dial at which it is that large"""
    no_ends: tuple[str, ...] = ()
    """Metrics whose best value no explanation of this kind reaches."""
    cells: Callable[[str], list[Condition]] | None = None
    """(size) -> the conditions of a validation, in place of the usual grid"""
    has_truth: Callable[[Condition], bool] = field(default=lambda condition: True)
    """Whether an interval can be held against the planted truth."""
    rates: Callable[[Condition], Mapping[str, float]] = field(default=lambda condition: {})
    """(condition) -> answer -> the share of draws that must have it"""

    @property
    def how(self) -> How:
        """Where the truth is from."""
        return "large sample" if self.exact is None else "exact"

    def evidence(self, draw: Draw) -> Evidence:
        """Return the evidence of a draw."""
        return self.kind(**self.make(draw), samples=draw.samples)

    def draw(self, metric: str, condition: Condition, seed: int) -> Planted:
        """Return evidence and its truth; both depend on the condition, metric and seed alone."""
        evidence = tuple(
            self.evidence(start_draw(metric, condition, (seed, 1), (seed, 2), number))
            for number in range(condition.seeds)
        )
        return Planted(evidence, *self.truth(metric, condition, seed))

    def draw_several(
        self, metric: str, condition: Condition, seed: int, n: int
    ) -> Iterator[Evidence]:
        """Draw evidence n times from the same model."""
        for number in range(n):
            yield self.evidence(start_draw(metric, condition, (seed, 1), (number, 3)))

    def truth_rows(self, metric: str) -> float:
        """Return how many rows a truth is from; infinite where it is exact."""
        if self.exact is not None:
            return float("inf")
        streams = metric in catalogue() and catalogue()[metric].streams
        return CHUNK * (self.chunks if streams else POOLED_CHUNKS)

    def truth(self, metric: str, condition: Condition, seed: int) -> tuple[float, float]:
        """Return the truth of the items of this draw, and that of their population."""
        if self.exact is None:
            plain = make_rows_independent(condition, CHUNK)
            truth = _compute_large_sample_value(self, metric, plain, seed if self.per_model else 0)
        else:
            truth = float(self.exact(start_draw(metric, condition, (seed, 1))))
        if self.population is None:
            return truth, truth
        return truth, float(self.population(start_draw(metric, condition, (0,))))


def generator(
    name: str, kind: Callable[..., Evidence], **declared: Any
) -> Callable[[Callable[[Draw], Arrays]], Generator]:
    """Make a generator of the decorated function, which draws the arrays of the kind."""

    def declare(make: Callable[[Draw], Arrays]) -> Generator:
        return Generator(name=name, kind=kind, make=make, **declared)

    return declare


def make_rows_independent(condition: Condition, rows: int) -> Condition:
    """Return the condition with this many rows in clusters of one."""
    return replace(
        condition, clusters=rows, rows=1, within=0.0, unequal=False, declared=True, unknown=0.0,
        seeds=1,
    )  # fmt: skip


@lru_cache(maxsize=4096)
def _compute_large_sample_value(
    generator: Generator, metric: str, condition: Condition, seed: int
) -> float:
    """The value of many rows; for a score that pools them, the mean over a few large samples."""
    card = find_metric(metric)
    chunks = generator.draw_several(
        metric, condition, seed, generator.chunks if card.streams else POOLED_CHUNKS
    )
    if card.streams:
        return compute_value(card, list(chunks))
    return float(np.nanmean([compute_value(card, [chunk]) for chunk in chunks]))


def select_quoted_options(metric: Metric) -> dict[str, Any]:
    """Return, of the options that are swept, the choice that is quoted."""
    return {name: (metric.headline.get(name, metric.default(name)[0]),) for name in metric.sweeps}


def compute_value(metric: Metric, shards: Sequence[Evidence]) -> float:
    """Return the quoted value of evidence in pieces, without intervals and nulls."""
    options = select_quoted_options(metric)
    counting = {name: v for name, v in options.items() if name in metric.counting_options()}
    finish = {name: v for name, v in options.items() if name not in counting}
    state: Any = sum(metric.state.of(shard, **counting) for shard in shards)
    values = np.asarray(state.value(**finish), float)
    values = values.reshape(values.shape[len(metric.sweeps) :])
    return float(np.nanmean(values)) if metric.detail else float(values)

"""Define what a validation tests: a metric of the catalogue, scored as in an audit."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from theodolite._planted.conditions import Condition
from theodolite._planted.generators import (
    Generator,
    How,
    Planted,
    compute_value,
    select_quoted_options,
)
from theodolite._planted.registry import find_generator_for
from theodolite._planted.validation.characteristics import ANSWERS
from theodolite._scoring.evaluate import MetricRequest, MetricRun, Resampling, evaluate_all
from theodolite._verdicts.from_scores import score_verdict
from theodolite._verdicts.repeats import find_repeats, with_doubt
from theodolite.evidence.base import Evidence
from theodolite.evidence.shards import InMemoryShards
from theodolite.metrics.base import Metric
from theodolite.metrics.catalogue import find_metric
from theodolite.results import Better, Score

RESAMPLES = 150
NULL_DRAWS = 5
"""Of random nulls; each costs as much as the score itself."""
ITEMS = ("concepts", "pairs", "classes", "units")


@dataclass(frozen=True)
class Outcome:
    """What a score made of one draw."""

    value: float
    low: float
    high: float
    truth: float
    """Of what the interval is about: these items, or a population of them."""
    answer: int
    best: float
    seconds: float

    def row(self) -> tuple[float, ...]:
        """Return the fields in the order of ``FIELDS``."""
        return (
            self.value, self.low, self.high, self.truth, self.answer, self.best, self.seconds,
        )  # fmt: skip


@runtime_checkable
class ValidationSubject(Protocol):
    """A score that planted truth can validate."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def better(self) -> Better:
        """Which values are better."""

    @property
    def is_defect_metric(self) -> bool:
        """Whether it must stay at its clean null instead of beating another."""

    @property
    def tolerance(self) -> float | None:
        """How much of a fault is accepted."""

    @property
    def generator(self) -> Generator:
        """What is planted."""

    @property
    def how(self) -> How:
        """Where truths are from."""

    def identity(self) -> dict[str, Any]:
        """What decides its numbers, as plain JSON."""

    def draw(self, condition: Condition, seed: int) -> Planted:
        """Evidence with a planted truth."""

    def outcome(self, planted: Planted, resampling: Resampling) -> Outcome:
        """Score, interval and answer."""

    def value(self, evidence: Evidence) -> float:
        """The value alone."""


@dataclass(frozen=True)
class MetricSubject:
    """A metric of the catalogue."""

    name: str

    @property
    def metric(self) -> Metric:
        """Its entry."""
        return find_metric(self.name)

    @property
    def better(self) -> Better:
        """Which values are better."""
        return self.metric.better

    @property
    def is_defect_metric(self) -> bool:
        """Whether it must stay at its clean null."""
        return self.metric.is_defect_metric

    @property
    def tolerance(self) -> float | None:
        """How much of a fault is accepted."""
        return self.metric.tolerance

    @property
    def generator(self) -> Generator:
        """What is planted for it."""
        return find_generator_for(self.name)

    @property
    def how(self) -> How:
        """Where truths are from."""
        return self.generator.how

    def identity(self) -> dict[str, Any]:
        """Name and version."""
        return {"metric": self.name, "version": self.metric.version}

    def draw(self, condition: Condition, seed: int) -> Planted:
        """Evidence with a planted truth."""
        return self.generator.draw(self.name, condition, seed)

    def scores(self, planted: Planted, resampling: Resampling) -> tuple[Score, ...]:
        """Return the quoted score, and those that its verdict reads beside it, as an audit does."""
        kind = type(planted.evidence[0])
        repeats = find_repeats([{kind: InMemoryShards(bundle)} for bundle in planted.evidence])
        evidence = [kinds[kind] for kinds in repeats.seeds]
        own = self.metric
        beside = [find_metric(name) for name in own.judged_with if name != self.name]
        # where the verdict reads its other options too, these are asked for as well
        options = {} if self.name in own.judged_with else select_quoted_options(own)
        requests = [MetricRequest(own, options)]
        requests += [MetricRequest(metric, select_quoted_options(metric)) for metric in beside]
        runs = [MetricRun(request, evidence) for request in requests]
        groups = evaluate_all(runs, resampling)
        scores = [*groups[0], *(group[0] for group in groups[1:])]
        return with_doubt(scores, repeats.caveat)

    def outcome(self, planted: Planted, resampling: Resampling) -> Outcome:
        """Compute and read the score as an audit does."""
        start = time.process_time()
        scores = self.scores(planted, resampling)
        score = scores[0]
        answer = ANSWERS.index(score_verdict(score, scores, validated=False).answer)
        seconds = time.process_time() - start
        interval, truth = score.interval, planted.truth
        low = high = np.nan
        if interval is not None:
            low, high = interval.low, interval.high
            if interval.scope == "population" or interval.over in ITEMS:
                truth = planted.population
        return Outcome(score.value, low, high, truth, answer, score.best, seconds)

    def value(self, evidence: Evidence) -> float:
        """The value alone."""
        return compute_value(self.metric, [evidence])

    def of_shards(self, shards: Sequence[Evidence]) -> float:
        """The value of evidence in pieces."""
        return compute_value(self.metric, shards)


def get_default_resampling(seed: int = 0) -> Resampling:
    """That of all draws."""
    return Resampling(resamples=RESAMPLES, most_null_draws=NULL_DRAWS, seed=seed)

"""What is asked of the evidence: a metric with its options, and how chance is drawn."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from theodolite.errors import EvidenceError
from theodolite.metrics.base import Metric
from theodolite.metrics.catalogue import find_metric

FEWEST_RESAMPLES = 20


@dataclass(frozen=True)
class Resampling:
    """How intervals and nulls are drawn."""

    resamples: int = 1000
    level: float = 0.95
    seed: int = 0
    null_batches: int = 2000
    """Random nulls are drawn until this many samples were shuffled, up to ``most_null_draws``."""
    most_null_draws: int = 20
    most_pooled: int = 50_000
    """Scores that need all samples at once are computed from so many, drawn at random, where there
    are more: their intervals are then those of so many samples."""
    shuffles: int = 400
    """Draws of a null that is judged by how it spreads, such as a shuffled annotation."""

    def __post_init__(self) -> None:
        if self.resamples < FEWEST_RESAMPLES:
            raise EvidenceError("resamples", f"{self.resamples}", f"at least {FEWEST_RESAMPLES}")
        if not 0 < self.level < 1:
            raise EvidenceError("level", f"{self.level}", "a share between 0 and 1, such as 0.95")
        if self.most_pooled < FEWEST_RESAMPLES:
            got = f"{self.most_pooled}"
            raise EvidenceError("most_pooled", got, f"at least {FEWEST_RESAMPLES} samples")


@dataclass(frozen=True)
class MetricRequest:
    """A metric with its options."""

    metric: Metric
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", self.metric.check(self.options))

    def __reduce__(self) -> tuple[Any, ...]:
        """A worker looks the metric up by its name: nulls are functions, which cannot be sent."""
        return _rebuild_request, (self.metric.name, self.options)

    def all_options(self) -> dict[str, Any]:
        """The options with the defaults filled in."""
        return self.metric.options() | self.options


def _rebuild_request(name: str, options: dict[str, Any]) -> MetricRequest:
    return MetricRequest(find_metric(name), options)


def expand(metric: Metric, options: dict[str, Any]) -> Iterator[MetricRequest]:
    """A spec may list several choices of an option: one request for each combination.

    The order is that of the metric's own options, however the spec was written.
    """
    known = [name for name in metric.options() if name in options]
    listed = {}
    for name in [*known, *sorted(set(options) - set(known))]:
        choices = options[name]
        several = isinstance(choices, list) and name not in metric.sweeps
        listed[name] = choices if several else [choices]
    for combination in itertools.product(*listed.values()):
        chosen = dict(zip(listed, combination, strict=True))
        for name in metric.sweeps:
            if name in chosen and not isinstance(chosen[name], list | tuple):
                chosen[name] = (chosen[name],)
        yield MetricRequest(metric, chosen)

"""Define what to evaluate: a metric with its options, and the settings of the resampling.

Used by audits, comparisons and gates; specs and plug-ins see `Resampling`.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from theodolite.errors import EvidenceError
from theodolite.metrics.base import Metric
from theodolite.metrics.catalogue import find_metric

MIN_RESAMPLES = 20


@dataclass(frozen=True)
class Resampling:
    """Settings of the bootstrap and of the random nulls."""

    resamples: int = 1000
    level: float = 0.95
    seed: int = 0
    null_batches: int = 2000
    """Number of permuted samples after which a null is not drawn again; at most ``most_null_draws``
    draws."""
    most_null_draws: int = 20
    most_pooled: int = 50_000
    """Maximum number of samples for scores that need all samples at once. Of more samples, a random
    subsample of this size is used, and intervals are those of the subsample."""
    shuffles: int = 400
    """Number of draws of a null that is applied to states, such as a permuted annotation."""

    def __post_init__(self) -> None:
        if self.resamples < MIN_RESAMPLES:
            raise EvidenceError("resamples", f"{self.resamples}", f"at least {MIN_RESAMPLES}")
        if not 0 < self.level < 1:
            raise EvidenceError("level", f"{self.level}", "a share between 0 and 1, such as 0.95")
        if self.most_pooled < MIN_RESAMPLES:
            got = f"{self.most_pooled}"
            raise EvidenceError("most_pooled", got, f"at least {MIN_RESAMPLES} samples")


@dataclass(frozen=True)
class MetricRequest:
    """A metric with the options to compute it with."""

    metric: Metric
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", self.metric.check(self.options))

    def __reduce__(self) -> tuple[Any, ...]:
        """Send the name instead of the metric: nulls are functions, which cannot be pickled."""
        return _rebuild_request, (self.metric.name, self.options)

    def all_options(self) -> dict[str, Any]:
        """Return the options with the defaults filled in."""
        return self.metric.options() | self.options


def _rebuild_request(name: str, options: dict[str, Any]) -> MetricRequest:
    return MetricRequest(find_metric(name), options)


def expand(metric: Metric, options: dict[str, Any]) -> Iterator[MetricRequest]:
    """Yield one request for each combination of the choices that a spec lists.

    The order follows the metric's options, however the spec was written.
    """
    declared = [name for name in metric.options() if name in options]
    listed = {}
    for name in [*declared, *sorted(set(options) - set(declared))]:
        choices = options[name]
        is_list = isinstance(choices, list) and name not in metric.sweeps
        listed[name] = choices if is_list else [choices]
    for combination in itertools.product(*listed.values()):
        chosen = dict(zip(listed, combination, strict=True))
        for name in metric.sweeps:
            if name in chosen and not isinstance(chosen[name], list | tuple):
                chosen[name] = (chosen[name],)
        yield MetricRequest(metric, chosen)

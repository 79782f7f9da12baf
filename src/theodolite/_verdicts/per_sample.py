"""Compute the contribution of each sample to scores that are means over samples."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from theodolite._scoring.request import MetricRequest
from theodolite._verdicts.answers import by_kind
from theodolite.evidence.base import Evidence
from theodolite.metrics.base import SampleMean, ratio


def per_sample(
    requests: Sequence[MetricRequest], bundles: Sequence[Evidence]
) -> dict[str, list[Any]]:
    """What each sample gave to each score that is a mean over samples."""
    kinds = by_kind(bundles)
    columns = no_samples()
    for request in requests:
        evidence = kinds.get(request.metric.needs)
        if evidence is not None and is_of_samples(request):
            names = [evidence.samples.name(i) for i in range(len(evidence))]
            add_samples(columns, request, names, sample_values(request, evidence))
    return columns


def no_samples() -> dict[str, list[Any]]:
    """The columns of a table per sample, without rows."""
    return {name: [] for name in ("sample", "metric", "options", "value")}


def is_of_samples(request: MetricRequest) -> bool:
    """Return whether a score is a mean over samples."""
    return not request.metric.detail and issubclass(request.metric.state, SampleMean)


def sample_values(request: MetricRequest, evidence: Evidence) -> np.ndarray:
    """What each sample gave to such a score, for every swept option; NaN where it was not asked."""
    each = request.metric.state.each(evidence, **request.options)
    value = ratio(each.part, each.whole)
    value[~each.asked] = np.nan
    return value


def add_samples(
    columns: dict[str, list[Any]], request: MetricRequest, names: list[str], value: np.ndarray
) -> None:
    """Rows of the table for what samples gave to a score."""
    plain = {k: v for k, v in request.options.items() if k not in request.metric.sweeps}
    sweeps = [request.all_options()[name] for name in request.metric.sweeps]
    for cell in np.ndindex(*value.shape[1:]):
        chosen = {n: s[i] for n, s, i in zip(request.metric.sweeps, sweeps, cell, strict=True)}
        label = ", ".join(f"{k}={v}" for k, v in {**plain, **chosen}.items())
        columns["sample"] += names
        columns["metric"] += [request.metric.name] * len(names)
        columns["options"] += [label] * len(names)
        column = np.moveaxis(value, 0, -1)[cell]
        columns["value"] += [None if np.isnan(v) else float(v) for v in column]

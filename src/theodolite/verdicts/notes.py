"""What a reader of scores should know about the evidence, and about how it was asked."""

from collections.abc import Mapping, Sequence

import numpy as np

from theodolite.evidence.base import Evidence
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.metrics.faithful.warnings import surrogate_warnings
from theodolite.metrics.leak_free.warnings import leakage_warnings
from theodolite.scoring.evaluate import MetricRequest, MetricRun, Resampling


def subsample_notes(runs: Sequence[MetricRun], resampling: Resampling) -> list[str]:
    """Scores that were estimated from some of the samples."""
    titles = [
        run.request.metric.title
        for run in runs
        if not run.request.metric.streams and len(run.evidence[0]) > resampling.most_pooled
    ]
    if not titles:
        return []
    n = max(len(run.evidence[0]) for run in runs if not run.request.metric.streams)
    return [
        f"{', '.join(dict.fromkeys(titles))}: estimated from {resampling.most_pooled:,} of {n:,} "
        "samples, drawn at random, because all are needed at once. Their intervals are those of "
        "so many samples."
    ]


def evidence_warnings(by_kind: Mapping[type[Evidence], Evidence]) -> list[str]:
    """Signs that the arrays do not belong together, which no shape can show."""
    explained = by_kind.get(SurrogateEvidence)
    if isinstance(explained, SurrogateEvidence):
        return surrogate_warnings(explained)
    evidence = by_kind.get(ConceptEvidence)
    if not isinstance(evidence, ConceptEvidence):
        return []
    return [*leakage_warnings(evidence), *_head_warnings(evidence)]


def _head_warnings(evidence: ConceptEvidence) -> list[str]:
    if evidence.weights is None or evidence.predicted is None:
        return []
    agree = float(
        np.mean((evidence.values @ evidence.weights).argmax(axis=1) == evidence.predicted)
    )
    if agree >= 0.5:
        return []
    return [
        f"Values times weights choose the predicted class in only {100 * agree:.0f} % of the "
        "samples. Unless the head has a strong bias, weights, values and predictions may not "
        "belong together; weights have a row per concept and a column per class."
    ]


def fallbacks(requests: Sequence[MetricRequest]) -> list[str]:
    """Options other than the defaults, taken because the evidence lacks what those need."""
    return [
        f"{request.metric.title}: {option}={value}, because the evidence lacks what "
        f"{option}={request.metric.default(option)} needs."
        for request in requests
        for option, value in request.options.items()
        if option in request.metric.uses_if and value != request.metric.default(option)
    ]

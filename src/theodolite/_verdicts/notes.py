"""Write the notes on a score's evidence and options that its reader should know."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from theodolite._scoring.evaluate import MetricRequest, MetricRun, Resampling
from theodolite.evidence.base import Evidence
from theodolite.evidence.plugins import is_ours
from theodolite.metrics.base import Metric
from theodolite.metrics.catalogue import catalogue
from theodolite.metrics.validation import get_validation
from theodolite.results import Score


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
        "that many samples."
    ]


def evidence_warnings(by_kind: Mapping[type[Evidence], Evidence]) -> list[str]:
    """Signs that the arrays do not belong together, which no shape can show."""
    warnings: list[str] = []
    for metric in catalogue().values():
        if metric.warns is not None and metric.needs in by_kind:
            warnings += _warnings_by(metric.warns, by_kind[metric.needs], metric.name)
    for kind, evidence in by_kind.items():
        warnings += _warnings_by(kind.warnings, evidence, f"{kind.kind} evidence")
    return list(dict.fromkeys(warnings))


def _warnings_by(warn: Callable[[Any], list[str]], evidence: Evidence, of: str) -> list[str]:
    """What is warned of; code of other packages must not lose the audit."""
    try:
        return warn(evidence)
    except Exception as error:
        if is_ours(warn):
            raise
        return [f"{of}: its warnings could not be determined ({type(error).__name__})."]


def fallbacks(requests: Sequence[MetricRequest]) -> list[str]:
    """Options other than the defaults, taken because the evidence lacks what those need."""
    by_default = {
        (request.metric.name, option)
        for request in requests
        for option in request.metric.uses_if
        if request.options.get(option, request.metric.default(option))
        == request.metric.default(option)
    }
    return [
        f"{request.metric.title}: {option}={value}, because the evidence lacks what "
        f"{option}={request.metric.default(option)} needs."
        for request in requests
        for option, value in request.options.items()
        if option in request.metric.uses_if and (request.metric.name, option) not in by_default
    ]


def range_notes(scores: Iterable[Score]) -> list[str]:
    """Return the validated range of scores with limits of their own, and where the evidence is."""
    notes = []
    for score in scores:
        validation = get_validation(score.metric, score.version)
        if score.n_labels is None or validation is None:
            continue
        sizes = f"{score.n_samples:,} samples, {score.n_concepts} concepts, {score.n_labels} labels"
        title = catalogue()[score.metric].title
        notes.append(f"{title}: validated for {validation.range_text}; this evidence: {sizes}.")
    return notes


def validation_notes(metrics: Iterable[Metric]) -> list[str]:
    """Return a sentence about the metrics of other packages that have no validation record."""
    names = [
        metric.name
        for metric in metrics
        if not is_ours(metric.state) and get_validation(metric.name, metric.version) is None
    ]
    if not names:
        return []
    has, them = ("has", "it") if len(set(names)) == 1 else ("have", "them")
    listed = ", ".join(dict.fromkeys(names))
    return [f"{listed} {has} no validation record, so no verdict is based on {them}."]

"""Scores of several models in one run."""

from collections.abc import Mapping, Sequence
from typing import Any

from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.folder.spec_answers import build_requests
from theodolite._scoring.evaluate import MetricRequest, Resampling
from theodolite._verdicts.answers import AuditAnswers, answer
from theodolite._verdicts.scores_file import ComparedRecord, score_record
from theodolite.evidence.base import Evidence
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.pipeline_output import ComparedModel, Progress
from theodolite.evidence.shards import cluster_by_class


def group_samples(bundle: Evidence, spec: RunSpec) -> Any:
    """Return the bundle with its samples grouped as the spec wants them resampled."""
    return bundle if spec.resampling.clusters == "none" else cluster_by_class(bundle)


def score_compared_models(
    spec: RunSpec,
    answers: AuditAnswers,
    description: Mapping[str, float | int | str],
    others: Sequence[ComparedModel],
    progress: Progress,
) -> tuple[list[ComparedRecord], list[str]]:
    """Score all models by the same metrics, the model of the verdicts first.

    Returns:
        A record for each model, and what failed for the others.
    """
    name = str(description.get("name", spec.name))
    main = ComparedRecord(
        name=name, about=dict(description), scores=[*map(score_record, answers.scores)]
    )
    records, failures = [main], []
    requests = build_requests(spec.compared_metrics or spec.metrics)
    for number, other in enumerate(others):
        progress("compared models", number, len(others))
        kinds = {type(bundle) for bundle in other.evidence[0]} | {ConceptEvidence}
        own_requests = [r for r in requests if r.metric.needs in kinds] if requests else None
        if own_requests is not None:  # compared models need not all have the same arrays
            own_requests = [
                r
                for r in own_requests
                if all(_has_needed_arrays(r, seed) for seed in other.evidence)
            ]
        evidence = [[group_samples(bundle, spec) for bundle in seed] for seed in other.evidence]
        resampling = with_fewer_resamples(spec)
        result = answer(evidence, own_requests, resampling, on_error="note")
        failures += [f"{other.name}: {failure}." for failure in result.errors]
        records.append(
            ComparedRecord(
                name=other.name, about=dict(other.about), scores=[*map(score_record, result.scores)]
            )
        )
    progress("compared models", len(others), len(others))
    return records, failures


def _has_needed_arrays(request: MetricRequest, bundles: Sequence[Evidence]) -> bool:
    """Return whether these bundles have the arrays that a request needs."""
    own = [bundle for bundle in bundles if type(bundle) is request.metric.needs]
    return not any(request.metric.missing(bundle, request.options) for bundle in own)


def with_fewer_resamples(spec: RunSpec) -> Resampling:
    """Return the resampling of compared models, which differ by their seeds."""
    chosen = spec.resampling
    return Resampling(min(chosen.resamples, 100), chosen.level, chosen.seed, most_null_draws=1)

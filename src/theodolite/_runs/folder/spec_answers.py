"""Apply a run spec: list the metrics that it requests, and decide its verdicts and conflicts.

`run_content` writes runs with these functions; reports and `folder_reader` read runs with them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from theodolite._runs.folder.spec import MetricSpec, RunSpec
from theodolite._scoring.evaluate import MetricRequest, expand
from theodolite._storage.tables import Words
from theodolite._verdicts.answers import AuditAnswers, verdicts
from theodolite._verdicts.conflicts.matrix import conflicts_between
from theodolite._verdicts.conflicts.record import ConflictsFile
from theodolite._verdicts.missing import NOT_AMONG_METRICS, MissingScoreLike
from theodolite._verdicts.scores_file import ScoresFile, scores_file
from theodolite.evidence.subject import Subject
from theodolite.metrics.catalogue import catalogue, find_metric
from theodolite.results import Failed, Score, Verdict


def build_requests(metrics: Sequence[MetricSpec]) -> list[MetricRequest]:
    """Return one request for each metric and choice of options; unknown ones raise an error."""
    return [
        request
        for metric in metrics
        for request in expand(find_metric(metric.name), metric.options)
    ]


def build_scores_file(spec: RunSpec, answers: AuditAnswers) -> ScoresFile:
    """Return the content of scores.json: scores, verdicts, errors and what was not computed."""
    answered = decide_verdicts(spec, answers.scores, answers.subject, failed=answers.errors)
    return scores_file(
        answers.scores, answered, answers.not_computed, answers.errors, answers.subject
    )


def decide_verdicts(
    spec: RunSpec,
    scores: Sequence[Score],
    subject: Subject,
    not_computed: Sequence[MissingScoreLike] = (),
    failed: Sequence[Failed] = (),
) -> tuple[Verdict, ...]:
    """Return the verdicts of a run, read from the headline scores of its spec.

    A question whose metrics the spec does not request says so.
    """
    answered = verdicts(scores, not_computed, failed, subject)
    metrics = (catalogue().get(metric.name) for metric in spec.metrics)
    chosen = {metric.question for metric in metrics if metric is not None}
    return tuple(
        replace(v, summary=f"{NOT_AMONG_METRICS[0].upper()}{NOT_AMONG_METRICS[1:]}.", needs="")
        if v.answer == "not_evaluated" and not v.reason and chosen and v.question not in chosen
        else v
        for v in answered
    )


def find_conflicts(
    spec: RunSpec,
    scored: tuple[Sequence[Score], Subject],
    columns: Mapping[str, Sequence[Any] | Words | np.ndarray],
    clusters: Mapping[str, int],
) -> ConflictsFile:
    """Return pairs of questions whose scores disagree on the same samples.

    Args:
        spec: Spec of the run.
        scored: The scores, and the audited explanation.
        columns: Contribution of each sample to each score.
        clusters: Cluster of each sample, by the name of the sample.
    """
    verdicts = decide_verdicts(spec, *scored)
    return conflicts_between(verdicts, scored[0], columns, clusters, spec.resampling.draws())

"""Everything that evidence allows; ``theodolite.audit`` is the way in."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from theodolite._scoring.evaluate import MetricRequest, MetricRun, Resampling, evaluate_all
from theodolite._scoring.failures import (
    describe_failure,
    encode_error,
    is_limited_to_request,
    remove_failed,
)
from theodolite._verdicts.from_scores import stand_in_verdict, verdicts
from theodolite._verdicts.missing import OWN_OUTPUTS, MissingEvidence, missing
from theodolite._verdicts.notes import (
    evidence_warnings,
    fallbacks,
    range_notes,
    subsample_notes,
    validation_notes,
)
from theodolite._verdicts.repeats import find_repeats, with_doubt
from theodolite.errors import EvidenceError
from theodolite.evidence.base import Evidence
from theodolite.evidence.pipeline_output import Progress, silent
from theodolite.evidence.plugins import is_ours
from theodolite.evidence.shards import InMemoryShards, Shards
from theodolite.evidence.subject import Subject, make_unstated_subject
from theodolite.evidence.workers import Workers
from theodolite.metrics.base import Metric
from theodolite.metrics.catalogue import catalogue
from theodolite.results import Failed, Score, Verdict, Verdicts

__all__ = [
    "AuditAnswers", "MissingScore", "answer", "answer_shards", "by_kind", "metric_requests",
    "requests_for", "stand_in_line", "verdicts",
]  # fmt: skip

OnError = Literal["note", "raise"]
"""What becomes of an error that a metric raises: it is noted, and the others go on; or raised."""


@dataclass(frozen=True)
class MissingScore:
    """A score that could not be had, and what it would need."""

    metric: str
    needs: tuple[str, ...]


@dataclass(frozen=True)
class AuditAnswers:
    """Scores, the verdicts they lead to, and what could not be asked."""

    scores: tuple[Score, ...]
    not_computed: tuple[MissingScore, ...]
    requests: tuple[MetricRequest, ...] = ()
    notes: tuple[str, ...] = ()
    """What a reader should know about how it was asked, or doubt about the evidence."""
    failed_tasks: int = 0
    """Pieces of work that were given up: the scores are those of the rest."""

    seconds: float = field(default=0.0, compare=False)
    """How long scoring took."""
    errors: tuple[Failed, ...] = ()
    """Scores that could not be computed, because their metric raised an error."""
    subject: Subject = field(default_factory=make_unstated_subject)
    """Which explanation it is, and what it is held against."""

    @property
    def verdicts(self) -> Verdicts:
        """One per question that applies, in order; ``[]`` takes a question too."""
        return Verdicts(verdicts(self.scores, self.not_computed, self.errors, self.subject))

    @property
    def linear_probe(self) -> Verdict | None:
        """What *faithful* comes to against a stand-in for the network; it decides nothing."""
        return stand_in_verdict(self.scores, self.subject)

    @property
    def missing(self) -> tuple[MissingEvidence, ...]:
        """Return the smallest requirement of each question that was not evaluated."""
        return tuple(
            missing(v.question, self.not_computed) if v.reason != "probe_only" else OWN_OUTPUTS
            for v in self.verdicts
            if v.answer == "not_evaluated"
        )


def stand_in_line(subject: Subject, result: Verdict) -> str:
    """The result against a stand-in, under its own name."""
    return f"faithful to {subject.probe_label}: {result.answer}. {result.summary}"


def answer(
    seeds: Sequence[Sequence[Evidence]],
    requests: Sequence[MetricRequest] | None,
    resampling: Resampling,
    progress: Progress = silent,
    workers: Workers | None = None,
    *,
    on_error: OnError = "raise",
) -> AuditAnswers:
    """Scores from the bundles of each seed: those requested, or all that the evidence allows."""
    shards = [
        {kind: InMemoryShards(bundle) for kind, bundle in by_kind(bundles).items()}
        for bundles in seeds
    ]
    return answer_shards(shards, requests, resampling, progress, workers, on_error=on_error)


def answer_shards(
    seeds: Sequence[Mapping[type[Evidence], Shards]],
    requests: Sequence[MetricRequest] | None,
    resampling: Resampling,
    progress: Progress = silent,
    workers: Workers | None = None,
    *,
    on_error: OnError = "raise",
) -> AuditAnswers:
    """The same from evidence in pieces. With ``note``, a metric that raises fails alone."""
    started = time.monotonic()
    repeats = find_repeats(seeds)
    seeds = repeats.seeds
    some = {kind: _at_hand(shards) for kind, shards in seeds[0].items()}
    not_computed: list[MissingScore] = []
    notes = [*repeats.notes, *evidence_warnings(some)]
    failures: list[Failed] | None = [] if on_error == "note" else None
    if requests is None:
        requests, not_computed = requests_for(some, failures)
        notes += fallbacks(requests)
    runs = [_metric_run(request, seeds) for request in requests]
    notes += [*subsample_notes(runs, resampling), *validation_notes(r.metric for r in requests)]
    groups = evaluate_all(runs, resampling, workers, progress, failures)
    scores = with_doubt([score for group in groups for score in group], repeats.caveat)
    notes += range_notes(scores)
    seconds = time.monotonic() - started
    failed = tuple(failures or ())
    return AuditAnswers(
        scores, tuple(not_computed), tuple(remove_failed(requests, failed)), tuple(notes),
        seconds=seconds, errors=failed,
    )  # fmt: skip


def _at_hand(shards: Shards) -> Evidence:
    """All samples if they are in memory; else those of the first piece."""
    return shards.whole if isinstance(shards, InMemoryShards) else shards.shards()[0].evidence()


def _metric_run(
    request: MetricRequest, seeds: Sequence[Mapping[type[Evidence], Shards]]
) -> MetricRun:
    needs = request.metric.needs
    if needs not in seeds[0]:
        raise EvidenceError(request.metric.name, f"no {needs.kind} evidence", "some")
    return MetricRun(request, [kinds[needs] for kinds in seeds if needs in kinds])


def by_kind(bundles: Sequence[Evidence]) -> dict[type[Evidence], Evidence]:
    """Bundles by kind; one inside another (as concept evidence is inside location evidence) serves
    if there is no other."""
    kinds: dict[type[Evidence], Evidence] = {}
    for bundle in bundles:
        if type(bundle) in kinds:
            raise EvidenceError(
                "evidence", f"{bundle.kind} evidence twice", "one bundle of a kind",
                "Audit them one after the other, and compare the runs.",
            )  # fmt: skip
        kinds[type(bundle)] = bundle
    for bundle in bundles:
        for _, inside in bundle._inner():
            kinds.setdefault(type(inside), inside)
    return kinds


def requests_for(
    by_kind: Mapping[type[Evidence], Evidence], failures: list[Failed] | None = None
) -> tuple[list[MetricRequest], list[MissingScore]]:
    """The scores that the evidence allows, each with the first options that it allows.

    A metric that cannot tell which suit the evidence is put into ``failures``, if these are given.
    """
    requests: list[MetricRequest] = []
    not_computed: list[MissingScore] = []
    for metric in catalogue().values():
        evidence = by_kind.get(metric.needs)
        if metric.opt_in or (evidence is None and not is_ours(metric.state)):
            continue  # a package that is installed changes nothing where its evidence is not
        try:
            own = metric_requests(metric, evidence)
        except Exception as error:
            if failures is None or not is_limited_to_request(metric, error):
                raise
            failures.append(describe_failure(MetricRequest(metric), "options", encode_error(error)))
            continue
        if isinstance(own, MissingScore):
            not_computed.append(own)
        else:
            requests += own
    return requests, not_computed


def metric_requests(
    metric: Metric, evidence: Evidence | None, chosen: Mapping[str, Any] = MappingProxyType({})
) -> list[MetricRequest] | MissingScore:
    """What to ask of evidence for one metric: the first options that it allows, but those chosen;
    or what it lacks."""
    if evidence is None:
        return MissingScore(metric.name, (f"{metric.needs.kind} evidence",))
    needing, missing_arrays = _least_needing(metric, evidence, chosen)
    if missing_arrays:
        return MissingScore(metric.name, tuple(missing_arrays))
    options = _fitting(metric, evidence, needing)
    if options is None and not set(metric.sweeps) <= set(chosen):
        return MissingScore(metric.name, ("concepts that have a place",))
    options = {**(options or needing), **chosen}
    others = metric.choices("over")[1:] if metric.detail and "over" not in chosen else ()
    further = [{**options, "over": other} for other in others]
    possible = [each for each in further if not metric.missing(evidence, each)]
    return [MetricRequest(metric, each) for each in (options, *possible)]


def _least_needing(
    metric: Metric, evidence: Evidence, chosen: Mapping[str, Any]
) -> tuple[dict[str, str], list[str]]:
    """The options that lack least, the defaults first; and what they still lack."""
    best: dict[str, str] = {}
    missing_arrays = metric.missing(evidence, dict(chosen))
    for option in [name for name in metric.uses_if if name not in chosen]:
        for choice in metric.choices(option):
            lacks = metric.missing(evidence, {**chosen, option: choice})
            if len(lacks) < len(missing_arrays):
                best, missing_arrays = {option: choice}, lacks
    return best, missing_arrays


def _fitting(
    metric: Metric, evidence: Evidence, options: dict[str, str]
) -> dict[str, object] | None:
    """Explanations cannot name more concepts than there are (to be located)."""
    fitted: dict[str, object] = dict(options)
    if metric.fitting is not None:
        fitted |= metric.fitted(evidence)
    elif "top" in metric.sweeps:
        n = evidence.rankable()
        fitted["top"] = tuple(top for top in metric.default("top") if top <= n)
        if not fitted["top"]:
            return None
    return fitted

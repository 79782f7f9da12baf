"""A choice among the scores that evidence allows: these metrics only, or these questions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from theodolite._scoring.request import MetricRequest, expand
from theodolite._verdicts.answers import MissingScore, metric_requests
from theodolite._verdicts.missing import NOT_AMONG_METRICS, NOT_AMONG_QUESTIONS
from theodolite.errors import EvidenceError, did_you_mean
from theodolite.evidence.base import Evidence
from theodolite.metrics.base import Metric
from theodolite.metrics.catalogue import catalogue, find_metric
from theodolite.questions import QUESTIONS, Question

MetricChoice = str | tuple[str, Mapping[str, object]]
"""A metric by name, or its name and its options."""
Kinds = Mapping[type[Evidence], Evidence]


@dataclass(frozen=True)
class MetricSelection:
    """The metrics to ask, each with the options that were given, and why others are left out."""

    options: Mapping[str, Sequence[Mapping[str, Any]]]
    left_out: str

    def requests(self, kinds: Kinds) -> tuple[list[MetricRequest], list[MissingScore]]:
        """What to ask of this evidence, and what cannot be asked; refused if that is all."""
        requests: list[MetricRequest] = []
        not_computed: list[MissingScore] = []
        for metric in catalogue().values():
            if metric.name not in self.options:
                if metric.decides:
                    not_computed.append(MissingScore(metric.name, (self.left_out,)))
                continue
            for options in self.options[metric.name]:
                own = metric_requests(metric, kinds.get(metric.needs), options)
                if isinstance(own, MissingScore):
                    not_computed.append(own)
                else:
                    requests += own
        if not requests:
            raise _none_of_them(not_computed, self.left_out)
        return requests, not_computed

    def without_options(self, requests: Sequence[MetricRequest]) -> list[MetricRequest]:
        """Those of metrics of which no option was chosen."""
        return [r for r in requests if not any(self.options[r.metric.name])]


def select_metrics(
    metrics: Sequence[MetricChoice] | None, questions: Sequence[Question] | None
) -> MetricSelection | None:
    """The choice, every name and option of it checked; none where all is to be asked."""
    if metrics is None and questions is None:
        return None
    of_questions = None if questions is None else _checked_questions(questions)
    if metrics is None:
        some = [m for m in catalogue().values() if not m.opt_in]
        options: dict[str, list[dict[str, Any]]] = {
            metric.name: [{}] for metric in some if metric.question in (of_questions or ())
        }
        return MetricSelection(options, NOT_AMONG_QUESTIONS)
    options = {}
    for metric, chosen in _checked_choices(metrics):
        if of_questions is None or metric.question in of_questions:
            options.setdefault(metric.name, []).append(chosen)
    if not options:
        raise EvidenceError("metrics", "none of these questions", f"some of {list(QUESTIONS)}")
    return MetricSelection(options, NOT_AMONG_METRICS)


def _checked_choices(metrics: Sequence[MetricChoice]) -> Iterator[tuple[Metric, dict[str, Any]]]:
    """Each metric with its options; a list of choices of an option is taken choice by choice."""
    if isinstance(metrics, str) or not isinstance(metrics, Sequence):
        raise EvidenceError(
            "metrics", repr(metrics), "a list of names, such as ['concept_existence']"
        )
    if not metrics:
        raise EvidenceError("metrics", "an empty list", "some names, or nothing for all scores")
    for choice in metrics:
        if isinstance(choice, str):
            yield find_metric(choice), {}
            continue
        named = isinstance(choice, tuple) and len(choice) == 2 and isinstance(choice[0], str)
        if not named or not isinstance(choice[1], Mapping):
            raise EvidenceError("metrics", repr(choice), "a name, or (name, {option: choice})")
        metric = find_metric(choice[0])
        for request in expand(metric, dict(choice[1])):
            yield metric, request.options


def _checked_questions(questions: Sequence[Question]) -> frozenset[Question]:
    if isinstance(questions, str) or not questions:
        raise EvidenceError("questions", repr(questions), f"a list of some of {list(QUESTIONS)}")
    for question in questions:
        if question not in QUESTIONS:
            hint = did_you_mean(str(question), QUESTIONS)
            raise EvidenceError("questions", repr(question), f"some of {list(QUESTIONS)}", hint)
    return frozenset(questions)


def _none_of_them(not_computed: Sequence[MissingScore], left_out: str) -> EvidenceError:
    lacking = [score for score in not_computed if left_out not in score.needs]
    needs = "; ".join(f"{', '.join(score.needs)} for {score.metric}" for score in lacking)
    chosen = left_out.partition("`")[2].rstrip("`")
    return EvidenceError(chosen, "evidence that allows none of them", needs)

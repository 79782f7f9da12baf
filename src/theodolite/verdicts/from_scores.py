"""The verdict on each question, from all scores."""

import math
from collections.abc import Sequence
from dataclasses import replace

from theodolite.errors import EvidenceError
from theodolite.metrics.base import Metric
from theodolite.metrics.catalogue import catalogue
from theodolite.questions import QUESTIONS, Question
from theodolite.results import Score, Verdict
from theodolite.verdicts.missing import MissingScoreLike, missing
from theodolite.verdicts.rules import verdict


def verdicts(
    scores: Sequence[Score],
    headlines: Sequence[Score] = (),
    unanswered: Sequence[MissingScoreLike] = (),
) -> tuple[Verdict, ...]:
    """One verdict per question: from its headline score, else from its first deciding metric.

    What a question that was not asked would need is told from the scores that could not be had.
    """
    answers = []
    for question, asks in QUESTIONS.items():
        chosen = next((s for s in headlines if s.question == question), None)
        if chosen is None:
            deciding = [s for s in scores if _metric_of(s).decides]
            chosen = _headline([s for s in deciding if s.question == question])
        if chosen is None:
            because = f"Needs {missing(question, unanswered).needs}."
            answers.append(Verdict(question, asks, "not asked", because))
        elif chosen in headlines:
            answers.append(_unless_silent(verdict(chosen), scores))
        else:
            answers.append(_unless_silent(_worst(question, chosen, deciding), scores))
    return tuple(answers)


def _unless_silent(candidate: Verdict, scores: Sequence[Score]) -> Verdict:
    """Values that say nothing leak nothing: to be free of that fault is then no merit."""
    score = candidate.score
    if candidate.question != "leaks" or candidate.answer != "yes" or score is None:
        return candidate
    predictions = [s for s in scores if s.metric == "concept_prediction"]
    # the area needs no threshold that values could all lie below
    predictions = [s for s in predictions if s.options.get("by") == "auc"] or predictions
    if (
        not predictions
        or not _metric_of(score).looks_for_a_fault
        or any(map(_surely_tells, predictions))
    ):
        return candidate
    because = (
        f"{candidate.because.rstrip('.')}; but the values do not surely tell more about the "
        "concepts than chance, so there may be nothing that could leak."
    )
    return replace(candidate, answer="cannot tell", because=because)


def _surely_tells(score: Score) -> bool:
    differences = [null.difference for null in score.nulls]
    return bool(differences) and all(
        difference is not None and difference.low > 0 for difference in differences
    )


def _metric_of(score: Score) -> Metric:
    """The card of a stored score, which may come from a package that is not there."""
    metric = catalogue().get(score.metric)
    if metric is None:
        raise EvidenceError(
            "scores", f"{score.metric!r}", "scores of the catalogue",
            "Install the package that brings it, or read the run with the version that wrote it.",
        )  # fmt: skip
    return metric


def _worst(question: Question, first: Score, deciding: Sequence[Score]) -> Verdict:
    """A fault shown by any of the scores that look for it is a fault: the worst answer counts."""
    looking = [s for s in deciding if s.question == question and _metric_of(s).looks_for_a_fault]
    if not _metric_of(first).looks_for_a_fault:
        return verdict(first)
    names = dict.fromkeys(s.metric for s in looking)
    heads = [_headline([s for s in looking if s.metric == name]) for name in names]
    answers = [verdict(head) for head in heads if head is not None]
    return min(answers, key=lambda v: ("no", "partly", "cannot tell", "yes").index(v.answer))


def _headline(scores: Sequence[Score]) -> Score | None:
    """Of the question's first metric the score with the options that its card quotes."""
    if not scores:
        return None
    # a score that means nothing here, such as probabilities of a single output, decides nothing
    first = next((s for s in scores if not math.isnan(s.value)), scores[0])
    headline = _metric_of(first).headline
    of_first = [s for s in scores if s.metric == first.metric]
    return max(of_first, key=lambda s: sum(s.options.get(k) == v for k, v in headline.items()))

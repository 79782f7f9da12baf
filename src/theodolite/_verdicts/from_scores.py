"""The verdict on each question, from all scores."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

from theodolite._stats.multiple import correct_holm
from theodolite._verdicts.attributions import FIT, attribution_verdict
from theodolite._verdicts.leakage import JOINT, leakage_claim_p, leakage_verdict
from theodolite._verdicts.maps import MAPS, map_verdict
from theodolite._verdicts.missing import MissingScoreLike, missing
from theodolite._verdicts.notes import validation_notes
from theodolite._verdicts.rules import ALPHA, claim_p, verdict
from theodolite._verdicts.words import joined
from theodolite.evidence.plugins import is_ours
from theodolite.evidence.subject import Subject
from theodolite.metrics.base import Metric
from theodolite.metrics.catalogue import catalogue, find_metric
from theodolite.questions import QUESTIONS, Question, applicable_questions
from theodolite.results import Failed, Reason, Score, Verdict


def verdicts(
    scores: Sequence[Score],
    not_computed: Sequence[MissingScoreLike] = (),
    failed: Sequence[Failed] = (),
    subject: Subject | None = None,
) -> tuple[Verdict, ...]:
    """One verdict per question that applies, from its first deciding metric.

    The questions that were asked are corrected for one another (Holm). What a question that was not
    asked would need is told from the scores that could not be had; where the score that would
    decide failed, it cannot be told. Scores against a stand-in for the network decide nothing.
    """
    known = catalogue()  # a stored score may come from a package that is not installed
    scores = [score for score in scores if score.metric in known]
    applicable = _applicable([*scores, *(failure for failure in failed if failure.metric in known)])
    chosen = {question: _deciding(question, scores) for question in applicable}
    apart = subject is not None and not subject.decides and bool(chosen.get("faithful"))
    if apart:
        chosen["faithful"] = []
    claims = {question: _claim_p(own, scores) for question, own in chosen.items() if own}
    steps = correct_holm(list(claims.values()), ALPHA)
    at = {question: number for number, question in enumerate(claims)}
    answers = []
    for question, needs in applicable.items():
        asks, own = QUESTIONS[question], chosen[question]
        failure = next((f for f in failed if not own and _would_decide(f, question)), None)
        if question == "faithful" and subject is not None and apart:
            reason: Reason = "probe_only" if subject.outputs == "probe_only" else ""
            because = subject.not_evaluated
            answers.append(
                Verdict(question, asks, "not_evaluated", because, reason=reason, needs=needs)
            )
            continue
        if failure is not None:
            because = f"{failure}."
            answers.append(Verdict(question, asks, "inconclusive", because, reason="metric_error"))
            continue
        if not own:
            others = [_metric_of(score) for score in scores if score.question == question]
            lacking = missing(question, not_computed)
            because = " ".join([lacking.summary, *validation_notes(others)])
            needs = "" if lacking.is_left_out else needs
            answers.append(Verdict(question, asks, "not_evaluated", because, needs=needs))
            continue
        number = at[question]
        answer = _worst(own, scores, float(steps.level[number]), float(steps.p[number]))
        answer = _unless_silent(answer, scores)
        answers.append(replace(answer, sensitivity=_describe_sensitivity(answer, scores)))
    return tuple(answers)


def _applicable(scores: Sequence[Score | Failed]) -> dict[Question, str]:
    """Questions that apply to what was scored, with the arguments that each needs.

    Scores that only inform, such as absorption of latents, make no question applicable.
    """
    metrics = [catalogue()[score.metric] for score in scores]
    needs = applicable_questions({metric.needs.kind for metric in metrics})
    scored = {metric.question for metric in metrics if metric.decides}
    return {q: needs.get(q, "") for q in QUESTIONS if q in needs or q in scored}


def stand_in_verdict(scores: Sequence[Score], subject: Subject) -> Verdict | None:
    """What *faithful* comes to against the stand-in, by itself; it is no verdict of the audit."""
    if subject.outputs != "probe_only":
        return None
    own = _deciding("faithful", scores)
    return _worst(own, scores, ALPHA, _claim_p(own, scores)) if own else None


def score_verdict(
    score: Score,
    scores: Sequence[Score],
    alpha: float = ALPHA,
    p: float | None = None,
    *,
    validated: bool = True,
) -> Verdict:
    """Return the answer of one score, with the others that its rule reads.

    Args:
        score: The score that decides.
        scores: All scores of the evidence.
        alpha: Level of its claim.
        p: Of its claim, corrected for other questions; its own if not given.
        validated: Whether an answer needs a validation record; not where one is being made.
    """
    if score.metric in MAPS:
        p = claim_p(score) if p is None else p
        return map_verdict(score, scores, alpha, p, validated=validated)
    if score.metric == FIT:
        p = claim_p(score) if p is None else p
        return attribution_verdict(score, scores, alpha, p, validated=validated)
    if score.metric != JOINT:
        return verdict(score, alpha, p, validated=validated)
    each = _find_companion(score, scores)
    p = leakage_claim_p(score, each) if p is None else p
    return leakage_verdict(score, each, alpha, p, validated=validated)


def _find_companion(deciding: Score, scores: Sequence[Score]) -> Score | None:
    """Return the score that the rule of the deciding one reads beside it."""
    names = find_metric(deciding.metric).judged_with
    return next((score for score in scores if score.metric in names), None)


def _describe_sensitivity(verdict: Verdict, scores: Sequence[Score]) -> str:
    """Return the answers for other numbers of named concepts; empty if none were scored.

    Each is the answer of that score alone, uncorrected for other questions.
    """
    own = verdict.score
    if own is None or "top" not in own.options:
        return ""
    fixed = {name: value for name, value in own.options.items() if name != "top"}
    answers: dict[object, str] = {
        score.options["top"]: score_verdict(score, scores).answer
        for score in scores
        if score.metric == own.metric and score.options.items() >= fixed.items()
    } | {own.options["top"]: verdict.answer}
    if len(answers) == 1:
        return ""
    groups = itertools.groupby(sorted(answers, key=str), key=lambda top: answers[top])
    parts = [f"{answer} at top {joined([str(top) for top in tops])}" for answer, tops in groups]
    depends = ": it depends on how many are named." if len(parts) > 1 else "."
    return "; ".join(parts).capitalize() + depends


def _deciding(question: Question, scores: Sequence[Score]) -> list[Score]:
    """The score that answers a question; all that look for the same fault."""
    deciding = [s for s in scores if s.question == question and _metric_of(s).decides]
    # scores of other packages answer where none of ours does
    deciding = [s for s in deciding if is_ours(_metric_of(s).state)] or deciding
    first = headline_of(deciding)
    if first is None or not _metric_of(first).is_defect_metric:
        return [] if first is None else [first]
    looking = [s for s in deciding if _metric_of(s).is_defect_metric]
    heads = [
        headline_of([s for s in looking if s.metric == name])
        for name in dict.fromkeys(s.metric for s in looking)
    ]
    return [head for head in heads if head is not None]


def _would_decide(failure: Failed, question: Question) -> bool:
    """Return whether a metric that failed answers a question."""
    metric = catalogue().get(failure.metric)
    return metric is not None and metric.question == question and metric.decides


def _claim_p(own: Sequence[Score], scores: Sequence[Score]) -> float:
    """Of one score its own. Of several that look for a fault: that all are free, or that one is
    not, which is corrected for their number."""
    if len(own) == 1:
        if own[0].metric == JOINT:
            return leakage_claim_p(own[0], _find_companion(own[0], scores))
        return claim_p(own[0])
    tests = [score.defect for score in own if score.defect is not None]
    if not tests:
        return math.nan
    free = max(test.p_below_tolerance for test in tests) if len(tests) == len(own) else 1.0
    return min(free, len(tests) * min(test.p_above_tolerance for test in tests), 1.0)


def _worst(own: Sequence[Score], scores: Sequence[Score], alpha: float, p: float) -> Verdict:
    """A fault shown by any of the scores that look for it is a fault: the worst answer counts.

    To be free of it needs all of them, so nothing is corrected; to have it needs one of several.
    """
    if len(own) == 1:
        return score_verdict(own[0], scores, alpha, p)
    answers = [score_verdict(score, scores, alpha, p) for score in own]
    strict = [score_verdict(score, scores, alpha / len(own), p) for score in own]
    bad = [answer for answer in strict if answer.answer in ("no", "partly")]
    if bad:
        return min(bad, key=lambda v: ("no", "partly").index(v.answer))
    unsure = [v for v in answers if v.answer != "yes"]
    if not unsure:
        return answers[0]
    again = [v for v in strict if v.answer != "yes"]
    return again[0]


def _unless_silent(candidate: Verdict, scores: Sequence[Score]) -> Verdict:
    """Values that say nothing leak nothing: to be free of that fault is then no merit."""
    score = candidate.score
    if candidate.question != "leak_free" or candidate.answer != "yes" or score is None:
        return candidate
    predictions = [s for s in scores if s.metric == "concept_prediction"]
    # the area needs no threshold that values could all lie below
    predictions = [s for s in predictions if s.options.get("by") == "auc"] or predictions
    if (
        not predictions
        or not _metric_of(score).is_defect_metric
        or any(map(_surely_tells, predictions))
    ):
        return candidate
    because = (
        f"{candidate.summary.rstrip('.')}; but the values do not predict the concepts "
        "significantly better than chance, so there may be nothing that could leak."
    )
    return replace(candidate, answer="inconclusive", summary=because, reason="no_headroom")


def _surely_tells(score: Score) -> bool:
    differences = [null.difference for null in score.nulls]
    return bool(differences) and all(
        difference is not None and difference.low > 0 for difference in differences
    )


def _metric_of(score: Score) -> Metric:
    return catalogue()[score.metric]


def headline_of(scores: Sequence[Score]) -> Score | None:
    """Return the score of the question's first metric with the options that its card quotes."""
    if not scores:
        return None
    # a score that means nothing here, such as probabilities of a single output, decides nothing
    first = next((s for s in scores if not math.isnan(s.value)), scores[0])
    headline = _metric_of(first).headline
    of_first = [s for s in scores if s.metric == first.metric]
    return max(of_first, key=lambda s: sum(s.options.get(k) == v for k, v in headline.items()))

"""The least that is good enough: whether scores and verdicts reach what a file asks for."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, runtime_checkable

from theodolite._verdicts.gates.file import (
    DriftThreshold,
    Least,
    ScoreThreshold,
    Thresholds,
    choices,
    read_thresholds,
)
from theodolite._verdicts.rules import verdict
from theodolite._verdicts.words import interval_text, percent
from theodolite.evidence.plugins import is_ours
from theodolite.metrics.catalogue import catalogue, find_metric
from theodolite.questions import Question
from theodolite.results import Answer, Failed, Score, Verdict

__all__ = [
    "NOT_MET", "GateCheck", "ScoreThreshold", "Thresholds", "broken", "fails", "judged",
    "read_thresholds",
]  # fmt: skip
NOT_MET = 6
"""Exit code where a threshold is not met."""
Outcome = Literal["met", "not met", "inconclusive"]
NOT_OF_YOURS = "not evaluated for your model"
ENOUGH = {"yes": ("yes",), "partly": ("yes", "partly")}
AGAINST_NULLS: dict[Answer, Outcome] = {
    "yes": "met", "partly": "met", "no": "not met", "inconclusive": "inconclusive",
    "not_evaluated": "inconclusive",
}  # fmt: skip


@runtime_checkable
class DriftAnswer(Protocol):
    """What is known of the drift between two versions."""

    @property
    def answer(self) -> Answer:
        """Whether it is within what is accepted."""

    @property
    def summary(self) -> str:
        """Why, in a sentence without its stop."""


@dataclass(frozen=True)
class GateCheck:
    """One threshold, and whether it is met."""

    of: str
    """The question, or the metric with its options."""
    asked: str
    found: str
    outcome: Outcome
    may_pass: bool = True
    """Whether ``undefined: pass`` lets it through where it cannot be told."""

    @property
    def sentence(self) -> str:
        """What was found and what was asked."""
        return f"{self.of}: {self.found}; asked for {self.asked}."


def broken(
    thresholds: Thresholds,
    scores: Sequence[Score],
    verdicts: Sequence[Verdict],
    *,
    failed_tasks: int = 0,
    failed: Sequence[Failed] = (),
    drift: DriftAnswer | str | None = None,
) -> list[str]:
    """One sentence for each threshold that is not met."""
    checks = judged(
        thresholds, scores, verdicts, failed_tasks=failed_tasks, failed=failed, drift=drift
    )
    return [check.sentence for check in checks if fails(check, thresholds)]


def fails(check: GateCheck, thresholds: Thresholds) -> bool:
    """Return whether it stops a gate: not met; or inconclusive, unless that passes."""
    return check.outcome == "not met" or (
        check.outcome == "inconclusive" and (thresholds.undefined == "fail" or not check.may_pass)
    )


def judged(
    thresholds: Thresholds,
    scores: Sequence[Score],
    verdicts: Sequence[Verdict],
    *,
    failed_tasks: int = 0,
    failed: Sequence[Failed] = (),
    drift: DriftAnswer | str | None = None,
) -> list[GateCheck]:
    """Every threshold, each score that it is about by itself.

    ``drift`` is that from an earlier version, where thresholds ask for it, or why it cannot be
    told. Where pieces of the evidence failed, none is met, unless the thresholds let that pass.
    Where a metric failed, what is asked of it, or of the question that it answers, cannot be told.
    """
    answers = {v.question: v for v in verdicts}
    apart = {v.question for v in verdicts if v.reason == "probe_only"}
    checks = [
        _without_failed(_answer(question, least, answers.get(question)), answers[question], failed)
        if question in answers
        else _answer(question, least, None)
        for question, least in thresholds.questions.items()
    ]
    for threshold in thresholds.scores:
        for options in choices(threshold):
            fitting = [s for s in scores if s.metric == threshold.metric and _has(s, options)]
            checks += [
                _of_a_stand_in(threshold, score, options)
                if score.question in apart
                else _score(threshold, score, options)
                for score in fitting
            ]
            failures = [f for f in failed if f.metric == threshold.metric and _may_be(f, options)]
            checks += [_failed(threshold, failure, options) for failure in failures]
            if not fitting and not failures:
                checks.append(_missing(threshold, options, scores))
    if thresholds.drift is not None:
        checks.append(_drift(thresholds.drift, drift))
    if failed_tasks and thresholds.partial == "fail":
        return [_of_a_part(check, failed_tasks) for check in checks]
    return checks


def _drift(threshold: DriftThreshold, drift: DriftAnswer | str | None) -> GateCheck:
    if drift is None or isinstance(drift, str):
        text = drift or "no version to compare with"
        return GateCheck("drift", threshold.requirement, text, "inconclusive", may_pass=False)
    outcome: Outcome = "met" if drift.answer in ENOUGH[threshold.least] else "not met"
    if drift.answer == "inconclusive":
        outcome = "inconclusive"
    return GateCheck("drift", threshold.requirement, f"{drift.answer!r} ({drift.summary})", outcome)


def _without_failed(check: GateCheck, answer: Verdict, failed: Sequence[Failed]) -> GateCheck:
    """An answer is not met where another metric that would decide the question failed; one of
    another package does so only where none of ours answered."""
    known = catalogue()
    ours = answer.score is not None and is_ours(find_metric(answer.score.metric).state)
    for failure in failed:
        metric = known.get(failure.metric)
        if metric is None or metric.question != answer.question or not metric.decides:
            continue
        if check.outcome == "met" and (is_ours(metric.state) or not ours):
            text = f"{check.found}, but {failure}"
            return replace(check, found=text, outcome="inconclusive", may_pass=False)
        if answer.reason == "metric_error":
            return replace(check, may_pass=False)
    return check


def _failed(threshold: ScoreThreshold, failure: Failed, options: dict[str, Any]) -> GateCheck:
    text = f"failed at {failure.stage}: {failure.error}"
    label = _label(threshold.metric, options or failure.options)
    return GateCheck(label, threshold.requirement, text, "inconclusive", may_pass=False)


def _may_be(failure: Failed, options: dict[str, Any]) -> bool:
    """Return whether a request that failed would have given a score with these options."""
    metric = catalogue().get(failure.metric)
    swept = () if metric is None else metric.sweeps
    usual = {} if metric is None else metric.options()
    chosen = usual | failure.options
    return all(name in swept or chosen.get(name) == value for name, value in options.items())


def _of_a_part(check: GateCheck, failed: int) -> GateCheck:
    outcome: Outcome = "inconclusive" if check.outcome == "met" else check.outcome
    text = f"partial, {failed} pieces failed: {check.found}"
    return replace(check, found=text, outcome=outcome, may_pass=False)


def _answer(question: Question, least: Least, answer: Verdict | None) -> GateCheck:
    requirement = f"at least {least!r}" if least == "partly" else f"{least!r}"
    if answer is None or answer.answer == "not_evaluated":
        of = (
            NOT_OF_YOURS
            if answer is not None and answer.reason == "probe_only"
            else "not evaluated"
        )
        return GateCheck(question, requirement, of, "inconclusive")
    if answer.score is not None and (other := _other_version(answer.score)):
        return GateCheck(
            question, requirement, f"{answer.answer!r} by {other}", "inconclusive", may_pass=False
        )
    outcome: Outcome = "met" if answer.answer in ENOUGH[least] else "not met"
    if answer.answer == "inconclusive":
        outcome = "inconclusive"
    return GateCheck(
        question, requirement, f"{answer.answer!r} ({answer.summary.rstrip('.')})", outcome
    )


def _score(threshold: ScoreThreshold, score: Score, options: dict[str, Any]) -> GateCheck:
    telling = {name: v for name, v in score.options.items() if name in options} or score.options
    label = _label(threshold.metric, telling)
    if other := _other_version(score):
        return GateCheck(label, threshold.requirement, other, "inconclusive", may_pass=False)
    outcomes = [_reached(threshold, score)] if threshold.threshold is not None else []
    text = f"{percent(score.value, score)}{interval_text(score)}"
    if (
        score.interval is None
        and threshold.threshold is not None
        and threshold.by == "confidence_bound"
    ):
        text += " without an interval"
    if threshold.beats_null:
        against = verdict(score)
        text = against.summary.rstrip(".")
        beaten = AGAINST_NULLS[against.answer]
        unsure = [n.label for n in score.nulls if n.difference is None or math.isnan(n.value)]
        if beaten == "met" and unsure and threshold.by == "confidence_bound":
            beaten = "inconclusive"
            text += f", but the comparison with {unsure[0]} is undefined"
        outcomes.append(beaten)
    # the worst counts: what is missed for sure before what cannot be told
    outcome = min(outcomes, key=("not met", "inconclusive", "met").index)
    return GateCheck(label, threshold.requirement, text, outcome)


def _of_a_stand_in(threshold: ScoreThreshold, score: Score, options: dict[str, Any]) -> GateCheck:
    """A score against something that answered in the network's place says nothing of that."""
    telling = {name: v for name, v in score.options.items() if name in options} or score.options
    return GateCheck(
        _label(threshold.metric, telling), threshold.requirement, NOT_OF_YOURS, "inconclusive"
    )


def _other_version(score: Score) -> str:
    """What is wrong with a score that means something else by now."""
    now = find_metric(score.metric).version
    if score.version == now:
        return ""
    return f"version {score.version} of {score.metric}, which is at version {now} (score it again)"


def _reached(threshold: ScoreThreshold, score: Score) -> Outcome:
    nearest = score.value
    if threshold.by == "confidence_bound" and not math.isnan(nearest):
        end = "low" if threshold.at_least is not None else "high"
        nearest = math.nan if score.interval is None else getattr(score.interval, end)
    if math.isnan(nearest):
        return "inconclusive"
    short = threshold.at_least is not None and nearest < threshold.at_least
    beyond = threshold.at_most is not None and nearest > threshold.at_most
    return "not met" if short or beyond else "met"


def _missing(
    threshold: ScoreThreshold, options: dict[str, Any], scores: Sequence[Score]
) -> GateCheck:
    text = "not evaluated"
    if others := [s for s in scores if s.metric == threshold.metric]:
        known = [f"{name}={s.options.get(name)}" for s in others for name in options]
        text = f"not evaluated so, but with {', '.join(dict.fromkeys(known))}"
    return GateCheck(
        _label(threshold.metric, options),
        threshold.requirement,
        text,
        "inconclusive",
        may_pass=False,
    )


def _label(metric: str, options: dict[str, Any]) -> str:
    options_text = ", ".join(f"{name}={value}" for name, value in options.items())
    return f"{metric} ({options_text})" if options_text else metric


def _has(score: Score, options: dict[str, Any]) -> bool:
    def plain(value: Any) -> Any:
        return list(value) if isinstance(value, tuple) else value

    return all(
        name in score.options and plain(score.options[name]) == plain(value)
        for name, value in options.items()
    )

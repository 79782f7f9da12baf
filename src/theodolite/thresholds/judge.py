"""The least that is good enough: whether scores and verdicts reach what a file asks for."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from theodolite.metrics.catalogue import find_metric
from theodolite.questions import Question
from theodolite.results import Answer, Score, Verdict
from theodolite.thresholds.file import Least, ScoreThreshold, Thresholds, choices, read_thresholds
from theodolite.verdicts.rules import interval_text, percent, verdict

__all__ = [
    "NOT_MET", "GateCheck", "ScoreThreshold", "Thresholds", "broken", "fails", "judged",
    "read_thresholds",
]  # fmt: skip
NOT_MET = 6
"""Exit code where a threshold is not met."""
Outcome = Literal["met", "not met", "cannot tell"]
ENOUGH = {"yes": ("yes",), "partly": ("yes", "partly")}
AGAINST_NULLS: dict[Answer, Outcome] = {
    "yes": "met", "partly": "met", "no": "not met", "cannot tell": "cannot tell",
    "not asked": "cannot tell",
}  # fmt: skip


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
    failed_pieces: int = 0,
) -> list[str]:
    """One sentence for each threshold that is not met."""
    found = judged(thresholds, scores, verdicts, failed_pieces=failed_pieces)
    return [one.sentence for one in found if fails(one, thresholds)]


def fails(one: GateCheck, thresholds: Thresholds) -> bool:
    """Whether it stops a gate: not met; or not to be told, unless that is said to pass."""
    return one.outcome == "not met" or (
        one.outcome == "cannot tell" and (thresholds.undefined == "fail" or not one.may_pass)
    )


def judged(
    thresholds: Thresholds,
    scores: Sequence[Score],
    verdicts: Sequence[Verdict],
    *,
    failed_pieces: int = 0,
) -> list[GateCheck]:
    """Every threshold, each score that it is about by itself.

    Where pieces of the evidence failed, none is met, unless the thresholds let that pass.
    """
    answers = {one.question: one for one in verdicts}
    found = [
        _answer(question, least, answers.get(question))
        for question, least in thresholds.questions.items()
    ]
    for one in thresholds.scores:
        for options in choices(one):
            fitting = [s for s in scores if s.metric == one.metric and _has(s, options)]
            found += [_score(one, score, options) for score in fitting]
            if not fitting:
                found.append(_missing(one, options, scores))
    if failed_pieces and thresholds.partial == "fail":
        return [_of_a_part(one, failed_pieces) for one in found]
    return found


def _of_a_part(one: GateCheck, failed: int) -> GateCheck:
    outcome: Outcome = "cannot tell" if one.outcome == "met" else one.outcome
    found = f"partial, {failed} pieces failed: {one.found}"
    return replace(one, found=found, outcome=outcome, may_pass=False)


def _answer(question: Question, least: Least, found: Verdict | None) -> GateCheck:
    asked = f"at least {least!r}" if least == "partly" else f"{least!r}"
    if found is None or found.answer == "not asked":
        return GateCheck(question, asked, "not asked", "cannot tell")
    if found.score is not None and (other := _other_version(found.score)):
        return GateCheck(
            question, asked, f"{found.answer!r} by {other}", "cannot tell", may_pass=False
        )
    outcome: Outcome = "met" if found.answer in ENOUGH[least] else "not met"
    if found.answer == "cannot tell":
        outcome = "cannot tell"
    return GateCheck(question, asked, f"{found.answer!r} ({found.because.rstrip('.')})", outcome)


def _score(one: ScoreThreshold, score: Score, options: dict[str, Any]) -> GateCheck:
    telling = {name: v for name, v in score.options.items() if name in options} or score.options
    named = _named(one.metric, telling)
    if other := _other_version(score):
        return GateCheck(named, one.asks, other, "cannot tell", may_pass=False)
    outcomes = [_reached(one, score)] if one.line is not None else []
    found = f"{percent(score.value, score)}{interval_text(score)}"
    if score.interval is None and one.line is not None and one.by == "surely":
        found += " without an interval"
    if one.beats_null:
        against = verdict(score)
        found = against.because.rstrip(".")
        beaten = AGAINST_NULLS[against.answer]
        unsure = [n.name for n in score.nulls if n.difference is None or math.isnan(n.value)]
        if beaten == "met" and unsure and one.by == "surely":
            beaten = "cannot tell"
            found += f", but whether surely better than {unsure[0]} cannot be told"
        outcomes.append(beaten)
    # the worst counts: what is missed for sure before what cannot be told
    outcome = min(outcomes, key=("not met", "cannot tell", "met").index)
    return GateCheck(named, one.asks, found, outcome)


def _other_version(score: Score) -> str:
    """What is wrong with a score that means something else by now."""
    now = find_metric(score.metric).version
    if score.version == now:
        return ""
    return f"version {score.version} of {score.metric}, which is at version {now} (score it again)"


def _reached(one: ScoreThreshold, score: Score) -> Outcome:
    nearest = score.value
    if one.by == "surely" and not math.isnan(nearest):
        end = "low" if one.at_least is not None else "high"
        nearest = math.nan if score.interval is None else getattr(score.interval, end)
    if math.isnan(nearest):
        return "cannot tell"
    short = one.at_least is not None and nearest < one.at_least
    beyond = one.at_most is not None and nearest > one.at_most
    return "not met" if short or beyond else "met"


def _missing(one: ScoreThreshold, options: dict[str, Any], scores: Sequence[Score]) -> GateCheck:
    found = "not asked"
    if others := [s for s in scores if s.metric == one.metric]:
        known = [f"{name}={s.options.get(name)}" for s in others for name in options]
        found = f"not asked so, but with {', '.join(dict.fromkeys(known))}"
    return GateCheck(_named(one.metric, options), one.asks, found, "cannot tell", may_pass=False)


def _named(metric: str, options: dict[str, Any]) -> str:
    said = ", ".join(f"{name}={value}" for name, value in options.items())
    return f"{metric} ({said})" if said else metric


def _has(score: Score, options: dict[str, Any]) -> bool:
    def plain(value: Any) -> Any:
        return list(value) if isinstance(value, tuple) else value

    return all(
        name in score.options and plain(score.options[name]) == plain(value)
        for name, value in options.items()
    )

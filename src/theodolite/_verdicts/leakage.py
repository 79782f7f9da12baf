"""The answer to "leak-free": from all values together, and from the concept that leaks most."""

import math
from dataclasses import dataclass

import numpy as np

from theodolite._stats.intervals import detectable
from theodolite._verdicts.rules import validation_caveat
from theodolite._verdicts.words import percent
from theodolite.metrics.catalogue import find_metric
from theodolite.questions import QUESTIONS
from theodolite.results import Answer, Caveat, DefectTest, DetailTests, Reason, Score, Verdict

JOINT = "joint_task_leakage"
INDEPENDENT = "Rows were taken as independent; if several show the same subject, declare clusters."
NAMED = 3


@dataclass(frozen=True)
class _Each:
    """Tests of single concepts."""

    tests: DetailTests
    names: tuple[str, ...]
    mean_free: float
    """P-value of a mean over concepts as large as is accepted, or larger."""
    values: np.ndarray
    level: float
    """Of the intervals."""

    @property
    def undefined(self) -> list[str]:
        """Concepts without a test."""
        return [self.names[j] for j in np.flatnonzero(np.isnan(self.tests.p_below_tolerance))]

    @property
    def p_free(self) -> float:
        """P-value of one concept leaking as much as is accepted, or more; 1 if one is undefined."""
        return 1.0 if self.undefined else float(self.tests.p_below_tolerance.max())

    @property
    def p_all_free(self) -> float:
        """P-value that single concepts and their mean are free of leakage."""
        return max(self.mean_free, self.p_free)

    @property
    def p_too_much(self) -> float:
        """P-value of no concept leaking more than is accepted, corrected for their number."""
        p = self.tests.p_above_tolerance
        return 1.0 if np.isnan(p).all() else float(min(1.0, len(p) * np.nanmin(p)))

    def told(self, place: int) -> str:
        """Return what the value of a concept tells, with its interval and what is accepted."""
        low, high = (max(float(end[place]), 0.0) for end in (self.tests.low, self.tests.high))
        ends = f"{100 * self.level:.0f} % CI {100 * low:.1f}–{100 * high:.1f} %"
        share = f"{_share(float(self.values[place]))} ({ends})"
        text = f"The value of {self.names[place]} tells {share} of what its concept leaves"
        return f"{text} open; up to {_share(self.tests.tolerance)} is accepted."

    def worst(self, alpha: float) -> list[str]:
        """Return the concepts that leak too much, the largest lower ends first."""
        leaking = np.flatnonzero(len(self.names) * self.tests.p_above_tolerance <= alpha)
        order = leaking[np.argsort(-self.tests.low[leaking], kind="stable")]
        return [self.names[j] for j in order]


def leakage_claim_p(joint: Score, each: Score | None) -> float:
    """Return the p-value of the claim that the two scores would make; NaN without any."""
    tests = _each(each)
    if _is_settled(joint):
        return math.nan if tests is None else min(tests.p_all_free, 2 * tests.p_too_much, 1.0)
    if joint.defect is None or math.isnan(joint.value):
        return math.nan
    free = max(joint.defect.p_below_tolerance, 1.0 if tests is None else tests.p_free)
    faults = [_p_above(joint), *([] if tests is None else [tests.p_too_much])]
    return min(free, 2 * min(faults), 1.0)


def leakage_verdict(
    joint: Score, each: Score | None, alpha: float, p: float, *, validated: bool = True
) -> Verdict:
    """Return the answer of the joint score and of the tests of single concepts.

    Args:
        joint: The joint score.
        each: The score of single concepts; without it nothing is called free.
        alpha: Level of the tests.
        p: P-value of the claim, corrected for the other questions.
        validated: Whether an answer needs a validation record.
    """
    tests = _each(each)
    answer, reason, text = _decide(joint, tests, alpha)
    for caveat in _caveats(joint, each):
        if answer in caveat.answers:
            answer, reason = "inconclusive", caveat.reason
            text = f"{text.rstrip('.')}; but {caveat.summary}."
    outside = validation_caveat(joint) if validated else None
    if outside is not None and answer in ("yes", "partly", "no"):
        if answer == "no":
            text = f"{text.rstrip('.')} (outside the validated range: {outside.summary})."
        else:
            answer, reason = "inconclusive", outside.reason
            text = f"{text.rstrip('.')}; but {outside.summary}."
    if joint.n_clusters is None and answer != "not_evaluated":
        text = f"{text} {INDEPENDENT}"
    known = None if math.isnan(p) else p
    deciding = each if _is_settled(joint) and each is not None else joint
    required = deciding.n_required if reason == "underpowered" else None
    return Verdict(
        "leak_free", QUESTIONS["leak_free"], answer, text, deciding, reason, known,
        min_detectable_effect=_least_detectable(deciding, alpha), n_required=required,
    )  # fmt: skip


def _least_detectable(joint: Score, alpha: float) -> float | None:
    if joint.defect is None or not joint.defect.error > 0:
        return None
    return detectable(joint.defect.error, joint.defect.df, 1 - alpha)


def _caveats(joint: Score, each: Score | None) -> list[Caveat]:
    """Return why answers cannot be read.

    Where the true concepts settle the label, single concepts decide, and their caveats count.
    """
    settled = _is_settled(joint)
    caveats = [] if joint.caveat is None or settled else [joint.caveat]
    other = None if each is None else each.caveat
    if other is not None and (settled or other.reason == "data_quality"):
        caveats += [other] if other not in caveats else []
    return caveats


def _each(score: Score | None) -> _Each | None:
    if score is None or score.detail is None or score.detail.tests is None:
        return None
    free = 1.0 if score.defect is None else score.defect.p_below_tolerance
    detail, level = score.detail, 0.95 if score.interval is None else score.interval.level
    return _Each(score.detail.tests, detail.names, free, detail.values, level)


def _is_settled(joint: Score) -> bool:
    """Whether the true concepts determine the label, so that values can add nothing to them."""
    return joint.caveat is not None and joint.caveat.reason == "no_headroom"


def _p_above(joint: Score) -> float:
    """P-value of a joint leak that is accepted, what wrong annotations explain included."""
    if joint.defect is None:
        return 1.0
    return (
        joint.defect.p_above_tolerance
        if joint.annotation is None
        else joint.annotation.p_above_tolerance
    )


def _decide(joint: Score, each: _Each | None, alpha: float) -> tuple[Answer, Reason, str]:
    """Return answer, reason and sentence before caveats and the validated range are considered."""
    test, accepted = joint.defect, find_metric(joint.metric).tolerance or 0.0
    too_much = each is not None and each.p_too_much <= alpha / 2
    if _is_settled(joint):
        return _settled(each, alpha, too_much=too_much)
    if test is None or math.isnan(joint.value):
        return "inconclusive", "undefined", "Nothing could be counted."
    some = test.p_nonzero if joint.annotation is None else joint.annotation.p_nonzero
    free, some_leak = test.p_below_tolerance <= alpha, some <= alpha and joint.value > 0
    names = "" if each is None else _listed(each.worst(alpha / 2))
    if _p_above(joint) <= alpha / 2:
        return "no", "", f"{_told(joint, accepted)}{_where(joint, names)}{_tipping(joint)}"
    if too_much and some_leak and not free:
        text = f"The value of {names} tells more about the label than its concept does"
        return "no", "", f"{text}{_limit_of_each(each)}{_tipping(joint)}"
    if too_much and free:
        text = f"Together the values tell {_at_most(test)}"
        return "partly", "", f"{text}, but the value of {names} also carries other concepts."
    if test.p_above_tolerance <= alpha / 2:
        share = 0.0 if joint.annotation is None else joint.annotation.share
        text = f"{_told(joint, accepted)} Wrong annotations could explain {_share(share)}."
        return "inconclusive", "data_quality", f"{text}{_tipping(joint)}"
    if free and each is not None and each.p_free <= alpha:
        return "yes", "", _free(joint, accepted)
    if some_leak and not free:
        text = f"Some leakage, {_value(joint)}, but perhaps not more than the accepted"
        return "partly", "", f"{text} {_share(accepted)}.{_tipping(joint)}"
    return "inconclusive", "underpowered", _unsure(joint, each, accepted, alpha, free=free)


def _settled(each: _Each | None, alpha: float, *, too_much: bool) -> tuple[Answer, Reason, str]:
    """Of true concepts that determine the label: only single concepts can tell."""
    text = "The true concepts already determine the label"
    if each is None:
        return "inconclusive", "no_headroom", f"{text}, and no concept was tested by itself."
    text = f"{text}."
    if np.isnan(each.tests.p_below_tolerance).all():
        return "inconclusive", "undefined", f"{text} None could be tested."
    if too_much:
        leaking = each.worst(alpha / 2)
        others = f" So do the values of {_listed(leaking[1:])}." if len(leaking) > 1 else ""
        return "no", "", f"{text} {each.told(each.names.index(leaking[0]))}{others}"
    largest = each.told(int(np.nanargmax(each.tests.high)))
    if each.p_all_free <= alpha:
        return "yes", "", f"{text} None leaks. {largest}"
    if each.undefined:
        return "inconclusive", "undefined", f"{text} {_listed(each.undefined)} could not be tested."
    return "inconclusive", "underpowered", f"{text} {largest}"


def _share(value: float) -> str:
    return f"{100 * max(value, 0.0):.1f} %"


def _value(joint: Score) -> str:
    interval, ends = joint.interval, ""
    if interval is not None:
        low, high = (100 * max(end, 0.0) for end in (interval.low, interval.high))
        ends = f" ({100 * interval.level:.0f} % CI {low:.1f}–{high:.1f} %)"
    return f"{percent(joint.value, joint)}{ends}"


def _told(joint: Score, accepted: float) -> str:
    assert joint.defect is not None  # noqa: S101  else it is undefined
    text = f"The values tell at least {_share(joint.defect.low)} of what the true concepts leave"
    return f"{text} open about the label; up to {_share(accepted)} is accepted."


def _where(joint: Score, names: str) -> str:
    """Return where to look first."""
    if names:
        return f" Look first at {names}."
    if joint.pairs:
        pairs = [f"{pair.first} with {pair.second}" for pair in joint.pairs[:NAMED]]
        return f" Look first at pairs of concepts: {_listed(pairs)}."
    return ""


def _limit_of_each(each: _Each | None) -> str:
    accepted = 0.0 if each is None else each.tests.tolerance
    return f"; up to {_share(accepted)} of a single concept is accepted."


def _listed(names: list[str]) -> str:
    more = len(names) - NAMED
    first = [*names[:NAMED], *([f"{more} more"] if more > 0 else [])]
    if len(first) < 2:
        return "".join(first)
    return f"{', '.join(first[:-1])} and {first[-1]}"


def _tipping(joint: Score) -> str:
    allowance = joint.annotation
    if allowance is None:
        return ""
    if allowance.tipping is None:
        return " Wrong annotations of up to 20 % would not explain this."
    return f" Wrong annotations of {100 * allowance.tipping:.0f} % or more would explain this."


def _free(joint: Score, accepted: float) -> str:
    assert joint.defect is not None  # noqa: S101  else it is undefined
    if joint.defect.low > 0:
        return f"Some leakage, {_value(joint)}, below the accepted {_share(accepted)}."
    text = f"No leakage found: {_at_most(joint.defect)}"
    return f"{text}; up to {_share(accepted)} is accepted."


def _at_most(test: DefectTest) -> str:
    share = _share(test.high)
    return f"at most {share} of what the true concepts leave open about the label"


def _unsure(joint: Score, each: _Each | None, accepted: float, alpha: float, *, free: bool) -> str:
    if free and each is None:
        return "All values together are free of leakage, but no concept was tested by itself."
    if free and each is not None:
        if each.undefined:
            what = f"{_listed(each.undefined)} could not be tested"
        elif each.p_too_much <= alpha / 2:
            what = f"{_listed(each.worst(alpha / 2))} may leak"
        else:
            worst = int(np.nanargmax(each.tests.p_below_tolerance))
            what = f"{each.names[worst]} may leak up to {_share(float(each.tests.high[worst]))}"
        return f"All values together are free of leakage, but {what}."
    needed = ""
    if joint.n_required is not None and joint.value < accepted:
        needed = f" About {joint.n_required:,} samples or clusters are needed."
    return f"{_value(joint)}: too uncertain; up to {_share(accepted)} is accepted.{needed}"

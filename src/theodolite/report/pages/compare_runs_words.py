"""How differences between runs are said."""

import math
from collections.abc import Sequence

from theodolite.comparison.compare_runs import Pair
from theodolite.comparison.pairing import Difference
from theodolite.comparison.rows import ComparisonRow, Outcome
from theodolite.results import Interval, Score

SAID: dict[Outcome, str] = {
    "better": "surely better",
    "worse": "surely worse",
    "undecided": "not surely different",
    "the same": "the very same evidence",
    "not comparable": "not comparable",
}
CSS: dict[Outcome, str] = {
    "better": "yes",
    "worse": "no",
    "undecided": "partly",
    "the same": "plain",
    "not comparable": "plain",
}


def is_share(score: Score) -> bool:
    """Whether it is told in per cent."""
    return score.bounds == (0.0, 1.0)


def signed(value: float, score: Score) -> str:
    """A difference with its sign, in percentage points where the score is a share."""
    if math.isnan(value):
        return "undefined"
    number = f"{100 * value:+.1f}" if is_share(score) else f"{value:+.2f}"
    plain = number.lstrip("+-")
    if not plain.strip("0."):
        return plain
    return number.replace("-", "\u2212")


def unit(score: Score) -> str:
    """What a difference is counted in."""
    return " points" if is_share(score) else ""


def between(interval: Interval | None, score: Score) -> str:
    """The interval of a difference in brackets."""
    if interval is None:
        return ""
    return f"[{signed(interval.low, score)}, {signed(interval.high, score)}]"


def difference_text(difference: Difference, score: Score) -> str:
    """The difference with its interval, and with those of other sources that leave it open."""
    value = f"{signed(difference.value, score)}{unit(score)}"
    text = f"{value} {between(difference.interval, score)}".rstrip()
    for interval in difference.intervals[1:]:
        if interval.low <= 0 <= interval.high:
            text += f"; over {interval.over} {between(interval, score)}"
    return text


def ends_of_line(score: Score) -> tuple[str, str]:
    """What the left and the right of a line around 0 mean for the run."""
    return ("worse", "better") if score.better == "higher" else ("better", "worse")


def sentence(pair: Pair) -> str:
    """What a reader wants to know first."""
    first, second = pair.first.name, pair.second.name
    outcomes = [verdict_pair.line.outcome for verdict_pair in pair.questions]
    if not outcomes:
        return f"{second} and {first}: no question was asked in either."
    if set(outcomes) == {"not comparable"}:
        return f"{second} and {first} cannot be compared: {pair.questions[0].line.why}."
    if set(outcomes) == {"the same"}:
        return f"{second} and {first} hold the very same evidence."
    parts = [
        f"better than {first} in {_questions(outcomes.count('better'))}",
        f"worse in {outcomes.count('worse') or 'none'}",
        f"{outcomes.count('undecided') or 'none'} undecided",
    ]
    same, other = outcomes.count("the same"), outcomes.count("not comparable")
    parts += [f"{same} the same"] * bool(same) + [f"{other} not comparable"] * bool(other)
    return f"{second} is {', '.join(parts)}."


def _questions(n: int) -> str:
    return "no question" if not n else f"{n} question{'s' * (n > 1)}"


def changed_answers(pair: Pair) -> list[str]:
    """Answers that are not the same, in words."""
    return [
        f"{verdict_pair.asks} {verdict_pair.before} \u2192 {verdict_pair.after}"
        for verdict_pair in pair.questions
        if verdict_pair.before != verdict_pair.after
    ]


def reach_of(lines: Sequence[ComparisonRow]) -> float:
    """How far a line around 0 must go to hold all differences."""
    ends = [1e-9]
    for difference in (line.difference for line in lines):
        if difference is None or math.isnan(difference.value):
            continue
        ends.append(abs(difference.value))
        if difference.interval is not None:
            ends += [abs(difference.interval.low), abs(difference.interval.high)]
    return max(ends)

"""Numbers of a score in words: shares as percentages, differences as points."""

import math
from collections.abc import Sequence

from theodolite.metrics.catalogue import catalogue
from theodolite.questions import QUESTIONS, Question
from theodolite.results import Better, Null, Score, Verdict

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def ask_as(metric: str, question: Question) -> str:
    """Return the question that a metric answers, in words that fit its evidence."""
    known = catalogue().get(metric)
    return QUESTIONS[question] if known is None else known.asked_as or QUESTIONS[question]


def is_share(score: Score) -> bool:
    """Return whether it is read as a percentage."""
    metric = catalogue().get(score.metric)
    return score.bounds == (0.0, 1.0) or (metric is not None and metric.is_percentage)


def percent(value: float, score: Score) -> str:
    """Format a value, as a percentage if the score is one."""
    if math.isnan(value):
        return "undefined"
    if is_share(score):  # a predictor that learned nothing is a little worse than none
        return f"{100 * max(value, 0.0):.1f} %"
    return f"{round(value, 2) + 0.0:.2f}"


def difference_text(value: float, score: Score) -> str:
    """A difference: in points where the score is a share."""
    return f"{100 * value:.1f} points" if is_share(score) else f"{round(value, 3) + 0.0:.3g}"


def seen_text(detectable: float, score: Score) -> str:
    """What a study of this size would have seen."""
    return f"effects above {difference_text(detectable, score)} would have been seen"


def interval_text(score: Score) -> str:
    """The interval to quote, in brackets."""
    if score.interval is None:
        return ""
    low, high = score.interval.low, score.interval.high
    if is_share(score):
        return f" [{100 * max(low, 0.0):.1f}, {100 * max(high, 0.0):.1f}]"
    return f" [{low:.2f}, {high:.2f}]"


def better_text(better: Better) -> str:
    """Return which way is better, for a column of a table.

    >>> better_text("lower")
    '↓ lower'
    """
    return "↑ higher" if better == "higher" else "↓ lower"


def of_best(score: Score) -> str:
    """What could be had at most, where that is less than all."""
    short = score.better == "higher" and score.best < score.bounds[1] - 5e-4
    return (
        f" of at most {percent(score.best, score)}" if short and score.bounds[1] < math.inf else ""
    )


def missed_text(score: Score, null: Null, least_seen: float) -> str:
    """What would not be seen; more than is possible is not said in numbers."""
    best = score.bounds[1] if score.better == "higher" else score.bounds[0]
    if least_seen >= abs(best - null.value):
        return "even the best possible would be missed"
    return f"an effect below {difference_text(least_seen, score)} would be missed"


def not_evaluated_text(verdicts: Sequence[Verdict]) -> str:
    """Questions that were not evaluated, each with what to pass; empty if all were."""
    by_needs: dict[str, list[str]] = {}
    for verdict in verdicts:
        if verdict.answer == "not_evaluated":
            reason = verdict.summary[:1].lower() + verdict.summary[1:].rstrip(".")
            needs = f"pass {verdict.needs}" if verdict.needs else reason
            of = " for your model" if verdict.reason == "probe_only" else ""
            by_needs.setdefault(needs, []).append(f"{verdict.question}{of}")
    parts = [f"{', '.join(questions)} ({needs})" for needs, questions in by_needs.items()]
    return f"Not evaluated: {'; '.join(parts)}." if parts else ""


def number_word(n: int) -> str:
    """A small number in letters.

    >>> number_word(5), number_word(40)
    ('five', '40')
    """
    return NUMBERS[n] if 0 <= n < len(NUMBERS) else f"{n:,}"


def joined(texts: Sequence[str]) -> str:
    """Return a list in words.

    >>> joined(["a"]), joined(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else "".join(texts)

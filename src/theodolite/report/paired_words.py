"""Where a verdict is sure although the strip does not show it: the paired difference in words.

A verdict is read from the difference to the null, resampled together with the score. That can be
sure where the score's own interval lies across the null's line.
"""

from theodolite.null_words import after_than
from theodolite.report.chapters.clean import looks_for_a_fault
from theodolite.report.figures.score_strip import hardest_null, strip_marks
from theodolite.results import Interval, Null, Score, Verdict
from theodolite.verdicts.words import difference_text, is_share


def paired_sentence(verdict: Verdict) -> str:
    """By how much the score is better than its null, with the interval of that; empty where the
    strip shows the same as the verdict."""
    score = verdict.score
    if score is None or verdict.answer not in ("yes", "partly", "no") or not _straddles(score):
        return ""
    if looks_for_a_fault(score) and verdict.answer == "partly":
        return ""  # which is what an interval across the border means
    mark = hardest_null(score)
    values = [null for null in score.nulls if mark is not None and null.value == mark.value]
    null = values[0] if values else score.null
    if null is None or null.difference is None:
        return ""
    return _sentence(score, null, null.difference)


def _straddles(score: Score) -> bool:
    """Whether the interval lies across the end of the zone *no*."""
    marks = strip_marks(score)
    if marks.interval is None or not marks.zones:
        return False
    start, end = sorted(map(marks.axis.share, marks.interval))
    border = marks.zones[0].end if marks.zones[0].answer == "no" else 0.0
    return start < border < end


def _sentence(score: Score, null: Null, away: Interval) -> str:
    sign = 1.0 if score.better == "higher" else -1.0
    gains = sorted(sign * end for end in (away.low, away.high))
    gain = sign * (score.value - null.value)
    word, turn = ("better", 1.0) if gain >= 0 else ("worse", -1.0)
    low, high = sorted(turn * end for end in gains)
    by = difference_text(turn * gain, score)
    return (
        f"Paired, sample by sample, it is {by} {word} than {after_than(null.shown)}, "
        f"{_plain_number(low, score)} to {_plain_number(high, score)}."
    )


def _plain_number(value: float, score: Score) -> str:
    number = f"{100 * value:.1f}" if is_share(score) else f"{round(value, 3) + 0.0:.3g}"
    return number.replace("-", "−")

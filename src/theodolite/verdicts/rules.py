"""What a score means for the question it answers, in one word and one sentence."""

import math

from theodolite.metrics.catalogue import find_metric
from theodolite.questions import QUESTIONS
from theodolite.results import Answer, Null, Score, Verdict

FEW = 30
"""With fewer samples, not to be told from a null is not yet to be no better."""


def question_text(score: Score) -> str:
    """The question that a score answers, in words that fit its evidence."""
    return find_metric(score.metric).asked_as or QUESTIONS[score.question]


def verdict(score: Score) -> Verdict:
    """Yes, if the score surely is enough and beats every null; no, if it does not beat them all."""

    def answered(answer: Answer, because: str) -> Verdict:
        return Verdict(score.question, question_text(score), answer, because, score)

    null = score.null
    if math.isnan(score.value) or null is None or math.isnan(null.value):
        counted = f"{score.n_undefined} {score.n_of} undefined"
        return answered("cannot tell", f"Nothing could be counted ({counted}).")
    sign = 1.0 if score.better == "higher" else -1.0
    score_text = f"{percent(score.value, score)}{interval_text(score)}"
    if find_metric(score.metric).looks_for_a_fault:
        return answered(*_against_clean(score, null, score_text))
    if sign * (score.best - null.value) <= 1e-9:
        reason = f"{score_text}, but {null.name} already scores the best possible"
        return answered("cannot tell", f"{reason} ({percent(null.value, score)}).")
    if score.n < 2:
        return answered("cannot tell", f"{score_text}, from a single one of the {score.n_of}.")
    score_text += _of_best(score)
    lost = next((null for null in score.nulls if not _beaten(null, score, sign)), None)
    if lost is not None:
        return answered(*_lost_to(lost, score, score_text, sign))
    because = f"{score_text}, better than {null.name} ({percent(null.value, score)})"
    line = enough_line(score)
    if line is None or score.interval is None:
        return answered("partly", f"{because}.")
    nearest = score.interval.low if sign > 0 else score.interval.high
    if sign * (nearest - line) >= 0:
        return answered("yes", f"{because}.")
    side = "at least" if sign > 0 else "at most"
    return answered("partly", f"{because}, but not surely {side} {percent(line, score)}.")


def _lost_to(lost: Null, score: Score, score_text: str, sign: float) -> tuple[Answer, str]:
    """No; but a few samples that could as well be far better than the null do not tell."""
    against = f"{lost.name} ({percent(lost.value, score)})"
    if _surely_worse(lost, sign):
        return "no", f"{score_text}, worse than {against}."
    if score.n < FEW and score.n_of == "samples" and lost.difference is not None:
        gain = lost.difference.high if sign > 0 else -lost.difference.low
        if gain >= sign * (score.best - lost.value) / 2 > 0:
            only = f"only {score.n} samples"
            return (
                "cannot tell",
                f"{score_text}: {only} do not tell whether that is better than {against}.",
            )
    return "no", f"{score_text}, no better than {against}."


def _of_best(score: Score) -> str:
    """What could be had at most, where that is less than all."""
    short = score.better == "higher" and score.best < score.bounds[1] - 5e-4
    return (
        f" of at most {percent(score.best, score)}" if short and score.bounds[1] < math.inf else ""
    )


def _against_clean(score: Score, null: Null, score_text: str) -> tuple[Answer, str]:
    """A fault is absent if the score surely exceeds its clean null by no more than we accept."""
    accepted = find_metric(score.metric).tolerance or 0.0
    clean = f"{null.name} ({percent(null.value, score)})"
    allowed = f"up to {percent(accepted, score)} is accepted"
    if null.difference is None:
        return "cannot tell", f"{score_text}; how far that is from {clean} could not be told."
    low, high = null.difference.low, null.difference.high
    if low > accepted:
        return "no", f"{score_text}, surely more than {clean}; {allowed}."
    if high <= accepted:
        return "yes", f"{score_text}, about as {clean}; {allowed}."
    if low > 0:
        return "partly", f"{score_text}, more than {clean}, but not surely too much; {allowed}."
    return "cannot tell", f"{score_text}, too uncertain to be told from {clean}; {allowed}."


def enough_line(score: Score) -> float | None:
    """From where on we would rely on it: a share of the best possible."""
    enough = find_metric(score.metric).enough
    if enough is None:
        return None
    worst = score.bounds[0] if score.better == "higher" else score.bounds[1]
    return worst + enough * (score.best - worst)


def _beaten(null: Null, score: Score, sign: float) -> bool:
    if math.isnan(null.value):  # a null that could not be drawn is not in the way
        return True
    if null.difference is None:
        return sign * (score.value - null.value) > 1e-9
    return null.difference.low > 0 if sign > 0 else null.difference.high < 0


def _surely_worse(null: Null, sign: float) -> bool:
    if null.difference is None:
        return False
    return null.difference.high < 0 if sign > 0 else null.difference.low > 0


def percent(value: float, score: Score) -> str:
    """As a percentage where the score is a share, as a number where it is not."""
    if math.isnan(value):
        return "undefined"
    return f"{100 * value:.1f} %" if score.bounds == (0.0, 1.0) else f"{round(value, 2) + 0.0:.2f}"


def interval_text(score: Score) -> str:
    """The interval to quote, in brackets."""
    if score.interval is None:
        return ""
    low, high = score.interval.low, score.interval.high
    if score.bounds == (0.0, 1.0):
        return f" [{100 * low:.1f}, {100 * high:.1f}]"
    return f" [{low:.2f}, {high:.2f}]"

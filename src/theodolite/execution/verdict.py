"""What a score means for the question it answers, in one word and one sentence."""

from dataclasses import dataclass
from typing import Literal, get_args

from theodolite.contracts.score import Question, Score
from theodolite.metrics._catalogue import entry

Answer = Literal["yes", "partly", "no", "undefined", "not asked"]
QUESTIONS: dict[Question, str] = {
    "exists": "Is the named concept in the input?",
    "located": "Does the model look where the concept is?",
    "leaks": "Are the concepts free of what they should not carry?",
    "faithful": "Do concepts and importances add up to the output?",
    "detects": "Does a unit detect the concept?",
    "accepted": "Would people agree?",
}
assert set(QUESTIONS) == set(get_args(Question))  # noqa: S101


@dataclass(frozen=True)
class Verdict:
    """The answer to one question."""

    question: Question
    asks: str
    answer: Answer
    because: str
    score: Score | None = None


def verdict(score: Score) -> Verdict:
    """Yes, if the score surely is enough and beats every null; no, if it does not beat them all."""
    about = entry(score.metric)
    asks = QUESTIONS[score.question]
    if score.value != score.value or score.null is None:
        because = f"Nothing could be counted ({score.n_undefined} {score.n_of} undefined)."
        return Verdict(score.question, asks, "undefined", because, score)
    sign = 1.0 if score.better == "higher" else -1.0
    lost = [null for null in score.nulls if not _beats(score, null.name, sign)]
    said = f"{percent(score.value, score)}{interval_text(score)}"
    if lost:
        null = lost[0]
        relation = "no better than" if _overlaps(score, null.name) else "worse than"
        because = f"{said}, {relation} {null.name} ({percent(null.value, score)})."
        return Verdict(score.question, asks, "no", because, score)
    null = score.null
    because = f"{said}, better than {null.name} ({percent(null.value, score)})"
    interval = score.interval
    if about.enough is not None and interval is not None:
        nearest = interval.low if sign > 0 else -interval.high
        if nearest >= sign * about.enough:
            return Verdict(score.question, asks, "yes", f"{because}.", score)
        line = percent(about.enough, score)
        return Verdict(score.question, asks, "partly", f"{because}, but short of {line}.", score)
    return Verdict(score.question, asks, "partly", f"{because}.", score)


def _beats(score: Score, name: str, sign: float) -> bool:
    null = next(n for n in score.nulls if n.name == name)
    if null.difference is None:
        return sign * (score.value - null.value) > 0
    return null.difference.low > 0 if sign > 0 else null.difference.high < 0


def _overlaps(score: Score, name: str) -> bool:
    null = next(n for n in score.nulls if n.name == name)
    return null.difference is not None and null.difference.low <= 0 <= null.difference.high


def percent(value: float, score: Score) -> str:
    """As a percentage where the score is a share, as a number where it is not."""
    if value != value:
        return "undefined"
    return f"{100 * value:.1f} %" if score.bounds == (0.0, 1.0) else f"{value:.2f}"


def interval_text(score: Score) -> str:
    """The interval to quote, in brackets."""
    if score.interval is None:
        return ""
    low, high = score.interval.low, score.interval.high
    if score.bounds == (0.0, 1.0):
        return f" [{100 * low:.1f}, {100 * high:.1f}]"
    return f" [{low:.2f}, {high:.2f}]"

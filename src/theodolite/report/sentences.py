"""Write the sentences on a score in a report, from the template of its metric."""

import math
import re
from collections.abc import Mapping

from markupsafe import Markup, escape

from theodolite._verdicts.draws import if_not_beaten
from theodolite._verdicts.leakage import JOINT
from theodolite._verdicts.rules import enough_line
from theodolite._verdicts.words import difference_text, number_word, of_best, percent
from theodolite.evidence.subject import Subject
from theodolite.metrics.catalogue import catalogue
from theodolite.report.chapters.clean import is_defect_metric
from theodolite.report.words import full_title, unbroken, value_text
from theodolite.results import Null, Score, Verdict

CONCEPTS = "concepts"
"""What concepts are called where the data set has no word of its own."""
PLAIN = "{title}: {value} ({low}–{high}{best}). {null}{enough}."
"""For a score whose card has no template of its own, such as one of another package."""

NEGATIVE = re.compile(r"(?<=[ \[])-(?=\d)")
"""Hyphens of the terminal that are minus signs."""


def with_noun(text: str, noun: str) -> str:
    """A sentence about concepts, with the word that the data set has for them.

    >>> with_noun("Is the named concept in the input?", "elements")
    'Is the named element in the input?'
    """
    return text.replace(CONCEPTS, noun).replace("concept", noun.removesuffix("s"))


def sentence(verdict: Verdict, noun: str = CONCEPTS) -> Markup:
    """Value, interval, strongest baseline, and threshold.

    If inconclusive, the reason; if more than this score decides, the verdict's sentence on it.
    """
    score = verdict.score
    if (
        score is None
        or score.interval is None
        or verdict.answer == "inconclusive"
        or score.share is not None
        or score.metric in _list_leakage_metrics()
    ):
        text = NEGATIVE.sub("−", f"{verdict.summary[:1].upper()}{verdict.summary[1:]}")
        return escape(unbroken(f"{text}{_describe_strip(score, noun)}"))
    metric = catalogue().get(score.metric)
    template = (metric.card.template if metric is not None else "") or PLAIN
    filled = escape(template).format(**_fields(score, verdict, noun))
    more = escape(f"{_straddling(score)}{_in_general(score, verdict)}")
    return _capitals(Markup(f"{filled}{more}"))  # noqa: S704  both escaped


def _list_leakage_metrics() -> tuple[str, ...]:
    """Metrics of values together and of the concept that leaks most: the worse decides."""
    return (JOINT, *catalogue()[JOINT].judged_with)


def _describe_strip(score: Score | None, noun: str) -> str:
    """Return the score beside the strip, where the verdict quotes a single concept instead."""
    if score is None or score.interval is None or score.detail is None or not score.detail.tests:
        return ""
    over = noun if score.detail.over == CONCEPTS else score.detail.over
    ends = f"{value_text(score.interval.low, score)}–{value_text(score.interval.high, score)}"
    return f" Drawn: mean over {over}, {percent(score.value, score)} ({ends}){_enough(score)}."


def reference(verdict: Verdict, subject: Subject) -> str:
    """What an answer on faithfulness is compared with; of other questions nothing."""
    return subject.reference if verdict.question == "faithful" and verdict.score else ""


def _fields(score: Score, verdict: Verdict, noun: str) -> Mapping[str, object]:
    assert score.interval is not None  # noqa: S101  else there is no sentence
    best = f"; the best possible here is {percent(score.best, score)}" if of_best(score) else ""
    options = {
        name: number_word(value) if type(value) is int else value
        for name, value in score.options.items()
    }
    return options | {
        "title": full_title(score),
        "value": Markup("<b>{}</b>").format(unbroken(percent(score.value, score))),
        "low": value_text(score.interval.low, score),
        "high": value_text(score.interval.high, score),
        "best": unbroken(best),
        "null": unbroken(_without_knowledge(score, verdict)),
        "enough": unbroken(_enough(score)),
        "noun": noun,
        "noun_named": _named_first(score.options.get("top"), noun),
    }


def _named_first(top: object, noun: str) -> str:
    """Concepts that an explanation names, as far as they are counted.

    >>> _named_first(1, "elements"), _named_first(5, "elements")
    ('elements that it names first', 'first five elements that it names')
    """
    if type(top) is not int:
        return f"{noun} that it names"
    if top == 1:
        return f"{noun} that it names first"
    return f"first {number_word(top)} {noun} that it names"


def _without_knowledge(score: Score, verdict: Verdict) -> str:
    """What an explanation without knowledge gets; of a fault, what a model without it would."""
    null = score.null
    if null is None or math.isnan(null.value):
        return "no baseline could be computed"
    value = percent(null.value, score)
    if is_defect_metric(score):
        return f"the {null.label} scores {value}"
    if score.metric in catalogue() and if_not_beaten(score, null):
        return f"{null.label} gets {value}"
    if verdict.answer != "no":
        return f"the strongest baseline ({null.label}) gets {value}"
    away = better_by(score, null)
    does = "does better" if away is not None and away[1] < 0 else "does as well"
    return f"the strongest baseline ({null.label}) {does}: {value}"


def _in_general(score: Score, verdict: Verdict) -> str:
    """Sentence on a score that does not beat an informative baseline."""
    texts = {if_not_beaten(score, null) for null in score.nulls if score.metric in catalogue()}
    return next((f" {text}" for text in texts if text and verdict.summary.endswith(text)), "")


def _enough(score: Score) -> str:
    """From where on we would rely on it."""
    metric = catalogue().get(score.metric)
    if metric is not None and is_defect_metric(score):
        return f"; up to {difference_text(metric.tolerance or 0.0, score)} more is accepted"
    line = None if metric is None else enough_line(score)
    if line is None or not math.isfinite(line):
        return ""
    least = "at least" if score.better == "higher" else "at most"
    return f"; {least} {percent(line, score)} is required"


def better_by(score: Score, null: Null) -> tuple[float, float] | None:
    """Between which the score is better than a null, on the same samples."""
    if null.difference is None:
        return None
    low, high = null.difference.low, null.difference.high
    return (low, high) if score.better == "higher" else (-high, -low)


def _straddling(score: Score) -> str:
    """The paired difference, where it is sure although the score's own interval holds the null."""
    null, interval = score.null, score.interval
    if null is None or interval is None or not interval.low <= null.value <= interval.high:
        return ""
    away = better_by(score, null)
    if away is None or away[0] <= 0 <= away[1]:
        return ""
    sign = 1.0 if score.better == "higher" else -1.0
    gain = sign * (score.value - null.value)
    word = "better" if away[0] > 0 else "worse"
    near, far = sorted(abs(end) for end in away)
    ends = f"{_number(near, score)} to {_number(far, score)}"
    return unbroken(
        f" On the same samples it is {difference_text(abs(gain), score)} {word} ({ends})."
    )


def _number(value: float, score: Score) -> str:
    return difference_text(value, score).removesuffix(" points")


def _capitals(text: Markup) -> Markup:
    """A capital after every full stop: clauses are written to stand anywhere."""
    parts = str(text).split(". ")
    return Markup(". ".join(part[:1].upper() + part[1:] for part in parts))  # noqa: S704

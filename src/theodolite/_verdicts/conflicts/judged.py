"""Classify each explanation or concept by one question: good, bad or undefined."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from theodolite._storage.tables import Words
from theodolite._verdicts.conflicts.sentences import Level
from theodolite._verdicts.rules import enough_line
from theodolite.metrics.catalogue import find_metric
from theodolite.questions import Question
from theodolite.results import Score, Verdict


@dataclass(frozen=True)
class JudgedItems:
    """What a question's score says of each explanation, or of each concept."""

    score: Score
    level: Level
    names: tuple[str, ...]
    values: Float[np.ndarray, " items"]
    """NaN where undefined."""

    @property
    def question(self) -> Question:
        """The question it answers."""
        return self.score.question

    @property
    def numbered(self) -> bool:
        """Whether its items have no names but the numbers of their rows."""
        return set(self.names) == {str(i) for i in range(len(self.names))}

    @property
    def goodness(self) -> Float[np.ndarray, " items"]:
        """Higher is better, whichever way the score goes."""
        return self.values if self.score.better == "higher" else -self.values

    @property
    def good(self) -> Bool[np.ndarray, " items"]:
        """Whether each value reaches the line; of no meaning where it is undefined."""
        sign = 1.0 if self.score.better == "higher" else -1.0
        return np.asarray(self.goodness >= sign * line_of(self.score)[0] - 1e-9)


def line_of(score: Score) -> tuple[float, str]:
    """Return the threshold from which a single value is good, and its kind."""
    null = float("nan") if score.null is None else score.null.value
    metric = find_metric(score.metric)
    if metric.is_defect_metric:
        return null + (metric.tolerance or 0.0), "accepted"
    enough = enough_line(score)
    return (null, "null") if enough is None else (enough, "enough")


def explanations(
    verdicts: Sequence[Verdict], columns: Mapping[str, Sequence[Any] | Words | np.ndarray]
) -> list[JudgedItems]:
    """The verdicts' own scores, where they are means over samples."""
    if not columns:
        return []
    metrics, options, samples, values = (
        _cells(columns[name]) for name in ("metric", "options", "sample", "value")
    )
    numbers = values.astype(np.float64)  # None is undefined
    judged_items = []
    for verdict in verdicts:
        score = verdict.score
        if score is None or np.isnan(line_of(score)[0]):
            continue
        own = metrics == score.metric
        label = next((text for text in dict.fromkeys(options[own]) if _fits(text, score)), None)
        if label is not None:
            rows = np.flatnonzero(own & (options == label))
            judged_items.append(
                JudgedItems(score, "explanations", tuple(samples[rows]), numbers[rows])
            )
    return judged_items


def _cells(column: Sequence[Any] | Words | np.ndarray) -> np.ndarray:
    if isinstance(column, Words):
        return np.asarray(np.array([*column.categories, None], object)[column.codes])
    return np.asarray(column, object)


def _fits(label: str, score: Score) -> bool:
    """Whether a row's options are those of the score: a row names only those that were given."""
    parts = re.split(r", (?=\w+=)", label) if label else []
    options = dict(part.split("=", 1) for part in parts)
    return all(_text(score.options.get(name)) == text for name, text in options.items())


def _text(value: object) -> str:
    return str(tuple(value) if isinstance(value, list) else value)


def concepts(verdicts: Sequence[Verdict], scores: Sequence[Score]) -> list[JudgedItems]:
    """Return for each question a deciding score with a value per concept.

    One that is not the verdict's own still has its own null and its own line.
    """
    judged_items = []
    for verdict in verdicts:
        own = [verdict.score, *(s for s in scores if s.question == verdict.question)]
        fits = (s for s in own if s is not None and _per_concept(s))
        score = next(fits, None)
        if score is not None and score.detail is not None:
            values = np.asarray(score.detail.values, np.float64)
            judged_items.append(JudgedItems(score, "concepts", tuple(score.detail.names), values))
    return judged_items


def _per_concept(score: Score) -> bool:
    if score.detail is None or score.detail.over != "concepts" or np.isnan(line_of(score)[0]):
        return False
    metric = find_metric(score.metric)
    return metric.decides or metric.item_tolerance is not None


def matched(first: JudgedItems, second: JudgedItems) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Names that both know, in order, and their rows. Mere numbers match only if as many."""
    nothing: tuple[list[str], np.ndarray, np.ndarray] = ([], np.zeros(0, int), np.zeros(0, int))
    counts = len(first.names), len(second.names)
    if counts[0] != counts[1] and first.numbered and second.numbered:
        return nothing
    first_rows, second_rows = (
        {name: row for row, name in enumerate(x.names)} for x in (first, second)
    )
    names = sorted(first_rows.keys() & second_rows.keys())
    if not names:
        return nothing
    return (
        names,
        np.array([first_rows[n] for n in names]),
        np.array([second_rows[n] for n in names]),
    )

"""Models that are equally accurate and fare differently when corrected: which scores tell?"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from theodolite._storage.records import Record
from theodolite._verdicts.scores_file import ComparedRecord, matches
from theodolite_reproductions.findings.compared import (
    DifferenceRecord,
    difference_record,
    repeats_of,
)
from theodolite_reproductions.findings.decision import decide_mean
from theodolite_reproductions.findings.specs import PairSpec

ALIKE, APART = ("concept_prediction", "task_accuracy"), "intervention_score"
"""Scores in which a pair agrees, and the one in which it does not."""


class LookalikeRecord(Record):
    """A pair: by how much each score is higher in the model that fares worse when corrected."""

    more: str
    """The model with the higher ``intervention_score``."""
    less: str
    differences: list[DifferenceRecord]


class LookalikesRecord(Record):
    """All pairs of models that look alike."""

    kind: Literal["pair"] = "pair"
    title: str
    alike: float
    apart: float
    compared: int
    """Pairs of models on the same data, alike or not."""
    pairs: list[LookalikeRecord]
    paper: str


def lookalikes(
    models: Sequence[ComparedRecord], alike: float = 0.01, apart: float = 0.1
) -> Iterator[tuple[ComparedRecord, ComparedRecord]]:
    """Pairs on the same data that agree in accuracy and differ under correction.

    Means over seeds decide. The first of a pair has the higher ``intervention_score``.
    """
    for first, other in itertools.combinations(models, 2):
        near = all(abs(_mean_difference(first, other, metric)) <= alike for metric in ALIKE)
        gap = _mean_difference(first, other, APART)
        if near and _same_data(first, other) and abs(gap) >= apart:
            yield (first, other) if gap > 0 else (other, first)


def lookalikes_record(study: PairSpec, models: Sequence[ComparedRecord]) -> LookalikesRecord:
    """Return which pairs there are, and how far their scores lie apart, seed by seed."""
    chosen = [m for m in models if not study.where or any(matches(m, w) for w in study.where)]
    pairs = itertools.combinations(chosen, 2)
    return LookalikesRecord(
        title=study.title, alike=study.alike, apart=study.apart,
        compared=sum(_same_data(first, other) for first, other in pairs), paper=study.paper,
        pairs=[
            _lookalike(more, less, study)
            for more, less in lookalikes(chosen, study.alike, study.apart)
        ],
    )  # fmt: skip


def _lookalike(more: ComparedRecord, less: ComparedRecord, study: PairSpec) -> LookalikeRecord:
    differences = []
    for metric in study.metrics:
        own, other = repeats_of(more, metric), repeats_of(less, metric)
        if len(own) == len(other) > 0:
            decision = decide_mean(own - other, study.effect)
            differences.append(difference_record(metric, decision))
    return LookalikeRecord(more=more.name, less=less.name, differences=differences)


def _mean_difference(first: ComparedRecord, other: ComparedRecord, metric: str) -> float:
    """NaN where either has no such score: nothing then is near, and nothing apart."""
    own, others = repeats_of(first, metric), repeats_of(other, metric)
    if not len(own) or not len(others):
        return float("nan")
    return float(np.mean(own) - np.mean(others))


def _same_data(first: ComparedRecord, other: ComparedRecord) -> bool:
    return first.about.get("data") == other.about.get("data")

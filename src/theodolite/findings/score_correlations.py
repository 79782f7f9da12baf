"""Do scores agree about explanations? Their correlations over all pictures and methods."""

import itertools
from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy.special import ndtri, stdtr, stdtrit

from theodolite.evidence.base import Evidence
from theodolite.metrics.accepted.correlation_table import (
    CorrelationRow,
    corrected,
    correlation_table,
)
from theodolite.metrics.base import SampleMean, ratio
from theodolite.run_folder.run_file import Record
from theodolite.run_folder.scores_file import written
from theodolite.scoring.evaluate import MetricRequest


class ScorePairRecord(Record):
    """One score against another."""

    first: str
    second: str
    r: float | None
    low: float | None
    high: float | None
    p: float | None
    corrected_p: float | None
    n: int


class ScoreCorrelationsRecord(Record):
    """All pairs of some scores."""

    kind: Literal["score_correlations"] = "score_correlations"
    title: str
    explanations: int
    methods: int
    names: list[str]
    pairs: list[ScorePairRecord]


FEWEST = 10
"""Of fewer pictures or methods nothing is said to be sure."""


def score_correlations(
    title: str, requests: Sequence[tuple[str, MetricRequest]], models: Sequence[Sequence[Evidence]]
) -> ScoreCorrelationsRecord:
    """Spearman's correlation of each pair of scores over all explanations.

    Explanations of one picture are alike, and so are those of one method: the variance of Fisher's
    z is that of resampling pictures plus that of resampling methods, and Student's t has the
    degrees of freedom of the fewer. P-values are corrected for the number of pairs (Holm).
    """
    values = {name: _explanation_scores(request, models) for name, request in requests}
    pictures = np.concatenate(
        [np.asarray(bundles[0].samples.index, np.int64) for bundles in models]
    )
    methods = np.repeat(np.arange(len(models)), [len(bundles[0]) for bundles in models])
    pairs = [
        _pair((a, b), (values[a], values[b]), (pictures, methods))
        for a, b in itertools.combinations(values, 2)
    ]
    known = np.array([np.nan if pair.p is None else pair.p for pair in pairs])
    adjusted = corrected(known, "holm")
    return ScoreCorrelationsRecord(
        title=title,
        explanations=len(pictures),
        methods=len(models),
        names=list(values),
        pairs=[
            pair.model_copy(update={"corrected_p": written(p)})
            for pair, p in zip(pairs, adjusted, strict=True)
        ],
    )


def _pair(
    names: tuple[str, str],
    values: tuple[np.ndarray, np.ndarray],
    clusters: tuple[np.ndarray, np.ndarray],
) -> ScorePairRecord:
    first, second = names
    rows = [
        correlation_table(
            {first: values[0]}, {second: values[1]}, method=("spearman",), correction="none",
            clusters=cluster,
        )[0]
        for cluster in clusters
    ]  # fmt: skip
    r, n = rows[0].coefficient, rows[0].n
    known = ~np.isnan(values[0] + values[1])
    fewest = min(len(np.unique(cluster[known])) for cluster in clusters)
    error = float(np.sqrt(sum(_error(row) ** 2 for row in rows)))
    if fewest < FEWEST or not error > 0:
        return ScorePairRecord(
            first=first, second=second, r=written(r), low=None, high=None, p=None, corrected_p=None,
            n=n,
        )  # fmt: skip
    z, degrees = float(np.arctanh(np.clip(r, -1 + 1e-12, 1 - 1e-12))), fewest - 1
    half = float(stdtrit(degrees, 0.975)) * error
    return ScorePairRecord(
        first=first, second=second, r=r, low=float(np.tanh(z - half)),
        high=float(np.tanh(z + half)), p=2 * float(stdtr(degrees, -abs(z) / error)),
        corrected_p=None, n=n,
    )  # fmt: skip


def _error(row: CorrelationRow) -> float:
    """The standard error of z that an interval was made with."""
    ends = np.arctanh(np.clip([row.low, row.high], -1 + 1e-15, 1 - 1e-15))
    return float((ends[1] - ends[0]) / 2 / ndtri(0.975))


def _explanation_scores(request: MetricRequest, models: Sequence[Sequence[Evidence]]) -> np.ndarray:
    """What each explanation scores, the better the higher; NaN where undefined."""
    scores = []
    for bundles in models:
        own = next((b for b in bundles if type(b) is request.metric.needs), None)
        lacking = own is None or request.metric.missing(own, request.options)
        if lacking or not issubclass(request.metric.state, SampleMean):
            scores.append(np.full(len(bundles[0]), np.nan))
            continue
        each = request.metric.state.each(own, **request.options)
        value = ratio(each.part, each.whole)
        value[~each.asked] = np.nan
        scores.append(value)
    sign = 1.0 if request.metric.better == "higher" else -1.0
    return sign * np.concatenate(scores)

"""Do scores agree about explanations? Their correlations over all images and methods."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtri

from theodolite._scoring.evaluate import MetricRequest
from theodolite._stats.multiple import correct_holm
from theodolite._storage.records import Record
from theodolite._verdicts.scores_file import written
from theodolite.evidence.base import Evidence
from theodolite.metrics.accepted.correlation_table import CorrelationRow, correlation_table
from theodolite.metrics.base import SampleMean, ratio
from theodolite_reproductions.findings.correlation import EFFECT
from theodolite_reproductions.findings.decision import (
    DecisionRecord,
    FindingDecision,
    decide_correlation,
    decision_record,
)


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
    decision: DecisionRecord | None = None
    """That they go together; contradicted where they go against each other."""


class ScoreCorrelationsRecord(Record):
    """All pairs of some scores."""

    kind: Literal["score_correlations"] = "score_correlations"
    title: str
    explanations: int
    methods: int
    names: list[str]
    pairs: list[ScorePairRecord]


FEWEST = 10
"""Of fewer images or methods nothing is said to be sure."""


def score_correlations(
    title: str,
    requests: Sequence[tuple[str, MetricRequest]],
    models: Sequence[Sequence[Evidence]],
    *,
    effect: float = EFFECT,
) -> ScoreCorrelationsRecord:
    """Spearman's correlation of each pair of scores over all explanations.

    Explanations of one image are alike, and so are those of one method: the variance of Fisher's
    z is that of resampling images plus that of resampling methods, and Student's t has the
    degrees of freedom of the fewer. P-values are corrected for the number of pairs (Holm), and so
    are decisions.
    """
    values = {name: _explanation_scores(request, models) for name, request in requests}
    images = np.concatenate([np.asarray(bundles[0].samples.index, np.int64) for bundles in models])
    methods = np.repeat(np.arange(len(models)), [len(bundles[0]) for bundles in models])
    pairs = [
        _pair((a, b), (values[a], values[b]), (images, methods))
        for a, b in itertools.combinations(values, 2)
    ]
    steps = correct_holm([pair.at(effect).p for pair in pairs])
    return ScoreCorrelationsRecord(
        title=title,
        explanations=len(images),
        methods=len(models),
        names=list(values),
        pairs=[
            _pair_record(pair, effect, float(p), 1 - float(step))
            for pair, p, step in zip(pairs, steps.p, steps.level, strict=True)
        ],
    )


@dataclass(frozen=True)
class ScorePair:
    """Two scores over explanations: Fisher's z with its error."""

    first: str
    second: str
    r: float
    error: float
    """Of z; NaN with too few images or methods."""
    fewest: int
    """Images or methods, whichever are fewer."""
    n: int

    def at(self, effect: float, level: float = 0.95) -> FindingDecision:
        """Return whether they go together."""
        z = float(np.arctanh(np.clip(self.r, -1 + 1e-12, 1 - 1e-12)))
        return decide_correlation(
            z, self.error, self.fewest - 1, effect, level=level, repeats=self.fewest
        )


def _pair(
    names: tuple[str, str],
    values: tuple[np.ndarray, np.ndarray],
    clusters: tuple[np.ndarray, np.ndarray],
) -> ScorePair:
    first, second = names
    rows = [
        correlation_table(
            {first: values[0]}, {second: values[1]}, method=("spearman",), correction="none",
            clusters=cluster,
        )[0]
        for cluster in clusters
    ]  # fmt: skip
    known = ~np.isnan(values[0] + values[1])
    fewest = min(len(np.unique(cluster[known])) for cluster in clusters)
    error = float(np.sqrt(sum(fisher_error(row) ** 2 for row in rows)))
    sure = fewest >= FEWEST and error > 0
    r, n = rows[0].coefficient, rows[0].n
    return ScorePair(first, second, r, error if sure else float("nan"), fewest, n)


def _pair_record(pair: ScorePair, effect: float, p: float, level: float) -> ScorePairRecord:
    quoted = pair.at(effect)
    return ScorePairRecord(
        first=pair.first,
        second=pair.second,
        r=written(pair.r),
        low=written(quoted.low),
        high=written(quoted.high),
        p=written(quoted.p),
        corrected_p=written(p),
        n=pair.n,
        decision=decision_record(pair.at(effect, level)),
    )


def fisher_error(row: CorrelationRow) -> float:
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

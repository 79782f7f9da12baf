"""Do scores agree about explanations? Their correlations over all pictures and methods."""

import itertools
from collections.abc import Sequence
from typing import Literal

import numpy as np

from theodolite.contracts.bundle import Evidence
from theodolite.execution.evaluate import Request
from theodolite.execution.run_record import Record
from theodolite.metrics._base import SampleMean, ratio
from theodolite.metrics.acceptance.correlation_table import corrected, correlation_table


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


def score_correlations(
    title: str, named: Sequence[tuple[str, Request]], models: Sequence[Sequence[Evidence]]
) -> ScoreCorrelationsRecord:
    """Spearman's correlation of each pair of scores, explanations of one picture taken together.

    P-values are corrected for the number of pairs by Holm's method.
    """
    values = {name: _each(request, models) for name, request in named}
    clusters = np.concatenate(
        [np.asarray(bundles[0].samples.index, np.int64) for bundles in models]
    )
    rows = [
        correlation_table(
            {a: values[a]}, {b: values[b]}, method=("spearman",), correction="none",
            clusters=clusters,
        )[0]
        for a, b in itertools.combinations(values, 2)
    ]  # fmt: skip
    adjusted = corrected(np.array([row.p for row in rows]), "holm")
    return ScoreCorrelationsRecord(
        title=title,
        explanations=len(clusters),
        methods=len(models),
        names=list(values),
        pairs=[
            ScorePairRecord(
                first=row.score, second=row.question, r=_plain(row.coefficient),
                low=_plain(row.low), high=_plain(row.high), p=_plain(row.p),
                corrected_p=_plain(p), n=row.n,
            )
            for row, p in zip(rows, adjusted, strict=True)
        ],
    )  # fmt: skip


def _each(request: Request, models: Sequence[Sequence[Evidence]]) -> np.ndarray:
    """What each explanation scores, the better the higher; NaN where undefined."""
    found = []
    for bundles in models:
        own = next((b for b in bundles if type(b) is request.entry.needs), None)
        lacking = own is None or request.entry.missing(own, request.options)
        if lacking or not issubclass(request.entry.state, SampleMean):
            found.append(np.full(len(bundles[0]), np.nan))
            continue
        each = request.entry.state.each(own, **request.options)
        value = ratio(each.part, each.whole)
        value[~each.asked] = np.nan
        found.append(value)
    sign = 1.0 if request.entry.better == "higher" else -1.0
    return sign * np.concatenate(found)


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else float(value)

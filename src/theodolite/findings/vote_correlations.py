"""Do scores that need no people go along with what people say?"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from theodolite.evidence.base import Evidence
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.rating_summary import Aggregate, aggregated
from theodolite.metrics.accepted.correlation_table import (
    CorrelationRow,
    corrected,
    correlation_table,
)
from theodolite.run_folder.run_file import Record
from theodolite.run_folder.scores_file import written


class VoteCorrelationRow(Record):
    """One number against the votes on one question."""

    measure: str
    votes: str
    method: Literal["pearson", "spearman"]
    r: float | None
    low: float | None
    high: float | None
    p: float | None
    corrected_p: float | None
    n: int


class VoteCorrelationsRecord(Record):
    """All numbers against all votes, p-values corrected for the table as a whole."""

    kind: Literal["vote_correlations"] = "vote_correlations"
    title: str
    aggregate: Aggregate
    rows: list[VoteCorrelationRow]


def vote_correlations(
    title: str, aggregate: Aggregate, models: Sequence[tuple[str, Sequence[Evidence]]]
) -> VoteCorrelationsRecord:
    """Tables 1, 9 and 10 of the paper for whatever was measured; once for each set of ratings."""
    correlations: list[CorrelationRow] = []
    for name, bundles in models:
        rated = next((b for b in bundles if isinstance(b, RatingEvidence)), None)
        if rated is None or rated.measured is None:
            continue
        votes = aggregated(np.asarray(rated.ratings), np.asarray(rated.scale), aggregate)
        columns = np.asarray(rated.measured, float)
        scores = {m: columns[:, at] for at, m in enumerate(rated.measures.names)}
        clusters = rated.samples.clusters
        correlations += correlation_table(
            scores, {name: votes}, correction="none",
            clusters=None if clusters is None else np.unique(clusters, return_inverse=True)[1],
        )  # fmt: skip
    adjusted = corrected(np.array([row.p for row in correlations]), "holm")
    rows = [
        VoteCorrelationRow(
            measure=row.score, votes=row.question, method=row.method, r=written(row.coefficient),
            low=written(row.low), high=written(row.high), p=written(row.p), corrected_p=written(p),
            n=row.n,
        )
        for row, p in zip(correlations, adjusted, strict=True)
    ]  # fmt: skip
    return VoteCorrelationsRecord(title=title, aggregate=aggregate, rows=rows)

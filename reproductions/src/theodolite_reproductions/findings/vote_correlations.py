"""Do scores that need no people go along with what people say?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from theodolite._stats.intervals import FEWEST_CLUSTERS
from theodolite._stats.multiple import correct_holm
from theodolite._storage.records import Record
from theodolite._verdicts.scores_file import written
from theodolite.evidence.base import Evidence, find_bundle
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.rating_summary import Aggregate, aggregate_ratings
from theodolite.metrics.accepted.correlation_table import CorrelationRow, correlation_table
from theodolite_reproductions.findings.correlation import EFFECT
from theodolite_reproductions.findings.decision import (
    DecisionRecord,
    FindingDecision,
    decide_correlation,
    decision_record,
)
from theodolite_reproductions.findings.score_correlations import fisher_error


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
    decision: DecisionRecord | None = None
    """That it goes along with the votes; contradicted where it goes against them."""


class VoteCorrelationsRecord(Record):
    """All numbers against all votes, p-values corrected for the table as a whole."""

    kind: Literal["vote_correlations"] = "vote_correlations"
    title: str
    aggregate: Aggregate
    rows: list[VoteCorrelationRow]


def vote_correlations(
    title: str,
    aggregate: Aggregate,
    models: Sequence[tuple[str, Sequence[Evidence]]],
    *,
    effect: float = EFFECT,
) -> VoteCorrelationsRecord:
    """Tables 1, 9 and 10 of the paper for whatever was measured; once for each set of ratings."""
    correlations: list[VoteCorrelation] = []
    for name, bundles in models:
        rated = find_bundle(RatingEvidence, bundles)
        if rated is None or rated.measured is None:
            continue
        votes = aggregate_ratings(np.asarray(rated.ratings), np.asarray(rated.scale), aggregate)
        columns = np.asarray(rated.measured, float)
        scores = {m: columns[:, at] for at, m in enumerate(rated.measures.names)}
        groups = rated.samples.clusters
        clusters = None if groups is None else np.unique(groups, return_inverse=True)[1]
        table = correlation_table(scores, {name: votes}, correction="none", clusters=clusters)
        for row in table:
            known = ~np.isnan(scores[row.score] + votes)
            n_clusters = None if clusters is None else len(np.unique(clusters[known]))
            correlations.append(VoteCorrelation(row, n_clusters))
    steps = correct_holm([correlation.p for correlation in correlations])
    rows = [
        _vote_row(correlation, effect, float(p), 1 - float(step))
        for correlation, p, step in zip(correlations, steps.p, steps.level, strict=True)
    ]
    return VoteCorrelationsRecord(title=title, aggregate=aggregate, rows=rows)


@dataclass(frozen=True)
class VoteCorrelation:
    """A row of the table of correlations, with how many clusters it is from."""

    row: CorrelationRow
    clusters: int | None
    """None where explanations are independent."""

    @property
    def p(self) -> float:
        """Of independent explanations by the table; of clusters by Student's t of as many."""
        return self.row.p if self.clusters is None else self.at(EFFECT).p

    def at(self, effect: float, level: float = 0.95) -> FindingDecision:
        """Return whether the number goes along with the votes."""
        z = float(np.arctanh(np.clip(self.row.coefficient, -1 + 1e-12, 1 - 1e-12)))
        repeats = self.row.n if self.clusters is None else self.clusters
        df = repeats - (3 if self.clusters is None else 1)
        few = self.clusters is not None and self.clusters < FEWEST_CLUSTERS
        error = float("nan") if few else fisher_error(self.row)
        return decide_correlation(z, error, df, effect, level=level, repeats=repeats)


def _vote_row(
    correlation: VoteCorrelation, effect: float, p: float, level: float
) -> VoteCorrelationRow:
    row, quoted = correlation.row, correlation.at(effect)
    clustered = correlation.clusters is not None
    ends = (quoted.low, quoted.high) if clustered else (row.low, row.high)
    return VoteCorrelationRow(
        measure=row.score, votes=row.question, method=row.method, r=written(row.coefficient),
        low=written(ends[0]), high=written(ends[1]), p=written(correlation.p),
        corrected_p=written(p), n=row.n,
        decision=decision_record(correlation.at(effect, level)),
    )  # fmt: skip

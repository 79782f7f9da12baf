"""The results of a protocol's studies in a few lines, for the top of its report."""

from collections.abc import Iterator, Sequence
from typing import Any

from theodolite_reproductions.chapters.findings import NAMED, title_of
from theodolite_reproductions.findings.leakage import (
    CorrelationRecord,
    CorrelationRowRecord,
    CriterionRecord,
    StudyRecord,
)
from theodolite_reproductions.findings.vote_correlations import (
    VoteCorrelationRow,
    VoteCorrelationsRecord,
)


def opening(studies: Sequence[StudyRecord]) -> list[dict[str, Any]]:
    """Return the title of each study with its results, one line each."""
    lines: dict[str, list[str]] = {}
    for study in studies:
        lines.setdefault(study.title, []).extend(_results(study))
    return [{"title": title, "lines": own} for title, own in lines.items()]


def _results(study: StudyRecord) -> Iterator[str]:
    if isinstance(study, CriterionRecord):
        yield f"{NAMED[study.scores]}: {study.answer}."
    elif isinstance(study, CorrelationRecord):
        for row in study.rows:
            yield f"{title_of(row.metric)}: r = {_coefficient(row)}."
    elif isinstance(study, VoteCorrelationsRecord):
        linear = [row for row in study.rows if row.method == "pearson" and row.r is not None]
        for votes in dict.fromkeys(row.votes for row in linear):
            strongest = max((r for r in linear if r.votes == votes), key=lambda r: abs(r.r or 0.0))
            yield (
                f"{votes.capitalize()}: strongest with {strongest.measure.replace('_', ' ')}, "
                f"r = {_coefficient(strongest)}."
            )


def _coefficient(row: CorrelationRowRecord | VoteCorrelationRow) -> str:
    if row.r is None:
        return "undefined"
    known = row.low is not None and row.high is not None
    between = f" (95 % CI {row.low:.2f} to {row.high:.2f}, n = {row.n:,})" if known else ""
    return f"{row.r:.2f}{between}".replace("-", "−")

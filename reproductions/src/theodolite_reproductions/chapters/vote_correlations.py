"""Correlations of ratings with numbers that need no raters."""

from collections.abc import Sequence
from typing import Any

from theodolite_reproductions.chapters.decisions import correlation_size
from theodolite_reproductions.findings.leakage import StudyRecord
from theodolite_reproductions.findings.vote_correlations import (
    VoteCorrelationRow,
    VoteCorrelationsRecord,
)

SURE = 0.05


def vote_correlation_tables(studies: Sequence[StudyRecord]) -> list[dict[str, Any]]:
    """Return a table for each study of ratings."""
    return [_table(study) for study in studies if isinstance(study, VoteCorrelationsRecord)]


def _table(record: VoteCorrelationsRecord) -> dict[str, Any]:
    rows: dict[tuple[str, str], dict[str, VoteCorrelationRow]] = {}
    for row in record.rows:
        rows.setdefault((row.votes, row.measure), {})[row.method] = row
    return {
        "title": record.title,
        "aggregate": record.aggregate,
        "n": len(record.rows),
        "asked": next((correlation_size(r.decision.effect) for r in record.rows if r.decision), ""),
        "rows": [
            {
                "votes": votes,
                "measure": measure,
                "cells": [_coefficient(of.get(method)) for method in ("pearson", "spearman")],
            }
            for (votes, measure), of in rows.items()
        ],
    }


def _coefficient(row: VoteCorrelationRow | None) -> dict[str, Any]:
    if row is None or row.r is None:
        return {"value": "–", "between": "", "p": "", "sure": False, "power": ""}
    known = row.low is not None and row.high is not None
    p = row.corrected_p
    return {
        "value": f"{row.r:.2f}".replace("-", "−"),
        "between": f"{row.low:.2f} to {row.high:.2f}".replace("-", "−") if known else "",
        "p": "" if p is None else "p < 0.001" if p < 0.001 else f"p = {p:.3f}",
        "sure": p is not None and p < SURE,
        "power": _power(row),
    }


def _power(row: VoteCorrelationRow) -> str:
    """What is to be said beside a correlation that is not sure."""
    decision = row.decision
    if decision is None or decision.answer in ("confirmed", "contradicted"):
        return ""
    if decision.min_detectable_effect is None:
        return decision.answer
    seen = correlation_size(decision.min_detectable_effect)
    if decision.answer == "not there":
        return f"within ±{correlation_size(decision.effect)}"
    return f"{decision.answer}: {seen} or more would be seen"

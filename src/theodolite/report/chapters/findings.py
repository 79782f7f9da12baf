"""What a paper found about models, and whether it holds for the models of a run."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from theodolite.findings.leakage import (
    CorrelationRecord,
    CorrelationRowRecord,
    CriterionRecord,
    DifferenceRecord,
    PairRecord,
    StudiesFile,
)
from theodolite.metrics.catalogue import catalogue
from theodolite.report.figures.strips import beside_zero
from theodolite.run_folder.run_file import read_record

CSS = {
    "confirmed": "yes",
    "not confirmed": "partly",
    "contradicted": "no",
    "cannot tell": "cannot-tell",
}
NAMED = {"published": "By the published scores", "mended": "By the mended scores"}


def findings(folder: Path) -> dict[str, Any] | None:
    """All that the page says of studies over models; None if there were none."""
    path = folder / "studies.json"
    studies = list(read_record(path, StudiesFile).studies) if path.is_file() else []
    criteria = [study for study in studies if isinstance(study, CriterionRecord)]
    correlations = [study for study in studies if isinstance(study, CorrelationRecord)]
    if not criteria and not correlations:
        return None
    titles = dict.fromkeys(criterion.title for criterion in criteria)
    return {
        "criteria": [_claim([c for c in criteria if c.title == title]) for title in titles],
        "correlations": [_correlation(correlation) for correlation in correlations],
    }


def _claim(records: Sequence[CriterionRecord]) -> dict[str, Any]:
    """One claim, answered by each set of scores."""
    return {
        "title": records[0].title,
        "paper": records[0].paper,
        "answers": [_answer(record) for record in records],
    }


def _answer(record: CriterionRecord) -> dict[str, Any]:
    reach = _reach(record.pooled)
    return {
        "by": NAMED[record.scores],
        "word": record.answer,
        "css": CSS[record.answer],
        "counts": counts_text(record.pairs),
        "pooled": [
            {
                "name": _title(d.metric),
                "said": _difference(d),
                "svg": beside_zero(d.value, d.low, d.high, reach),
            }
            for d in record.pooled
        ],
        "scores": [_title(d.metric) for d in record.pooled],
        "pairs": [
            (pair.more, pair.less, pair.outcome, [_difference(d) for d in pair.differences])
            for pair in record.pairs
        ],
    }


def counts_text(pairs: Sequence[PairRecord]) -> str:
    """In how many pairs the claim holds, fails, or cannot be told."""
    outcomes = [pair.outcome for pair in pairs]
    of = f"{len(outcomes)} pair" + ("" if len(outcomes) == 1 else "s")
    text = f"more in {outcomes.count('more')} of {of}, less in {outcomes.count('less')}"
    text += f", compatible in {outcomes.count('compatible')}"
    for rare in ("contradictory", "undefined"):
        if rare in outcomes:
            text += f", {rare} in {outcomes.count(rare)}"
    return text


def _reach(pooled: Sequence[DifferenceRecord]) -> float:
    """How far the farthest interval goes, so that all are drawn alike."""
    ends = [abs(v) for d in pooled for v in (d.value, d.low, d.high) if v is not None]
    return min(max([*ends, 0.01]), 1.0)


def _title(name: str) -> str:
    metric = catalogue().get(name)
    return name if metric is None else metric.title


def _difference(difference: DifferenceRecord) -> str:
    if difference.value is None:
        return "–"
    text = _signed(difference.value, difference.metric)
    if difference.low is not None and difference.high is not None:
        low, high = (_signed(end, difference.metric) for end in (difference.low, difference.high))
        text += f" [{low}, {high}]"
    return text


def _signed(value: float, name: str) -> str:
    """Points of a percentage where the score is a share, else the number; never more than can be.

    Intervals over a few pairs are wide, and know nothing of the scores' bounds.
    """
    metric = catalogue().get(name)
    if metric is not None:
        widest = metric.bounds[1] - metric.bounds[0]
        value = min(max(value, -widest), widest)
    if metric is not None and metric.bounds == (0.0, 1.0):
        text = f"{round(100 * value, 1) + 0.0:+.1f}"
    else:
        text = f"{round(value, 2) + 0.0:+.2f}"
    return text.replace("-", "−")


def _correlation(record: CorrelationRecord) -> dict[str, Any]:
    return {
        "title": record.title,
        "against": _title(record.against),
        "has_paper": any(row.paper for row in record.rows),
        "rows": [_row(row) for row in record.rows],
    }


def _row(row: CorrelationRowRecord) -> dict[str, Any]:
    return {
        "name": _title(row.metric),
        "r": _r_text(row.r),
        "between": "" if row.low is None else f"{_r_text(row.low)} to {_r_text(row.high)}",
        "svg": beside_zero(row.r, row.low, row.high, 1.0),
        "p": p_text(row.p),
        "n": row.n,
        "paper": "" if row.paper is None else f"{_r_text(row.paper[0])}, p {p_text(row.paper[1])}",
    }


def _r_text(value: float | None) -> str:
    return "–" if value is None else f"{round(value, 2) + 0.0:.2f}".replace("-", "−")


def p_text(p: float | None) -> str:
    """A p-value to two digits."""
    if p is None or math.isnan(p):
        return "–"
    return "< 0.0001" if p < 1e-4 else f"{p:.2g}"

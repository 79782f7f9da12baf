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
from theodolite.report.figures import beside_zero
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
    criteria = [one for one in studies if isinstance(one, CriterionRecord)]
    correlations = [one for one in studies if isinstance(one, CorrelationRecord)]
    if not criteria and not correlations:
        return None
    titles = dict.fromkeys(one.title for one in criteria)
    return {
        "criteria": [_claim([c for c in criteria if c.title == title]) for title in titles],
        "correlations": [_correlation(one) for one in correlations],
    }


def _claim(records: Sequence[CriterionRecord]) -> dict[str, Any]:
    """One claim, answered by each set of scores."""
    return {
        "title": records[0].title,
        "paper": records[0].paper,
        "answers": [_answer(one) for one in records],
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
    found = [pair.outcome for pair in pairs]
    of = f"{len(found)} pair" + ("" if len(found) == 1 else "s")
    said = f"more in {found.count('more')} of {of}, less in {found.count('less')}"
    said += f", compatible in {found.count('compatible')}"
    for rare in ("contradictory", "undefined"):
        if rare in found:
            said += f", {rare} in {found.count(rare)}"
    return said


def _reach(pooled: Sequence[DifferenceRecord]) -> float:
    """How far the farthest interval goes, so that all are drawn alike."""
    ends = [abs(v) for d in pooled for v in (d.value, d.low, d.high) if v is not None]
    return min(max([*ends, 0.01]), 1.0)


def _title(metric: str) -> str:
    about = catalogue().get(metric)
    return metric if about is None else about.title


def _difference(given: DifferenceRecord) -> str:
    if given.value is None:
        return "–"
    said = _signed(given.value, given.metric)
    if given.low is not None and given.high is not None:
        low, high = (_signed(end, given.metric) for end in (given.low, given.high))
        said += f" [{low}, {high}]"
    return said


def _signed(value: float, metric: str) -> str:
    """Points of a percentage where the score is a share, else the number; never more than can be.

    Intervals over a few pairs are wide, and know nothing of the scores' bounds.
    """
    about = catalogue().get(metric)
    if about is not None:
        widest = about.bounds[1] - about.bounds[0]
        value = min(max(value, -widest), widest)
    if about is not None and about.bounds == (0.0, 1.0):
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
        "r": _plain(row.r),
        "between": "" if row.low is None else f"{_plain(row.low)} to {_plain(row.high)}",
        "svg": beside_zero(row.r, row.low, row.high, 1.0),
        "p": p_text(row.p),
        "n": row.n,
        "paper": "" if row.paper is None else f"{_plain(row.paper[0])}, p {p_text(row.paper[1])}",
    }


def _plain(value: float | None) -> str:
    return "–" if value is None else f"{round(value, 2) + 0.0:.2f}".replace("-", "−")


def p_text(p: float | None) -> str:
    """A p-value to two digits."""
    if p is None or math.isnan(p):
        return "–"
    return "< 0.0001" if p < 1e-4 else f"{p:.2g}"

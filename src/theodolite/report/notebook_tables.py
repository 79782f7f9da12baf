"""Comparisons and dissections as a notebook shows them: a sentence and a table."""

from typing import Any

from theodolite._runs.comparison.compare_runs import Comparison, VerdictPair
from theodolite._verdicts.words import percent
from theodolite.dissection.dissect import Dissection
from theodolite.report.figures.strips import difference_strip
from theodolite.report.notebook import fragment
from theodolite.report.pages.compare_runs_words import (
    CSS,
    difference_text,
    outcome_text,
    reach_of,
    sentence,
)

MOST_UNITS = 20


def comparison_html(comparison: Comparison) -> str:
    """Return which run is better in which question, with p-values."""
    tested = [q for q in comparison.questions if q.line.difference is not None]
    return fragment(
        "notebook_comparison.html.j2",
        sentence=sentence(comparison),
        rows=[_row(verdict_pair, comparison) for verdict_pair in comparison.questions],
        names=(comparison.first.name, comparison.second.name),
        n=comparison.n,
        n_others=len(comparison.lines) - len(tested),
    )


def _row(verdict_pair: VerdictPair, comparison: Comparison) -> dict[str, Any]:
    line = verdict_pair.line
    alike = [q.line for q in comparison.questions if q.line.score.bounds == line.score.bounds]
    difference, strip = "", ""
    if line.difference is not None:
        interval = line.difference.interval
        low, high = (None, None) if interval is None else (interval.low, interval.high)
        difference = difference_text(line.difference, line.score)
        strip = difference_strip(
            line.difference.value, low, high, reach_of(alike), better=line.score.better
        )
    return {
        "asks": verdict_pair.question_text,
        "answers": " → ".join(dict.fromkeys((verdict_pair.before, verdict_pair.after))),
        "values": ["–" if s is None else percent(s.value, s) for s in (line.first, line.second)],
        "difference": difference,
        "strip": strip,
        "css": CSS[line.outcome],
        "outcome": "; ".join(text for text in (outcome_text(line), line.why) if text),
    }


def dissection_html(dissection: Dissection) -> str:
    """The units whose formulas overlap most, and how many there are."""
    records = dissection.to_records()
    explained = sorted((row for row in records if row["formula"]), key=lambda row: -row["iou"])
    return fragment(
        "notebook_dissection.html.j2",
        rows=[_unit_row(row) for row in explained[:MOST_UNITS]],
        n=len(records),
        n_explained=len(explained),
        n_concepts=len(dissection.atoms.concepts),
        n_images=len(dissection.atoms),
    )


def _unit_row(row: dict[str, Any]) -> dict[str, Any]:
    shares = {name: f"{100 * row[name]:.1f} %" for name in ("iou", "detection_accuracy")}
    return row | shares

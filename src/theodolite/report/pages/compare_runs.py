"""The page that compares runs: one self-contained HTML file."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from theodolite._runs.comparison.compare_runs import Comparison, VerdictPair
from theodolite._runs.comparison.comparison_rows import ComparisonRow
from theodolite._runs.comparison.loaded_runs import LoadedRun
from theodolite._runs.comparison.paired_differences import ItemDifferences
from theodolite._runs.comparison.run_differences import list_differences
from theodolite._verdicts.words import interval_text, is_share, percent
from theodolite.report.figures.strips import difference_strip, score_strip, strip_key, two_run_strip
from theodolite.report.page import write_page
from theodolite.report.pages.compare_runs_words import (
    CSS,
    between,
    bottom_line,
    further,
    outcome_text,
    p_text,
    reach_of,
    shortage_text,
    signed,
    unit,
)
from theodolite.report.words import full_title, options_text, title, unbroken
from theodolite.results import Score

MOST_ITEMS = 8
EACH = "Each comparison uses the samples that both runs scored."


def write_comparison(path: Path, pairs: Sequence[Comparison]) -> Path:
    """Write the page of runs that were compared with the first of them."""
    first = pairs[0].first
    runs = [first, *(pair.second for pair in pairs)]
    level = first.record.spec.resampling.level
    others = [pair.second.name for pair in pairs]
    content = {
        "title": f"{' and '.join(others) if len(others) < 3 else f'{len(others)} runs'} against "
        f"{first.name}",
        "subtitle": _samples(pairs[0]) if len(pairs) == 1 else EACH,
        "sentences": [bottom_line(pair, named=len(pairs) > 1) for pair in pairs],
        "questions": sorted(_questions(pairs), key=lambda question: not question["changed"]),
        "pairs": [_pair(pair) for pair in pairs],
        "strip_key": strip_key(f"{100 * level:g} % interval"),
        "sure": f"{100 * (1 - level):g} %",
        "n_headlines": sum(_tested(q.line) for pair in pairs for q in pair.questions),
        "provenance": [_provenance(run) for run in runs],
        "version": first.record.packages.get("theodolite", ""),
    }
    return write_page(path, "compare_runs.html.j2", content, styles=["compare_runs.css"])


def _tested(line: ComparisonRow) -> bool:
    return line.difference is not None and not np.isnan(line.difference.p)


def _questions(pairs: Sequence[Comparison]) -> list[dict[str, Any]]:
    by_question: dict[str, list[tuple[Comparison, VerdictPair]]] = {}
    for pair in pairs:
        for verdict_pair in pair.questions:
            by_question.setdefault(verdict_pair.question, []).append((pair, verdict_pair))
    cards = []
    for own in by_question.values():
        lines = [verdict_pair.line for _, verdict_pair in own]
        score = next((line.first for line in lines if line.first), lines[0].score)
        rows = [_question_row(*both, reach_of(lines)) for both in own]
        cards.append(
            {
                "asks": own[0][1].question_text,
                "better": score.better,
                "changed": any(row["changed"] for row in rows),
                "rows": rows,
            }
        )
    return cards


def _two_runs(pair: Comparison, line: ComparisonRow) -> Markup:
    """Both on one strip, or what there is of them."""
    first, second = line.first, line.second
    if first is None or second is None or second.metric != first.metric:
        return Markup().join(score_strip(score) for score in (first, second) if score is not None)
    return two_run_strip(first, second, (pair.first.name, pair.second.name))


def _question_row(pair: Comparison, verdict_pair: VerdictPair, reach: float) -> dict[str, Any]:
    line = verdict_pair.line
    return {
        "name": pair.second.name,
        "reference": pair.first.name,
        "before": verdict_pair.before,
        "after": verdict_pair.after,
        "after_css": verdict_pair.after.replace("_", "-"),
        "changed": verdict_pair.before != verdict_pair.after,
        "both": _two_runs(pair, line),
        **_line(line, reach),
    }


def _line(line: ComparisonRow, reach: float) -> dict[str, Any]:
    difference, score = line.difference, line.score
    known = difference is not None and not np.isnan(difference.value)
    interval = difference.interval if difference is not None and known else None
    others = further(difference) if difference is not None and known else []
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    headline = line.outcome != "exploration"
    p = line.these.p if headline or difference is None else difference.p
    return {
        "title": title(score),
        "options": options_text(score),
        "first": _value_parts(line.first),
        "second": _value_parts(line.second),
        "difference": f"{signed(difference.value, score)}{unit(score)}"
        if difference and known
        else "",
        "interval": between(interval, score),
        "over": "" if interval is None else interval.over,
        "others": [
            (name, between(test.interval, score), _p_of(line, name, test.p))
            for name, test in others
        ],
        "figure": difference_strip(
            difference.value, low, high, reach, better=score.better, width=200 if headline else 150
        )
        if difference and known
        else "",
        "outcome": outcome_text(line),
        "css": CSS[line.outcome],
        "p": p_text(p),
        "why": line.why,
        "shortage": shortage_text(line),
        "n": "" if difference is None else f"{difference.n}",
    }


def _p_of(line: ComparisonRow, name: str, p: float) -> str:
    """Of a headline's claim about the recipe the corrected one."""
    corrected = name == "the recipe" and line.outcome != "exploration"
    return p_text(line.recipe.p if corrected else p)


def _value_parts(score: Score | None) -> tuple[str, ...]:
    if score is None:
        return "–", "", ""
    null = score.null
    beside = "" if null is None else f"{null.label}: {percent(null.value, score)}"
    parts = percent(score.value, score), interval_text(score).strip(), beside
    return tuple(unbroken(part) for part in parts)


def _pair(pair: Comparison) -> dict[str, Any]:
    heads = {id(q.line.difference) for q in pair.questions if q.line.difference is not None}
    other_lines = [line for line in pair.lines if id(line.difference) not in heads]
    shares = [line for line in other_lines if is_share(line.score)]
    others = [line for line in other_lines if not is_share(line.score)]
    reach, wider = reach_of(shares), reach_of(others)
    grouped = itertools.groupby(
        list_differences(pair.first, pair.second), key=lambda row: row.group
    )
    return {
        "first": pair.first.name,
        "second": pair.second.name,
        "samples": _samples(pair),
        "lines": [_line(x, reach if is_share(x.score) else wider) for x in other_lines],
        "only": [
            (run.name, [full_title(score) for score in scores])
            for run, scores in ((pair.first, pair.only_first), (pair.second, pair.only_second))
            if scores
        ],
        "moved": _items(pair),
        "differs": [(group, list(rows)) for group, rows in grouped],
    }


def _samples(pair: Comparison) -> str:
    if not pair.n:
        return "No samples could be paired."
    text = f"{pair.n:,} samples that both runs scored."
    for run, n in zip((pair.first, pair.second), pair.dropped, strict=True):
        text += (
            f" {n:,} of {run.name} were left out, because the other run lacks them." if n else ""
        )
    return text


def _items(pair: Comparison) -> list[dict[str, Any]]:
    """Of each score with concepts, classes or units behind it, those that changed most."""
    same_network = pair.first.record.spec.pipeline == pair.second.record.spec.pipeline
    tables = []
    for line in pair.lines:
        items = None if line.difference is None else line.difference.items
        if items is None or not len(items.names) or not np.any(items.differences):
            continue
        if items.over == "units" and not same_network:
            continue  # unit 7 of another network is another unit
        tables.append(
            {
                "title": full_title(line.score),
                "over": items.over,
                "n": len(items.names),
                "better": line.score.better,
                "rows": _item_rows(items, line.score),
            }
        )
    return tables


def _item_rows(items: ItemDifferences, score: Score) -> list[dict[str, Any]]:
    order = np.argsort(-np.abs(items.differences), kind="stable")[:MOST_ITEMS]
    moved = items.differences
    marks = np.abs([moved[order], items.low[order], items.high[order]])
    reach = max(float(np.nanmax(marks, initial=0.0)), 1e-9)
    rows = []
    for j in order:
        low, high = float(items.low[j]), float(items.high[j])
        known = not np.isnan(low)
        ends = (low, high) if known else (None, None)
        rows.append(
            {
                "name": items.names[j],
                "first": percent(float(items.first[j]), score),
                "second": percent(float(items.second[j]), score),
                "difference": f"{signed(float(moved[j]), score)}{unit(score)}",
                "interval": f"[{signed(low, score)}, {signed(high, score)}]" if known else "",
                "figure": difference_strip(
                    float(moved[j]), ends[0], ends[1], reach, better=score.better
                ),
            }
        )
    return rows


def _provenance(run: LoadedRun) -> dict[str, str]:
    spec, record = run.record.spec, run.record
    return {
        "name": run.name,
        "title": run.title,
        "started": record.started.partition("T")[0],
        "seeds": ", ".join(map(str, spec.seeds)),
        "data": "" if spec.dataset is None else spec.dataset.name,
        "version": record.packages.get("theodolite", ""),
    }

"""The page that holds runs against each other: one HTML file that needs nothing beside it."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from theodolite.comparison.compare_runs import Pair, VerdictPair
from theodolite.comparison.differences import differs
from theodolite.comparison.pairing import ItemDifferences
from theodolite.comparison.rows import ComparisonRow
from theodolite.comparison.runs import RunRead
from theodolite.report.compare_runs_figures import lanes
from theodolite.report.figures import beside_zero
from theodolite.report.page import write_page
from theodolite.report.pages.compare_runs_words import (
    CSS,
    SAID,
    between,
    changed,
    ends_of_line,
    is_share,
    reach_of,
    sentence,
    signed,
    unit,
)
from theodolite.report.svg import swatch
from theodolite.report.words import full_title, options_text, title
from theodolite.results import Score
from theodolite.verdicts.rules import interval_text, percent

MOST_ITEMS = 8


def write_comparison(path: Path, pairs: Sequence[Pair]) -> Path:
    """Write the page of runs that were compared with the first of them."""
    first = pairs[0].first
    runs = [first, *(pair.second for pair in pairs)]
    level = first.record.spec.resampling.level
    content = {
        "title": ", ".join(run.name for run in runs) if len(runs) < 4 else f"{len(runs)} runs",
        "subtitle": f"Runs compared with {first.name}, sample by sample",
        "sentences": [sentence(pair) for pair in pairs],
        "key": [
            (swatch(style), run.name, run.title if run.title != run.name else "")
            for style, run in enumerate(runs)
        ],
        "questions": _questions(pairs),
        "pairs": [_pair(pair) for pair in pairs],
        "interval": f"{100 * level:g} % interval",
        "sure": f"{100 * (1 - level):g} %",
        "n_lines": sum(_tested(line) for pair in pairs for line in pair.lines),
        "provenance": [_provenance(run) for run in runs],
        "version": first.record.packages.get("theodolite", ""),
    }
    return write_page(path, "compare_runs.html.j2", content, styles=["compare_runs.css"])


def _tested(line: ComparisonRow) -> bool:
    return line.difference is not None and not np.isnan(line.difference.p)


def _questions(pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """A row a question: all runs on one scale, then each difference."""
    asked = dict.fromkeys(one.question for pair in pairs for one in pair.questions)
    found = []
    for question in asked:
        own = [
            (style, pair, one)
            for style, pair in enumerate(pairs, start=1)
            for one in pair.questions
            if one.question == question
        ]
        reach = reach_of([one.line for _, _, one in own])
        first = next((one.line.first for _, _, one in own if one.line.first is not None), None)
        score = first if first is not None else own[0][2].line.score
        found.append(
            {
                "asks": own[0][2].asks,
                "score": full_title(score),
                "better": score.better,
                "figure": _figure(first, own),
                "rows": [_answered(style, pair, one, reach) for style, pair, one in own],
            }
        )
    return found


def _figure(first: Score | None, own: Sequence[tuple[int, Pair, VerdictPair]]) -> Markup:
    shown = [] if first is None else [(0, own[0][1].first.name, first)]
    for style, pair, one in own:
        second = one.line.second
        if second is not None and (first is None or second.metric == first.metric):
            shown.append((style, pair.second.name, second))
    return lanes(shown)


def _answered(style: int, pair: Pair, one: VerdictPair, reach: float) -> dict[str, Any]:
    line = one.line
    return {
        "swatch": swatch(style),
        "name": pair.second.name,
        "before": one.before,
        "after": one.after,
        "changed": one.before != one.after,
        **_line(line, reach),
    }


def _line(line: ComparisonRow, reach: float) -> dict[str, Any]:
    found, score = line.difference, line.score
    known = found is not None and not np.isnan(found.value)
    interval = found.interval if found is not None and known else None
    others = found.intervals[1:] if found is not None and known else ()
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    return {
        "title": title(score),
        "options": options_text(score),
        "first": _valued(line.first),
        "second": _valued(line.second),
        "difference": f"{signed(found.value, score)}{unit(score)}" if found and known else "",
        "interval": between(interval, score),
        "over": "" if interval is None else interval.over,
        "others": [(one.over, between(one, score)) for one in others],
        "ends": ends_of_line(score),
        "figure": beside_zero(found.value, low, high, reach) if found and known else "",
        "said": SAID[line.outcome],
        "css": CSS[line.outcome],
        "p": "" if np.isnan(line.p) else f"{line.p:.3f}" if line.p >= 0.001 else "< 0.001",
        "why": line.why,
        "n": "" if found is None else f"{found.n}",
    }


def _valued(score: Score | None) -> tuple[str, ...]:
    if score is None:
        return "–", "", ""
    null = score.null
    beside = "" if null is None else f"{null.name}: {percent(null.value, score)}"
    said = percent(score.value, score), interval_text(score).strip(), beside
    return tuple(part.replace(" %", "\u00a0%") for part in said)


def _pair(pair: Pair) -> dict[str, Any]:
    shares = [line for line in pair.lines if is_share(line.score)]
    others = [line for line in pair.lines if not is_share(line.score)]
    reach, wider = reach_of(shares), reach_of(others)
    grouped = itertools.groupby(differs(pair.first, pair.second), key=lambda one: one.group)
    return {
        "first": pair.first.name,
        "second": pair.second.name,
        "samples": _samples(pair),
        "changed": changed(pair),
        "lines": [_line(x, reach if is_share(x.score) else wider) for x in pair.lines],
        "only": [
            (run.name, [full_title(score) for score in scores])
            for run, scores in ((pair.first, pair.only_first), (pair.second, pair.only_second))
            if scores
        ],
        "moved": _items(pair),
        "differs": [(group, list(rows)) for group, rows in grouped],
    }


def _samples(pair: Pair) -> str:
    if not pair.n:
        return "No samples could be paired."
    said = f"{pair.n:,} samples that both runs scored."
    for run, n in zip((pair.first, pair.second), pair.dropped, strict=True):
        said += f" {n:,} of {run.name} were left out: the other lacks them." if n else ""
    return said


def _items(pair: Pair) -> list[dict[str, Any]]:
    """Of each score with concepts, classes or units behind it, those that changed most."""
    same_network = pair.first.record.spec.pipeline == pair.second.record.spec.pipeline
    found = []
    for line in pair.lines:
        items = None if line.difference is None else line.difference.items
        if items is None or not len(items.names) or not np.any(items.differences):
            continue
        if items.over == "units" and not same_network:
            continue  # unit 7 of another network is another unit
        found.append(
            {
                "title": full_title(line.score),
                "over": items.over,
                "n": len(items.names),
                "better": line.score.better,
                "ends": ends_of_line(line.score),
                "rows": _item_rows(items, line.score),
            }
        )
    return found


def _item_rows(items: ItemDifferences, score: Score) -> list[dict[str, Any]]:
    order = np.argsort(-np.abs(items.differences), kind="stable")[:MOST_ITEMS]
    moved = items.differences
    ends = np.abs([moved[order], items.low[order], items.high[order]])
    reach = max(float(np.nanmax(ends, initial=0.0)), 1e-9)
    rows = []
    for j in order:
        low, high = float(items.low[j]), float(items.high[j])
        known = not np.isnan(low)
        beside = f"[{signed(low, score)}, {signed(high, score)}]" if known else ""
        rows.append(
            {
                "name": items.names[j],
                "first": percent(float(items.first[j]), score),
                "second": percent(float(items.second[j]), score),
                "difference": f"{signed(float(moved[j]), score)}{unit(score)}",
                "interval": beside,
                "figure": beside_zero(
                    float(moved[j]), low if known else None, high if known else None, reach
                ),
            }
        )
    return rows


def _provenance(run: RunRead) -> dict[str, str]:
    spec, record = run.record.spec, run.record
    return {
        "name": run.name,
        "title": run.title,
        "started": record.started.partition("T")[0],
        "seeds": ", ".join(map(str, spec.seeds)),
        "data": "" if spec.dataset is None else spec.dataset.name,
        "version": record.packages.get("theodolite", ""),
    }

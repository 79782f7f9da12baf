"""The page that holds runs against each other: one HTML file that needs nothing beside it."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from theodolite.comparison.compare_runs import Comparison, VerdictPair
from theodolite.comparison.differences import differs
from theodolite.comparison.pairing import ItemDifferences
from theodolite.comparison.rows import ComparisonRow
from theodolite.comparison.runs import RunRead
from theodolite.report.figures.strips import difference_strip, score_strip, strip_key, two_run_strip
from theodolite.report.figures.svg import swatch
from theodolite.report.page import write_page
from theodolite.report.pages.compare_runs_words import (
    CSS,
    between,
    changed_answers,
    further,
    is_share,
    outcome_text,
    p_text,
    reach_of,
    sentence,
    shortage_text,
    signed,
    unit,
)
from theodolite.report.words import full_title, options_text, title
from theodolite.results import Score
from theodolite.verdicts.words import interval_text, percent

MOST_ITEMS = 8
ENDS = ("worse", "better")
"""Of a strip of a difference."""
UNCLAIMED = ("", "")
"""Where nothing is claimed, the head of the column says what the right is."""


def write_comparison(path: Path, pairs: Sequence[Comparison]) -> Path:
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
    """A row a question: all runs on one scale, then each difference."""
    questions = dict.fromkeys(
        verdict_pair.question for pair in pairs for verdict_pair in pair.questions
    )
    rows = []
    for question in questions:
        own = [
            (style, pair, verdict_pair)
            for style, pair in enumerate(pairs, start=1)
            for verdict_pair in pair.questions
            if verdict_pair.question == question
        ]
        reach = reach_of([verdict_pair.line for _, _, verdict_pair in own])
        first = next(
            (
                verdict_pair.line.first
                for _, _, verdict_pair in own
                if verdict_pair.line.first is not None
            ),
            None,
        )
        score = first if first is not None else own[0][2].line.score
        rows.append(
            {
                "asks": own[0][2].asks,
                "score": full_title(score),
                "better": score.better,
                "figure": _figure(first, own),
                "rows": [
                    _question_row(style, pair, verdict_pair, reach)
                    for style, pair, verdict_pair in own
                ],
            }
        )
    return rows


def _figure(first: Score | None, own: Sequence[tuple[int, Comparison, VerdictPair]]) -> Markup:
    """A strip for each run that the first is held against."""
    strips = []
    for _, pair, verdict_pair in own:
        second = verdict_pair.line.second
        if first is None or second is None or second.metric != first.metric:
            strips += [score_strip(score) for score in (first, second) if score is not None]
        else:
            strips.append(two_run_strip(first, second, (pair.first.name, pair.second.name)))
    return Markup().join(strips)


def _question_row(
    style: int, pair: Comparison, verdict_pair: VerdictPair, reach: float
) -> dict[str, Any]:
    line = verdict_pair.line
    return {
        "swatch": swatch(style),
        "name": pair.second.name,
        "before": verdict_pair.before,
        "after": verdict_pair.after,
        "changed": verdict_pair.before != verdict_pair.after,
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
        "ends": ENDS if headline else UNCLAIMED,
        "figure": difference_strip(difference.value, low, high, reach, better=score.better)
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
    beside = "" if null is None else f"{null.shown}: {percent(null.value, score)}"
    parts = percent(score.value, score), interval_text(score).strip(), beside
    return tuple(part.replace(" %", "\u00a0%") for part in parts)


def _pair(pair: Comparison) -> dict[str, Any]:
    heads = {id(q.line.difference) for q in pair.questions if q.line.difference is not None}
    other_lines = [line for line in pair.lines if id(line.difference) not in heads]
    shares = [line for line in other_lines if is_share(line.score)]
    others = [line for line in other_lines if not is_share(line.score)]
    reach, wider = reach_of(shares), reach_of(others)
    grouped = itertools.groupby(differs(pair.first, pair.second), key=lambda row: row.group)
    return {
        "first": pair.first.name,
        "second": pair.second.name,
        "samples": _samples(pair),
        "changed": changed_answers(pair),
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
        text += f" {n:,} of {run.name} were left out: the other lacks them." if n else ""
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
                "ends": UNCLAIMED,
                "rows": _item_rows(items, line.score),
            }
        )
    return tables


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
                "figure": difference_strip(
                    float(moved[j]),
                    low if known else None,
                    high if known else None,
                    reach,
                    better=score.better,
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

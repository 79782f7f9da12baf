"""Scores of single items as columns: concepts, classes, units and pairs from the scores themselves,
samples from the run's table of samples."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from theodolite._storage.tables import Words
from theodolite._verdicts.words import percent
from theodolite.errors import UnsafeInputError
from theodolite.metrics.catalogue import catalogue
from theodolite.report.explorer.packed_table import PackedTable, ScoreColumn, Values
from theodolite.report.words import interval_words, options_text, title
from theodolite.results import Score

MOST_COLUMNS = 40
"""More scores than these would make a page too heavy to open; they stay in the run's files."""
KINDS = ("concepts", "units", "classes", "pairs")
_OPTION = re.compile(r"(?:^|, )(\w+)=")


def item_tables(
    per_sample: Mapping[str, Words | np.ndarray], scores: Sequence[Score]
) -> list[PackedTable]:
    """A table per kind of item that the run has scores of, each with at least two rows."""
    tables = [_item_table(kind, scores) for kind in KINDS]
    tables.append(_sample_table(per_sample, scores))
    return [table for table in tables if table is not None and len(table.names) > 1]


def _item_table(kind: str, scores: Sequence[Score]) -> PackedTable | None:
    own = [score for score in scores if score.detail and score.detail.over == kind]
    if not own:
        return None
    name_lists = [_distinct_names(score.detail.names) for score in own if score.detail]
    places = _places(name_lists)
    columns = []
    for score, names in zip(own, name_lists, strict=True):
        detail = score.detail
        assert detail is not None  # noqa: S101  asked before
        rows = np.fromiter((places[name] for name in names), np.int64, len(names))
        parts = [
            None if values is None else _spread(values, rows, len(places))
            for values in (detail.values, detail.low, detail.high)
        ]
        assert parts[0] is not None  # noqa: S101
        columns.append(_column(score, parts[0], parts[1], parts[2]))
    first_columns = columns[:MOST_COLUMNS]
    return PackedTable(kind, list(places), first_columns, len(columns) - len(first_columns))


def _places(name_lists: Sequence[Sequence[str]]) -> dict[str, int]:
    """A row for each name, in the order in which they are first named."""
    names: dict[str, None] = {}
    for item_names in name_lists:
        names.update(dict.fromkeys(item_names))
    return {name: row for row, name in enumerate(names)}


def _distinct_names(names: Sequence[str]) -> Sequence[str]:
    """Names of which none comes twice: a second one is numbered, so that no row hides another."""
    if len(set(names)) == len(names):
        return names
    seen: Counter[str] = Counter()
    distinct = []
    for name in names:
        seen[name] += 1
        distinct.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return distinct


def _spread(values: np.ndarray, rows: np.ndarray, n: int) -> Values:
    if len(values) != len(rows):
        raise UnsafeInputError(
            "scores.json", f"{len(values)} values of items", f"{len(rows)}, one per name"
        )
    column = np.full(n, np.nan)
    column[rows] = values
    return column


def _column(
    score: Score, values: Values, low: Values | None = None, high: Values | None = None
) -> ScoreColumn:
    whole = percent(score.value, score)
    if score.interval is not None:
        whole += f" [{interval_words(score.interval, score)}]"
    both = low is not None and high is not None
    return ScoreColumn(
        title=title(score),
        options=options_text(score),
        values=values,
        low=low if both else None,
        high=high if both else None,
        bounds=score.bounds,
        better=score.better,
        whole=whole,
        null=None if score.null is None else (score.null.label, score.null.value),
    )


# samples


def _sample_table(
    table: Mapping[str, Words | np.ndarray], scores: Sequence[Score]
) -> PackedTable | None:
    samples, metrics, options = (table.get(name) for name in ("sample", "metric", "options"))
    values = table.get("value")
    if not (isinstance(samples, Words) and isinstance(metrics, Words)
            and isinstance(options, Words) and isinstance(values, np.ndarray)):  # fmt: skip
        return None
    if values.dtype != np.float64 or not len(values):
        return None
    groups = metrics.codes * (len(options.categories) + 1) + options.codes
    numbers, firsts = np.unique(groups, return_index=True)
    firsts = np.sort(firsts)
    columns = []
    for first in firsts[:MOST_COLUMNS]:
        rows = np.flatnonzero(groups == groups[first])
        metric, label = (
            metrics.categories[metrics.codes[first]],
            options.categories[options.codes[first]],
        )
        column = np.full(len(samples.categories), np.nan)
        column[samples.codes[rows]] = values[rows]
        columns.append(_sample_column(metric, label, column, scores))
    return PackedTable("samples", samples.categories, columns, max(len(numbers) - MOST_COLUMNS, 0))


def _sample_column(name: str, label: str, values: Values, scores: Iterable[Score]) -> ScoreColumn:
    """Under the words of the score that the samples were averaged to."""
    score = next((s for s in scores if s.metric == name and _label(s, label) == label), None)
    if score is not None:
        return _column(score, values)
    metric = catalogue().get(name)
    bounds = (-np.inf, np.inf) if metric is None else metric.bounds
    better: Any = "higher" if metric is None else metric.better
    heading = name if metric is None else metric.title
    return ScoreColumn(heading, label, values, None, None, bounds, better)


def _label(score: Score, like: str) -> str:
    """A score's options written as the table of samples writes them."""
    names = _OPTION.findall(like)
    plain = {k: tuple(v) if isinstance(v, list) else v for k, v in score.options.items()}
    return ", ".join(f"{name}={plain.get(name)}" for name in names)

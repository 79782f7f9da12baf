"""Scores of single items as columns: concepts, classes, units and pairs from the scores themselves,
samples from the run's table of samples."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.errors import RefusedInput
from theodolite.io.tables import Words, read_coded
from theodolite.metrics.catalogue import catalogue
from theodolite.report.explorer.packed_table import PackedTable, ScoreColumn, Values
from theodolite.report.words import interval_words, options_text, title
from theodolite.results import Score
from theodolite.verdicts.rules import percent

MOST_COLUMNS = 40
"""More scores than these would make a page too heavy to open; they stay in the run's files."""
KINDS = ("concepts", "units", "classes", "pairs")
PER_SAMPLE = "per_sample.parquet"
_OPTION = re.compile(r"(?:^|, )(\w+)=")


def item_tables(folder: Path, scores: Sequence[Score]) -> list[PackedTable]:
    """A table per kind of item that the run has scores of, each with at least two rows."""
    found = [_scored(kind, scores) for kind in KINDS]
    found.append(_samples(folder / PER_SAMPLE, scores))
    return [table for table in found if table is not None and len(table.names) > 1]


def _scored(kind: str, scores: Sequence[Score]) -> PackedTable | None:
    own = [score for score in scores if score.detail and score.detail.over == kind]
    if not own:
        return None
    listed = [_distinct(score.detail.names) for score in own if score.detail]
    places = _places(listed)
    columns = []
    for score, names in zip(own, listed, strict=True):
        detail = score.detail
        assert detail is not None  # noqa: S101  asked before
        rows = np.fromiter((places[name] for name in names), np.int64, len(names))
        parts = [
            None if values is None else _spread(values, rows, len(places))
            for values in (detail.values, detail.low, detail.high)
        ]
        assert parts[0] is not None  # noqa: S101
        columns.append(_column(score, parts[0], parts[1], parts[2]))
    kept = columns[:MOST_COLUMNS]
    return PackedTable(kind, list(places), kept, len(columns) - len(kept))


def _places(listed: Sequence[Sequence[str]]) -> dict[str, int]:
    """A row for each name, in the order in which they are first named."""
    names: dict[str, None] = {}
    for one in listed:
        names.update(dict.fromkeys(one))
    return {name: row for row, name in enumerate(names)}


def _distinct(names: Sequence[str]) -> Sequence[str]:
    """Names of which none comes twice: a second one is numbered, so that no row hides another."""
    if len(set(names)) == len(names):
        return names
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


def _spread(values: np.ndarray, rows: np.ndarray, n: int) -> Values:
    """Values at their rows; undefined elsewhere."""
    if len(values) != len(rows):
        raise RefusedInput(
            "scores.json", f"{len(values)} values of items", f"{len(rows)}, as names"
        )
    found = np.full(n, np.nan)
    found[rows] = values
    return found


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
        null=None if score.null is None else (score.null.name, score.null.value),
    )


# samples


def _samples(path: Path, scores: Sequence[Score]) -> PackedTable | None:
    if not path.is_file():
        return None
    read = read_coded(path)
    samples, metrics, options = (read.get(name) for name in ("sample", "metric", "options"))
    values = read.get("value")
    if not (isinstance(samples, Words) and isinstance(metrics, Words)
            and isinstance(options, Words) and isinstance(values, np.ndarray)):  # fmt: skip
        return None
    if values.dtype != np.float64 or not len(values):
        return None
    groups = metrics.codes * (len(options.said) + 1) + options.codes
    numbers, firsts = np.unique(groups, return_index=True)
    firsts = np.sort(firsts)
    columns = []
    for first in firsts[:MOST_COLUMNS]:
        rows = np.flatnonzero(groups == groups[first])
        metric, label = metrics.said[metrics.codes[first]], options.said[options.codes[first]]
        spread = np.full(len(samples.said), np.nan)
        spread[samples.codes[rows]] = values[rows]
        columns.append(_sample_column(metric, label, spread, scores))
    return PackedTable("samples", samples.said, columns, max(len(numbers) - MOST_COLUMNS, 0))


def _sample_column(metric: str, label: str, values: Values, scores: Iterable[Score]) -> ScoreColumn:
    """Under the words of the score that the samples were averaged to."""
    of = next((s for s in scores if s.metric == metric and _label(s, label) == label), None)
    if of is not None:
        return _column(of, values)
    entry = catalogue().get(metric)
    bounds = (-np.inf, np.inf) if entry is None else entry.bounds
    better: Any = "higher" if entry is None else entry.better
    named = metric if entry is None else entry.title
    return ScoreColumn(named, label, values, None, None, bounds, better)


def _label(score: Score, like: str) -> str:
    """A score's options written as the table of samples writes them."""
    names = _OPTION.findall(like)
    plain = {k: tuple(v) if isinstance(v, list) else v for k, v in score.options.items()}
    return ", ".join(f"{name}={plain.get(name)}" for name in names)

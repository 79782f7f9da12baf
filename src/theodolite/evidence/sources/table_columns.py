"""Arrays from the columns of a table, chosen by name or pattern: ``pred_*`` is one a concept.

Columns that are named like the arrays need no choice: ``values`` as a list, or ``values_0``,
``values_1`` and so on.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._storage.tables import ARROW, column_names, read_columns
from theodolite.errors import EvidenceError
from theodolite.evidence.foreign_arrays import NUMBERS, LabeledArray, to_labeled_array
from theodolite.evidence.registry import markers
from theodolite.evidence.sources.columns import match_columns

TABLES = (".csv", ".parquet", *ARROW)
_SHOWN = 12


def is_table(place: object) -> bool:
    """Return whether a path is that of a file with columns."""
    return isinstance(place, str | Path) and Path(place).suffix in TABLES


def table_arrays(path: Path, patterns: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the arrays that columns of a table make up, and a sentence that says which are which.

    A pattern is a column's name, several with commas between them, or a name with one ``*``: what
    that stands for is the name of the concept, so that ``pred_horn`` and ``true_horn`` are a pair.
    What is no text is an array by itself. Without patterns, columns are named like the arrays.
    """
    texts = {name: pattern for name, pattern in patterns.items() if isinstance(pattern, str)}
    header = column_names(path)
    if texts:
        matches = {name: match_columns(header, name, text) for name, text in texts.items()}
    else:
        matches = _match_array_names(header)
    if not matches:
        raise EvidenceError(
            f"table {path.name!r}", "no columns named", "which columns hold what",
            "Pass values='pred_*', truth='true_*' (--values 'pred_*' --truth 'true_*'), or name "
            "the columns values_0, values_1, truth_0, truth_1.",
        )  # fmt: skip
    needed = list(dict.fromkeys(column for labels in matches.values() for column in labels))
    columns = read_columns(path, needed)
    arrays = dict(patterns)
    single = {n: m for n, m in matches.items() if n == "ids" or texts.get(n, n) in m}
    for name, labels in matches.items():
        chosen = {label: columns[column] for column, label in labels.items()}
        arrays[name] = (_single if name in single else _several)(name, chosen)
    return arrays, f"{path.name}: {_pairing(matches, single)}{_unread(header, needed, texts)}."


def _match_array_names(header: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the columns of each array of the kind of evidence that most columns are named after.

    >>> _match_array_names(["values_0", "values_1", "truth", "labels", "age"])
    {'values': {'values_0': '0', 'values_1': '1'}, 'truth': {'truth': 'truth'}, \
'labels': {'labels': 'labels'}}
    """
    best: dict[str, dict[str, str]] = {}
    for marker, kind in markers().items():
        axes = {name: layout.axes for name, layout in kind.layouts()}
        rows = {name: len(own) for name, own in axes.items() if own[0] == "samples"}
        rows |= {"ids": 1, "clusters": 1}
        matches: dict[str, dict[str, str]] = {}
        for column in header:
            names = [n for n, axes in rows.items() if axes == 2 and column.startswith(f"{n}_")]
            name = column if column in rows else max(names, key=len, default="")
            if name:
                label = column if column == name else column[len(name) + 1 :]
                matches.setdefault(name, {})[column] = label
        for name, labels in matches.items():
            if all(label.isdecimal() for label in labels.values()):
                matches[name] = dict(sorted(labels.items(), key=lambda pair: int(pair[1])))
        if marker in matches and sum(map(len, matches.values())) > sum(map(len, best.values())):
            best = matches
    return best


def _unread(header: Sequence[str], read: Sequence[str], texts: Mapping[str, str]) -> str:
    """Return which columns are named like no array; of patterns, everybody sees it."""
    others = [] if texts else [column for column in header if column not in read]
    more = f" and {len(others) - _SHOWN:,} more" if len(others) > _SHOWN else ""
    return f"; not read: {', '.join(others[:_SHOWN])}{more}" if others else ""


def _single(name: str, chosen: Mapping[str, Any]) -> Any:
    if len(chosen) > 1:
        raise EvidenceError(f"columns of {name}", f"{len(chosen)}", "1")
    (column,) = chosen.values()
    if name == "ids":  # numbers serve as names
        return [None if item is None else str(item) for item in column.to_pylist()]
    return column.to_pylist() if "list<" in str(column.type) else column


def _several(name: str, chosen: Mapping[str, Any]) -> LabeledArray:
    parts = {
        label: to_labeled_array(column, f"{name} of {label!r}") for label, column in chosen.items()
    }
    for label, part in parts.items():
        if part.values.dtype.kind not in NUMBERS:
            raise EvidenceError(
                f"{name} of {label!r}", "a column that is not of numbers", "numbers"
            )
    conversions = dict.fromkeys(text for part in parts.values() for text in part.conversions)
    values = np.column_stack([part.values for part in parts.values()])
    return LabeledArray(values, None, tuple(parts), tuple(conversions))


def _pairing(
    matches: Mapping[str, Mapping[str, str]], single: Mapping[str, Mapping[str, str]]
) -> str:
    """Return which columns belong together, the first of them one by one."""
    several = {n: m for n, m in matches.items() if n not in single}
    labels = list(dict.fromkeys(label for m in several.values() for label in m.values()))
    lines = []
    for label in labels[:_SHOWN]:
        pairs = [(c, n, other) for n, m in several.items() for c, other in m.items()]
        places = [f"{column} ({name})" for column, name, other in pairs if other == label]
        lines.append(f"{label} is {' and '.join(places)}")
    if len(labels) > _SHOWN:
        lines.append(f"and so on for {len(labels) - _SHOWN:,} more")
    return "; ".join([*lines, *(f"{name} is {next(iter(own))}" for name, own in single.items())])

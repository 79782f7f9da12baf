"""Arrays from the columns of a table, chosen by name or pattern: ``pred_*`` is one a concept."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._storage.tables import column_names, read_columns
from theodolite.errors import EvidenceError
from theodolite.evidence.foreign_arrays import NUMBERS, LabeledArray, to_labeled_array
from theodolite.evidence.sources.columns import match_columns

TABLES = (".csv", ".parquet")
_SHOWN = 12


def is_table(place: object) -> bool:
    """Whether a path is that of a file whose columns must be named."""
    return isinstance(place, str | Path) and Path(place).suffix in TABLES


def table_arrays(path: Path, patterns: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The arrays that columns of a table make up, and a sentence that says which are which.

    A pattern is a column's name, several with commas between them, or a name with one ``*``: what
    that stands for is the name of the concept, so that ``pred_horn`` and ``true_horn`` are a pair.
    What is no text is an array by itself.
    """
    texts = {name: pattern for name, pattern in patterns.items() if isinstance(pattern, str)}
    if not texts:
        raise EvidenceError(
            f"table {path.name!r}", "no columns named", "which columns hold what",
            "Pass values='pred_*', truth='true_*' (--values 'pred_*' --truth 'true_*').",
        )  # fmt: skip
    header = column_names(path)
    matches = {name: match_columns(header, name, pattern) for name, pattern in texts.items()}
    needed = list(dict.fromkeys(column for labels in matches.values() for column in labels))
    columns = read_columns(path, needed)
    arrays = dict(patterns)
    for name, labels in matches.items():
        chosen = {label: columns[column] for column, label in labels.items()}
        if name == "ids" or texts[name] in labels:
            arrays[name] = _single(name, chosen)
        else:
            arrays[name] = _several(name, chosen)
    return arrays, f"{path.name}: {_pairing(matches, texts)}."


def _single(name: str, chosen: Mapping[str, Any]) -> Any:
    if len(chosen) > 1:
        raise EvidenceError(f"columns of {name}", f"{len(chosen)}", "1")
    (column,) = chosen.values()
    if name == "ids":  # numbers serve as names
        return [None if item is None else str(item) for item in column.to_pylist()]
    return column


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


def _pairing(matches: Mapping[str, Mapping[str, str]], texts: Mapping[str, str]) -> str:
    """Which columns belong together, the first of them one by one."""
    several = {n: m for n, m in matches.items() if texts[n] not in m}
    labels = list(dict.fromkeys(label for m in several.values() for label in m.values()))
    lines = []
    for label in labels[:_SHOWN]:
        pairs = [(c, n, other) for n, m in several.items() for c, other in m.items()]
        places = [f"{column} ({name})" for column, name, other in pairs if other == label]
        lines.append(f"{label} is {' and '.join(places)}")
    if len(labels) > _SHOWN:
        lines.append(f"and so on for {len(labels) - _SHOWN:,} more")
    single = [f"{n} is {texts[n]}" for n in matches if n not in several]
    return "; ".join([*lines, *single])

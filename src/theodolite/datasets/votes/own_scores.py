"""Scores of one's own for explanations that people voted on."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from theodolite._storage.paths import confined
from theodolite._storage.text import read_csv
from theodolite.datasets.votes.rows import rating_from
from theodolite.errors import UnsafeInputError

FILE = "scores.csv"


def own_scores(root: Path, ids: Sequence[str]) -> dict[str, np.ndarray]:
    """Columns of ``scores.csv`` beside votes, if there is one: ``explanation`` and a number each.

    An explanation that it does not have, or an empty cell, is NaN; one that nobody voted on is
    passed over.
    """
    path = confined(root, FILE)
    if not path.is_file():
        return {}
    rows = list(read_csv(path, "table of scores"))
    if not rows or "explanation" not in rows[0]:
        raise UnsafeInputError(f"table {FILE!r}", "no column 'explanation'", "one, and one a score")
    place = {name: at for at, name in enumerate(ids)}
    values = {name: np.full(len(ids), np.nan) for name in rows[0] if name != "explanation"}
    for number, row in enumerate(rows, start=2):
        if (at := place.get(row["explanation"])) is not None:
            for name, column in values.items():
                column[at] = rating_from(row[name], f"{name} in row {number} of {FILE}")
    return values

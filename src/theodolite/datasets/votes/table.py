"""A table of votes: a row for each answer of each rater."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._storage.paths import existing
from theodolite._storage.tables import read_parquet
from theodolite._storage.text import read_csv
from theodolite.datasets.votes.rows import (
    Vote,
    explanations_from,
    plain_name,
    plain_text,
    rating_from,
)
from theodolite.datasets.votes.voted import ShownExplanation, VotedExplanations
from theodolite.errors import EvidenceError, UnsafeInputError

NEEDED = ("item", "rater", "rating")
ALSO = ("question", "technique", "image", "group", "context", "text", "label")


def vote_table(
    path: Path, *, columns: Mapping[str, str] | None = None, scale: Sequence[float] | None = None
) -> VotedExplanations:
    """Read a long table (.csv, .csv.gz, .parquet): one row for each answer.

    Columns ``item``, ``rater`` and ``rating`` are needed; ``question``, ``technique``, ``image``,
    ``group`` (of the rater), ``context``, ``text`` and ``label`` are taken where they are there. An
    empty rating is no answer; no rater may answer a question about an explanation twice.
    Explanations of one image, or else of one context, belong together. All other columns that
    have one number for each explanation are ``numbers``: scores, lengths.

    Args:
        path: The table.
        columns: Other names of the columns, such as ``{"rater": "worker_id"}``.
        scale: All answers that could be given; else the whole numbers between those that were.
    """
    path = existing(Path(path), "table of votes")
    rows = rows_of(path)
    named = _columns(path, rows, columns or {})
    votes: list[Vote] = []
    explanations: dict[str, ShownExplanation] = {}
    for number, row in enumerate(rows, start=2):
        values = {ours: row[theirs] for ours, theirs in named.items()}
        item = plain_name(_text(values["item"]), f"item in row {number}")
        votes.append(_vote(item, values, number))
        if item not in explanations:
            words = (plain_text(_text(values.get(w))) for w in ("context", "text", "label"))
            context, text, label = words
            explanations[item] = ShownExplanation(context, text, label=label)
    data_set = explanations_from(
        votes, name=path.name, explanations=explanations, scale=scale, tables=(path,)
    )
    other = [name for name in rows[0] if name not in named.values()]
    numbers = {
        plain_name(n, "column"): _numbers(rows, named["item"], n) for n in other if n.strip()
    }
    return replace(
        data_set, numbers={n: column for n, column in numbers.items() if column is not None}
    )


def _numbers(rows: Sequence[Mapping[str, Any]], item: str, name: str) -> np.ndarray | None:
    """A number for each explanation, NaN where none is said; None if it is something else.

    What differs among the votes on an explanation is not a trait of the explanation.
    """
    by_item: dict[str, float] = {}
    for row in rows:
        try:
            value = rating_from(row.get(name), name)
        except EvidenceError:
            return None
        of = by_item.setdefault(plain_name(_text(row[item]), "item"), value)
        if of != value and not (np.isnan(of) and np.isnan(value)):
            return None
    column = np.array(list(by_item.values()))
    return None if np.isnan(column).all() else column


def _vote(item: str, values: Mapping[str, Any], number: int) -> Vote:
    rest = {name: _text(values.get(name)).strip() for name in ("technique", "image", "group")}
    return Vote(
        item,
        plain_name(_text(values["rater"]), f"rater in row {number}"),
        _text(values.get("question")).strip() or "rating",
        rating_from(values["rating"], f"rating in row {number}"),
        **rest,
    )


def rows_of(path: Path) -> Sequence[Mapping[str, Any]]:
    """The rows of a table, whatever it is stored as."""
    ending = "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix
    if ending in (".csv", ".csv.gz"):
        return list(read_csv(path, "table of votes"))
    if ending == ".parquet":
        return list(_across(read_parquet(path, "table of votes")))
    raise UnsafeInputError(
        f"table {path.name!r}", f"ending {ending!r}", ".csv, .csv.gz or .parquet"
    )


def _across(columns: Mapping[str, Sequence[Any]]) -> Iterator[dict[str, Any]]:
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def _columns(
    path: Path, rows: Sequence[Mapping[str, Any]], renamed: Mapping[str, str]
) -> dict[str, str]:
    """Return which column of the table is which of ours."""
    unknown = [name for name in renamed if name not in NEEDED + ALSO]
    if unknown:
        raise UnsafeInputError("columns", f"{unknown}", f"some of {[*NEEDED, *ALSO]}")
    there = list(rows[0]) if rows else []
    named = {name: renamed.get(name, name) for name in NEEDED + ALSO}
    missing = [named[name] for name in NEEDED if named[name] not in there]
    missing += [theirs for theirs in renamed.values() if theirs not in [*there, *missing]]
    if missing:
        got = f"no {missing} among {there[:20]}" if rows else "no rows"
        raise UnsafeInputError(
            f"table {path.name!r}", got, f"columns {[*NEEDED]}", "Say what they are: `columns`."
        )
    return {ours: theirs for ours, theirs in named.items() if theirs in there}


def _text(value: Any) -> str:
    return "" if value is None else str(value)

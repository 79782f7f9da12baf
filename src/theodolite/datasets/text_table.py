"""Texts of one's own, with whatever is known of them: a row a text, a column a concept."""

import csv
import io
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from theodolite._storage.paths import confined, sha256_of
from theodolite._storage.tables import read_parquet
from theodolite._storage.text import MEBIBYTE, read_json_lines, read_text
from theodolite.datasets.labeled_texts import FEWEST, LONGEST
from theodolite.errors import EvidenceError, UnsafeInputError, did_you_mean, printable

MOST_BYTES = 256 * MEBIBYTE
MOST_TEXTS = 1_000_000
FLAGS = {"0": 0, "1": 1, "false": 0, "true": 1, "": -1}
"""What a cell of a concept may hold, and what it stands for: no, yes, not known."""
LINES = (".jsonl", ".jsonl.gz", ".ndjson")
TABLES = (".csv", ".csv.gz", ".csv.zst")
PARQUET = ".parquet"
PLAIN = (".txt", ".txt.gz")
Cells = dict[str, str]


@dataclass(frozen=True, eq=False)
class TextTable:
    """Texts, and where concepts are known to be in them or not."""

    name: str
    texts: tuple[str, ...]
    concepts: tuple[str, ...]
    truth: Bool[np.ndarray, "texts concepts"]
    known: Bool[np.ndarray, "texts concepts"]
    documents: Int[np.ndarray, " texts"] | None = None
    """The document that each text is from."""
    notes: tuple[str, ...] = ()
    digests: Mapping[str, str] = field(default_factory=dict)

    @property
    def at_end(self) -> Bool[np.ndarray, " texts"]:
        """Whether long texts are cut at their beginning: no."""
        return np.zeros(len(self.texts), bool)


def text_table(
    path: Path,
    *,
    text_column: str = "text",
    document_column: str = "document",
    concepts: Sequence[str] | None = None,
) -> TextTable:
    """Return the texts of a table with a column of texts, or of a file with a text in each line.

    Args:
        path: ``.csv``, ``.csv.gz``, ``.csv.zst``, ``.jsonl``, ``.jsonl.gz``, ``.parquet`` or a
            folder of such Parquet files, ``.txt`` or ``.txt.gz``.
        text_column: Where the texts are.
        document_column: If there is such a column: which document a text is from. Texts of one
            document are not independent.
        concepts: Columns that say whether a concept is in the text, by 1, 0, or nothing where it
            is not known; else every column that holds nothing but these.
    """
    rows = list(_rows(path, text_column))
    columns = list(dict.fromkeys(name for row in rows for name in row))
    if text_column not in columns:
        got = f"columns {', '.join(map(repr, columns))}"[:300]
        hint = did_you_mean(text_column, columns)
        raise UnsafeInputError(f"texts {path.name!r}", got, f"a column {text_column!r}", hint)
    filled = [row for row in rows if row.get(text_column, "").strip()]
    if not filled:
        raise UnsafeInputError(f"texts {path.name!r}", "no text", "one or more")
    free = [name for name in columns if name not in (text_column, document_column)]
    chosen, other = _chosen(filled, free, concepts, path.name)
    cells = [[_state(row, name) for name in chosen] for row in filled]
    states = np.array(cells, int).reshape(len(filled), len(chosen))
    least = np.minimum((states == 0).sum(axis=0), (states == 1).sum(axis=0))
    few = [name for name, n in zip(chosen, least, strict=True) if n < FEWEST]
    states = states[:, least >= FEWEST]
    texts = [row[text_column][:LONGEST] for row in filled]
    whole = [_whole_characters(text) for text in texts]
    broken = sum(text != own for text, own in zip(texts, whole, strict=True))
    long = sum(len(row[text_column]) > LONGEST for row in filled)
    return TextTable(
        path.name.partition(".")[0],
        tuple(whole),
        tuple(name for name in chosen if name not in few),
        states == 1,
        states >= 0,
        _documents(filled, document_column) if document_column in columns else None,
        _notes((len(rows) - len(filled), long, broken), few, other),
        {file.name: sha256_of(file) for file in _files(path)},
    )


def _documents(rows: Sequence[Cells], column: str) -> Int[np.ndarray, " rows"]:
    """Their numbers; a text without a document is one of its own."""
    names = [(row.get(column) or number) for number, row in enumerate(rows)]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names])


def _whole_characters(text: str) -> str:
    """JSON may hold halves of characters, which no tokenizer takes."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _notes(
    counts: tuple[int, int, int], few: Sequence[str], other: Sequence[str]
) -> tuple[str, ...]:
    empty, long, broken = counts
    lines = {
        f"{empty:,} rows without a text were left out.": empty,
        f"{long:,} texts were cut to {LONGEST:,} characters.": long,
        f"Halves of characters were replaced in {broken:,} texts.": broken,
        f"Left out, for fewer than {FEWEST} texts with or without: {_names(few)}.": len(few),
        f"Columns that are no concept, for they hold more than 0 and 1: {_names(other)}.": len(
            other
        ),
    }
    return tuple(line for line, n in lines.items() if n)


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return ", ".join(printable(name, 60) for name in names[:10]) + more


def _chosen(
    rows: Sequence[Cells], free: Sequence[str], wanted_ones: Sequence[str] | None, file: str
) -> tuple[list[str], list[str]]:
    """Columns of concepts, and those that are something else."""
    fits = {name: all(_flag(row.get(name, "")) is not None for row in rows) for name in free}
    filled = {name for name in free if any(row.get(name, "").strip() for row in rows)}
    if wanted_ones is None:
        chosen = [name for name in free if fits[name] and name in filled and name]
        return chosen, [name for name in free if not fits[name]]
    for name in wanted_ones:
        if name not in fits:
            hint = did_you_mean(name, free)
            raise EvidenceError("concepts", f"no column {name!r} in {file!r}", "its columns", hint)
        if not fits[name]:
            odd = next(row.get(name, "") for row in rows if _flag(row.get(name, "")) is None)
            raise EvidenceError(f"concept {name!r}", repr(printable(odd, 40)), "0, 1 or nothing")
    return list(dict.fromkeys(wanted_ones)), []


def _flag(cell: str) -> int | None:
    return FLAGS.get(cell.strip().lower().removesuffix(".0"))


def _state(row: Cells, name: str) -> int:
    flag = _flag(row.get(name, ""))
    return -1 if flag is None else flag


def _files(path: Path) -> list[Path]:
    """Return a file, or the Parquet files of a folder in order of their names."""
    return [confined(path, own.name) for own in sorted(path.glob(f"*{PARQUET}"))] or [path]


def _rows(path: Path, text_column: str) -> Iterator[Cells]:
    what, known = f"texts {path.name!r}", " or ".join((*TABLES, *LINES, PARQUET, *PLAIN))
    files = _files(path)
    if not files[0].is_file():
        raise UnsafeInputError(what, "no such file", f"a file {known}")
    name = files[0].name.lower()
    if name.endswith(LINES):
        rows = _of_lines(path, what)
    elif name.endswith(TABLES):
        rows = _of_table(path, what)
    elif name.endswith(PARQUET):
        rows = itertools.chain.from_iterable(map(_of_parquet, files))
    elif name.endswith(PLAIN):
        lines = read_text(path, "texts", MOST_BYTES).splitlines()
        rows = ({text_column: line} for line in lines)
    else:
        raise UnsafeInputError(what, "another kind of file", known)
    for number, row in enumerate(rows):
        if number >= MOST_TEXTS:
            raise UnsafeInputError(what, "more rows", f"at most {MOST_TEXTS:,}")
        yield row


def _of_table(path: Path, what: str) -> Iterator[Cells]:
    text = read_text(path, "texts", MOST_BYTES)
    usual = csv.field_size_limit(MOST_BYTES)  # a text may be longer; it is cut afterwards
    try:
        lines = csv.reader(io.StringIO(text, newline=""), strict=True)
        header = next(lines, [])
        if not header or len(set(header)) != len(header):
            got = f"header {printable(header)}"
            raise UnsafeInputError(what, got, "distinct column names in line 1")
        for row in lines:
            if row and len(row) != len(header):
                got = f"{len(row)} cells in line {lines.line_num}"
                raise UnsafeInputError(what, got, f"{len(header)}, as in the header")
            if row:
                yield dict(zip(header, row, strict=True))
    except csv.Error as error:
        raise UnsafeInputError(what, f"broken CSV ({error})", "CSV") from error
    finally:
        csv.field_size_limit(usual)


def _of_lines(path: Path, what: str) -> Iterator[Cells]:
    for row in read_json_lines(path, "texts", most_lines=MOST_TEXTS, longest=16 * MEBIBYTE):
        if not isinstance(row, dict):
            raise UnsafeInputError(what, f"{type(row).__name__} in a line", "an object")
        yield {name: _cell(value) for name, value in row.items()}


def _of_parquet(path: Path) -> Iterator[Cells]:
    columns = read_parquet(path, "texts")
    for row in zip(*columns.values(), strict=True):
        yield {name: _cell(value) for name, value in zip(columns, row, strict=True)}


def _cell(value: Any) -> str:
    """A list or an object is no concept: it stays something that is no flag."""
    if value is None:
        return ""
    if isinstance(value, str | bool | int | float):
        return str(value)
    return type(value).__name__

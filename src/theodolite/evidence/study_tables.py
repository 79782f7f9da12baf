"""Columns of the tables that a rating study exports, and checks of their content.
Used by theodolite-study (through ``theodolite.ext.studies``) and by the reader of rating data."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from theodolite.errors import EvidenceError

Kind = Literal["text", "whole", "number", "flag"]
TableName = Literal["votes", "baselines", "boxes", "instances"]
Table = Mapping[str, Sequence[Any]]
"""Columns of equal length by name."""
QUESTIONS = ("q1", "q2", "q3", "q4", "q5", "q6")
SCALE = (1, 2, 3, 4, 5)
MODALITIES = ("saliency", "concept", "text", "table")
IMAGES = "images"
"""Folder next to the tables that ``image`` and ``map`` paths refer to."""
MAX_TEXT_LENGTH = 100_000


@dataclass(frozen=True)
class VoteColumn:
    """Definition of one column: its type, meaning and allowed range."""

    name: str
    kind: Kind
    means: str
    may_be_none: bool = False
    low: float = -math.inf
    high: float = math.inf


VOTES = (
    VoteColumn("instance", "text", "the explanation's key"),
    VoteColumn("technique", "text", "what made the explanation"),
    VoteColumn("image_key", "text", "which image it explains"),
    VoteColumn("participant", "text", "pseudonym of who rated"),
    *(
        VoteColumn(
            name, "whole", f"answer to {name}, 1 to 5; none: not asked",
            may_be_none=True, low=1, high=5,
        )
        for name in QUESTIONS
    ),
    VoteColumn("counted", "flag", "whether it is one of the n votes; else surplus"),
    VoteColumn("position", "whole", "the how many-th item of the participant, from 1", low=1),
    VoteColumn(
        "image_exposure_index", "whole",
        "the how many-th time that the participant meets the image, from 1", low=1,
    ),
    VoteColumn("seconds_before", "number", "image to own answer", may_be_none=True, low=0),
    VoteColumn("seconds_after", "number", "explanation to ratings", may_be_none=True, low=0),
    VoteColumn("at_order", "whole", "its place by time, from 1; of all votes or one's own", low=1),
)  # fmt: skip
BASELINES = (
    VoteColumn("instance", "text", "the explanation's key"),
    VoteColumn("participant", "text", "pseudonym"),
    VoteColumn("text", "text", "what they see in the image, before the explanation"),
    VoteColumn("copied", "flag", "said at an earlier explanation of the same image"),
)
BOXES = (
    VoteColumn("instance", "text", "the explanation's key"),
    VoteColumn("participant", "text", "pseudonym"),
    VoteColumn("number", "whole", "which of the participant's boxes, from 1", low=1),
    VoteColumn("x", "number", "left edge in pixels of the image", low=0),
    VoteColumn("y", "number", "upper edge", low=0),
    VoteColumn("width", "number", "in pixels, above 0", low=0),
    VoteColumn("height", "number", "in pixels, above 0", low=0),
)
INSTANCES = (
    VoteColumn("instance", "text", "the explanation's key"),
    VoteColumn("image_key", "text", "which image it explains"),
    VoteColumn("technique", "text", "what made the explanation"),
    VoteColumn("modality", "text", "saliency, concept, text or table"),
    VoteColumn("predicted", "text", "the class that was predicted"),
    VoteColumn(
        "image",
        "text",
        "file in the folder of images; none where no image is explained",
        may_be_none=True,
    ),
    VoteColumn("map", "text", "file in the folder of images; none for concepts", may_be_none=True),
    VoteColumn(
        "concepts", "text", "JSON object, concept to value; none for maps", may_be_none=True
    ),
)
TABLES: Mapping[TableName, tuple[VoteColumn, ...]] = {
    "votes": VOTES,
    "baselines": BASELINES,
    "boxes": BOXES,
    "instances": INSTANCES,
}
KEYS: Mapping[TableName, tuple[str, ...]] = {
    "votes": ("instance", "participant"),
    "baselines": ("instance", "participant"),
    "boxes": ("instance", "participant", "number"),
    "instances": ("instance",),
}
"""Columns whose combination is unique in each table."""


def list_columns(table: TableName) -> tuple[str, ...]:
    """Return the column names of a table, in order.

    >>> list_columns("baselines")
    ('instance', 'participant', 'text', 'copied')
    """
    return tuple(column.name for column in TABLES[table])


def columns_of(table: TableName, rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Convert rows to checked columns; no rows give an empty table."""
    return checked_table(
        table, {name: [row.get(name) for row in rows] for name in list_columns(table)}
    )


def checked_table(table: TableName, columns: Table) -> dict[str, list[Any]]:
    """Return the table with its columns in order, or raise if any value is invalid."""
    expected = list_columns(table)
    odd = [name for name in columns if name not in expected]
    missing = [name for name in expected if name not in columns]
    if odd or missing:
        got = f"no column {missing[0]!r}" if missing else f"a column {odd[0]!r}"
        raise EvidenceError(f"table {table}", got, f"columns {', '.join(expected)}")
    ordered_columns = {name: list(columns[name]) for name in expected}
    lengths = {name: len(values) for name, values in ordered_columns.items()}
    if len(set(lengths.values())) > 1:
        raise EvidenceError(f"table {table}", f"lengths {lengths}", "columns of one length")
    for column in TABLES[table]:
        for row, value in enumerate(ordered_columns[column.name]):
            _check(table, column, row, value)
    _check_once(table, ordered_columns)
    _check_meaning(table, ordered_columns)
    return ordered_columns


def checked_together(tables: Mapping[TableName, Table]) -> dict[TableName, dict[str, list[Any]]]:
    """Check all four tables and the references between them."""
    checked_tables = {name: checked_table(name, tables[name]) for name in TABLES}
    instances = {
        key: (image, technique)
        for key, image, technique in zip(
            *(checked_tables["instances"][n] for n in ("instance", "image_key", "technique")),
            strict=True,
        )
    }
    for name in ("votes", "baselines", "boxes"):
        strange = next(
            (key for key in checked_tables[name]["instance"] if key not in instances), None
        )
        if strange is not None:
            raise EvidenceError(f"table {name}", f"instance {strange!r}", "one of `instances`")
    votes = checked_tables["votes"]
    for key, *details in zip(
        *(votes[n] for n in ("instance", "image_key", "technique")), strict=True
    ):
        if tuple(details) != instances[key]:
            raise EvidenceError("table votes", f"{details} of {key!r}", f"{list(instances[key])}")
    baseline_keys = set(_keys("baselines", checked_tables["baselines"]))
    for pair in zip(
        checked_tables["boxes"]["instance"], checked_tables["boxes"]["participant"], strict=True
    ):
        if pair not in baseline_keys:
            raise EvidenceError("table boxes", f"boxes of {pair}", "a row of `baselines` for them")
    return checked_tables


def _check(table: str, column: VoteColumn, row: int, value: Any) -> None:
    where = f"table {table}, {column.name}, row {row}"
    if value is None:
        if column.may_be_none:
            return
        raise EvidenceError(where, "nothing", column.means)
    fits = {
        "text": isinstance(value, str),
        "whole": isinstance(value, int) and not isinstance(value, bool),
        "number": isinstance(value, int | float) and not isinstance(value, bool),
        "flag": isinstance(value, bool),
    }[column.kind]
    if not fits:
        raise EvidenceError(where, f"{value!r}"[:60], f"{column.kind}: {column.means}")
    if column.kind == "text":
        if len(value) > MAX_TEXT_LENGTH or (not value and column.name != "text"):
            raise EvidenceError(where, f"{len(value):,} characters", f"1 to {MAX_TEXT_LENGTH:,}")
    elif not math.isfinite(value) or not column.low <= value <= column.high:
        raise EvidenceError(where, f"{value}", column.means)


def _keys(table: TableName, columns: Table) -> list[tuple[Any, ...]]:
    return list(zip(*(columns[name] for name in KEYS[table]), strict=True))


def _check_once(table: TableName, columns: Table) -> None:
    seen = set()
    for key in _keys(table, columns):
        if key in seen:
            raise EvidenceError(f"table {table}", f"{key} twice", f"each {KEYS[table]} once")
        seen.add(key)


def _check_meaning(table: TableName, columns: Table) -> None:
    """Check conditions that involve several columns."""
    if table == "boxes":
        for row, size in enumerate(zip(columns["width"], columns["height"], strict=True)):
            if min(size) <= 0:
                raise EvidenceError(f"table boxes, row {row}", f"{size}", "a box with an area")
    if table != "instances":
        return
    rows = zip(*(columns[n] for n in ("modality", "map", "concepts")), strict=True)
    for row, (modality, saliency_map, concepts) in enumerate(rows):
        where = f"table instances, row {row}"
        if modality not in MODALITIES:
            raise EvidenceError(where, f"modality {modality!r}", f"one of {MODALITIES}")
        known = (saliency_map is not None, concepts is not None)
        if known != (modality == "saliency", modality == "concept"):
            raise EvidenceError(where, "another explanation", "a map, or concepts, as `modality`")
        if concepts is not None:
            concepts_from(concepts, where)


def concepts_from(text: str, where: str) -> dict[str, float]:
    """Parse the concepts of an instance: name and importance of each.

    >>> concepts_from('{"beak": 0.5}', "row 0")
    {'beak': 0.5}
    """
    try:
        concepts = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise EvidenceError(where, "broken JSON", "concept: value") from error
    numbers = isinstance(concepts, dict) and all(
        isinstance(v, int | float) and not isinstance(v, bool) and math.isfinite(v)
        for v in concepts.values()
    )
    if not numbers or not concepts:
        raise EvidenceError(where, f"{text!r}"[:60], "an object, concept: value")
    return {name: float(value) for name, value in concepts.items()}


def concepts_text(concepts: Mapping[str, float]) -> str:
    """Format concepts as text; equal concepts give equal text."""
    return json.dumps(dict(concepts), sort_keys=True, ensure_ascii=False, allow_nan=False)

"""CEBaB: restaurant reviews, what five people each read in them, and edits of one aspect."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from theodolite._storage.paths import confined, sha256_of
from theodolite._storage.text import json_from, read_json
from theodolite._storage.zip_members import read_zip_members
from theodolite.errors import UnsafeInputError
from theodolite_reproductions.edits.texts import EditedTexts

ASPECTS = ("food", "ambiance", "service", "noise")
STATES = {"Positive": 1, "Negative": -1, "unknown": 0}
STARS = ("1", "2", "3", "4", "5")
NO_MAJORITY = "no majority"
TEXT, ORIGINAL = "description", "original_id"
LONGEST = 20_000
"""Characters of a review."""

Row = Mapping[str, Any]


def cebab(root: Path, *, train: str = "train_exclusive", test: str = "test") -> EditedTexts:
    """Read ``TRAIN.json`` and ``TEST.json`` of a folder, or of the one .zip in it.

    An aspect is known where most of its five readers agree that it is praised, criticized or not
    spoken of. An edit that leads to the state which its original has already, or whose original's
    state is not known, is no edit and is left out.

    Args:
        root: The folder.
        train: The file to train on; ``train_inclusive`` also has edits of its originals.
        test: The file to test on.
    """
    tables, digests = _tables(root, (train, test))
    rows = [row for table in tables for row in table]
    ids = [row["id"] for row in rows]
    if len(set(ids)) < len(ids):
        raise UnsafeInputError(f"reviews of {root.name!r}", "an id twice", "each once")
    numbers = {name: i for i, name in enumerate(dict.fromkeys(row[ORIGINAL] for row in rows))}
    states = np.array([[STATES.get(_aspect(row, a), 0) for a in ASPECTS] for row in rows])
    known = np.array([[_aspect(row, a) in STATES for a in ASPECTS] for row in rows])
    split = len(tables[0])
    edits, edited, direction, left_out = _edits(rows, range(split, len(rows)), states, known)
    return EditedTexts(
        name="CEBaB",
        texts=tuple(row[TEXT] for row in rows),
        ids=tuple(ids),
        originals=np.array([numbers[row[ORIGINAL]] for row in rows]),
        aspects=ASPECTS,
        states=states,
        known=known,
        labels=np.array([_stars(row) for row in rows]),
        classes=STARS,
        train=np.arange(split),
        test=np.arange(split, len(rows)),
        edits=edits,
        edited=edited,
        direction=direction,
        notes=_notes(tables, left_out),
        digests=digests,
    )


def _tables(root: Path, names: Sequence[str]) -> tuple[list[list[Row]], dict[str, str]]:
    archives = sorted(root.glob("*.zip")) if root.is_dir() else []
    if len(archives) == 1:
        members = {PurePosixPath(path).name: c for path, c in read_zip_members(archives[0]).items()}
        missing = [name for name in names if f"{name}.json" not in members]
        if missing:
            what = f"archive {archives[0].name!r}"
            raise UnsafeInputError(
                what, f"no {missing[0]}.json", f"{names[0]}.json and {names[1]}.json"
            )
        contents = [json_from(members[f"{name}.json"], f"{name}.json") for name in names]
        digests = {archives[0].name: sha256_of(archives[0])}
    else:
        files = [confined(root, f"{name}.json") for name in names]
        contents = [read_json(file, "reviews") for file in files]
        digests = {file.name: sha256_of(file) for file in files}
    tables = [_checked(table, name) for table, name in zip(contents, names, strict=True)]
    return tables, digests


def _checked(table: Any, name: str) -> list[Row]:
    """Only what is read later is looked at."""
    what = f"reviews {name!r}"
    if not isinstance(table, list) or not table or not all(isinstance(r, dict) for r in table):
        raise UnsafeInputError(what, "other content", "a JSON list of reviews")
    texts = ("id", ORIGINAL, TEXT, "review_majority", *(f"{a}_aspect_majority" for a in ASPECTS))
    for row in table:
        wrong = [key for key in texts if not isinstance(row.get(key), str)]
        if not isinstance(row.get("is_original"), bool):
            wrong.append("is_original")
        elif not row["is_original"]:
            fits = row.get("edit_type") in ASPECTS and row.get("edit_goal") in STATES
            wrong += [] if fits else ["edit_type or edit_goal"]
        if wrong:
            raise UnsafeInputError(what, f"a review without {wrong[0]}", "reviews as published")
        if len(row[TEXT]) > LONGEST:
            raise UnsafeInputError(
                what, f"a review of {len(row[TEXT]):,} characters", f"{LONGEST:,}"
            )
    return table


def _aspect(row: Row, aspect: str) -> str:
    majority: str = row[f"{aspect}_aspect_majority"]
    return majority


def _stars(row: Row) -> int:
    return STARS.index(row["review_majority"]) if row["review_majority"] in STARS else -1


def _edits(
    rows: Sequence[Row], test: range, states: np.ndarray, known: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    original = {rows[i][ORIGINAL]: i for i in test if rows[i]["is_original"]}
    pairs, edited, direction, left_out = [], [], [], 0
    for i in test:
        row = rows[i]
        if row["is_original"]:
            continue
        before, aspect = original.get(row[ORIGINAL]), ASPECTS.index(row["edit_type"])
        step = 0 if before is None else STATES[row["edit_goal"]] - states[before, aspect]
        if before is None or not known[before, aspect] or step == 0:
            left_out += 1
            continue
        pairs.append((before, i))
        edited.append(aspect)
        direction.append(int(np.sign(step)))
    return (
        np.array(pairs, int).reshape(-1, 2),
        np.array(edited, int),
        np.array(direction, int),
        left_out,
    )


def _notes(tables: Sequence[Sequence[Row]], left_out: int) -> tuple[str, ...]:
    none = [sum(row["review_majority"] == NO_MAJORITY for row in table) for table in tables]
    unknown = Counter(
        aspect for row in tables[1] for aspect in ASPECTS if _aspect(row, aspect) not in STATES
    )
    shares = ", ".join(f"{a} {1 - unknown[a] / len(tables[1]):.3f}" for a in ASPECTS)
    return (
        f"{len(tables[0]):,} texts to train on, {none[0]} of them without a majority of stars; "
        f"{len(tables[1]):,} to test, {none[1]} without.",
        f"Known in the test by aspect: {shares}. What readers did not agree on is not counted.",
        f"{left_out} edits were left out: their original has the goal already, or is not known.",
    )

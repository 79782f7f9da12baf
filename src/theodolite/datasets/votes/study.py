"""Votes of our own studies, from the folder that a study is exported to."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from theodolite._storage.paths import confined, existing
from theodolite._storage.tables import read_parquet
from theodolite._storage.text import read_json
from theodolite.datasets.votes.method_comparison import (
    ComparisonPlan,
    RatingComparison,
    compare_ratings,
)
from theodolite.datasets.votes.own_scores import own_scores
from theodolite.datasets.votes.rows import Vote, explanations_from, plain_text
from theodolite.datasets.votes.voted import ShownExplanation, VotedExplanations
from theodolite.errors import UnsafeInputError
from theodolite.evidence.study_tables import (
    IMAGES,
    QUESTIONS,
    SCALE,
    TABLES,
    Table,
    TableName,
    checked_together,
    concepts_from,
    list_columns,
)
from theodolite.evidence.technique_columns import BOXES, PEOPLE, RANKINGS, WORDS, Tables

Seen = Literal["all", "first"]
MOST_POINTS = 100
RESULTS = "results.json"


def study_votes(root: Path, *, seen: Seen = "all") -> VotedExplanations:
    """Read ``votes.parquet``, ``instances.parquet`` and the rest of an export, and its images.

    Only counted votes enter. Questions are ``q1`` to ``q6``, or those on a scale that the manifest
    names; raters are pseudonyms, explanations of one image belong together. A map's colors lie
    over its image, as they were shown. Images that are not in the folder are None: agreement
    can be had without. Of a ``scores.csv`` that was put into it (explanation, a column a score)
    come numbers that need no people.

    Args:
        root: The folder of the export.
        seen: ``first``: only votes of people who had not met the image before, whose own answer
            was therefore given blindly.
    """
    root = Path(root)
    whole = {name: read_parquet(_file(root, name), f"table {name}") for name in TABLES}
    scales = _scales(root)
    tables = checked_together({name: _known(name, whole[name], scales) for name in TABLES})
    questions = {name: points for name, points in scales.items() if name in whole["votes"]}
    rows = list(_rows({**tables["votes"], **{name: whole["votes"][name] for name in questions}}))
    counted = [row for row in rows if row["counted"]]
    used = [row for row in counted if seen == "all" or row["image_exposure_index"] == 1]
    if not used:
        raise UnsafeInputError(f"export {root.name!r}", "no counted vote", "at least one")
    explained = {row["instance"]: row for row in _rows(tables["instances"])}
    order = {key: i for i, key in enumerate(explained)}
    used.sort(key=lambda row: (order[row["instance"]], row["at_order"]))
    data_set = _voted(root, used, explained, questions)
    without = len(explained) - len(data_set)
    remarks = [
        (len(rows) - len(counted), "votes were given beyond those that count."),
        (
            len(counted) - len(used),
            "ratings by participants who had seen the image before are left out.",
        ),
        (without, "explanations have no vote that counts and are left out."),
    ]
    remarks.append((_without_image(data_set), "explanations have no image in the folder."))
    notes = [f"{number:,} {text}" for number, text in remarks if number]
    rated = list(dict.fromkeys(row["instance"] for row in used))
    return replace(
        data_set,
        notes=(*data_set.notes, *notes),
        numbers=own_scores(root, rated),
        kinds={
            "image": [explained[key]["image_key"] for key in rated],
            "modality": [explained[key]["modality"] for key in rated],
        },
        more=_more(root, tables, {(row["instance"], row["participant"]) for row in used}),
    )  # fmt: skip


def read_comparison(root: Path) -> RatingComparison | None:
    """Compare the methods of an export as its study planned; None while ratings are missing."""
    path = Path(root) / RESULTS
    stored = read_json(path, "results")["comparison"] if path.is_file() else None
    if stored is None:
        return None
    plan = stored["plan"]
    pairs = plan["pairs"]
    questions = sorted({mean["question"] for mean in stored["means"]})
    table = read_parquet(_file(Path(root), "votes"), "table votes")
    names = ("participant", "image_key", "technique", "counted", *questions)
    return compare_ratings(
        {name: list(table[name]) for name in names}, questions,
        ComparisonPlan(
            tuple(plan["primary"]),
            None if pairs is None else tuple((first, second) for first, second in pairs),
            float(plan["smallest"]),
        ),
    )  # fmt: skip


def _voted(
    root: Path,
    rows: Sequence[Mapping[str, Any]],
    explained: Mapping[str, Mapping[str, Any]],
    questions: Mapping[str, int],
) -> VotedExplanations:
    """The votes of these rows: questions of one number of points are read together."""
    explanations = {row["instance"]: _explanation(explained[row["instance"]], root) for row in rows}
    parts = [
        explanations_from(
            (vote for row in rows for vote in _votes(row, questions, points)),
            name=root.name,
            explanations=explanations,
            scale=[float(level + 1) for level in range(points)],
            tables=[_file(root, name) for name in TABLES],
        )
        for points in dict.fromkeys(questions.values())
    ]
    every = {name: evidence for part in parts for name, evidence in part.questions.items()}
    return replace(parts[0], questions={name: every[name] for name in questions if name in every})


def _without_image(data_set: VotedExplanations) -> int:
    return sum(
        explanation.image is None or (explanation.overlay and explanation.map is None)
        for explanation in data_set.explanations
    )


def _more(root: Path, tables: Mapping[TableName, Table], counted: set[tuple[str, str]]) -> Tables:
    """What people wrote and framed before they voted, what they put in order, and who they are."""

    def of_votes(name: TableName, columns: tuple[str, ...]) -> dict[str, list[Any]]:
        rows = [r for r in _rows(tables[name]) if (r["instance"], r["participant"]) in counted]
        keys = {"explanation": "instance", "person": "participant"} | {c: c for c in columns}
        return {column: [row[key] for row in rows] for column, key in keys.items()}

    more: dict[str, Mapping[str, Sequence[Any]]] = {
        WORDS: of_votes("baselines", ("text",)),
        BOXES: of_votes("boxes", ("x", "y", "width", "height")),
    }
    for name, file, columns in (
        (RANKINGS, "rankings", {"question": "question", "item": "item", "place": "place"}),
        (PEOPLE, "participants", {"age_band": "age_band", "gender": "gender"}),
    ):
        path = confined(root, f"{file}.parquet")
        if path.is_file():
            table = read_parquet(path, f"table {file}")
            own = {"person": "participant", **columns}
            if missing := [column for column in own.values() if column not in table]:
                raise UnsafeInputError(
                    f"table {file}", f"no column {missing[0]!r}", "that of an export"
                )
            more[name] = {column: table[key] for column, key in own.items()}
    return more


def _file(root: Path, table: TableName) -> Path:
    return existing(confined(root, f"{table}.parquet"), f"table {table}")


def _rows(table: Table) -> Iterator[dict[str, Any]]:
    for values in zip(*table.values(), strict=True):
        yield dict(zip(table, values, strict=True))


def _scales(root: Path) -> dict[str, int]:
    """Questions on a scale and their points, as the export's manifest has them."""
    path = confined(root, "manifest.json")
    scales = read_json(path, "manifest").get("questions") if path.is_file() else None
    if scales is None:
        return dict.fromkeys(QUESTIONS, len(SCALE))
    if not isinstance(scales, dict) or not all(
        isinstance(points, int) and 2 <= points <= MOST_POINTS for points in scales.values()
    ):
        raise UnsafeInputError("manifest", "questions of another form", "question: points")
    return scales


def _known(name: TableName, table: Table, scales: Mapping[str, int]) -> dict[str, Sequence[Any]]:
    """The columns that are the same in all exports; what else there is may be anything."""
    rows = len(next(iter(table.values()), []))
    same = {q for q in QUESTIONS if scales.get(q) == len(SCALE) and q in table}
    missing = set(QUESTIONS) - same if name == "votes" else set()
    known = {column: table[column] for column in list_columns(name) if column in table}
    return {**known, **{column: [None] * rows for column in missing}}


def _votes(row: Mapping[str, Any], questions: Mapping[str, int], points: int) -> Iterator[Vote]:
    for question in (name for name, own in questions.items() if own == points):
        rating = float("nan") if row[question] is None else float(row[question])
        yield Vote(
            row["instance"],
            row["participant"],
            question,
            rating,
            technique=row["technique"],
            image=row["image_key"],
        )


def _explanation(row: Mapping[str, Any], root: Path) -> ShownExplanation:
    def file(name: str | None) -> Path | None:
        path = None if name is None else confined(root / IMAGES, name)
        return path if path is not None and path.is_file() else None

    concepts = row["concepts"]
    return ShownExplanation(
        image=file(row["image"]),
        map=file(row["map"]),
        overlay=row["map"] is not None,
        concepts=None if concepts is None else concepts_from(concepts, "concepts"),
        label=plain_text(row["predicted"]),
    )

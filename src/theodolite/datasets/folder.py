"""Your own concept data set: a table, images, and perhaps points, boxes and masks.

``samples.csv`` (or ``.parquet``) has a row per image: ``image`` (a path below the folder),
``class``, perhaps ``split`` (train or test) and ``group``, and a column per concept with 1, 0 or
nothing where it is not known. Places are optional, in pixels of the image: ``points.csv``
(image, part, row, column), ``boxes.csv`` (image, part, top, left, bottom, right), ``masks.csv``
(image, part, file). A part belongs to the concept of the same name, unless ``parts.csv``
(concept, part) says otherwise. ``class_truth.csv`` (class, a column per concept, 0 to 1) says how
much concepts belong to classes; without it, their share in the training images is taken.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float

from theodolite._storage.tables import read_parquet
from theodolite._storage.text import read_csv
from theodolite.datasets.concept_data import ConceptData, split_rows
from theodolite.errors import EvidenceError, UnsafeInputError, printable
from theodolite.evidence.axes import Classes, Concepts, Parts

OWN_COLUMNS = ("image", "class", "split", "group")
Rows = list[dict[str, str]]


def folder(root: Path, *, test_share: float = 0.3, seed: int = 0) -> ConceptData:
    """Read a folder laid out as above; ``test_share`` and ``seed`` serve if it has no split."""
    rows = _table(root, "samples")
    if not rows:
        raise EvidenceError(
            f"folder {root.name!r}", "no samples", "samples.csv with a row an image"
        )
    names = [name for name in rows[0] if name not in OWN_COLUMNS]
    if "image" not in rows[0] or "class" not in rows[0] or not names:
        needed = "image, class and a column per concept"
        raise EvidenceError("samples.csv", f"columns {list(rows[0])}", needed)
    images = [row["image"] for row in rows]
    if len(set(images)) < len(images):
        raise EvidenceError("samples.csv", "an image twice", "one row per image")
    classes = sorted({row["class"] for row in rows})
    labels = np.array([classes.index(row["class"]) for row in rows])
    marks = np.array([[_mark(row[name], name, row["image"]) for name in names] for row in rows])
    presence, known = marks == 1, marks >= 0
    is_test = _split(rows, labels, test_share, seed)
    part_names, part_of = _parts(root, names)
    places = {name: _table(root, name) for name in ("points", "boxes", "masks")}
    reader = _Places({image: i for i, image in enumerate(images)}, part_names)
    groups = [row.get("group", "") for row in rows]
    return ConceptData(
        name=root.name,
        folder=root,
        images=tuple(images),
        labels=labels,
        is_test=is_test,
        presence=presence,
        known=None if known.all() else known,
        class_truth=_class_truth(root, classes, names, (presence, known, labels, ~is_test)),
        classes=Classes(tuple(classes)),
        concepts=Concepts(tuple(names)),
        parts=Parts(tuple(part_names)),
        part_of=np.array(part_of),
        points=reader.numbers(places["points"], ("row", "column"), "points.csv"),
        boxes=reader.numbers(places["boxes"], ("top", "left", "bottom", "right"), "boxes.csv"),
        groups=np.unique(groups, return_inverse=True)[1] if any(groups) else None,
        mask_files=reader.files(places["masks"]),
        tables=tuple(sorted(p for p in root.iterdir() if p.suffix in (".csv", ".parquet"))),
    )


def _table(root: Path, name: str) -> Rows:
    csv, parquet = root / f"{name}.csv", root / f"{name}.parquet"
    if csv.is_file():
        return list(read_csv(csv))
    if parquet.is_file():
        columns = read_parquet(parquet)
        texts = {
            key: ["" if v is None else str(v) for v in column] for key, column in columns.items()
        }
        return [dict(zip(texts, row, strict=True)) for row in zip(*texts.values(), strict=True)]
    return []


def _mark(text: str, concept: str, image: str) -> int:
    marks = {"1": 1, "0": 0, "": -1, "true": 1, "false": 0, "1.0": 1, "0.0": 0}
    mark = marks.get(text.strip().lower())
    if mark is None:
        raise EvidenceError(
            f"samples.csv, {printable(concept)!r} of {printable(image)!r}",
            repr(text),
            "1, 0 or nothing",
        )
    return mark


def _split(rows: Rows, labels: np.ndarray, test_share: float, seed: int) -> Bool[np.ndarray, " n"]:
    if "split" not in rows[0]:
        return split_rows(labels, test_share, seed)
    words = {row["split"] for row in rows}
    if not words <= {"train", "test"}:
        raise EvidenceError("samples.csv, split", f"{sorted(words)}", "'train' and 'test'")
    return np.array([row["split"] == "test" for row in rows])


def _parts(root: Path, concepts: list[str]) -> tuple[list[str], list[int]]:
    tied = {
        row["concept"]: row["part"] for row in _with(_table(root, "parts"), ("concept", "part"))
    }
    unknown = sorted(set(tied) - set(concepts))
    if unknown:
        raise EvidenceError("parts.csv", f"concepts {unknown}", "columns of samples.csv")
    named = [tied.get(concept, "" if tied else concept) for concept in concepts]
    parts = list(dict.fromkeys(part for part in named if part))
    return parts, [parts.index(part) if part else -1 for part in named]


def _with(rows: Rows, columns: tuple[str, ...]) -> Rows:
    if rows and not set(columns) <= set(rows[0]):
        raise EvidenceError("table", f"columns {list(rows[0])}", f"{list(columns)}")
    return rows


class _Places:
    """Turns rows that name an image and a part into arrays."""

    def __init__(self, where: dict[str, int], parts: list[str]) -> None:
        self.where = where
        self.part = {part: i for i, part in enumerate(parts)}

    def _at(self, row: dict[str, str], table: str) -> tuple[int, int] | None:
        if row["image"] not in self.where:
            raise EvidenceError(table, f"image {row['image']!r}", "one of samples.csv")
        part = self.part.get(row["part"])
        return None if part is None else (self.where[row["image"]], part)

    def numbers(
        self, rows: Rows, columns: tuple[str, ...], table: str
    ) -> Float[np.ndarray, "n parts places c"] | None:
        if not rows:
            return None
        by_part: dict[tuple[int, int], list[list[float]]] = {}
        number: Callable[[str], float] = float
        for row in _with(rows, ("image", "part", *columns)):
            at = self._at(row, table)
            try:
                values = [number(row[c]) for c in columns]
            except ValueError as error:
                got = repr([row[c] for c in columns])
                raise UnsafeInputError(table, got, f"numbers for {list(columns)}") from error
            if at is not None:
                by_part.setdefault(at, []).append(values)
        most = max((len(places) for places in by_part.values()), default=1)
        array = np.full((len(self.where), len(self.part), most, len(columns)), np.nan)
        for (image, part), places in by_part.items():
            array[image, part, : len(places)] = places
        return array

    def files(self, rows: Rows) -> dict[tuple[int, int], tuple[str, ...]]:
        files: dict[tuple[int, int], tuple[str, ...]] = {}
        for row in _with(rows, ("image", "part", "file")):
            at = self._at(row, "masks.csv")
            if at is not None:
                files[at] = (*files.get(at, ()), row["file"])
        return files


def _class_truth(
    root: Path,
    classes: list[str],
    concepts: list[str],
    seen: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
) -> Float[np.ndarray, "concepts classes"]:
    rows = {row["class"]: row for row in _with(_table(root, "class_truth"), ("class", *concepts))}
    if rows:
        if set(rows) != set(classes):
            raise EvidenceError("class_truth.csv", f"classes {sorted(rows)}", f"{classes}")
        try:
            return np.array([[float(rows[c][name]) for c in classes] for name in concepts])
        except ValueError as error:
            raise EvidenceError("class_truth.csv", str(error), "numbers from 0 to 1") from error
    presence, known, labels, train = seen
    truth = np.zeros((len(concepts), len(classes)))
    for k in range(len(classes)):
        of_class = train & (labels == k)
        n_known = known[of_class].sum(axis=0)
        truth[:, k] = np.where(
            n_known > 0, presence[of_class].sum(axis=0) / np.maximum(n_known, 1), np.nan
        )
    unknown = np.isnan(truth)
    if unknown.any():
        concept, k = np.argwhere(unknown)[0]
        raise EvidenceError(
            "class_truth.csv",
            f"none, and no training image of class {printable(classes[k])!r} tells whether "
            f"{printable(concepts[concept])!r} is there",
            "a share for each class and concept",
            "Write class_truth.csv, or mark at least one training image.",
        )
    return truth

"""Your own data set of masks: tables, images, and masks or label maps.

``samples.csv`` has a row per image: ``image`` (a path below the folder), perhaps ``class``, and
a column per concept that holds for the whole image, with 1 or 0 (``split`` and ``group`` are
left out). Then one or both of:

- ``masks.csv`` (image, concept, file, and perhaps category): a mask each, there where it is not
  black; masks may overlap.
- ``labels.csv`` (image, file) with ``concepts.csv`` (number, name, category): label maps whose
  gray values, 1 to 254, are the numbers; 0 is no label. An image may have several.

A category is ``object`` if nothing is said, and ``scene`` for a column of ``samples.csv``. What
``concepts.csv`` says goes first; there, a concept without label maps has an empty number.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from jaxtyping import Int

from theodolite._storage.images import read_image, sample_grid
from theodolite._storage.paths import confined
from theodolite._storage.text import read_csv
from theodolite.datasets.masks.mask_data import (
    Grid,
    Layers,
    MaskData,
    as_layer,
    gray_numbers,
    layers_of_masks,
)
from theodolite.errors import EvidenceError

OWN_COLUMNS = ("image", "class", "split", "group")
Rows = list[dict[str, str]]


def mask_folder(root: Path, *, void: tuple[int, ...] = ()) -> MaskData:
    """Read a folder laid out as above.

    Args:
        root: The folder.
        void: Gray values of label maps, such as 255, of pixels that nobody annotated: they count
            neither for nor against.
    """
    samples = _rows(root, "samples", ("image",))
    masks = _rows(root, "masks", ("image", "concept", "file"))
    maps = _rows(root, "labels", ("image", "file"))
    listed = _rows(root, "concepts", ("number", "name", "category"))
    images = [row["image"] for row in samples]
    if not images or len(set(images)) < len(images):
        raise EvidenceError("samples.csv", "none or an image twice", "one row per image")
    if not masks and not maps:
        raise EvidenceError(f"folder {root.name!r}", "no masks", "masks.csv or labels.csv")
    columns = [name for name in samples[0] if name not in OWN_COLUMNS]
    categories = _categories(listed, columns, masks)
    concepts = list(categories)
    mask_files: list[list[tuple[str, int]]] = [[] for _ in images]
    for at, row in _placed(masks, images, "masks.csv"):
        mask_files[at].append((row["file"], concepts.index(row["concept"])))
    map_files: list[list[str]] = [[] for _ in images]
    for at, row in _placed(maps, images, "labels.csv"):
        map_files[at].append(row["file"])
    entry = _entries(listed, concepts)
    entry |= _void_entries(void, entry, len(concepts), has_maps=bool(maps))
    labels, classes = _classes(samples)
    return MaskData(
        name=root.name,
        folder=root,
        images=tuple(images),
        concepts=tuple(concepts),
        categories=tuple(categories.values()),
        scenes=tuple(
            tuple(concepts.index(name) for name in columns if _marked(row, name)) for row in samples
        ),
        read_layers=partial(_layers, root, map_files, entry, mask_files),
        void=bool(void),
        labels=labels,
        classes=classes,
        tables=tuple(sorted(path for path in root.iterdir() if path.suffix == ".csv")),
    )


def _rows(root: Path, name: str, columns: tuple[str, ...]) -> Rows:
    path = confined(root, f"{name}.csv")
    rows = list(read_csv(path)) if path.is_file() else []
    if rows and not set(columns) <= set(rows[0]):
        raise EvidenceError(f"{name}.csv", f"columns {list(rows[0])}", f"{list(columns)}")
    return rows


def _placed(rows: Rows, images: list[str], table: str) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows, each with the number of its image."""
    of = {image: i for i, image in enumerate(images)}
    for row in rows:
        if row["image"] not in of:
            raise EvidenceError(table, f"image {row['image']!r}", "one of samples.csv")
        yield of[row["image"]], row


def _categories(listed: Rows, columns: list[str], masks: Rows) -> dict[str, str]:
    """Each concept with its category, in the order in which the tables name them."""
    categories: dict[str, str] = {}
    for row in listed:
        if not row["name"] or row["name"] in categories:
            raise EvidenceError("concepts.csv", f"name {row['name']!r}", "one row per concept")
        categories[row["name"]] = row["category"] or "object"
    first = dict(categories)
    for name in columns:
        categories.setdefault(name, "scene")
    for row in masks:
        name, category = row["concept"], row.get("category", "")
        categories.setdefault(name, category or "object")
        if not name or (category and name not in first and categories[name] != category):
            raise EvidenceError(
                f"masks.csv, concept {name!r}",
                f"category {category!r} after {categories[name]!r}",
                "a name, and one category for each",
            )
    return categories


def _entries(listed: Rows, concepts: list[str]) -> dict[int, int]:
    """What a number in a label map stands for."""
    entry = {0: 0}
    for row in listed:
        text = row["number"].strip()
        number = int(text) if text.isdecimal() and text.isascii() and len(text) <= 3 else 0
        if text and (number in entry or number > 254):
            raise EvidenceError(
                f"concepts.csv, {row['name']!r}", f"number {text!r}", "1 to 254, each once"
            )
        if text:
            entry[number] = concepts.index(row["name"]) + 1
    return entry


def _void_entries(
    void: tuple[int, ...], entry: dict[int, int], n_concepts: int, *, has_maps: bool
) -> dict[int, int]:
    """Void pixels carry one number more than there are concepts."""
    if void and not has_maps:
        raise EvidenceError("void", "masks without label maps", "label maps, listed in labels.csv")
    wrong = [number for number in void if number in entry or not 0 < number <= 255]
    if wrong:
        raise EvidenceError("void", f"{wrong}", "1 to 255, and no number of concepts.csv")
    return dict.fromkeys(void, n_concepts + 1)


def _marked(row: dict[str, str], name: str) -> bool:
    if row[name].strip() not in ("0", "1"):
        raise EvidenceError(f"samples.csv, {name!r} of {row['image']!r}", repr(row[name]), "1 or 0")
    return row[name].strip() == "1"


def _classes(samples: Rows) -> tuple[Int[np.ndarray, " n"] | None, tuple[str, ...]]:
    if "class" not in samples[0]:
        return None, ()
    classes, labels = np.unique([row["class"] for row in samples], return_inverse=True)
    return labels.astype(np.int64), tuple(classes.tolist())


def _layers(
    root: Path,
    maps: list[list[str]],
    entry: dict[int, int],
    masks: list[list[tuple[str, int]]],
    row: int,
    grid: Grid,
) -> Layers:
    layers = [
        as_layer(gray_numbers(confined(root, file), grid), entry, f"label map {file!r}")[None]
        for file in maps[row]
    ]
    concept_masks = []
    for file, concept in masks[row]:
        gray = np.asarray(read_image(confined(root, file))).max(axis=-1)
        concept_masks.append((concept, sample_grid(gray, grid) > 0))
    if concept_masks or not layers:
        layers.append(layers_of_masks(concept_masks, grid))
    return np.concatenate(layers)

"""Broden, and what is laid out like it: an index of images with label maps for each category.

``index.csv`` has a row per image: ``image``, ``split``, sizes ``ih, iw, sh, sw``, and a column
per category (color, object, part, material, scene, texture). A cell has, parted by ``;``, label
maps (paths) or label numbers, which then hold for the whole image. ``label.csv`` has ``number``,
``name`` and ``category`` such as ``object(120);part(3)``. Images and label maps are in
``images/``. Tables may be packed (``.csv.gz``).
"""

import re
from functools import partial
from pathlib import Path

import numpy as np

from theodolite._storage.images import read_image, sample_grid
from theodolite._storage.paths import confined
from theodolite._storage.text import read_csv
from theodolite.datasets.masks.mask_data import (
    Grid,
    Layers,
    MaskData,
    as_classes,
    as_layer,
    distinct,
)
from theodolite.errors import UnsafeInputError

OWN_COLUMNS = ("image", "split", "ih", "iw", "sh", "sw")
Cells = dict[str, list[str]]
# A label number; some copies of the index went through a program that adds ".0".
NUMBER = re.compile(r"(\d{1,9})(\.0)?", re.ASCII)


def broden(root: Path, *, index: str = "index.csv") -> MaskData:
    """Read a folder laid out as above; ``index`` names another list of images, if need be.

    Scenes are the classes of the images if each image has exactly one.
    """
    listed, labeled = _table(root, index), _table(root, "label.csv")
    numbers, names, categories = _labels(labeled)
    entry = {0: 0} | {number: i + 1 for i, number in enumerate(numbers)}
    images, cells = read_index(listed)
    covering = partial(_covering, entry=entry, path=listed)
    labels, classes = as_classes([covering(row.get("scene", [])) for row in cells], names)
    together = [[text for texts in row.values() for text in texts] for row in cells]
    return MaskData(
        name="Broden",
        folder=root / "images",
        images=tuple(images),
        concepts=names,
        categories=categories,
        scenes=tuple(covering(texts) for texts in together),
        read_layers=partial(_layers, root / "images", [_files(t) for t in together], entry),
        labels=labels,
        classes=classes,
        tables=(listed, labeled),
        notes=("A concept of several categories is counted in the one that has it most often.",),
    )


def read_index(path: Path) -> tuple[list[str], list[Cells]]:
    """The images of an index, and what each category's cell has."""
    rows = list(read_csv(path, "index"))
    if not rows or "image" not in rows[0] or not set(rows[0]) - set(OWN_COLUMNS):
        got = f"columns {list(rows[0])}" if rows else "no rows"
        raise UnsafeInputError(f"index {path.name!r}", got, "image and a column per category")
    cells = [
        {name: [t for t in text.split(";") if t] for name, text in row.items()
         if name not in OWN_COLUMNS}
        for row in rows
    ]  # fmt: skip
    return [row["image"] for row in rows], cells


def _table(root: Path, name: str) -> Path:
    plain, packed = confined(root, name), confined(root, f"{name}.gz")
    return packed if packed.is_file() and not plain.is_file() else plain


def _files(texts: list[str]) -> list[str]:
    return [text for text in texts if not NUMBER.fullmatch(text)]


def _covering(texts: list[str], *, entry: dict[int, int], path: Path) -> tuple[int, ...]:
    """The concepts whose numbers are given, without label 0."""
    numbers = [int(match[1]) for match in map(NUMBER.fullmatch, texts) if match]
    unknown = [number for number in numbers if number not in entry]
    if unknown:
        raise UnsafeInputError(
            f"index {path.name!r}", f"the number {unknown[0]}", "one of label.csv"
        )
    return tuple(entry[number] - 1 for number in numbers if number)


def _labels(path: Path) -> tuple[list[int], tuple[str, ...], tuple[str, ...]]:
    """Numbers, names and categories of the labels; label 0 means that there is none."""
    labels = {}
    for row in read_csv(path, "list of labels"):
        kinds = re.findall(r"([^;()]+)(?:\((\d{1,12})\))?", row.get("category", ""), re.ASCII)
        number = row.get("number", "")
        if not kinds or not number.isdecimal() or not row.get("name") or int(number) in labels:
            needed = "a number that occurs once, a name and a category such as object(120)"
            raise UnsafeInputError(f"list of labels {path.name!r}", f"{list(row.values())}", needed)
        labels[int(number)] = row["name"], max(kinds, key=lambda kind: int(kind[1] or 0))[0]
    labels.pop(0, None)
    numbers = list(labels)
    names = distinct([name for name, _ in labels.values()], numbers)
    return numbers, names, tuple(kind for _, kind in labels.values())


def _layers(
    images: Path,
    files: list[list[str]],
    entry: dict[int, int],
    row: int,
    grid: Grid,
) -> Layers:
    layers = []
    for name in files[row]:
        pixels = np.asarray(read_image(confined(images, name)))
        red, green = np.moveaxis(sample_grid(pixels, grid)[..., :2].astype(np.int64), -1, 0)
        layers.append(as_layer(red + 256 * green, entry, f"label map {name!r}"))
    return np.stack(layers) if layers else np.zeros((1, *grid), np.uint16)

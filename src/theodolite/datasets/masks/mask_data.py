"""Mask data set: what every reader of images with concept masks returns, and shared helpers."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Int, UInt16
from PIL import Image

from theodolite._storage.images import read_image, sample_grid
from theodolite._storage.paths import confined, sha256_of
from theodolite.errors import EvidenceError, UnsafeInputError

Grid = tuple[int, int]
Layer = UInt16[np.ndarray, "rows columns"]
Layers = UInt16[np.ndarray, "layers rows columns"]
MOST_CONCEPTS = np.iinfo(np.uint16).max


@dataclass(frozen=True, eq=False, kw_only=True)
class MaskData:
    """A data set of masks: images, concepts, and for each image where they are.

    A mask lies on a grid that is stretched over its image. Concepts of the whole image (a
    scene, a texture) are in ``scenes``. A concept may be both: then it is where either says.
    """

    name: str
    folder: Path
    """Folder of the images; names in ``images`` are relative to it."""
    images: tuple[str, ...]
    concepts: tuple[str, ...]
    categories: tuple[str, ...]
    """Category of each concept: object, part, scene, texture, color, material, …"""
    scenes: tuple[tuple[int, ...], ...]
    """Concepts that cover each whole image."""
    read_layers: Callable[[int, Grid], Layers]
    void: bool = False
    """Whether label ``n_concepts + 1`` marks pixels to ignore."""
    labels: Int[np.ndarray, " images"] | None = None
    classes: tuple[str, ...] = ()
    groups: Int[np.ndarray, " images"] | None = None
    """Groups of dependent images, used as clusters."""
    tables: tuple[Path, ...] = ()
    """Annotation files that were read."""
    notes: tuple[str, ...] = ()
    """Notes on the masks for readers of the scores."""

    def __post_init__(self) -> None:
        n, k = len(self.images), len(self.concepts)
        twice = [name for name, count in Counter(self.concepts).items() if count > 1]
        if twice:
            raise EvidenceError(f"concepts of {self.name}", f"{twice} twice", "distinct names")
        if not 0 < k <= MOST_CONCEPTS:
            raise EvidenceError(f"concepts of {self.name}", f"{k}", f"1 to {MOST_CONCEPTS}")
        if len(self.categories) != k:
            got = f"{len(self.categories)} categories"
            raise EvidenceError(f"concepts of {self.name}", got, f"one for each of {k}")
        if len(self.scenes) != n or not {c for row in self.scenes for c in row} <= set(range(k)):
            needed = f"numbers below {k} for each of {n} images"
            raise EvidenceError(f"scenes of {self.name}", f"{len(self.scenes)} rows", needed)
        if self.labels is not None and not (
            len(self.labels) == n and set(self.labels.tolist()) <= set(range(len(self.classes)))
        ):
            needed = f"a class below {len(self.classes)} for each of {n} images"
            raise EvidenceError(f"labels of {self.name}", f"{len(self.labels)} labels", needed)

    def __len__(self) -> int:
        return len(self.images)

    def path(self, row: int) -> Path:
        """Return the file of an image."""
        return confined(self.folder, self.images[row])

    def at_hand(self, rows: Int[np.ndarray, " n"] | None = None) -> Int[np.ndarray, " m"]:
        """Return the rows whose image file exists."""
        rows = np.arange(len(self)) if rows is None else rows
        there = [self.path(int(row)).is_file() for row in rows]
        return np.asarray(rows[np.asarray(there, bool)])

    def image(self, row: int) -> Image.Image:
        """Return the decoded image of a row."""
        return read_image(self.path(row))

    def layers(self, row: int, grid: Grid = (112, 112)) -> Layers:
        """Return the label layers of an image: 0 for no label, c + 1 for concept c.

        Where masks overlap there are several layers, and always at least one. The concepts that
        cover the whole image are in ``scenes`` and not here.
        """
        layers = self.read_layers(row, grid)
        highest = len(self.concepts) + self.void
        if layers.shape[1:] != grid or not len(layers) or layers.max() > highest:
            raise EvidenceError(
                f"masks of {self.images[row]!r}",
                f"shape {layers.shape}, numbers up to {layers.max(initial=0)}",
                f"layers of {grid}, numbers up to {highest}",
            )
        return layers

    def summary(self) -> list[tuple[str, str]]:
        """Return a short description of the content."""
        kinds = Counter(self.categories)
        return [
            ("classes", f"{len(self.classes)}"),
            ("concepts", ", ".join(f"{n} of {kind}" for kind, n in sorted(kinds.items()))),
        ]

    def check_images(self, rows: Int[np.ndarray, " n"]) -> None:
        """Decode every image and its masks."""
        for row in rows:
            self.image(int(row))
            self.layers(int(row))

    def digests(self) -> dict[str, str]:
        """Return digests of the annotation files, by name."""
        return {f"{path.parent.name}/{path.name}": sha256_of(path) for path in self.tables}


def box_mask(
    box: tuple[float, float, float, float], grid: Grid, what: str = "box"
) -> Bool[np.ndarray, "rows columns"]:
    """Return the grid cells whose center is in a box, given in fractions of the image.

    >>> box_mask((0.0, 0.5, 1.0, 1.0), (1, 4))
    array([[False, False,  True,  True]])
    """
    top, left, bottom, right = box
    if not (top < bottom and left < right):
        raise EvidenceError(what, f"{box}", "top < bottom and left < right")
    down, across = ((np.arange(cells) + 0.5) / cells for cells in grid)
    return np.outer((top <= down) & (down < bottom), (left <= across) & (across < right))


def layers_of_masks(
    masks: Sequence[tuple[int, Bool[np.ndarray, "rows columns"]]], grid: Grid = (112, 112)
) -> Layers:
    """Return masks as layers; each goes to the first layer that is free at its pixels.

    ``grid`` is the shape of the one empty layer that no masks give.

    >>> layers_of_masks([(0, np.array([[True, True]])), (4, np.array([[False, True]]))])
    array([[[1, 1]],
           [[0, 5]]], dtype=uint16)
    """
    layers = [np.zeros(masks[0][1].shape if masks else grid, np.uint16)]
    for concept, mask in masks:
        free = (layer for layer in layers if np.isin(layer[mask], (0, concept + 1)).all())
        layer = next(free, None)
        if layer is None:
            layer = np.zeros_like(layers[0])
            layers.append(layer)
        layer[mask] = concept + 1
    return np.stack(layers)


def as_layer(
    numbers: Int[np.ndarray, "rows columns"], entry: Mapping[int, int], what: str
) -> Layer:
    """Return the numbers of a label map as a layer; ``entry`` maps all allowed numbers."""
    unique_numbers, where = np.unique(numbers, return_inverse=True)
    unknown = [int(number) for number in unique_numbers if int(number) not in entry]
    if unknown:
        raise UnsafeInputError(what, f"the numbers {unknown[:5]}", "those that the data set lists")
    entries = np.array([entry[int(number)] for number in unique_numbers], np.uint16)
    return np.asarray(entries[where.reshape(numbers.shape)])


def gray_numbers(path: Path, grid: Grid) -> Int[np.ndarray, "rows columns"]:
    """Return the numbers of a gray label map on the grid."""
    pixels = np.asarray(read_image(path, "RGB"))
    if (pixels != pixels[..., :1]).any():
        raise UnsafeInputError(
            f"label map {path.name!r}",
            "colors",
            "gray values that are the numbers",
            "Save it with one channel and no palette.",
        )
    return sample_grid(pixels[..., 0], grid).astype(np.int64)


def distinct(names: Sequence[str], numbers: Sequence[int]) -> tuple[str, ...]:
    """Return the names, with a number added to duplicates.

    >>> distinct(["door", "bank", "bank"], [1, 2, 3])
    ('door', 'bank (2)', 'bank (3)')
    """
    count = Counter(names)
    pairs = zip(names, numbers, strict=True)
    return tuple(name if count[name] == 1 else f"{name} ({number})" for name, number in pairs)


def as_classes(
    scenes: Sequence[tuple[int, ...]], concepts: Sequence[str]
) -> tuple[Int[np.ndarray, " images"] | None, tuple[str, ...]]:
    """Return scenes as classes with names, if every image has exactly one."""
    if any(len(row) != 1 for row in scenes):
        return None, ()
    used, labels = np.unique([row[0] for row in scenes], return_inverse=True)
    return labels.astype(np.int64), tuple(concepts[c] for c in used)

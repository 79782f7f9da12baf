"""Pack concept masks exactly: all pixels of an image with the same labels form one atom.

An image of 112 x 112 has tens of atoms instead of 12,544 pixels. Used by every dissection.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from jaxtyping import Integer, Shaped

from theodolite.errors import EvidenceError
from theodolite.evidence.pipeline_output import Progress, silent

CHUNK = 64
MAX_ATOMS = 1 << 16
"""Maximum number of atoms of an image, and of concepts: they are numbered in 16 bits."""
MAX_PIXELS = 1 << 24
Layers = Shaped[np.ndarray, "_layers _rows _columns"]


@dataclass(frozen=True, eq=False)
class Atoms:
    """The concept masks of a data set."""

    concepts: tuple[str, ...]
    categories: tuple[str, ...]
    grid: tuple[int, int]
    start: Integer[np.ndarray, " image_starts"]
    """Start of each image's atoms."""
    weight: Integer[np.ndarray, " atoms"]
    """Number of pixels of each atom."""
    label_start: Integer[np.ndarray, " atom_starts"]
    label: Integer[np.ndarray, " labels"]
    """Concepts of each atom, in order."""
    number: Integer[np.ndarray, "images pixels"]
    """Atom of each pixel, counted from the image's first."""

    def __len__(self) -> int:
        return len(self.start) - 1

    @cached_property
    def image(self) -> Integer[np.ndarray, " atoms"]:
        """The image of each atom."""
        return np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.start))

    @cached_property
    def by_concept(
        self,
    ) -> tuple[Integer[np.ndarray, " concept_starts"], Integer[np.ndarray, " labels"]]:
        """Start of each concept's atoms, and the atoms that contain it."""
        from theodolite.dissection import _atom_kernels as kernels  # noqa: PLC0415

        start, atom = kernels.atoms_by_concept(self.label_start, self.label, len(self.concepts))
        return start, atom

    @cached_property
    def pairs(self) -> Integer[np.ndarray, "concepts concepts"]:
        """Pixels that each pair of concepts shares; the diagonal has the pixels of each."""
        from theodolite.dissection import _atom_kernels as kernels  # noqa: PLC0415

        shared: np.ndarray = kernels.pair_table(
            self.weight, self.label_start, self.label, len(self.concepts)
        )
        return shared

    @cached_property
    def images_with(self) -> Integer[np.ndarray, " concepts"]:
        """Number of images that show each concept."""
        owner = np.repeat(self.image, np.diff(self.label_start)).astype(np.int64)
        both = np.unique(owner * len(self.concepts) + self.label)
        return np.bincount(both % len(self.concepts), minlength=len(self.concepts))

    def digest(self) -> str:
        """Return a digest of all masks."""
        hasher = hashlib.sha256("\n".join(self.concepts).encode())
        for array in (self.start, self.weight, self.label_start, self.label, self.number):
            hasher.update(np.ascontiguousarray(array).tobytes())
        return hasher.hexdigest()

    def without_rare(self, least: int) -> "Atoms":
        """Return the masks without concepts that fewer than ``least`` images show."""
        frequent = self.images_with >= least
        if not frequent.any():
            raise EvidenceError(
                "concepts", f"none in at least {least} images", "some", "Lower the minimum."
            )
        new = np.cumsum(frequent) - 1
        stays = frequent[self.label]
        owner = np.repeat(np.arange(len(self.weight)), np.diff(self.label_start))[stays]
        counts = np.bincount(owner, minlength=len(self.weight))
        names = [i for i, k in enumerate(frequent) if k]
        return Atoms(
            tuple(self.concepts[i] for i in names),
            tuple(self.categories[i] for i in names),
            self.grid,
            self.start,
            self.weight,
            np.concatenate([[0], np.cumsum(counts)]),
            new[self.label[stays]].astype(np.int32),
            self.number,
        )

    def with_void(self, concept: int) -> "Atoms":
        """Return the masks with the pixels of this last concept excluded."""
        owner = np.repeat(np.arange(len(self.weight)), np.diff(self.label_start))
        void = np.zeros(len(self.weight), bool)
        void[owner[self.label == concept]] = True
        stays = ~void[owner]
        counts = np.bincount(owner[stays], minlength=len(self.weight))
        return Atoms(
            self.concepts[:concept],
            self.categories[:concept],
            self.grid,
            self.start,
            np.where(void, 0, self.weight).astype(self.weight.dtype),
            np.concatenate([[0], np.cumsum(counts)]),
            self.label[stays],
            self.number,
        )

    def mask(self, image: int, concept: int) -> np.ndarray:
        """Return a concept's mask in one image."""
        first, last = self.start[image], self.start[image + 1]
        has = [
            concept in self.label[self.label_start[a] : self.label_start[a + 1]]
            for a in range(first, last)
        ]
        return np.asarray(np.asarray(has)[self.number[image]].reshape(self.grid))


def pack(
    layers: Iterable[Layers],
    scenes: Sequence[Sequence[Any]],
    concepts: Sequence[str],
    categories: Sequence[str] | None = None,
    *,
    grid: tuple[int, int] = (112, 112),
    progress: Progress = silent,
) -> Atoms:
    """Pack label maps, an image at a time.

    Args:
        layers: For each image its label maps: 0 for nothing, c + 1 for concept c.
        scenes: For each image the concepts that cover it whole.
        concepts: Their names.
        categories: What kind of concept each is.
        grid: Rows and columns of the maps.
        progress: Function that is called after each chunk of images.
    """
    from theodolite.dissection import _atom_kernels as kernels  # noqa: PLC0415

    n_pixels = grid[0] * grid[1]
    if not 0 < n_pixels <= MAX_PIXELS:
        raise EvidenceError("grid", f"{grid}", f"1 to {MAX_PIXELS:,} places in all")
    _check_names(concepts, scenes)
    number = np.empty((len(scenes), n_pixels), np.uint16)
    parts: tuple[list[np.ndarray], ...] = ([], [], [], [])
    done = 0
    for chunk in _iterate_chunks(layers):
        if done + len(chunk) > len(scenes):
            raise EvidenceError("label maps", "more images", f"{len(scenes)}, as in `scenes`")
        stacked = _stack_layers(chunk, grid, len(concepts))
        chunk_scenes = scenes[done : done + len(chunk)]
        starts = np.concatenate([[0], np.cumsum([len(row) for row in chunk_scenes])]).astype(
            np.int64
        )
        scene = np.array([c for row in chunk_scenes for c in row], np.int32)
        arrays = kernels.group_images(stacked, starts, scene, number[done : done + len(chunk)])
        for column, part in zip(parts, arrays, strict=True):
            column.append(part)
        done += len(chunk)
        progress("masks", done, len(scenes))
    if done != len(scenes):
        raise EvidenceError("label maps", f"{done} images", f"{len(scenes)}, as in `scenes`")
    per_image, weights, n_labels, labels = (np.concatenate(column) for column in parts)
    if per_image.max(initial=0) > MAX_ATOMS:
        most = f"at most {MAX_ATOMS:,} sets of concepts in one image"
        raise EvidenceError("label maps", f"{per_image.max():,}", most, "Lower the resolution.")
    return Atoms(
        tuple(concepts),
        tuple(categories or ["object"] * len(concepts)),
        grid,
        np.concatenate([[0], np.cumsum(per_image)]),
        weights,
        np.concatenate([[0], np.cumsum(n_labels, dtype=np.int64)]),
        labels,
        number,
    )


def _iterate_chunks(layers: Iterable[Layers]) -> Iterator[list[Layers]]:
    iterator = iter(layers)
    while chunk := list(islice(iterator, CHUNK)):
        yield chunk


def _check_names(concepts: Sequence[str], scenes: Sequence[Sequence[Any]]) -> None:
    n = len(concepts)
    if isinstance(concepts, str) or not 0 < n < MAX_ATOMS or len(set(concepts)) < n:
        raise EvidenceError("concepts", f"{n} names", f"1 to {MAX_ATOMS - 1:,} distinct names")
    for row in scenes:
        for c in row:
            if not isinstance(c, int | np.integer) or not 0 <= c < n:
                raise EvidenceError("scenes", f"{c!r}", f"numbers of concepts, 0 to {n - 1}")


def _stack_layers(chunk: list[Layers], grid: tuple[int, int], n_concepts: int) -> np.ndarray:
    """Stack images with different numbers of layers into one array, with zeros for missing ones."""
    most = max(len(layers) for layers in chunk)
    stacked = np.zeros((len(chunk), most, grid[0] * grid[1]), np.uint16)
    for i, layers in enumerate(chunk):
        if layers.shape[1:] != grid:
            raise EvidenceError(
                "label map",
                f"shape {layers.shape}",
                f"layers of {grid[0]} rows and {grid[1]} columns",
            )
        if (
            layers.dtype.kind not in "iu"
            or layers.min(initial=0) < 0
            or layers.max(initial=0) > n_concepts
        ):
            got = f"{layers.dtype}, {layers.min(initial=0)} to {layers.max(initial=0)}"
            raise EvidenceError("label map", got, f"whole numbers from 0 to {n_concepts}")
        stacked[i, : len(layers)] = layers.reshape(len(layers), -1)
    return stacked

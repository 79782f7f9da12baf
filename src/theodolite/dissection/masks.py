"""Accept masks in any common form: label maps, Boolean planes, void pixels, any size."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from theodolite._storage.images import sample_grid
from theodolite.dissection.atoms import Atoms, Layers, pack
from theodolite.errors import EvidenceError

Resolution = Literal["auto", "full"] | tuple[int, int]
MOST_PLACES = 1 << 16
"""Places of an image that ``resolution="auto"`` works on at most."""


@dataclass(frozen=True)
class PackedMasks:
    """Concept masks, and what was done to them."""

    atoms: Atoms
    resampled: str
    """Note on resampled masks; empty if none were."""


def packed_masks(
    masks: Sequence[Any] | np.ndarray,
    concepts: Sequence[str],
    scenes: Sequence[Any] | None,
    void: int | Sequence[int] | None,
    resolution: Resolution,
) -> PackedMasks:
    """Return concept masks of all images on one grid; void pixels are excluded."""
    layers = [_layers(mask, len(concepts)) for mask in masks]
    if not layers:
        raise EvidenceError("label maps", "none", "one or several for each image")
    ignored = () if void is None else tuple(np.atleast_1d(void).tolist())
    _check_numbers(layers, len(concepts), ignored)
    covering = [()] * len(layers) if scenes is None else [tuple(row) for row in scenes]
    if len(covering) != len(layers):
        raise EvidenceError("scenes", f"{len(covering)} rows", f"{len(layers)}, one per image")
    shapes = {planes.shape[1:] for planes in layers}
    grid = grid_of(sorted(shapes), resolution)
    names = [*concepts, "void"] if ignored else concepts
    numbered = _numbered_planes(layers, grid, ignored, len(concepts))
    atoms = pack(numbered, covering, names, grid=grid)
    atoms = atoms.with_void(len(concepts)) if ignored else atoms
    return PackedMasks(atoms, _sentence(shapes, grid))


def grid_of(shapes: Sequence[tuple[int, ...]], resolution: Resolution) -> tuple[int, int]:
    """Return the grid to work on: the largest of the masks, or a smaller one of its shape.

    >>> grid_of([(240, 320)], "auto"), grid_of([(240, 320)], "full"), grid_of([(9, 9)], (3, 4))
    ((221, 295), (240, 320), (3, 4))
    """
    if not isinstance(resolution, str):
        rows, columns = (int(n) for n in resolution)
        if rows < 1 or columns < 1:
            raise EvidenceError("resolution", f"{resolution}", "rows and columns of at least 1")
        return rows, columns
    if resolution not in ("auto", "full"):
        raise EvidenceError("resolution", f"{resolution!r}", "'auto', 'full' or (rows, columns)")
    rows, columns = max(shapes, key=lambda shape: shape[0] * shape[1])
    if resolution == "full" or rows * columns <= MOST_PLACES:
        return int(rows), int(columns)
    scale = (MOST_PLACES / (rows * columns)) ** 0.5
    return max(int(rows * scale), 1), max(int(columns * scale), 1)


def _sentence(shapes: set[tuple[int, ...]], grid: tuple[int, int]) -> str:
    if shapes == {grid}:
        return ""
    sizes = sorted(shapes)
    sizes_text = f"{sizes[0][0]} x {sizes[0][1]}" if len(sizes) == 1 else f"{len(sizes)} sizes"
    return (
        f"Masks of {sizes_text} were resampled to {grid[0]} x {grid[1]} (nearest pixel); "
        "activations are enlarged to that grid (bilinear)."
    )


def _numbered_planes(
    layers: Sequence[Layers], grid: tuple[int, int], ignored: tuple[int, ...], n_concepts: int
) -> Iterator[Layers]:
    """Label maps on the grid, one image at a time; pixels to ignore carry one number more."""
    for planes in layers:
        labels = _numbered(nearest(planes, grid))
        if ignored:
            hidden = np.isin(labels, ignored)
            void = hidden.any(axis=0, keepdims=True) * (n_concepts + 1)
            labels = np.concatenate([np.where(hidden, 0, labels), void])
        yield labels


def nearest(planes: Layers, grid: tuple[int, int]) -> Layers:
    """Resample planes to another grid by nearest neighbor."""
    if planes.shape[1:] == grid:
        return planes
    return np.stack([sample_grid(plane, grid) for plane in planes])


def _layers(label_map: Any, n_concepts: int) -> np.ndarray:
    """A single map is a single layer; masks of true and false are one layer per concept."""
    layers = np.asarray(label_map)
    layers = layers[None] if layers.ndim == 2 else layers
    if layers.ndim != 3 or not layers.size:
        raise EvidenceError(
            "label map", f"shape {layers.shape}", "(rows, columns) or (layers, rows, columns)"
        )
    if layers.dtype.kind == "b" and len(layers) != n_concepts:
        raise EvidenceError(
            "label map", f"{len(layers)} masks of true and false",
            f"{n_concepts}, one per concept, (concepts, rows, columns)",
            "Or give numbers: 0 for nothing, c + 1 for concept c.",
        )  # fmt: skip
    return layers


def _numbered(layers: np.ndarray) -> np.ndarray:
    """Masks of true and false as label maps: the plane says which concept it is."""
    if layers.dtype.kind != "b":
        return layers
    return layers * np.arange(1, len(layers) + 1, dtype=np.uint16)[:, None, None]


def _check_numbers(layers: Sequence[np.ndarray], n_concepts: int, ignored: tuple[int, ...]) -> None:
    """Masks written with 0 and 1, one per concept, would all be taken for the first concept."""
    if any(not isinstance(number, int) or 0 <= number <= n_concepts for number in ignored):
        raise EvidenceError(
            "void", f"{ignored}", f"whole numbers other than 0 to {n_concepts}, which are concepts"
        )
    whole = [planes for planes in layers if planes.dtype.kind in "iu"]
    if ignored and len(whole) < len(layers):
        raise EvidenceError("void", "masks of true and false", "label maps of whole numbers")
    as_many = len(whole) == len(layers) and all(len(planes) == n_concepts for planes in whole)
    if n_concepts < 2 or not as_many or max((p.max() for p in whole), default=0) != 1:
        return
    if any(planes[1:].any() for planes in whole):
        raise EvidenceError(
            "label maps", f"only 0 and 1, in {n_concepts} layers each",
            "numbers of concepts, 0 for nothing and c + 1 for concept c",
            "If each layer is the mask of a concept, pass true and false: masks.astype(bool).",
        )  # fmt: skip

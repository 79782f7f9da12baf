"""Rank the pixels of maps at the places of concepts, and combine the ranks of several places.

A place is a point in an image at which a concept is annotated; a part such as a wing can have
several. Used by the metrics in `located`.
"""

from typing import Annotated, Literal

import numpy as np
from jaxtyping import Bool, Float, Int
from pydantic import Field

from theodolite._stats.native import functions as native
from theodolite._stats.native.library import has_native
from theodolite._stats.threads import run_in_slices
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.metrics.base import PerSample

Sides = Annotated[
    Literal["either", "every", "share"],
    Field(description="Of a part at several places: either inside, every one, or their share."),
]
Ties = Annotated[
    Literal["stable", "share"],
    Field(description="Equal pixels: in reading order, or with equal claims."),
]
Average = Annotated[
    Literal["images", "pairs"],
    Field(description="Mean over images, or over all pairs of image and concept."),
]
PIXELS_WORTH_THREADS = 50_000_000
BLOCK_BYTES = 1 << 24
"""Maximum number of bytes of maps that are in memory as float64 at a time."""


def pixel_counts(
    evidence: LocationEvidence,
    which: Int[np.ndarray, "queries 2"],
    points: Float[np.ndarray, "queries 2"],
) -> Int[np.ndarray, "queries 3"]:
    """Count pixels of each upsampled map above the pixel at a point, equal to it, and equal before.

    ``which`` has the sample and the concept of each query. "Before" means in reading order.
    """
    maps = evidence.maps
    sizes = np.ascontiguousarray(evidence.sizes[which[:, 0]], np.int64)
    pixels = np.clip(np.floor(points).astype(np.int64), 0, sizes - 1)
    counts = np.empty((len(which), 3), np.int64)
    step = max(BLOCK_BYTES // (8 * max(maps[0, 0].size, 1)), 1) if len(which) else 1
    ranks = native.pixel_ranks if has_native() else rank_pixels

    def of(some: slice) -> None:
        for start in range(some.start, some.stop, step):
            part = slice(start, min(start + step, some.stop))
            chosen = maps[which[part, 0], which[part, 1]].astype(np.float64)
            ranks(chosen, sizes[part], pixels[part], counts[part])

    small = int(sizes.prod(axis=1).sum()) <= PIXELS_WORTH_THREADS
    run_in_slices(len(which), of, small=small)
    return counts


def rank_pixels(
    maps: Float[np.ndarray, "queries rows columns"],
    sizes: Int[np.ndarray, "queries 2"],
    pixels: Int[np.ndarray, "queries 2"],
    counts: Int[np.ndarray, "queries 3"],
) -> None:
    """Count the ranks in numpy, where the native kernel is missing and to test it."""
    for grid, size, (row, column), out in zip(maps, sizes, pixels, counts, strict=True):
        low, high, fraction = _find_source_cells(size[0], grid.shape[0])
        mixed = grid[low] + fraction[:, None] * (grid[high] - grid[low])
        low, high, fraction = _find_source_cells(size[1], grid.shape[1])
        values = mixed[:, low] + fraction * (mixed[:, high] - mixed[:, low])
        equal = values == values[row, column]
        before = equal[:row].sum() + equal[row, :column].sum()
        out[:] = (values > values[row, column]).sum(), equal.sum(), before


def _find_source_cells(
    length: int | np.integer, cells: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return both neighboring cells and the fraction of half-pixel-centered samples; edges
    repeat."""
    place = np.clip((np.arange(length) + 0.5) * (cells / length) - 0.5, 0.0, cells - 1)
    low = place.astype(np.int64)
    return low, np.minimum(low + 1, cells - 1), np.where(low < cells - 1, place - low, 0.0)


def is_inside_region(
    counts: Int[np.ndarray, "queries 3"], region: Int[np.ndarray, "queries alpha"], ties: Ties
) -> Float[np.ndarray, "queries alpha"]:
    """Return whether a pixel is among the ``region`` largest; ties go to the first.

    With ``share``, tied pixels have equal claims to the places that are left.
    """
    larger, tied, before = (counts[:, [i]] for i in range(3))
    if ties == "stable":
        return np.asarray(larger + before < region, float)
    return np.asarray(np.clip((region - larger) / tied, 0.0, 1.0))


def combine_places(
    credit: Float[np.ndarray, "*n places"], visible: Bool[np.ndarray, "*#n places"], sides: Sides
) -> Float[np.ndarray, "*n"]:
    """Combine the results of a part that is at several places, such as two wings."""
    if sides == "either":
        return np.asarray(np.where(visible, credit, 0.0).max(axis=-1))
    if sides == "every":
        return np.asarray(np.where(visible, credit, 1.0).min(axis=-1))
    n_visible = np.maximum(visible.sum(axis=-1), 1)
    return np.asarray(np.where(visible, credit, 0.0).sum(axis=-1) / n_visible)


def averaged(
    hits: Float[np.ndarray, "samples *n"],
    counted: Float[np.ndarray, "samples *n"],
    average: Average,
    population_mask: Bool[np.ndarray, " samples"],
) -> PerSample:
    """Return an average with equal weights of images, or of pairs of image and concept."""
    if average == "pairs":
        return PerSample(hits, counted, population_mask)
    return PerSample.from_values(hits / np.maximum(counted, 1), counted > 0, population_mask)


def find_peaks(
    maps: Float[np.ndarray, "samples concepts height width"],
) -> Float[np.ndarray, "samples concepts 2"]:
    """Return the center of each map's highest cell, as fractions of height and width."""
    n, k, height, width = maps.shape
    single = maps.size and maps.strides[:2] == (0, 0)  # one map for all: look at it once
    cell = (maps[:1, :1] if single else maps).reshape(-1, height * width).argmax(axis=1)
    peak = np.stack([(cell // width + 0.5) / height, (cell % width + 0.5) / width], axis=-1)
    return np.broadcast_to(peak, (n, k, 2)) if single else peak.reshape(n, k, 2)

"""Where a concept is, and whether a map agrees: shared by the scores of location."""

from typing import Annotated, Literal

import numpy as np
from jaxtyping import Bool, Float, Int
from pydantic import Field

from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.metrics.base import PerSample
from theodolite.threads import one_thread_if

Sides = Annotated[
    Literal["either", "every", "share"],
    Field(description="Of a part at several places: either inside, every one, or their share."),
]
Ties = Annotated[
    Literal["stable", "share"],
    Field(description="Equal pixels: in reading order, or with equal claims."),
]
Average = Annotated[
    Literal["pictures", "pairs"],
    Field(description="Mean over pictures, or over all pairs of picture and concept."),
]
PIXELS_WORTH_THREADS = 50_000_000


def pixel_counts(
    evidence: LocationEvidence,
    which: Int[np.ndarray, "queries 2"],
    points: Float[np.ndarray, "queries 2"],
) -> Int[np.ndarray, "queries 3"]:
    """Pixels of each upsampled map above the one at a point, equal to it, and equal before it."""
    from theodolite.stats.kernels import pixel_ranks  # noqa: PLC0415

    maps = evidence.maps
    if maps.dtype not in (np.float32, np.float64):
        maps = maps.astype(np.float32)
    sizes = evidence.sizes[which[:, 0]]
    pixels = np.clip(np.floor(points).astype(np.int64), 0, sizes - 1)
    with one_thread_if(int(sizes.prod(axis=1).sum()) <= PIXELS_WORTH_THREADS):
        counts: np.ndarray = pixel_ranks(
            maps, np.ascontiguousarray(which), np.ascontiguousarray(sizes), pixels
        )
    return counts


def inside_region(
    counts: Int[np.ndarray, "queries 3"], region: Int[np.ndarray, "queries alpha"], ties: Ties
) -> Float[np.ndarray, "queries alpha"]:
    """Whether the pixel is among the ``region`` largest; of tied pixels the first come first.

    With ``share``, tied pixels have equal claims to the places that are left.
    """
    larger, tied, before = (counts[:, [i]] for i in range(3))
    if ties == "stable":
        return np.asarray(larger + before < region, float)
    return np.asarray(np.clip((region - larger) / tied, 0.0, 1.0))


def over_places(
    credit: Float[np.ndarray, "*n places"], visible: Bool[np.ndarray, "*#n places"], sides: Sides
) -> Float[np.ndarray, "*n"]:
    """One answer for a part that is in the picture at several places, such as two wings."""
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
    """Every picture weighs the same, or every pair of picture and concept does."""
    if average == "pairs":
        return PerSample(hits, counted, population_mask)
    return PerSample(hits / np.maximum(counted, 1), (counted > 0).astype(float), population_mask)


def peaks(
    maps: Float[np.ndarray, "samples concepts height width"],
) -> Float[np.ndarray, "samples concepts 2"]:
    """The middle of each map's highest cell, as shares of the picture's height and width."""
    n, k, height, width = maps.shape
    single = maps.size and maps.strides[:2] == (0, 0)  # one map for all: look at it once
    cell = (maps[:1, :1] if single else maps).reshape(-1, height * width).argmax(axis=1)
    peak = np.stack([(cell // width + 0.5) / height, (cell % width + 0.5) / width], axis=-1)
    return np.broadcast_to(peak, (n, k, 2)) if single else peak.reshape(n, k, 2)

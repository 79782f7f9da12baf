"""Sufficiency and necessity as they are printed: one image after the other, nothing kept."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from theodolite.errors import EvidenceError
from theodolite.explainers.probing._fillings import make_filling
from theodolite.explainers.probing._order import count_pixels, rank_pixels
from theodolite.explainers.probing.pixel_removal import (
    Images,
    Maps,
    Probabilities,
    Removal,
    check_image_numbers,
)


@dataclass(frozen=True, eq=False)
class PrintedScores:
    """A value for each threshold; the printed algorithm takes the largest."""

    sufficiency: Float[np.ndarray, "samples ways thresholds"]
    necessity: Float[np.ndarray, "samples ways thresholds"]
    forwards: int


def as_printed(
    probabilities: Probabilities,
    images: Images,
    maps: Maps,
    *,
    targets: Int[np.ndarray, " samples"],
    removal: Removal,
    thresholds: Sequence[int] = (5, 10, 15, 20, 25, 30, 35, 40, 45, 50),
) -> PrintedScores:
    """The algorithm of the publication, step by step, to compare a faster one with.

    For each threshold t all of 1, 3, 5, … < t percent are removed again, and each image goes
    through the network alone. ``removal`` says how; its percents and its batch are not used. The
    publication returns the largest of a list that it has not filled; the values are meant.
    """
    if min(thresholds, default=0) < 2:
        raise EvidenceError("thresholds", f"{tuple(thresholds)}", "at least 2 percent each")
    values = np.empty((2, len(images), len(removal.ways), len(thresholds)))
    forwards = 0
    for i, number in enumerate(check_image_numbers(images, maps, None)):
        image, seed = images[i], (removal.seed, int(number))
        clean = probabilities(image[None])[0, targets[i]]
        forwards += 1
        for direction, j, k in np.ndindex(2, len(removal.ways), len(thresholds)):
            place = rank_pixels(maps[i], np.random.default_rng([*seed, 0]))
            if direction == 1:
                place = place.size - 1 - place
            moved = []
            for percent in range(1, thresholds[k], 2):
                way = removal.ways[j]
                without = make_filling(
                    way, image, black=removal.black, seed=seed, impute=removal.impute
                )
                changed = without(place < count_pixels([percent], place.size)[0])
                moved.append(abs(clean - probabilities(changed[None])[0, targets[i]]))
                forwards += 1
            near = np.exp(-np.mean(moved))
            values[direction, i, j, k] = near if direction == 0 else 1 - near
    return PrintedScores(values[0], values[1], forwards)

"""Measure the target probability while the least or most relevant pixels of images are removed.
Called by the saliency pipeline; returns removal curves."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from jaxtyping import Float, Int

from theodolite.errors import EvidenceError
from theodolite.explainers.probing._fillings import Impute, make_filling
from theodolite.explainers.probing._order import count_pixels, rank_pixels
from theodolite.explainers.probing.imputation import impute_pixels

WAYS = ("road", "black", "uniform", "gaussian")
PERCENTS = tuple(range(1, 50, 2))

Probabilities = Callable[[Float[np.ndarray, "n 3 rows columns"]], Float[np.ndarray, "n classes"]]
Images = Float[np.ndarray, "samples 3 rows columns"]
Maps = Float[np.ndarray, "samples rows columns"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Removal:
    """Settings of pixel removal: fillings, percentages and batch size.

    Attributes:
        black: The network's value of a black pixel, for each channel: ``(0 - mean) / spread``.
        seed: Of the noise and of the order of equally relevant pixels. Together with an image's
            number it settles them, whatever the map: explainers are compared under the same noise.
        ways: "road" fills in each pixel from its neighbors (:func:`.imputation.impute_pixels`) and
            adds Gaussian noise of 0.01; "black" makes it black; "uniform" replaces it by noise
            between the channel's lowest and highest value in the image; "gaussian" replaces it by
            noise of the channel's mean and standard deviation in the image. Nothing of the pixel
            stays.
        percents: How many of a hundred pixels are removed at each step, to the nearest pixel
            (halves up) and at least one.
        batch: How many images go through the network at once. On a processor few were
            fastest where we measured it, perhaps because memory for large arrays is mapped and
            cleared again each time. Use a larger number on a GPU.
        impute: How "road" fills pixels in: from an image and where it lacks pixels to the image.
    """

    black: Float[np.ndarray, "3"]
    seed: int
    ways: Sequence[str] = WAYS
    percents: Sequence[float] = PERCENTS
    batch: int = 4
    impute: Impute = impute_pixels

    def __post_init__(self) -> None:
        unknown = [way for way in self.ways if way not in WAYS]
        if unknown or not self.ways:
            raise EvidenceError("ways", f"{unknown or 'none'}", f"some of {', '.join(WAYS)}")
        if self.batch < 1:
            raise EvidenceError("batch", f"{self.batch}", "at least 1")
        count_pixels(self.percents, 1)


@dataclass(frozen=True, eq=False)
class RemovalCurves:
    """Probability of the target class for whole images and after each removal step.

    Attributes:
        clean: Outputs on the whole image.
        least_first: Outputs with the least relevant pixels removed first.
        most_first: Outputs with the most relevant pixels removed first.
        percents: Percentage of removed pixels at each step.
        forwards: Number of images on which the model was run.
    """

    clean: Float[np.ndarray, " samples"]
    least_first: Float[np.ndarray, "samples ways steps"]
    most_first: Float[np.ndarray, "samples ways steps"]
    percents: Float[np.ndarray, " steps"]
    forwards: int


def compute_removal_curves(
    probabilities: Probabilities,
    images: Images,
    maps: Maps,
    *,
    targets: Int[np.ndarray, " samples"],
    removal: Removal,
    numbers: Int[np.ndarray, " samples"] | None = None,
) -> RemovalCurves:
    """Return the target's probability after each step, for each filling and both orders.

    Each image is changed once for each step. Thresholds that stop at different steps share them,
    so that scores for any of them are means over the beginning of a curve. The changed images of
    all samples, ways and orders fill the batches one after the other.

    Args:
        probabilities: The network: from prepared images to probabilities of classes.
        images: Prepared images, as the network takes them.
        maps: Relevance of each pixel; more is more relevant, so signs count.
        targets: Each image's class: the one that is predicted for the whole image.
        removal: What is removed and how.
        numbers: The images' numbers, if they are a part of more: the result is then the same as
            for all of them together. Else they are counted from 0.
    """
    numbers = check_image_numbers(images, maps, numbers)
    n, ways, steps = len(images), len(removal.ways), len(removal.percents)
    target_probabilities = np.full((n, 1 + 2 * ways * steps), np.nan)
    flat, owner = (
        target_probabilities.reshape(-1),
        np.repeat(targets, target_probabilities.shape[1]),
    )
    stream = _changed(images, maps, numbers, removal)
    at = 0
    while batch := list(islice(stream, removal.batch)):
        class_probabilities = probabilities(np.stack(batch))
        flat[at : at + len(batch)] = class_probabilities[
            np.arange(len(batch)), owner[at : at + len(batch)]
        ]
        at += len(batch)
    curves = target_probabilities[:, 1:].reshape(n, 2, ways, steps)
    percents = np.asarray(removal.percents, np.float64)
    return RemovalCurves(target_probabilities[:, 0], curves[:, 0], curves[:, 1], percents, at)


def _changed(
    images: Images, maps: Maps, numbers: Int[np.ndarray, " samples"], removal: Removal
) -> Iterator[Float[np.ndarray, "3 rows columns"]]:
    """Yield each image whole, then by order, filling and step."""
    many = count_pixels(removal.percents, max(maps[:1].size, 1))
    for image, relevance, number in zip(images, maps, numbers, strict=True):
        yield image
        seed = (removal.seed, int(number))
        ascending = rank_pixels(relevance, np.random.default_rng([*seed, 0]))
        fillings = [
            make_filling(way, image, black=removal.black, seed=seed, impute=removal.impute)
            for way in removal.ways
        ]
        for place in (ascending, relevance.size - 1 - ascending):
            for without in fillings:
                for count in many:
                    yield without(place < count)


def check_image_numbers(
    images: Images, maps: Maps, numbers: Int[np.ndarray, " samples"] | None
) -> Int[np.ndarray, " samples"]:
    """Return the images' numbers; raise if images and maps do not match."""
    for name, values in (("images", images), ("maps", maps)):
        wrong = int((~np.isfinite(values)).any(axis=tuple(range(1, values.ndim))).sum())
        if wrong:
            raise EvidenceError(name, f"NaN or infinity in {wrong} samples", "finite numbers",
                                "Leave these samples out.")  # fmt: skip
    return np.arange(len(images)) if numbers is None else numbers

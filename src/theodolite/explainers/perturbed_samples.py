"""Find perturbed images with the same or a different prediction, for rating studies."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int
from PIL import Image

from theodolite.errors import EvidenceError
from theodolite.explainers.perturbations import PERTURBATIONS, perturb_image

MIX_UP = 13
"""Number of mix-up in the data set; 12 is not used."""
SMALLER = 0.9
LARGER = tuple(float(m) for m in range(1, 11))
WEIGHTS = tuple(tenths / 10 for tenths in range(1, 10))

Predict = Callable[[Sequence[Image.Image]], Int[np.ndarray, " images"]]


@dataclass(frozen=True, eq=False)
class PerturbedSample:
    """A perturbed image with its prediction.

    Attributes:
        image: The changed image.
        number: Of the perturbation; 13 is mix-up.
        magnitude: Of the perturbation; for mix-up the weight of the other image.
        tries: How many changed images a search one by one looks at, this one included.
        predicted: The class that is predicted for it.
        changed: Whether any pixel differs. Below magnitude 1, masks leave the image as it was.
    """

    image: Image.Image
    number: int
    magnitude: float
    tries: int
    predicted: int
    changed: bool


def find_same_prediction(
    image: Image.Image, predict: Predict, *, seed: int, tries: int = 11
) -> PerturbedSample | None:
    """Return a change that keeps the prediction (question 5), or None.

    A perturbation is drawn and tried at magnitude 1, 0.9, 0.81, …; after ``tries`` attempts another
    one is drawn. The published scripts use 10 and 11 tries. All magnitudes share their random
    numbers, so the same change becomes weaker.
    """
    if tries < 1:
        raise EvidenceError("tries", f"{tries}", "at least 1")
    (before,) = _classes(predict, [image])
    looked_at = 0
    for number, key in _shuffle_perturbations(seed):
        # the first one mostly fits: the others are made only if it does not
        for magnitudes in ([1.0], [SMALLER**k for k in range(1, tries)]):
            changed = [perturb_image(image, number, magnitude=m, seed=key) for m in magnitudes]
            classes = _classes(predict, changed)
            fits = np.flatnonzero(classes == before)
            if len(fits):
                first, looked_at = int(fits[0]), looked_at + int(fits[0]) + 1
                return _sample(image, changed[first], (number, magnitudes[first]),
                               looked_at, int(classes[first]))  # fmt: skip
            looked_at += len(magnitudes)
    return None


def find_different_prediction(
    image: Image.Image, predict: Predict, others: Sequence[Image.Image], *, seed: int
) -> PerturbedSample | None:
    """Return a change that changes the prediction (question 6), or None.

    A perturbation is drawn and tried at magnitude 1, 2, …, 10. If no prediction changes, the
    image is mixed with one of the ``others`` that is predicted as another class, which gets the
    weight 0.1, 0.2, …, 0.9; then with the next of them. They are taken in a random order, at the
    image's size.
    """
    classes = _classes(predict, [image, *others])
    before = classes[0]
    number, key = _shuffle_perturbations(seed)[0]
    looked_at = 0

    def first_other(
        changed: list[Image.Image], magnitudes: Sequence[float], number: int
    ) -> PerturbedSample | None:
        predictions = _classes(predict, changed)
        fits = np.flatnonzero(predictions != before)
        if not len(fits):
            return None
        k = int(fits[0])
        which = (number, magnitudes[k])
        return _sample(image, changed[k], which, looked_at + k + 1, int(predictions[k]))

    changed = [perturb_image(image, number, magnitude=m, seed=key) for m in LARGER]
    if sample := first_other(changed, LARGER, number):
        return sample
    looked_at += len(LARGER)
    apart = np.flatnonzero(classes[1:] != before)
    for i in np.random.default_rng([seed, 1]).permutation(apart):
        mixed = [mix_up(image, others[i], weight) for weight in WEIGHTS]
        if sample := first_other(mixed, WEIGHTS, MIX_UP):
            return sample
        looked_at += len(WEIGHTS)
    return None


def mix_up(image: Image.Image, other: Image.Image, weight: float) -> Image.Image:
    """Return (1 - weight) of the image plus ``weight`` of the other one, at the image's size."""
    beside = other.convert("RGB").resize(image.size, Image.Resampling.BICUBIC)
    return Image.blend(image.convert("RGB"), beside, weight)


def _shuffle_perturbations(seed: int) -> list[tuple[int, int]]:
    """Return the perturbations in random order, each with its own seed."""
    random = np.random.default_rng([seed, 0])
    order = random.permutation(len(PERTURBATIONS))
    keys = random.integers(2**31, size=len(PERTURBATIONS))
    return [(int(number), int(key)) for number, key in zip(order, keys, strict=True)]


def _classes(predict: Predict, images: Sequence[Image.Image]) -> Int[np.ndarray, " images"]:
    if not images:
        return np.empty(0, np.int64)
    classes = predict(images)
    if len(classes) != len(images):
        raise EvidenceError("predict", f"{len(classes)} classes", f"{len(images)}, one an image")
    return classes


def _sample(
    image: Image.Image, changed: Image.Image, which: tuple[int, float], tries: int, predicted: int
) -> PerturbedSample:
    differs = bool((np.asarray(changed) != np.asarray(image.convert("RGB"))).any())
    return PerturbedSample(changed, *which, tries, predicted, differs)

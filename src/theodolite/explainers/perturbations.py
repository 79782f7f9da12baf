"""Twelve image perturbations of the PASTA data set of ratings. Used by
:mod:`.perturbed_samples`."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from theodolite._storage.optional import require
from theodolite.errors import EvidenceError

MIN_SIDE_PIXELS = 8
"""Smallest side of an image in pixels: the blur reaches seven past each edge."""


@dataclass(frozen=True)
class Perturbation:
    """One way to change an image."""

    number: int
    name: str
    does: str
    """Effect at magnitude m, in the code that made the data set."""
    printed: str = ""
    """Effect according to the publication, if it differs."""


PERTURBATIONS = (
    Perturbation(
        0, "brightness_jitter",
        "brightness times a factor drawn from [max(0, 1 - a), 1 + a], a = tanh(0.5 m)",
        "more magnitude, less brightness",
    ),
    Perturbation(
        1, "contrast_jitter",
        "contrast times a factor drawn from [max(0, 1 - a), 1 + a], a = tanh(0.5 m)",
        "more magnitude, less contrast",
    ),
    Perturbation(
        2, "resized_crop", "a crop of the share 1 - tanh(0.3 m), at the image's own size",
        "more magnitude, a larger crop",
    ),
    Perturbation(3, "blur", "a Gaussian of 15 pixels, standard deviation 2 (m + 0.00001)"),
    Perturbation(4, "perspective", "corners moved by up to 0.5 m of half a side"),
    Perturbation(5, "brightness", "brightness times 1 + 0.5 m", "more magnitude, less brightness"),
    Perturbation(6, "saturation", "saturation times 1 + 2 m"),
    Perturbation(7, "contrast", "contrast times 1 + m"),
    Perturbation(8, "sharpness", "sharpness times 1 + 5 m"),
    Perturbation(
        9, "posterize", "the highest int(8 - min(8, m + 1)) bits of each value are kept",
        "more magnitude, more bits",
    ),
    Perturbation(
        10, "solarize", "values from 256 - min(256, 5 m) on are inverted",
        "more magnitude, a higher threshold",
    ),
    Perturbation(
        11, "masks", "int(m) black rectangles, a random corner, sides up to the image's own",
    ),
)  # fmt: skip
"""All perturbations, in the order of their numbers."""


def perturb_image(
    image: Image.Image, number: int, *, magnitude: float = 1.0, seed: int
) -> Image.Image:
    """Return the image changed by one of the :data:`PERTURBATIONS`; the same for the same seed.

    The result has the image's own size; in the publication all images had 224 by 224 pixels.
    Below a magnitude of 1 there are no masks, and the image comes back as it was. The published
    code took the seed 493 where it took one.
    """
    if not 0 <= number < len(PERTURBATIONS):
        raise EvidenceError("number", f"{number}", f"0 to {len(PERTURBATIONS) - 1}")
    if not (math.isfinite(magnitude) and magnitude >= 0):
        raise EvidenceError("magnitude", f"{magnitude}", "a number from 0 on")
    if min(image.size) < MIN_SIDE_PIXELS:
        raise EvidenceError("image", f"{image.size[0]} by {image.size[1]} pixels",
                            f"at least {MIN_SIDE_PIXELS} on each side")  # fmt: skip
    colors = image.convert("RGB")
    if number == 11:
        return _masked(colors, int(magnitude), seed)
    transforms = require("torchvision.transforms", "perturbed", "torch")
    import torch  # noqa: PLC0415

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        changed: Image.Image = _change(transforms, number, magnitude, colors.size)(colors)
    return changed


def _change(
    transforms: Any, number: int, m: float, size: tuple[int, int]
) -> Callable[[Image.Image], Image.Image]:
    functional = transforms.functional
    if number == 0:
        return transforms.ColorJitter(brightness=math.tanh(0.5 * m))  # type: ignore[no-any-return]
    if number == 1:
        return transforms.ColorJitter(contrast=math.tanh(0.5 * m))  # type: ignore[no-any-return]
    if number == 2:
        share = 1 - math.tanh(0.3 * m)
        return transforms.RandomResizedCrop(size[::-1], scale=(share, share))  # type: ignore[no-any-return]
    if number == 3:
        return transforms.GaussianBlur(15, sigma=2 * (m + 1e-5))  # type: ignore[no-any-return]
    if number == 4:
        return transforms.RandomPerspective(distortion_scale=0.5 * m, p=1)  # type: ignore[no-any-return]
    if number == 9:
        bits = int(8 - min(8, m + 1))
        # with no bits left all is black; newer versions of Pillow do not do it
        return lambda image: functional.posterize(image, bits) if bits else Image.new("RGB", size)
    if number == 10:
        return lambda image: functional.solarize(image, 256 - min(256, 5 * m))
    adjust, factor = {
        5: (functional.adjust_brightness, 1 + 0.5 * m),
        6: (functional.adjust_saturation, 1 + 2 * m),
        7: (functional.adjust_contrast, 1 + m),
        8: (functional.adjust_sharpness, 1 + 5 * m),
    }[number]
    return lambda image: adjust(image, factor)


def _masked(image: Image.Image, many: int, seed: int) -> Image.Image:
    pixels = np.array(image)
    rows, columns = pixels.shape[:2]
    random = np.random.default_rng(seed)
    for _ in range(many):
        top, left = random.integers(rows), random.integers(columns)
        height, width = random.integers(1, rows + 1), random.integers(1, columns + 1)
        pixels[top : top + height, left : left + width] = 0
    return Image.fromarray(pixels)

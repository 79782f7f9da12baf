"""Enlarge maps to the size of an image, and color them."""

import numpy as np
from jaxtyping import Float
from PIL import Image

COLORS = 256


def enlarge_map(
    numbers: Float[np.ndarray, "height width"], size: tuple[int, int]
) -> Float[np.ndarray, "rows columns"]:
    """Return a map at the size of an image, by bilinear interpolation at pixel centers."""
    image = Image.fromarray(np.asarray(numbers, np.float32))
    return np.asarray(image.resize(size[::-1], Image.Resampling.BILINEAR), np.float64)


def bwr() -> Float[np.ndarray, "256 3"]:
    """Return the colors blue-white-red in 256 steps, equal to matplotlib's."""
    half = (COLORS - 1) / 2
    along = (COLORS - 1) * np.linspace(0, 1, COLORS)
    up, down = np.minimum(along / half, 1), np.minimum(1 - (along - half) / half, 1)
    return np.stack([up, np.minimum(up, down), down], axis=1)

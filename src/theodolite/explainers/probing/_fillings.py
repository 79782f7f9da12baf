"""Values that replace removed pixels: ROAD imputation, black, uniform or Gaussian noise."""

from collections.abc import Callable
from functools import partial

import numpy as np
from jaxtyping import Bool, Float

Image = Float[np.ndarray, "3 rows columns"]
Removed = Bool[np.ndarray, "rows columns"]
Impute = Callable[[np.ndarray, np.ndarray], np.ndarray]
Filling = Callable[[Removed], Image]

ROAD_NOISE = 0.01
"""Standard deviation of ROAD's noise, in the units of the prepared image."""


def make_filling(
    way: str, image: Image, *, black: Float[np.ndarray, "3"], seed: tuple[int, int], impute: Impute
) -> Filling:
    """Return the function from removed pixels to the image without them.

    One field of noise is drawn for the image: steps that remove more and more pixels differ in
    nothing but which pixels they are.
    """
    low = image.min(axis=(1, 2), keepdims=True)
    high = image.max(axis=(1, 2), keepdims=True)
    if way == "black":
        return _replaced(image, np.broadcast_to(black[:, None, None], image.shape))
    if way == "uniform":
        random = np.random.default_rng([*seed, 1])
        return _replaced(image, low + (high - low) * random.random(image.shape))
    if way == "gaussian":
        random = np.random.default_rng([*seed, 2])
        mean, spread = (f(image, axis=(1, 2), keepdims=True) for f in (np.mean, np.std))
        return _replaced(image, mean + spread * random.standard_normal(image.shape))
    noise = ROAD_NOISE * np.random.default_rng([*seed, 3]).standard_normal(image.shape)
    return partial(_imputed, image, noise.astype(image.dtype), impute)


def _replaced(image: Image, field: Image) -> Filling:
    return partial(_put, image, field.astype(image.dtype))


def _put(image: Image, field: Image, removed: Removed) -> Image:
    return np.where(removed, field, image)


def _imputed(image: Image, noise: Image, impute: Impute, removed: Removed) -> Image:
    return np.where(removed, impute(image, removed) + noise, image).astype(image.dtype)

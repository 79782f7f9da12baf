"""What is put in the place of removed pixels."""

from collections.abc import Callable
from functools import partial

import numpy as np
from jaxtyping import Bool, Float

Picture = Float[np.ndarray, "3 rows columns"]
Removed = Bool[np.ndarray, "rows columns"]
Impute = Callable[[np.ndarray, np.ndarray], np.ndarray]
Filling = Callable[[Removed], Picture]

ROAD_NOISE = 0.01
"""Standard deviation, in the units of the prepared picture, as in ROAD's own code."""


def filling(
    way: str,
    picture: Picture,
    *,
    black: Float[np.ndarray, "3"],
    seed: tuple[int, int],
    impute: Impute,
) -> Filling:
    """From the pixels to remove to the picture without them.

    One field of noise is drawn for the picture: steps that remove more and more pixels differ in
    nothing but which pixels they are.
    """
    low = picture.min(axis=(1, 2), keepdims=True)
    high = picture.max(axis=(1, 2), keepdims=True)
    if way == "black":
        return _replaced(picture, np.broadcast_to(black[:, None, None], picture.shape))
    if way == "uniform":
        random = np.random.default_rng([*seed, 1])
        return _replaced(picture, low + (high - low) * random.random(picture.shape))
    if way == "gaussian":
        random = np.random.default_rng([*seed, 2])
        mean, spread = (f(picture, axis=(1, 2), keepdims=True) for f in (np.mean, np.std))
        return _replaced(picture, mean + spread * random.standard_normal(picture.shape))
    noise = ROAD_NOISE * np.random.default_rng([*seed, 3]).standard_normal(picture.shape)
    return partial(_imputed, picture, noise.astype(picture.dtype), impute)


def _replaced(picture: Picture, field: Picture) -> Filling:
    return partial(_put, picture, field.astype(picture.dtype))


def _put(picture: Picture, field: Picture, removed: Removed) -> Picture:
    return np.where(removed, field, picture)


def _imputed(picture: Picture, noise: Picture, impute: Impute, removed: Removed) -> Picture:
    return np.where(removed, impute(picture, removed) + noise, picture).astype(picture.dtype)

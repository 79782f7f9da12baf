"""Order and number of pixels to remove at each step."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from theodolite.errors import EvidenceError


def rank_pixels(
    relevance: Float[np.ndarray, "rows columns"], random: np.random.Generator
) -> Int[np.ndarray, "rows columns"]:
    """Return each pixel's rank in ascending order of relevance.

    Equal pixels come in a random order. By position, a constant map would remove the image from
    its top, and be scored for where the object is.
    """
    flat = relevance.ravel()
    order = np.lexsort((random.permutation(flat.size), flat))
    place = np.empty(flat.size, np.int64)
    place[order] = np.arange(flat.size)
    return place.reshape(relevance.shape)


def count_pixels(percents: Sequence[float], pixels: int) -> Int[np.ndarray, " steps"]:
    """Return the number of pixels of each percentage, rounded half up, at least one.

    >>> count_pixels((1, 3, 12.5), 100)
    array([ 1,  3, 13])
    """
    values = np.asarray(percents, np.float64)
    if not (values.size and ((values > 0) & (values <= 100)).all()):
        raise EvidenceError("percents", f"{tuple(percents)}", "numbers above 0 and up to 100")
    return np.maximum(np.floor(values * pixels / 100 + 0.5), 1).astype(np.int64)

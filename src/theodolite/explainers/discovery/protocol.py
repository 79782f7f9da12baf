"""What every way of finding concepts can do."""

from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

Embeddings = Float[np.ndarray, "n dimensions"]
Codes = Float[np.ndarray, "n concepts"]
Directions = Float[np.ndarray, "concepts dimensions"]


@runtime_checkable
class Discovery(Protocol):
    """Finds directions in embeddings, and writes embeddings in terms of them.

    The object holds the settings; `fit` leaves it as it is and returns a new one that also holds
    what was found. The same embeddings and seed give the same bytes.
    """

    def fit(self, embeddings: Embeddings, *, seed: int) -> "Discovery":
        """Find the concepts of these embeddings."""

    def encode(self, embeddings: Embeddings) -> Codes:
        """How much of each concept is in each embedding."""

    def decode(self, codes: Codes) -> Embeddings:
        """Embeddings made of the concepts: ``codes @ dictionary() + offset`` if it is linear."""

    def dictionary(self) -> Directions:
        """The direction of each concept, of length 1."""


def offset_of(fitted: Discovery) -> Float[np.ndarray, " dimensions"]:
    """What `decode` gives when no concept is there.

    Zeros, except where a method subtracts a mean (PCA) or decodes with a network (ConceptSHAP).
    """
    return np.asarray(fitted.decode(np.zeros((1, len(fitted.dictionary()))))[0])

"""Interface that every concept discovery method implements."""

from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

Embeddings = Float[np.ndarray, "n dimensions"]
Codes = Float[np.ndarray, "n concepts"]
Directions = Float[np.ndarray, "concepts dimensions"]


@runtime_checkable
class Discovery(Protocol):
    """Interface of a method: find directions, encode embeddings and decode codes.

    The object holds the settings; `fit` leaves it as it is and returns a new one that also holds
    what was found. The same embeddings and seed give the same bytes.
    """

    def fit(self, embeddings: Embeddings, *, seed: int) -> "Discovery":
        """Find the concepts of these embeddings."""

    def encode(self, embeddings: Embeddings) -> Codes:
        """Return the amount of each concept in each embedding."""

    def decode(self, codes: Codes) -> Embeddings:
        """Return embeddings from codes: ``codes @ dictionary() + offset`` if it is linear."""

    def dictionary(self) -> Directions:
        """Return the direction of each concept, of length 1."""


def compute_offset(fitted: Discovery) -> Float[np.ndarray, " dimensions"]:
    """Return what `decode` gives for codes of zero.

    Zeros, except where a method subtracts a mean (PCA) or decodes with a network (ConceptSHAP).
    """
    return np.asarray(fitted.decode(np.zeros((1, len(fitted.dictionary()))))[0])

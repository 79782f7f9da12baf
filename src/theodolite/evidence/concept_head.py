"""Interface of the head of a concept bottleneck, used by the concept explainers."""

from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float


@runtime_checkable
class ConceptHead(Protocol):
    """Head of a concept bottleneck: maps concept values to class probabilities."""

    @property
    def weights(self) -> Float[np.ndarray, "concepts classes"] | None:
        """Weight of each concept for each class's logit; None if the head is not linear."""

    def probabilities(
        self, values: Float[np.ndarray, "samples concepts"]
    ) -> Float[np.ndarray, "samples classes"]:
        """Return the probability of each class; ``values`` is not modified."""

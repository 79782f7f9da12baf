"""What stands between concepts and classes, as those who explain it see it."""

from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float


@runtime_checkable
class ConceptHead(Protocol):
    """The last part of a concept bottleneck: from values of concepts to classes."""

    @property
    def weights(self) -> Float[np.ndarray, "concepts classes"] | None:
        """How much one unit of each concept adds to each class's logit; None if not linear."""

    def probabilities(
        self, values: Float[np.ndarray, "samples concepts"]
    ) -> Float[np.ndarray, "samples classes"]:
        """The probability of each class. The values are left as they are."""

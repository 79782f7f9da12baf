"""Common interface of image classifiers from any library."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from theodolite.errors import EvidenceError
from theodolite.models.features import Preprocessing, set_evaluation_mode

if TYPE_CHECKING:
    import torch

BATCH = 32


@dataclass(frozen=True, eq=False)
class Classifier:
    """An image classifier with its preprocessing and classes."""

    name: str
    network: "torch.nn.Module"
    """Function from prepared images to logits (samples, classes)."""
    preprocessing: Preprocessing
    layer: str
    """Last layer with spatial positions that the output depends on; "" if unknown."""
    classes: tuple[str, ...] = ()
    """Class names in the order of the logits; () if unknown."""
    grid: tuple[int, int] | None = None
    """Rows and columns of a transformer's patches, where known."""

    def probabilities(
        self, batch: Float[np.ndarray, "samples 3 rows columns"]
    ) -> Float[np.ndarray, "samples classes"]:
        """Return the softmax of the logits, computed in batches of 32 images."""
        import torch  # noqa: PLC0415

        if not len(batch):
            raise EvidenceError("batch", "no images", "at least one")
        first = next(self.network.parameters(), None)
        device = "cpu" if first is None else first.device
        probabilities = []
        with set_evaluation_mode(self.network), torch.inference_mode():
            for start in range(0, len(batch), BATCH):
                part = np.ascontiguousarray(batch[start : start + BATCH], np.float32)
                logits = self.network(torch.from_numpy(part).to(device))
                probabilities.append(torch.softmax(logits.double(), dim=1).cpu().numpy())
        return np.concatenate(probabilities)

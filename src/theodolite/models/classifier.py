"""A network from images to classes, whatever library it comes from."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from theodolite.errors import EvidenceError
from theodolite.models.features import Preprocessing, evaluating

if TYPE_CHECKING:
    import torch

BATCH = 32


@dataclass(frozen=True, eq=False)
class Classifier:
    """A network from images to classes, and how it wants its images."""

    name: str
    network: "torch.nn.Module"
    """A batch of prepared images to logits (samples, classes), a plain tensor."""
    preprocessing: Preprocessing
    layer: str
    """The last layer with places that the output still looks at; "" if not known."""
    classes: tuple[str, ...] = ()
    """Their names in the order of the logits; () if not known."""
    grid: tuple[int, int] | None = None
    """Rows and columns of a transformer's patches, where known."""

    def probabilities(
        self, batch: Float[np.ndarray, "samples 3 rows columns"]
    ) -> Float[np.ndarray, "samples classes"]:
        """A softmax over the logits. No more than 32 images go through at once."""
        import torch  # noqa: PLC0415

        if not len(batch):
            raise EvidenceError("batch", "no images", "at least one")
        first = next(self.network.parameters(), None)
        device = "cpu" if first is None else first.device
        probabilities = []
        with evaluating(self.network), torch.inference_mode():
            for start in range(0, len(batch), BATCH):
                part = np.ascontiguousarray(batch[start : start + BATCH], np.float32)
                logits = self.network(torch.from_numpy(part).to(device))
                probabilities.append(torch.softmax(logits.double(), dim=1).cpu().numpy())
        return np.concatenate(probabilities)

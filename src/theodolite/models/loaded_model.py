"""A network that was loaded, in one form for all libraries."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from theodolite._storage.paths import sha256_of
from theodolite.errors import EvidenceError
from theodolite.models.features import FeatureExtractor, Preprocessing, set_evaluation_mode

if TYPE_CHECKING:
    import torch

BATCH = 32


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """An image classifier with its preprocessing and classes, as `load_model` returns it."""

    name: str
    """Scheme and value, such as ``torchvision:resnet50``; ``timm:`` may be left out."""
    network: "torch.nn.Module"
    """Function from prepared images to logits (samples, classes)."""
    preprocessing: Preprocessing
    layer: str
    """Last layer with spatial positions: before pooling and the class token; "" if unknown."""
    classes: tuple[str, ...] = ()
    """Class names in the order of the logits; () if unknown."""
    grid: tuple[int, int] | None = None
    """Rows and columns of a transformer's patches, where known."""
    weights: Path | None = None
    """File or folder of the weights; None if they come from a hub or with the network."""
    guessed: bool = False
    """Whether the preprocessing is ImageNet's because nobody said another."""

    @property
    def gradients(self) -> bool:
        """Whether outputs can be differentiated; not those of ONNX."""
        return bool(getattr(self.network, "gradients", True))

    @property
    def layers(self) -> tuple[str, ...]:
        """Names of all layers, in the order of the network."""
        return tuple(name for name, _ in self.network.named_modules() if name)

    @cached_property
    def head(self) -> str:
        """Name of the linear layer whose output is the network's; "" if there is none."""
        from theodolite.models.patches import find_head_layer  # noqa: PLC0415

        try:
            return find_head_layer(self.network, self.preprocessing.size)
        except EvidenceError:
            return ""

    @cached_property
    def digest(self) -> str:
        """Digest of name and weights, or of the file where it has both."""
        digest = hashlib.sha256(self.name.encode())
        if self.weights is not None and self.weights.suffix in (".pt2", ".onnx"):
            digest.update(sha256_of(self.weights).encode())
        for name, tensor in sorted(self.network.state_dict().items()):
            digest.update(name.encode() + tensor.cpu().numpy().tobytes())
        return digest.hexdigest()

    def forward(
        self, batch: Float[np.ndarray, "samples 3 rows columns"]
    ) -> Float[np.ndarray, "samples classes"]:
        """Return the logits of prepared images, computed in batches of 32 images."""
        import torch  # noqa: PLC0415

        if not len(batch):
            raise EvidenceError("batch", "no images", "at least one")
        first = next(self.network.parameters(), None)
        device = "cpu" if first is None else first.device
        logits = []
        with set_evaluation_mode(self.network), torch.inference_mode():
            for start in range(0, len(batch), BATCH):
                part = np.ascontiguousarray(batch[start : start + BATCH], np.float32)
                logits.append(self.network(torch.from_numpy(part).to(device)).double().cpu())
        return np.asarray(torch.cat(logits).numpy())

    def maps(
        self, batch: Float[np.ndarray, "samples 3 rows columns"], layer: str | None = None
    ) -> Float[np.ndarray, "samples channels height width"]:
        """Return the maps of a layer; by default the last one with spatial positions."""
        return FeatureExtractor(self.network, layer or self.layer)(batch)

    def probabilities(
        self, batch: Float[np.ndarray, "samples 3 rows columns"]
    ) -> Float[np.ndarray, "samples classes"]:
        """Return the softmax of the logits."""
        import torch  # noqa: PLC0415

        return np.asarray(torch.softmax(torch.from_numpy(self.forward(batch)), dim=1).numpy())

"""CLIP and SigLIP: a network for images and one for sentences that meet in one space."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from theodolite.models.features import Preprocessing

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, eq=False)
class Towers:
    """Two networks and how their products become logits."""

    name: str
    images: "torch.nn.Module"
    """From prepared images to vectors, of any length."""
    texts: "Callable[[Sequence[str]], torch.Tensor]"
    """From sentences to vectors, of any length."""
    scale: float
    """What a cosine is multiplied by."""
    bias: float
    """What is added then: 0 for CLIP."""
    dimensions: int
    preprocessing: Preprocessing
    layer: str
    """The last layer of ``images`` with places; "" if not known."""
    sigmoid: bool = False
    """Whether it was trained pair by pair (SigLIP) and not by contrast with others (CLIP)."""
    grid: tuple[int, int] | None = None
    """Rows and columns of a transformer's patches."""

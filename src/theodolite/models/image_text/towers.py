"""Interface of CLIP and SigLIP: an image and a text network with a common embedding space.

`open_clip_towers` and `transformers_towers` create it, and `zero_shot` uses it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from theodolite.models.features import Preprocessing

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, eq=False)
class Towers:
    """An image and a text network, and how their product becomes a logit."""

    name: str
    images: "torch.nn.Module"
    """Function from prepared images to vectors of any length."""
    texts: "Callable[[Sequence[str]], torch.Tensor]"
    """Function from sentences to vectors of any length."""
    scale: float
    """Factor of the cosine similarity."""
    bias: float
    """Offset added after scaling; 0 for CLIP."""
    dimensions: int
    preprocessing: Preprocessing
    layer: str
    """Last layer of ``images`` with spatial positions; "" if unknown."""
    sigmoid: bool = False
    """Whether it was trained with a sigmoid loss per pair (SigLIP)."""
    grid: tuple[int, int] | None = None
    """Rows and columns of a transformer's patches."""

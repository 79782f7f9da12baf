"""CLIP and SigLIP: a network for pictures and one for sentences that meet in one space."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from theodolite.errors import EvidenceError
from theodolite.models.features import Preprocessing

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, eq=False)
class Towers:
    """Two networks and how their products become logits."""

    name: str
    pictures: "torch.nn.Module"
    """From prepared pictures to vectors, of any length."""
    texts: "Callable[[Sequence[str]], torch.Tensor]"
    """From sentences to vectors, of any length."""
    scale: float
    """What a cosine is multiplied by."""
    bias: float
    """What is added then: 0 for CLIP."""
    dimensions: int
    preprocessing: Preprocessing
    layer: str
    """The last layer of ``pictures`` with places; "" if not known."""
    sigmoid: bool = False
    """Whether it was trained pair by pair (SigLIP) and not by contrast with others (CLIP)."""
    grid: tuple[int, int] | None = None
    """Rows and columns of a transformer's patches."""


def load_towers(name: str, weights: Path | None = None) -> Towers:
    """The pair that is named: ``open_clip:<model>@<weights>`` or ``transformers_clip:<folder>``.

    ``weights`` may give the file or folder instead.
    """
    library, _, model = name.partition(":")
    if library == "open_clip":
        from theodolite.models.open_clip_towers import open_clip_towers  # noqa: PLC0415

        model, _, source = model.partition("@")
        return open_clip_towers(model, source if weights is None else str(weights))
    if library == "transformers_clip":
        from theodolite.models.transformers_towers import transformers_towers  # noqa: PLC0415

        return transformers_towers(model if weights is None else str(weights))
    raise EvidenceError(
        "towers", repr(name), "open_clip:<model>@<weights> or transformers_clip:<folder>"
    )

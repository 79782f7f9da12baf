"""Load image classifiers of transformers. Importing this imports torch."""

from pathlib import Path
from typing import Any

from torch import Tensor, nn

from theodolite._storage.optional import require
from theodolite.models.image_text.transformers_towers import (
    SAFE,
    load_preprocessing,
    load_pretrained,
)
from theodolite.models.loaded_model import LoadedModel
from theodolite.models.spatial_layers import TRANSFORMER, find_last_spatial_layer


class Logits(nn.Module):
    """Wrapper of a transformers classifier that returns only logits."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Tensor) -> Tensor:
        """Return a logit for each image and class."""
        logits: Tensor = self.model(pixel_values=batch).logits
        return logits


def load_transformers_classifier(source: str) -> LoadedModel:
    """Load the classifier of a folder, or of a name on the user's hub."""
    transformers = require("transformers", "transformers", "clip")
    here = {"local_files_only": True} if Path(source).is_dir() else {}
    network: Any = load_pretrained(
        transformers.AutoModelForImageClassification, source, **SAFE, **here
    ).eval()
    config = network.config
    side, patch = getattr(config, "image_size", None), getattr(config, "patch_size", None)
    names = tuple(str(config.id2label[k]) for k in range(config.num_labels))
    numbered = names == tuple(f"LABEL_{k}" for k in range(config.num_labels))
    wrapped = Logits(network).eval()
    layer = _find_layer(wrapped, network.base_model_prefix)
    grid = None
    if layer and isinstance(side, int) and isinstance(patch, int):
        grid = (side // patch, side // patch)
    return LoadedModel(
        f"hf:{source}",
        wrapped,
        load_preprocessing(source, side if isinstance(side, int) else None, here),
        layer,
        () if numbered else names,
        grid,
    )


def _find_layer(network: nn.Module, base: str) -> str:
    """Return the last layer of the base with spatial positions, before it pools them."""
    last = find_last_spatial_layer(network)
    ends = "layernorm" if TRANSFORMER.search(last) else "encoder"
    name = f"model.{base}.{ends}"
    return name if last and name in dict(network.named_modules()) else last

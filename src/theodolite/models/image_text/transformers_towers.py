"""Load CLIP and SigLIP models of transformers. Importing this imports torch."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from theodolite._storage.optional import require
from theodolite.errors import EvidenceError
from theodolite.models.features import Preprocessing
from theodolite.models.image_text.towers import Towers
from theodolite.models.spatial_layers import find_last_spatial_layer

SAFE = {"use_safetensors": True, "trust_remote_code": False}


class ImageTower(nn.Module):
    """Wrapper that maps prepared images to vectors."""

    def __init__(self, vision: nn.Module, projection: nn.Module | None) -> None:
        super().__init__()
        self.vision = vision
        self.projection = nn.Identity() if projection is None else projection

    def forward(self, batch: Tensor) -> Tensor:
        """Return a vector for each image."""
        pooled: Tensor = self.projection(self.vision(pixel_values=batch).pooler_output)
        return pooled


def load_transformers_towers(source: str) -> Towers:
    """Load CLIP or SigLIP from a folder or from the user's hub.

    Only .safetensors are read, and no code that comes with a model is run.
    """
    transformers = require("transformers", "transformers", "clip")
    here = {"local_files_only": True} if Path(source).is_dir() else {}
    network: Any = load_pretrained(transformers.AutoModel, source, **SAFE, **here).eval()
    if network.config.model_type not in ("clip", "siglip"):
        raise EvidenceError("transformers_clip", network.config.model_type, "clip or siglip")
    tokens = load_pretrained(transformers.AutoTokenizer, source, trust_remote_code=False, **here)
    bias = getattr(network, "logit_bias", None)
    texts = _sentences(network, tokens, filled=bias is not None)
    vision = network.config.vision_config
    images = ImageTower(network.vision_model, getattr(network, "visual_projection", None)).eval()
    side = vision.image_size // vision.patch_size
    with torch.inference_mode():
        dimensions = int(texts(["a"]).shape[-1])
    return Towers(
        name=f"transformers_clip:{source}",
        images=images,
        texts=texts,
        scale=float(network.logit_scale.detach().exp()),
        bias=0.0 if bias is None else float(bias.detach()),
        dimensions=dimensions,
        preprocessing=load_preprocessing(source, vision.image_size, here),
        layer=find_last_spatial_layer(images),
        sigmoid=bias is not None,
        grid=(side, side),
    )


def _sentences(network: Any, tokens: Any, *, filled: bool) -> Callable[[Sequence[str]], Tensor]:
    """Return the text tower; SigLIP needs sentences ``filled`` (padded) to one length."""
    longest = network.config.text_config.max_position_embeddings

    def texts(sentences: Sequence[str]) -> Tensor:
        encoding = tokens(
            list(sentences), return_tensors="pt", truncation=True, max_length=longest,
            padding="max_length" if filled else True,
        )  # fmt: skip
        mask = {} if filled else {"attention_mask": encoding["attention_mask"]}
        features = network.get_text_features(input_ids=encoding["input_ids"], **mask)
        # transformers 4 gives the vectors, 5 gives them among other things
        vectors: Tensor = getattr(features, "pooler_output", features)
        return vectors

    return texts


def load_pretrained(kind: Any, source: str, **options: Any) -> Any:
    """Load with transformers from a folder or the hub; explain failures."""
    from transformers.utils import logging  # noqa: PLC0415

    bar_enabled = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        return kind.from_pretrained(source, **options)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise EvidenceError(
            f"transformers {Path(source).name!r}", reason or type(error).__name__,
            "a folder or a name on the hub with config.json and .safetensors",
        ) from error  # fmt: skip
    finally:
        if bar_enabled:
            logging.enable_progress_bar()


def load_preprocessing(source: str, size: int | None, here: dict[str, Any]) -> Preprocessing:
    """Return the model's own preprocessing, with stretching in place of cropping."""
    from transformers import AutoImageProcessor  # noqa: PLC0415

    processor = load_pretrained(AutoImageProcessor, source, trust_remote_code=False, **here)
    sides = dict(getattr(processor, "crop_size", None) or processor.size)
    edge = int(size or sides.get("shortest_edge") or sides["height"])
    rows, columns = (edge, edge) if size else (sides.get("height", edge), sides.get("width", edge))
    return Preprocessing(
        (int(rows), int(columns)), tuple(processor.image_mean), tuple(processor.image_std)
    )

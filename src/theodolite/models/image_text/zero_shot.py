"""Build zero-shot classifiers from CLIP: one sentence per class. Importing this imports torch."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from theodolite.errors import EvidenceError
from theodolite.models.image_text.towers import Towers
from theodolite.models.loaded_model import LoadedModel

PROMPT = "a photo of a {}"


class ZeroShot(nn.Module):
    """Classifier by scaled cosine similarity between image and sentence vectors."""

    sentences: Tensor

    def __init__(self, images: nn.Module, sentences: Tensor, scale: float, bias: float) -> None:
        super().__init__()
        self.images = images
        self.scale, self.bias = scale, bias
        self.num_classes = len(sentences)
        self.register_buffer("sentences", nn.functional.normalize(sentences, dim=-1))

    def forward(self, batch: Tensor) -> Tensor:
        """Return a logit for each image and sentence."""
        vectors = nn.functional.normalize(self.images(batch), dim=-1)
        return self.scale * (vectors @ self.sentences.T) + self.bias


def build_zero_shot_classifier(
    towers: Towers, classes: Sequence[str], prompt: str = PROMPT
) -> LoadedModel:
    """Build a classifier whose classes are given by a prompt with each name.

    Its probabilities are a softmax over these classes, for SigLIP too, whose own sigmoids do not
    sum to 1; the decision is the same.
    """
    if not classes or "{}" not in prompt:
        raise EvidenceError(
            "classes", f"{len(classes)} names and the prompt {prompt!r}",
            "the names to choose from, and a prompt with {} in their place",
        )  # fmt: skip
    with torch.inference_mode():
        sentences = towers.texts([prompt.replace("{}", name) for name in classes])
    # outside inference mode: a tensor from there could not take part in gradients
    network = ZeroShot(towers.images, sentences.clone(), towers.scale, towers.bias).eval()
    layer = f"images.{towers.layer}" if towers.layer else ""
    plain = LoadedModel(towers.name, network, towers.preprocessing, layer, tuple(classes))
    return replace(plain, grid=towers.grid)

"""Images and sentences as vectors of one space."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float
from PIL import Image

from theodolite.errors import EvidenceError
from theodolite.models.loaded_model import BATCH, LoadedModel
from theodolite.models.loading import CLIP
from theodolite_reproductions.acceptance.sentence_embedding import MiniLM, load_minilm


@runtime_checkable
class ImageTextEmbedding(Protocol):
    """Gives a vector for a sentence and, mostly, for an image."""

    @property
    def name(self) -> str:
        """What it was asked for by."""

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""

    @property
    def normalized(self) -> bool:
        """Whether all vectors have length 1."""

    @property
    def says(self) -> str:
        """What it is, in one sentence, for notes and cards."""

    def texts(self, sentences: Sequence[str]) -> Float[np.ndarray, "sentences dimensions"]:
        """A vector for each sentence."""

    def images(self, images: Sequence[Image.Image]) -> Float[np.ndarray, "images dimensions"]:
        """A vector for each image."""


@dataclass(frozen=True, eq=False)
class StandIn:
    """A classifier's guess, said in words: what is used where no CLIP is at hand."""

    language: MiniLM
    classifier: LoadedModel
    names: Float[np.ndarray, "classes dimensions"]
    """The vectors of the classes' names."""
    name: str = "stand_in"
    normalized: bool = False
    says: str = (
        "OFFLINE STAND-IN for an image-text embedding: an image is the class probabilities of a "
        "classifier times MiniLM vectors of the class names; it sees nothing but those classes."
    )

    @property
    def dimensions(self) -> int:
        """As many as a sentence has."""
        return self.language.dimensions

    def texts(self, sentences: Sequence[str]) -> Float[np.ndarray, "sentences dimensions"]:
        """The language model's vectors, of length 1."""
        return self.language.texts(sentences)

    def images(self, images: Sequence[Image.Image]) -> Float[np.ndarray, "images dimensions"]:
        """Means of the class names' vectors, weighted by probability: no longer than 1."""
        vectors = np.zeros((len(images), self.dimensions), np.float32)
        for start in range(0, len(images), BATCH):
            some = images[start : start + BATCH]
            batch = np.stack([self.classifier.preprocessing(image) for image in some])
            vectors[start : start + BATCH] = self.classifier.probabilities(batch) @ self.names
        return vectors


@dataclass(frozen=True, eq=False)
class TwoTowers:
    """CLIP or SigLIP."""

    towers: Any
    name: str
    dimensions: int
    normalized: bool
    says: str

    def texts(self, sentences: Sequence[str]) -> Float[np.ndarray, "sentences dimensions"]:
        """The text tower's vectors."""
        import torch  # noqa: PLC0415

        with torch.inference_mode():
            parts = [
                self.towers.texts(sentences[start : start + BATCH]).float().numpy()
                for start in range(0, len(sentences), BATCH)
            ]
        return self._scaled(parts)

    def images(self, images: Sequence[Image.Image]) -> Float[np.ndarray, "images dimensions"]:
        """The image tower's vectors."""
        import torch  # noqa: PLC0415

        parts = []
        with torch.inference_mode():
            for start in range(0, len(images), BATCH):
                some = images[start : start + BATCH]
                batch = np.stack([self.towers.preprocessing(image) for image in some])
                parts.append(self.towers.images(torch.from_numpy(batch)).float().numpy())
        return self._scaled(parts)

    def _scaled(self, parts: list[np.ndarray]) -> Float[np.ndarray, "vectors dimensions"]:
        vectors = np.concatenate(parts) if parts else np.zeros((0, self.dimensions), np.float32)
        if not self.normalized:
            return vectors
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def load_embedding(
    name: str,
    *,
    weights: Path | None = None,
    classifier: LoadedModel | None = None,
    normalized: bool | None = None,
) -> ImageTextEmbedding:
    """An embedding by name.

    - ``minilm``: sentences only; ``weights`` is the folder of all-MiniLM-L6-v2 as ONNX.
    - ``stand_in``: the offline stand-in; the same folder, and a classifier that names its classes.
    - ``open_clip:<model>@<file, folder or tag>`` or ``transformers_clip:<folder or hub name>``.

    Args:
        name: As above.
        weights: The folder or file of weights.
        classifier: For the stand-in.
        normalized: Whether CLIP's and SigLIP's vectors are scaled to length 1. Without, CLIP's are
            and SigLIP's are not, as in the learned metric that was published.
    """
    if name.partition(":")[0] in CLIP:
        return _two_towers(name, weights, normalized=normalized)
    if name not in ("minilm", "stand_in"):
        raise EvidenceError(
            "embedding", repr(name), f"minilm, stand_in, or a model of {' or '.join(CLIP)}"
        )
    if weights is None:
        raise EvidenceError(
            "weights", f"none for {name!r}", "the folder of all-MiniLM-L6-v2 as ONNX"
        )
    if name == "minilm":
        return load_minilm(weights)
    if classifier is None or not classifier.classes:
        raise EvidenceError(
            "classifier", "none that names its classes", "one",
            "Pass classifier=theodolite.load_model(..., classes=names).",
        )  # fmt: skip
    language = load_minilm(weights)
    return StandIn(language, classifier, language.texts(classifier.classes))


def _two_towers(name: str, weights: Path | None, *, normalized: bool | None) -> TwoTowers:
    from theodolite.models.image_text.loading import load_towers  # noqa: PLC0415

    towers = load_towers(name, weights)
    kind = "SigLIP" if towers.sigmoid else "CLIP"
    unit = not towers.sigmoid if normalized is None else normalized
    says = f"{kind}, a network for images and one for sentences that were trained together"
    says += ", vectors of length 1." if unit else ", vectors as they come."
    return TwoTowers(towers, name, towers.dimensions, unit, says)

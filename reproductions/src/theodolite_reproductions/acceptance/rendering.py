"""What raters saw, as sentences and images that an embedding takes."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from jaxtyping import Float
from PIL import Image
from pydantic import TypeAdapter, ValidationError

from theodolite._storage.arrays import read_npy
from theodolite._storage.images import read_image
from theodolite._storage.paths import sha256_of
from theodolite.datasets.votes.voted import ShownExplanation
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite_reproductions.acceptance.embedding import Embedder
from theodolite_reproductions.rendering import (
    Values,
    Variant,
    heatmap,
    masked_image,
    sentence,
    weighted_embedding,
)

Signs: TypeAlias = Values | Literal["paper"]
OVERLAY = 0.5
"""How opaque colors lie over an image, where they were stored apart from it."""


@dataclass(frozen=True, kw_only=True)
class Rendering:
    """How maps and concepts are shown."""

    __pydantic_config__ = {"extra": "forbid"}

    maps: Literal["heatmap", "masked image"] = "heatmap"
    values: Signs = "signed"
    """How a map's values become colors. ``paper``: as published, which differs by technique. Say
    it in ``values_of``; for a technique that is not named there it is guessed, map by map, from
    what the values look like: -1, 0 and 1 alone are taken for LIME's, both signs for SHAP's, all
    others are left as they are. A guess can be wrong, and differ for two maps of one technique."""
    values_of: Mapping[str, Values] = field(default_factory=dict)
    """By technique, instead of ``values``."""
    concepts: Literal["sentence", "weighted"] = "sentence"
    n: int = 20
    """Concepts in a sentence."""
    template: str = ""
    """A sentence around them, with {} in their place; none if empty."""
    sentences: Variant = "ours"
    distances: tuple[str, ...] = ()
    """Techniques whose values are distances: the nearest concept matters most."""

    def __post_init__(self) -> None:
        if self.n < 1:
            raise EvidenceError("rendering", f"n = {self.n}", "at least one concept")
        if self.template and self.template.count("{}") != 1:
            raise EvidenceError("template", repr(self.template), "a sentence with {} once")

    def but(self, changes: Mapping[str, Any]) -> "Rendering":
        """The same with some settings otherwise."""
        try:
            return TypeAdapter(Rendering).validate_python({**asdict(self), **changes})
        except ValidationError as error:
            got = ", ".join(f"{name}: {value}" for name, value in changes.items())
            raise EvidenceError("rendering", got, "settings that there are") from error

    def of(self, technique: str) -> "Rendering":
        """The same for the maps of one technique."""
        values: Signs = self.values_of.get(technique, self.values)
        return replace(self, values=values, values_of={})


def vectors_of(
    explanations: Sequence[ShownExplanation],
    techniques: Sequence[str],
    rendering: Rendering,
    embedder: Embedder,
) -> Float[np.ndarray, "explanations dimensions"]:
    """A vector of each explanation, of whatever kind it is.

    Among explanations in words an empty one is one; elsewhere it is something that is missing.
    """
    vectors = np.zeros((len(explanations), embedder.embedding.dimensions), np.float32)
    only_words = not any(
        explanation.map or explanation.image or explanation.concepts is not None
        for explanation in explanations
    )
    spoken_of = only_words and any(explanation.text for explanation in explanations)
    kinds = [
        "text" if spoken_of else _kind(explanation, at, rendering)
        for at, explanation in enumerate(explanations)
    ]
    spoken = [row for row, kind in enumerate(kinds) if kind == "text"]
    if spoken:
        texts = [spoken_text(explanations[row], techniques[row], rendering) for row in spoken]
        vectors[spoken] = embedder.texts(texts)
    summed = [row for row, kind in enumerate(kinds) if kind == "weighted"]
    for row in summed:
        vectors[row] = weighted_embedding(explanations[row].concepts or {}, embedder.texts)
    seen = [row for row, kind in enumerate(kinds) if kind == "image"]
    if seen:
        renderings = [rendering.of(techniques[row]) for row in seen]
        names = [_name(explanations[row], how) for row, how in zip(seen, renderings, strict=True)]
        vectors[seen] = embedder.images(
            names, lambda at: _image(explanations[seen[at]], renderings[at])
        )
    return vectors


def spoken_text(explanation: ShownExplanation, technique: str, rendering: Rendering) -> str:
    """An explanation in words, or the concepts that matter most; empty for a map."""
    if explanation.text or explanation.concepts is None:
        return explanation.text
    words = sentence(
        explanation.concepts,
        rendering.n,
        variant=rendering.sentences,
        distances=technique in rendering.distances,
    )
    return rendering.template.replace("{}", words) if rendering.template else words


def _kind(explanation: ShownExplanation, row: int, rendering: Rendering) -> str:
    if explanation.text:
        return "text"
    if explanation.concepts is not None:
        return "text" if rendering.concepts == "sentence" else "weighted"
    if explanation.map is not None and (
        explanation.image is not None or explanation.map.suffix != ".npy"
    ):
        return "image"
    raise EvidenceError(
        f"explanation {row}", "nothing to show", "a text, concepts, or a map and its image",
        "Are the images and maps in the folder of the votes?",
    )  # fmt: skip


def _name(explanation: ShownExplanation, rendering: Rendering) -> str:
    """All that decides the image."""
    files = [sha256_of(path) for path in (explanation.image, explanation.map) if path is not None]
    overlay = ["overlay"] if explanation.overlay else []
    identity = json.dumps([files, asdict(rendering), *overlay], sort_keys=True)
    return hashlib.sha256(identity.encode()).hexdigest()


def _image(explanation: ShownExplanation, rendering: Rendering) -> Image.Image:
    assert explanation.map is not None  # noqa: S101  looked at before
    if explanation.map.suffix != ".npy":
        rendered = read_image(explanation.map)
        if not explanation.overlay or explanation.image is None:
            return rendered
        below = read_image(explanation.image)
        return Image.blend(below, rendered.resize(below.size), OVERLAY)
    assert explanation.image is not None  # noqa: S101
    return draw_map(read_image(explanation.image), map_in(explanation.map), rendering)


def map_in(path: Path) -> Float[np.ndarray, "rows columns"]:
    """A map from a file. Of several channels the last is the map, as B-cos stores it."""
    relevance = read_npy(path)
    if relevance.ndim == 3:
        relevance = relevance[..., -1]
    if relevance.ndim != 2 or relevance.dtype.kind not in "fiub" or not relevance.size:
        raise UnsafeInputError(
            f"map {path.name!r}", f"{relevance.dtype} {relevance.shape}", "rows by columns"
        )
    return relevance.astype(np.float64)


def draw_map(
    image: Image.Image, relevance: Float[np.ndarray, "rows columns"], rendering: Rendering
) -> Image.Image:
    """An image with its map, in the size of the map."""
    rows, columns = relevance.shape
    resized = image.convert("RGB").resize((columns, rows), Image.Resampling.BILINEAR)
    pixels = np.asarray(resized, np.float64) / 255
    if rendering.maps == "masked image":
        return Image.fromarray(masked_image(pixels, relevance))
    values = _published_values(relevance) if rendering.values == "paper" else rendering.values
    return Image.fromarray(heatmap(pixels, relevance, values=values))


def _published_values(relevance: np.ndarray) -> Values:
    if relevance.min() >= 0:
        return "as they are"
    return "paper lime" if np.isin(relevance, (-1, 0, 1)).all() else "paper shap"

"""Turn explained images in memory into the files and records of a study."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float
from PIL import Image

from theodolite._storage.display_images import encode_drawing, shown_from
from theodolite._storage.map_colors import Colors, Legend, map_image, scaled_map
from theodolite.datasets.study_material.material import (
    Check,
    Explained,
    Instance,
    Kind,
    Material,
    keep_image,
    write_material,
)
from theodolite.errors import EvidenceError

RECENT = 24


@dataclass(frozen=True, eq=False, kw_only=True)
class Answer:
    """Prediction for an image with its explanation: a map or concepts."""

    image: Image.Image
    predicted: str
    map: Float[np.ndarray, "rows columns"] | None = None
    """Relevance of each position; stretched to the image."""
    concepts: Mapping[str, float] | None = None
    """Importance of each concept; undefined ones are left out."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Item:
    """One explanation to rate, with the images of questions 5 and 6."""

    image_key: str
    technique: str
    shown: Answer
    same: Answer | None = None
    different: Answer | None = None
    positive: bool = False
    """Whether the technique's maps have no negative relevance."""
    kind: Kind = "real"
    check: Check | None = None

    def key(self, seed: int) -> str:
        """Return a name that does not reveal the technique."""
        text = f"{seed} {self.kind} {self.image_key} {self.technique}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, eq=False, kw_only=True)
class Looks:
    """Display settings of images and maps."""

    legend: Legend = "signed"
    colors: Colors | None = None
    """Colors of the maps, from least to most; perceptually even by default."""
    scaled: bool = True
    """Whether to scale maps to -1 to 1 by their own maximum."""
    photographs: bool = True
    """Whether images are stored as JPEG; drawings look better as PNG."""
    longest: int = 640
    """Pixels of an image's longer side."""
    concepts: int = 20
    """Number of concepts to show, those of the largest size."""


def material_from_arrays(
    items: Iterable[Item],
    folder: Path,
    *,
    looks: Looks | None = None,
    seed: int = 0,
    origin: Mapping[str, str] | None = None,
) -> Material:
    """Write explanations of any kind to a study folder: images, maps and records.

    The items may be made one after the other: each is written before the next is asked for.
    """
    chosen = looks or Looks()
    writer = _Writer(folder, chosen)
    material = Material(
        origin=dict(origin or {}),
        legend=chosen.legend,
        instances=[writer.instance(item, seed) for item in items],
    )
    write_material(folder, material)
    return material


class _Writer:
    """Puts images into a folder. An image that was just there is not encoded again."""

    def __init__(self, folder: Path, looks: Looks) -> None:
        self.folder, self.looks = folder, looks
        self._recent: dict[int, tuple[Image.Image, str, tuple[int, int]]] = {}

    def instance(self, item: Item, seed: int) -> Instance:
        """Write the images of one explanation; its record."""

        def explained(answer: Answer | None) -> Explained | None:
            return None if answer is None else self._explained(answer, item)

        return Instance(
            key=item.key(seed),
            image_key=item.image_key,
            technique=item.technique,
            shown=self._explained(item.shown, item),
            same=explained(item.same),
            different=explained(item.different),
            kind=item.kind,
            check=item.check,
        )

    def _explained(self, answer: Answer, item: Item) -> Explained:
        if (answer.map is None) == (answer.concepts is None):
            raise EvidenceError(
                f"explanation of {item.image_key!r} by {item.technique!r}",
                "neither a map nor concepts, or both", "one of them",
            )  # fmt: skip
        name, size = self._image(answer.image)
        if answer.concepts is not None:
            largest = _largest(answer.concepts, self.looks.concepts, item)
            return Explained(image=name, predicted=answer.predicted, concepts=largest)
        values = np.asarray(answer.map, np.float64)
        if self.looks.scaled:
            positive = item.positive or self.looks.legend == "unsigned"
            values = scaled_map(values, positive=positive)
        colored = map_image(values, size, self.looks.legend, self.looks.colors)
        drawing = encode_drawing(colored, longest=self.looks.longest)
        file = keep_image(self.folder, drawing.content, drawing.suffix)
        return Explained(image=name, predicted=answer.predicted, map=file)

    def _image(self, image: Image.Image) -> tuple[str, tuple[int, int]]:
        if id(image) not in self._recent:
            encode = shown_from if self.looks.photographs else encode_drawing
            encoded = encode(image, longest=self.looks.longest)
            name = keep_image(self.folder, encoded.content, encoded.suffix)
            if len(self._recent) >= RECENT:
                self._recent.clear()
            self._recent[id(image)] = image, name, encoded.size  # it lives as long as its id
        return self._recent[id(image)][1:]


def _largest(concepts: Mapping[str, float], most: int, item: Item) -> dict[str, float]:
    """The concepts that matter most, the first of the alphabet among equals."""
    defined = {name: float(value) for name, value in concepts.items() if np.isfinite(value)}
    if not defined:
        raise EvidenceError(
            f"concepts of {item.image_key!r} by {item.technique!r}", "none that is defined",
            "at least one",
        )  # fmt: skip
    order = sorted(defined, key=lambda name: (-abs(defined[name]), name))
    return {name: defined[name] for name in order[:most]}

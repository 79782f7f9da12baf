"""Segments of images, and all places of the last map: what some methods find concepts in."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int
from PIL import Image

from theodolite._storage.optional import require
from theodolite.datasets.labeled_images import LabeledImages
from theodolite.errors import EvidenceError
from theodolite.models.backbones import Backbone
from theodolite.models.features import FeatureExtractor
from theodolite.models.patches import embeddings_of
from theodolite.models.places import last_places

if TYPE_CHECKING:
    from theodolite.pipelines.faithfulness.explained_layer import ClassPatches

PER_SIDE = 3
GRAY = 128
BATCH = 64


def segment_numbers(pixels: np.ndarray, cut: str) -> Int[np.ndarray, "rows columns"]:
    """The segment of each pixel: of a grid of nine, or of some nine superpixels (SLIC)."""
    rows, columns = pixels.shape[:2]
    if cut == "slic":
        segmentation = require("skimage.segmentation", "hu_mcd_slic", "explain")
        return np.asarray(
            segmentation.slic(pixels, n_segments=PER_SIDE**2, compactness=10.0, start_label=0)
        )
    down, across = (np.arange(n) * PER_SIDE // n for n in (rows, columns))
    return np.asarray(PER_SIDE * down[:, None] + across[None, :])


def segment_images(image: Image.Image, cut: str) -> Iterator[Image.Image]:
    """The image with one segment at a time, all else gray."""
    pixels = np.asarray(image.convert("RGB"))
    numbers = segment_numbers(pixels, cut)
    for number in np.unique(numbers):
        yield Image.fromarray(np.where((numbers == number)[..., None], pixels, np.uint8(GRAY)))


def class_segments(
    data: LabeledImages, patches: "dict[int, ClassPatches]", backbone: Backbone, cut: str
) -> dict[int, Float[np.ndarray, "segments dimensions"]]:
    """Embeddings of the segments of those images of each class that are cut into patches."""
    return {
        number: embeddings_of(
            backbone,
            (part for row in own.rows for part in segment_images(data.image(int(row)), cut)),
        )
        for number, own in patches.items()
    }


def place_maps(data: LabeledImages, backbone: Backbone) -> tuple[np.ndarray, np.ndarray]:
    """The last maps that still have places, of training and of test images.

    Their means are the embeddings, if the network pools by the mean and has nothing in between.
    """
    name = last_places(backbone.network)
    if not name:
        raise EvidenceError("places", f"no known layer of {backbone.name!r}", "one with places")
    extract = FeatureExtractor(backbone.network, name, channels="first")

    def maps(rows: np.ndarray) -> np.ndarray:
        images = np.stack([backbone.preprocessing(data.image(int(row))) for row in rows])
        batches = range(0, len(images), BATCH)
        return np.concatenate([extract(images[start : start + BATCH]) for start in batches])

    return maps(np.flatnonzero(~data.is_test)), maps(np.flatnonzero(data.is_test))

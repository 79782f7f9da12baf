"""Segment images and compute unpooled maps, for methods that find concepts in parts of images.

Used by the faithfulness pipeline.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int
from PIL import Image

from theodolite._storage.optional import require
from theodolite.datasets.labeled_images import LabeledImages
from theodolite.errors import EvidenceError
from theodolite.models.features import FeatureExtractor
from theodolite.models.loaded_model import LoadedModel
from theodolite.models.patches import compute_embeddings
from theodolite.models.spatial_layers import find_last_spatial_layer

if TYPE_CHECKING:
    from theodolite.pipelines.faithfulness.explained_layer import ClassPatches

PER_SIDE = 3
"""Segments per side of an image."""
GRAY = 128
"""Value of the pixels outside of a segment."""
BATCH = 64
"""Images per forward pass."""


def number_segments(pixels: np.ndarray, cut: str) -> Int[np.ndarray, "rows columns"]:
    """Return the segment of each pixel: a 3 x 3 grid or about nine SLIC superpixels."""
    rows, columns = pixels.shape[:2]
    if cut == "slic":
        segmentation = require("skimage.segmentation", "hu_mcd_slic", "explain")
        return np.asarray(
            segmentation.slic(pixels, n_segments=PER_SIDE**2, compactness=10.0, start_label=0)
        )
    down, across = (np.arange(n) * PER_SIDE // n for n in (rows, columns))
    return np.asarray(PER_SIDE * down[:, None] + across[None, :])


def isolate_segments(image: Image.Image, cut: str) -> Iterator[Image.Image]:
    """Yield the image with one segment at a time, the rest gray."""
    pixels = np.asarray(image.convert("RGB"))
    numbers = number_segments(pixels, cut)
    for number in np.unique(numbers):
        yield Image.fromarray(np.where((numbers == number)[..., None], pixels, np.uint8(GRAY)))


def embed_class_segments(
    data: LabeledImages, patches: "dict[int, ClassPatches]", backbone: LoadedModel, cut: str
) -> dict[int, Float[np.ndarray, "segments dimensions"]]:
    """Return embeddings of segments of the images that are cut into patches, by class."""
    return {
        number: compute_embeddings(
            backbone,
            (part for row in own.rows for part in isolate_segments(data.image(int(row)), cut)),
        )
        for number, own in patches.items()
    }


def compute_place_maps(data: LabeledImages, backbone: LoadedModel) -> tuple[np.ndarray, np.ndarray]:
    """Return the last spatial maps of training and test images.

    Their means are the embeddings, if the network pools by the mean and has nothing in between.
    """
    name = find_last_spatial_layer(backbone.network)
    if not name:
        raise EvidenceError("places", f"no known layer of {backbone.name!r}", "one with places")
    extract = FeatureExtractor(backbone.network, name, channels="first")

    def maps(rows: np.ndarray) -> np.ndarray:
        images = np.stack([backbone.preprocessing(data.image(int(row))) for row in rows])
        batches = range(0, len(images), BATCH)
        return np.concatenate([extract(images[start : start + BATCH]) for start in batches])

    return maps(np.flatnonzero(~data.is_test)), maps(np.flatnonzero(data.is_test))

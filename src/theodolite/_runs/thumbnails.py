"""Small images of a few samples, for the report of an audit of arrays."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Int, Num, UInt8
from PIL import Image

from theodolite._storage.images import encode_jpeg, encode_png, read_image
from theodolite.errors import EvidenceError
from theodolite.evidence.foreign_arrays import to_labeled_array

MAX_THUMBNAILS = 12
MAX_PIXELS = 256
"""Longest side of a thumbnail."""
MAX_LOSSLESS = 64
"""Longest side up to which an image is stored without loss: reports enlarge its pixels."""


def draw_rows(
    n: int, seed: int, correct: Bool[np.ndarray, " n"] | None = None
) -> Int[np.ndarray, " n"]:
    """Return all rows in random order, correct and incorrect predictions alternating."""
    order = np.random.default_rng(seed).permutation(n)
    if correct is None:
        return order
    right = correct[order]
    pairs = zip(order[right], order[~right], strict=False)
    alternating = list(itertools.chain.from_iterable(pairs))
    taken = set(alternating)
    return np.array([*alternating, *(row for row in order if row not in taken)], int)


def make_thumbnails(images: Any, rows: Sequence[int], n: int) -> dict[int, bytes]:
    """Encode the images of some rows as JPEG, or as PNG if they are small.

    Args:
        images: One per sample: an array (samples, height, width), with channels last or first, or
            a list of arrays, PIL images or paths.
        rows: Rows to keep.
        n: Number of samples.
    """
    if not hasattr(images, "__len__") or len(images) != n:
        got = f"{len(images):,}" if hasattr(images, "__len__") else type(images).__name__
        raise EvidenceError("images", got, f"{n:,} images, one per sample")
    loaded = {int(row): _load(images[int(row)], int(row)) for row in rows}
    arrays = [image for image in loaded.values() if isinstance(image, np.ndarray)]
    low, high = _value_range(arrays)
    return {row: _encode(_to_image(image, low, high)) for row, image in loaded.items()}


def _load(image: Any, row: int) -> Image.Image | np.ndarray:
    if isinstance(image, Image.Image):
        return image
    if isinstance(image, str | Path):
        return read_image(Path(image))
    pixels = to_labeled_array(image, f"images[{row}]").values
    if pixels.dtype == np.bool_:
        pixels = pixels.astype(np.uint8) * np.uint8(255)
    if pixels.ndim == 3 and pixels.shape[2] not in (1, 3, 4) and pixels.shape[0] in (1, 3, 4):
        pixels = np.moveaxis(pixels, 0, 2)
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[..., 0]
    fits = pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] in (3, 4))
    if not fits or not pixels.size or pixels.dtype.kind not in "fiu":
        raise EvidenceError(
            f"images[{row}]", f"shape {pixels.shape} of {pixels.dtype}",
            "numbers of shape (height, width), (height, width, 3) or (3, height, width)",
            "Reshape flat rows, such as images.reshape(-1, 8, 8).",
        )  # fmt: skip
    return pixels


def _value_range(arrays: Sequence[Num[np.ndarray, "..."]]) -> tuple[float, float]:
    """Return the values to show as black and white: 0 and 255 or 1, or the range that occurs."""
    finite = [array[np.isfinite(array)] for array in arrays]
    low = min((float(values.min()) for values in finite if values.size), default=0.0)
    high = max((float(values.max()) for values in finite if values.size), default=1.0)
    if arrays and arrays[0].dtype == np.uint8:
        return 0.0, 255.0
    if low >= 0 and high <= 1:
        return 0.0, 1.0
    return min(low, 0.0) if low >= 0 else low, high


def _to_image(image: Image.Image | np.ndarray, low: float, high: float) -> Image.Image:
    if isinstance(image, Image.Image):
        return image.convert("RGB")
    scaled = (np.nan_to_num(np.asarray(image, float), nan=low) - low) / ((high - low) or 1.0)
    pixels: UInt8[np.ndarray, ...] = (np.clip(scaled, 0, 1) * 255).round().astype(np.uint8)
    return Image.fromarray(pixels).convert("RGB")


def _encode(image: Image.Image) -> bytes:
    if max(image.size) > MAX_LOSSLESS:
        return encode_jpeg(image, longest=MAX_PIXELS)
    return encode_png(image)

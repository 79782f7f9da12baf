"""Concept maps over pictures, as in the paper's Figure 4."""

import base64
import io
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from PIL import Image, ImageDraw

STRENGTH = 0.45


def jet(values: Float[np.ndarray, "rows columns"]) -> Float[np.ndarray, "rows columns 3"]:
    """The usual blue-to-red colours for numbers from 0 to 1."""
    channels = [1.5 - np.abs(4 * values - centre) for centre in (3, 2, 1)]
    return np.asarray(np.clip(np.stack(channels, axis=-1), 0.0, 1.0))


def overlay(
    picture: Image.Image,
    concept_map: Float[np.ndarray, "height width"],
    places: Sequence[tuple[float, float]],
    *,
    width: int = 168,
) -> Image.Image:
    """A map in colours over the picture, with a ring at each annotated place.

    The map is stretched to its own smallest and largest value: colours show where a concept is
    strongest in this picture, not how strong it is.
    """
    size = (width, max(round(width * picture.height / picture.width), 1))
    base = np.asarray(picture.convert("RGB").resize(size, Image.Resampling.LANCZOS), float) / 255
    spread = float(np.ptp(concept_map))
    scaled = (concept_map - concept_map.min()) / (spread if spread > 0 else 1.0)
    heat = Image.fromarray(scaled.astype(np.float32)).resize(size, Image.Resampling.BILINEAR)
    mixed = (1 - STRENGTH) * base + STRENGTH * jet(np.asarray(heat, float))
    shown = Image.fromarray((mixed * 255).round().astype(np.uint8))
    pen = ImageDraw.Draw(shown)
    for row, column in places:
        x, y = column * size[0], row * size[1]
        for radius, colour in ((7, (20, 20, 20)), (6, (255, 255, 255)), (5, (255, 255, 255)),
                               (4, (20, 20, 20))):  # fmt: skip
            pen.ellipse((x - radius, y - radius, x + radius, y + radius), outline=colour)
    return shown


def data_address(picture: Image.Image, quality: int = 80) -> str:
    """The picture as an address that carries it, so that the page needs no other file."""
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=quality)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()

"""Concept maps over pictures, as in the paper's Figure 4."""

import base64
import io
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float
from PIL import Image, ImageDraw

from theodolite.explainers.rendering import concept_overlay

STRENGTH = 0.45
FOR, AGAINST = (0.80, 0.11, 0.11), (0.13, 0.30, 0.75)


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
    mixed = concept_overlay(base, concept_map, beta=STRENGTH, blend="mixed")
    image = Image.fromarray((mixed * 255).round().astype(np.uint8))
    pen = ImageDraw.Draw(image)
    for row, column in places:
        x, y = column * size[0], row * size[1]
        for radius, colour in ((7, (20, 20, 20)), (6, (255, 255, 255)), (5, (255, 255, 255)),
                               (4, (20, 20, 20))):  # fmt: skip
            pen.ellipse((x - radius, y - radius, x + radius, y + radius), outline=colour)
    return image


def relevance_overlay(
    picture: Image.Image, relevance: Float[np.ndarray, "height width"], *, width: int = 136
) -> Image.Image:
    """A map over the pale picture: red for the class, blue against it, clear where neither.

    It is scaled by its own largest values, all but the highest half per cent, so that one pixel
    does not hide the others; a map that has nothing against the class, from its lowest values.
    """
    size = (width, max(round(width * picture.height / picture.width), 1))
    grey = np.asarray(picture.convert("L").resize(size, Image.Resampling.LANCZOS), float) / 255
    base = np.repeat((0.35 + 0.6 * grey)[..., None], 3, axis=2)
    whole = Image.fromarray(relevance.astype(np.float32)).resize(size, Image.Resampling.BOX)
    reduced = np.asarray(whole, float)
    if reduced.min() >= 0:  # nothing against: only what stands out is worth seeing
        reduced = reduced - np.quantile(reduced, 0.05)
        reduced = np.maximum(reduced, 0.0)
    top = float(np.quantile(np.abs(reduced), 0.995)) or float(np.abs(reduced).max()) or 1.0
    strength = np.clip(reduced / top, -1.0, 1.0)[..., None]
    colour = np.where(strength > 0, np.array(FOR), np.array(AGAINST))
    mixed = base + np.abs(strength) ** 0.8 * 0.9 * (colour - base)
    return Image.fromarray((np.clip(mixed, 0, 1) * 255).round().astype(np.uint8))


def outline_mask(
    picture: Image.Image, inside: Bool[np.ndarray, "height width"], *, width: int = 136
) -> Image.Image:
    """The picture with a white line around a mask."""
    size = (width, max(round(width * picture.height / picture.width), 1))
    pixels = np.asarray(picture.convert("RGB").resize(size, Image.Resampling.LANCZOS)).copy()
    mask = Image.fromarray(inside.astype(np.uint8) * 255).resize(size, Image.Resampling.NEAREST)
    there = np.pad(np.asarray(mask) > 0, 1, mode="edge")
    n, m = pixels.shape[:2]
    near = [there[1 + i : 1 + i + n, 1 + j : 1 + j + m] for i in (-1, 0, 1) for j in (-1, 0, 1)]
    grown, shrunk = np.logical_or.reduce(near), np.logical_and.reduce(near)
    pixels[grown & ~shrunk] = 255
    return Image.fromarray(pixels)


def data_address(picture: Image.Image, quality: int = 80) -> str:
    """The picture as an address that carries it, so that the page needs no other file."""
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=quality)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode()

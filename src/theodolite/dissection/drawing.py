"""Draw a unit's activation mask on an image: active pixels stay clear, the rest is dimmed."""

import numpy as np
from jaxtyping import Bool, Float
from PIL import Image, ImageFilter

VEIL = 0.52
MARKED, TRUE, CASING = (232, 89, 12), (16, 24, 32), (255, 255, 255)


def draw_mask(
    image: Image.Image,
    activation: Float[np.ndarray, "height width"],
    threshold: float,
    *,
    truth: Bool[np.ndarray, "rows columns"] | None = None,
    longest: int = 200,
) -> Image.Image:
    """The image with the places where the upsampled activation exceeds the threshold.

    They stay clear inside an orange line; a dark line surrounds where the ``truth`` is.
    """
    image = image.convert("RGB")
    image.thumbnail((longest, longest), Image.Resampling.LANCZOS)
    upsampled = Image.fromarray(np.asarray(activation, np.float32)).resize(
        image.size, Image.Resampling.BILINEAR
    )
    inside = np.asarray(upsampled) > threshold
    pixels = np.asarray(image, float)
    pixels = np.where(inside[..., None], pixels, (1 - VEIL) * pixels + VEIL * 255)
    _outline(pixels, inside, MARKED, 5)
    if truth is not None:
        mask = Image.fromarray(truth.astype(np.uint8)).resize(image.size, Image.Resampling.NEAREST)
        _outline(pixels, np.asarray(mask) > 0, TRUE, 3)
    return Image.fromarray(pixels.round().astype(np.uint8))


def _outline(
    pixels: Float[np.ndarray, "rows columns 3"],
    inside: Bool[np.ndarray, "rows columns"],
    color: tuple[int, int, int],
    width: int,
) -> None:
    """A line along the edge of a mask, with a white casing."""
    mask = Image.fromarray(inside.astype(np.uint8))
    for shade, side in ((CASING, width + 2), (color, width)):
        grown = np.asarray(mask.filter(ImageFilter.MaxFilter(side)))
        shrunk = np.asarray(mask.filter(ImageFilter.MinFilter(side)))
        pixels[grown != shrunk] = shade

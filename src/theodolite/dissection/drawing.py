"""A unit's mask drawn on a picture: what it marks stays bright, the rest is dimmed."""

import numpy as np
from jaxtyping import Float
from PIL import Image

DIMMED = 0.38
EDGE = (255, 214, 10)


def draw_mask(
    picture: Image.Image,
    activation: Float[np.ndarray, "height width"],
    threshold: float,
    *,
    longest: int = 200,
) -> Image.Image:
    """The picture with the places where the upsampled activation exceeds the threshold."""
    image = picture.convert("RGB")
    image.thumbnail((longest, longest), Image.Resampling.LANCZOS)
    upsampled = Image.fromarray(np.asarray(activation, np.float32)).resize(
        image.size, Image.Resampling.BILINEAR
    )
    inside = np.asarray(upsampled) > threshold
    pixels = np.asarray(image, float)
    pixels = np.where(inside[..., None], pixels, DIMMED * pixels)
    padded = np.pad(inside, 1, mode="edge")
    around = [padded[1 + r : padded.shape[0] - 1 + r, 1 + c : padded.shape[1] - 1 + c]
              for r, c in ((0, 1), (0, -1), (1, 0), (-1, 0))]  # fmt: skip
    pixels[inside & ~np.logical_and.reduce(around)] = EDGE
    return Image.fromarray(pixels.round().astype(np.uint8))

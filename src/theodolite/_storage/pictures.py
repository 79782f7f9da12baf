"""Pictures: a few plain formats, with a cap on size."""

import io
import warnings
from pathlib import Path

import numpy as np
from jaxtyping import Shaped
from PIL import Image

from theodolite._storage.paths import existing
from theodolite.errors import RefusedInput

FORMATS = ("JPEG", "PNG", "WEBP", "BMP")
MAX_PIXELS = 100_000_000


def read_picture(path: Path, mode: str = "RGB") -> Image.Image:
    """The picture, decoded; anything but a plain picture of a sensible size is refused."""
    return _decoded(existing(path, "picture"), path.name, mode)


def picture_from(content: bytes, name: str) -> Image.Image:
    """A picture from bytes, under the same rules."""
    return _decoded(io.BytesIO(content), name, "RGB")


def _decoded(source: Path | io.BytesIO, name: str, mode: str) -> Image.Image:
    what = f"picture {name!r}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(source, formats=FORMATS) as picture:
                if picture.width * picture.height > MAX_PIXELS:
                    got = f"{picture.width} x {picture.height} pixels"
                    raise RefusedInput(what, got, f"at most {MAX_PIXELS:,} pixels")
                decoded: Image.Image = picture.convert(mode)
                return decoded
    except RefusedInput:
        raise
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError, Warning) as error:
        raise RefusedInput(
            what, "something that does not decode", " or ".join(FORMATS), "Save it again."
        ) from error


def picture_size(path: Path) -> tuple[int, int]:
    """Rows and columns, from the header alone."""
    try:
        with Image.open(existing(path, "picture"), formats=FORMATS) as picture:
            return picture.height, picture.width
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise RefusedInput(
            f"picture {path.name!r}", "no readable header", " or ".join(FORMATS)
        ) from error


def read_mask(path: Path) -> np.ndarray:
    """A grey picture as booleans: anything above half is inside."""
    return np.asarray(read_picture(path, "L")) > 127


def jpeg_bytes(picture: Image.Image, *, longest: int, quality: int = 85) -> bytes:
    """The picture as JPEG, reduced so that its longer side is at most ``longest``."""
    reduced = picture.copy()
    reduced.thumbnail((longest, longest), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    reduced.save(buffer, "JPEG", quality=quality)
    return buffer.getvalue()


def sample_grid(
    image: Shaped[np.ndarray, "height width *channels"], grid: tuple[int, int]
) -> Shaped[np.ndarray, "rows columns *channels"]:
    """The pixel under the middle of each cell of a grid that is stretched over the image.

    Row r takes pixel floor((r + 0.5) / rows * height), in whole numbers, so without rounding.

    >>> sample_grid(np.arange(7)[None], (1, 3))
    array([[1, 3, 5]])
    """
    down, across = (
        (2 * np.arange(cells) + 1) * pixels // (2 * cells)
        for cells, pixels in zip(grid, image.shape[:2], strict=True)
    )
    return np.asarray(image[np.ix_(down, across)])

"""Read images in a few plain formats, with a limit on their size."""

import io
import warnings
from pathlib import Path

import numpy as np
from jaxtyping import Shaped
from PIL import Image

from theodolite._storage.paths import existing
from theodolite.errors import UnsafeInputError

FORMATS = ("JPEG", "PNG", "WEBP", "BMP")
MAX_PIXELS = 100_000_000


def read_image(path: Path, mode: str = "RGB") -> Image.Image:
    """Return the decoded image; raise for other formats and excessive sizes."""
    return _decoded(existing(path, "image"), path.name, mode)


def parse_image(content: bytes, name: str) -> Image.Image:
    """Return an image from bytes, under the same limits."""
    return _decoded(io.BytesIO(content), name, "RGB")


def _decoded(source: Path | io.BytesIO, name: str, mode: str) -> Image.Image:
    what = f"image {name!r}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(source, formats=FORMATS) as image:
                if image.width * image.height > MAX_PIXELS:
                    got = f"{image.width} x {image.height} pixels"
                    raise UnsafeInputError(what, got, f"at most {MAX_PIXELS:,} pixels")
                decoded: Image.Image = image.convert(mode)
                return decoded
    except UnsafeInputError:
        raise
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError, Warning) as error:
        raise UnsafeInputError(
            what, "something that does not decode", " or ".join(FORMATS), "Save it again."
        ) from error


def image_size(path: Path) -> tuple[int, int]:
    """Return rows and columns, from the header alone."""
    try:
        with Image.open(existing(path, "image"), formats=FORMATS) as image:
            return image.height, image.width
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise UnsafeInputError(
            f"image {path.name!r}", "no readable header", " or ".join(FORMATS)
        ) from error


def read_mask(path: Path) -> np.ndarray:
    """Return a gray image as Booleans: True above half."""
    return np.asarray(read_image(path, "L")) > 127


def encode_png(image: Image.Image, *, optimize: bool = False) -> bytes:
    """Return the bytes of a PNG file."""
    buffer = io.BytesIO()
    image.save(buffer, "PNG", optimize=optimize)
    return buffer.getvalue()


def encode_jpeg(image: Image.Image, *, longest: int, quality: int = 85) -> bytes:
    """Return the image as JPEG, reduced to ``longest`` pixels on its longer side."""
    reduced = image.copy()
    reduced.thumbnail((longest, longest), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    reduced.save(buffer, "JPEG", quality=quality)
    return buffer.getvalue()


def sample_grid(
    image: Shaped[np.ndarray, "height width *channels"], grid: tuple[int, int]
) -> Shaped[np.ndarray, "rows columns *channels"]:
    """Return the pixels at the centers of a grid stretched over the image.

    Row r takes pixel floor((r + 0.5) / rows * height), in whole numbers, so without rounding.

    >>> sample_grid(np.arange(7)[None], (1, 3))
    array([[1, 3, 5]])
    """
    down, across = (
        (2 * np.arange(cells) + 1) * pixels // (2 * cells)
        for cells, pixels in zip(grid, image.shape[:2], strict=True)
    )
    return np.asarray(image[np.ix_(down, across)])

"""Decode untrusted images in a separate, confined process.

`display_images` starts this file as a script and talks to it over stdin and stdout: a request holds
an image file, the answer holds its pixels as a new PNG or JPEG, or the reason for a refusal.
"""

import contextlib
import io
import struct
import sys
import time
import warnings
from typing import BinaryIO

from PIL import (
    Image,
    ImageFile,
    JpegImagePlugin,
    MpoImagePlugin,
    PngImagePlugin,
    TiffImagePlugin,
    WebPImagePlugin,
)

try:
    import resource
except ImportError:  # not Unix: the parent's timeout is the only limit
    resource = None  # type: ignore[assignment]

# Importing a plugin registers it. Pillow would load them later, when files can no longer be opened.
PLUGINS = (JpegImagePlugin, MpoImagePlugin, PngImagePlugin, TiffImagePlugin, WebPImagePlugin)
FORMATS = ("PNG", "JPEG", "WEBP")
MAX_PIXELS = 40_000_000
MEMORY_BYTES = 1 << 30
CPU_SECONDS = 20
ORIENTATION = 0x0112
"""EXIF tag of the camera's orientation."""
TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
REQUEST = struct.Struct(">II")
"""Request header: maximum side length in pixels, number of bytes that follow."""
ANSWER = struct.Struct(">cIII")
"""Answer header: kind (P for PNG, J for JPEG, R for refused), width, height, number of bytes."""
READY = b"\x01"
"""Byte that is sent once the process is confined and accepts requests."""


class Refused(Exception):
    """The image is refused; the message says what was found instead."""


def decode_image(content: bytes, longest: int) -> tuple[Image.Image, bool]:
    """Return an upright RGB image without metadata, and whether the file was a JPEG."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        warnings.filterwarnings("ignore", category=UserWarning)  # on metadata that is dropped
        with Image.open(io.BytesIO(content), formats=FORMATS) as image:
            photograph = image.format in {"JPEG", "MPO"}  # MPO: phones add a second, smaller image
            if getattr(image, "is_animated", False) and not photograph:
                raise Refused("an animation")
            turn = TURNS.get(_orientation(image))
            plain = _as_rgb(image, longest)
    if turn is not None:
        plain = plain.transpose(turn)
    # a new image: the old one keeps its color profile, comments and location
    return Image.frombytes("RGB", plain.size, plain.tobytes()), photograph


def _orientation(image: Image.Image) -> int:
    try:
        return int(image.getexif().get(ORIENTATION, 1))
    except (SyntaxError, ValueError, TypeError, KeyError, OSError, struct.error):
        return 1  # some cameras write broken metadata; the image is not rotated


def _as_rgb(image: ImageFile.ImageFile, longest: int) -> Image.Image:
    """Convert to RGB on white and reduce to the maximum side length."""
    colored: Image.Image = image
    if image.mode.startswith("I"):  # 16 bits a pixel, which Pillow would cut off at 255
        colored = image.convert("I").point(lambda value: value * (1 / 257)).convert("RGB")
    elif image.has_transparency_data:
        colored = image if image.mode == "RGBA" else image.convert("RGBA")
    elif image.mode != "RGB":
        colored = image.convert("RGB")
    colored.thumbnail((longest, longest), Image.Resampling.LANCZOS)
    colored.load()
    if colored.mode == "RGB":
        return colored
    white = Image.new("RGBA", colored.size, "white")
    return Image.alpha_composite(white, colored).convert("RGB")


def encode_image(image: Image.Image, *, photograph: bool) -> bytes:
    """Return the bytes of a file: JPEG for photographs, PNG otherwise."""
    buffer = io.BytesIO()
    if photograph:
        image.save(buffer, "JPEG", quality=92, subsampling=0)
    else:
        image.save(buffer, "PNG")
    return buffer.getvalue()


def main() -> None:
    """Answer requests until stdin ends; refuse what cannot be decoded."""
    Image.MAX_IMAGE_PIXELS = MAX_PIXELS  # Pillow warns above it, and here a warning is an error
    _warm_up()
    _confine()
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    stdout.write(READY)
    stdout.flush()
    while head := stdin.read(REQUEST.size):
        longest, size = REQUEST.unpack(head)
        _answer(stdin.read(size), longest, stdout)
        stdout.flush()


def _answer(content: bytes, longest: int, stdout: BinaryIO) -> None:
    _extend_cpu_limit()
    try:
        image, photograph = decode_image(content, longest)
        answer = encode_image(image, photograph=photograph)
        kind, size = b"J" if photograph else b"P", image.size
    except Refused as refused:
        kind, size, answer = b"R", (0, 0), str(refused).encode()
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        kind, size, answer = b"R", (0, 0), b"too many pixels"
    except MemoryError:
        kind, size, answer = b"R", (0, 0), b"more than fits into the memory it is given"
    except Exception:  # noqa: BLE001  a broken file may break a decoder in any way
        kind, size, answer = b"R", (0, 0), b"something that does not decode"
    stdout.write(ANSWER.pack(kind, *size, len(answer)) + answer)


def _warm_up() -> None:
    """Make Pillow load its lazy parts while files can still be opened."""
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    for kind in FORMATS:
        buffer = io.BytesIO()
        Image.new("RGB", (8, 8)).save(buffer, kind, exif=exif)
        image, photograph = decode_image(buffer.getvalue(), 4)
        encode_image(image, photograph=photograph)


def _confine() -> None:
    """Limit memory, and forbid opening files and starting processes."""
    if resource is None:
        return
    for name, limit in (
        ("RLIMIT_AS", MEMORY_BYTES), ("RLIMIT_FSIZE", 0), ("RLIMIT_NOFILE", 3),
        ("RLIMIT_NPROC", 0), ("RLIMIT_CORE", 0),
    ):  # fmt: skip
        with contextlib.suppress(OSError, ValueError):  # not all systems support all of them
            resource.setrlimit(getattr(resource, name), (limit, limit))


def _extend_cpu_limit() -> None:
    """Allow ``CPU_SECONDS`` for the next image, whatever earlier images used."""
    if resource is None:
        return
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    until = int(time.process_time()) + CPU_SECONDS + 1
    if hard != resource.RLIM_INFINITY:
        until = min(until, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CPU, (until, hard))


if __name__ == "__main__":
    main()

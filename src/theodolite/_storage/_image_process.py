"""The other process, which decodes images from strangers. Run as a file; it imports Pillow."""

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
except ImportError:  # not a Unix: there are no limits but the parent's clock
    resource = None  # type: ignore[assignment]

# They register themselves; Pillow must not look for more once files can no longer be opened.
PLUGINS = (JpegImagePlugin, MpoImagePlugin, PngImagePlugin, TiffImagePlugin, WebPImagePlugin)
FORMATS = ("PNG", "JPEG", "WEBP")
MAX_PIXELS = 40_000_000
MEMORY_BYTES = 1 << 30
CPU_SECONDS = 20
ORIENTATION = 0x0112
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
"""The longest side, the number of bytes."""
ANSWER = struct.Struct(">cIII")
"""What it is (P, J, or R for refused), width, height, the number of bytes."""
READY = b"\x01"


class Refused(Exception):
    """What came instead of an image."""


def cleaned(content: bytes, longest: int) -> tuple[Image.Image, bool]:
    """The plain image, and whether it came as JPEG. Nothing but its pixels is left."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        warnings.filterwarnings("ignore", category=UserWarning)  # on metadata that is dropped
        with Image.open(io.BytesIO(content), formats=FORMATS) as image:
            photograph = image.format in {"JPEG", "MPO"}  # telephones add a second, smaller one
            if getattr(image, "is_animated", False) and not photograph:
                raise Refused("an animation")
            turn = TURNS.get(_orientation(image))
            plain = _as_rgb(image, longest)
    if turn is not None:
        plain = plain.transpose(turn)
    # a new image: the old one carries its profile, comments and place names along
    return Image.frombytes("RGB", plain.size, plain.tobytes()), photograph


def _orientation(image: Image.Image) -> int:
    try:
        return int(image.getexif().get(ORIENTATION, 1))
    except (SyntaxError, ValueError, TypeError, KeyError, OSError, struct.error):
        return 1  # cameras write broken ones; the image is as it is


def _as_rgb(image: ImageFile.ImageFile, longest: int) -> Image.Image:
    """Red, green and blue, no larger than asked for; what is transparent is white."""
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


def encoded(image: Image.Image, *, photograph: bool) -> bytes:
    """The file's bytes: JPEG for photographs, PNG for all else."""
    buffer = io.BytesIO()
    if photograph:
        image.save(buffer, "JPEG", quality=92, subsampling=0)
    else:
        image.save(buffer, "PNG")
    return buffer.getvalue()


def main() -> None:
    """Answer requests until there are none. What cannot be decoded is refused, not fatal."""
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
    _more_time()
    try:
        image, photograph = cleaned(content, longest)
        answer = encoded(image, photograph=photograph)
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
    """Pillow loads parts of itself when it first needs them: let it be now."""
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    for kind in FORMATS:
        buffer = io.BytesIO()
        Image.new("RGB", (8, 8)).save(buffer, kind, exif=exif)
        image, photograph = cleaned(buffer.getvalue(), 4)
        encoded(image, photograph=photograph)


def _confine() -> None:
    """From here on: little memory, no files, no other process."""
    if resource is None:
        return
    for name, most in (
        ("RLIMIT_AS", MEMORY_BYTES), ("RLIMIT_FSIZE", 0), ("RLIMIT_NOFILE", 3),
        ("RLIMIT_NPROC", 0), ("RLIMIT_CORE", 0),
    ):  # fmt: skip
        with contextlib.suppress(OSError, ValueError):  # not all systems know all of them
            resource.setrlimit(getattr(resource, name), (most, most))


def _more_time() -> None:
    """So many seconds from now, whatever the images before have used."""
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

"""Re-encode images for display to participants: decoded in a separate process, pixels only."""

import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import IO, NamedTuple

from PIL import Image

from theodolite._storage import _image_process
from theodolite._storage._image_process import (
    ANSWER,
    FORMATS,
    MAX_PIXELS,
    READY,
    REQUEST,
    encode_image,
)
from theodolite.errors import UnsafeInputError

MAX_BYTES = 1 << 26
LONGEST = 1024
SECONDS = 60.0
"""Wall-clock limit for one image: a process that hangs uses no CPU time."""
SUFFIXES = {b"P": "png", b"J": "jpg"}
BEGINNINGS = {"png": b"\x89PNG\r\n\x1a\n", "jpg": b"\xff\xd8\xff"}


class DisplayImage(NamedTuple):
    """An image file without metadata, ready to be shown to participants."""

    content: bytes
    suffix: str
    """png or jpg."""
    size: tuple[int, int]
    """Width and height."""


def encode_untrusted_images(
    files: Iterable[tuple[str, bytes]], *, longest: int = LONGEST
) -> Iterator[DisplayImage]:
    """Decode untrusted PNG, JPEG or WebP files in a separate process and encode them again.

    The pixels are as a viewer shows them: upright, on white where they are transparent, 8-bit RGB.
    Color profiles (not applied), comments, locations and appended bytes are dropped. JPEG stays
    JPEG, the others become PNG. The first refused file raises an error.
    """
    process = _Process()
    try:
        for name, content in files:
            yield process.decode(content, f"image {name!r}", longest)
    finally:
        process.close()


def shown_from(image: Image.Image, *, longest: int = LONGEST) -> DisplayImage:
    """Encode a decoded photograph as JPEG."""
    return _written(_reduced(image, longest), photograph=True)


def encode_drawing(image: Image.Image, *, longest: int = LONGEST) -> DisplayImage:
    """Encode a drawing or a map as PNG; keep its palette if it need not be reduced."""
    if image.mode == "P" and max(image.size) <= longest:
        clean = Image.frombytes("P", image.size, image.tobytes())
        clean.putpalette(image.getpalette() or [])
        return _written(clean, photograph=False)
    return _written(_reduced(image, longest), photograph=False)


def _reduced(image: Image.Image, longest: int) -> Image.Image:
    plain = image.convert("RGB")
    plain.thumbnail((longest, longest), Image.Resampling.LANCZOS)
    return Image.frombytes("RGB", plain.size, plain.tobytes())


def _written(image: Image.Image, *, photograph: bool) -> DisplayImage:
    suffix = "jpg" if photograph else "png"
    return DisplayImage(encode_image(image, photograph=photograph), suffix, image.size)


class _Process:
    """The decoding process; started by the first request."""

    def __init__(self) -> None:
        self._running: subprocess.Popen[bytes] | None = None

    def decode(self, content: bytes, what: str, longest: int) -> DisplayImage:
        if len(content) > MAX_BYTES:
            raise UnsafeInputError(what, f"{len(content):,} bytes", f"at most {MAX_BYTES:,}")
        running = self._running = self._running or _started()
        # killing the process closes its pipes, which ends the wait below
        clock = threading.Timer(SECONDS, running.kill)
        clock.start()
        try:
            kind, size, answer = _request(running, content, longest)
        except (OSError, EOFError) as error:
            self.close()
            raise UnsafeInputError(
                what, "something that broke its decoder, or took too long",
                f"a {' or '.join(FORMATS)} image", "Save it again.",
            ) from error  # fmt: skip
        finally:
            clock.cancel()
        suffix = SUFFIXES.get(kind, "")
        if suffix and answer.startswith(BEGINNINGS[suffix]):
            return DisplayImage(answer, suffix, size)
        needed = f"a still {' or '.join(FORMATS)} image of at most {MAX_PIXELS:,} pixels"
        got = answer[:200].decode(errors="replace")
        raise UnsafeInputError(what, got, needed, "Save it again.")

    def close(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            running.kill()
            running.communicate()


def _started() -> "subprocess.Popen[bytes]":
    running = subprocess.Popen(  # noqa: S603  our own interpreter and file
        [sys.executable, "-I", _image_process.__file__],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    if _stream(running.stdout).read(len(READY)) != READY:
        running.kill()
        running.communicate()
        raise RuntimeError("the process that decodes images does not start")
    return running


def _request(
    running: "subprocess.Popen[bytes]", content: bytes, longest: int
) -> tuple[bytes, tuple[int, int], bytes]:
    stdin, stdout = _stream(running.stdin), _stream(running.stdout)
    stdin.write(REQUEST.pack(longest, len(content)))
    stdin.write(content)
    stdin.flush()
    kind, width, height, size = ANSWER.unpack(_read(stdout, ANSWER.size))
    if size > MAX_BYTES:
        raise EOFError
    return kind, (width, height), _read(stdout, size)


def _read(stream: IO[bytes], size: int) -> bytes:
    content = stream.read(size)
    if len(content) < size:
        raise EOFError
    return content


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None  # noqa: S101  it was opened as a pipe
    return stream

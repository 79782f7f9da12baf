"""Images of 448 pixels for benchmarks: as large as a study's, and each with bytes of its own."""

import hashlib
import io
import struct
import zlib
from pathlib import Path

import numpy as np
from PIL import Image

SIDE = 448
DRAWN = 12
END = 12
"""Bytes of the last chunk of a PNG."""


def drawn_images(folder: Path, count: int) -> list[str]:
    """So many files, some 60 kB each, named by their digests. A few are drawn; the others differ
    from them by a comment, as drawing takes long."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = [_drawn(number) for number in range(DRAWN)]
    names = []
    for number in range(count):
        content = drawn[number % DRAWN]
        content = content[:-END] + _comment(number) + content[-END:]
        names.append(f"{hashlib.sha256(content).hexdigest()}.png")
        (folder / names[-1]).write_bytes(content)
    return names


def _drawn(number: int) -> bytes:
    coarse = np.random.default_rng(number).integers(0, 256, (14, 14, 3), np.uint8)
    image = Image.fromarray(coarse).resize((SIDE, SIDE), Image.Resampling.BICUBIC)
    stream = io.BytesIO()
    image.quantize(64, dither=Image.Dither.NONE).save(stream, "png")
    return stream.getvalue()


def _comment(number: int) -> bytes:
    body = b"tEXtComment\0" + str(number).encode()
    return struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))

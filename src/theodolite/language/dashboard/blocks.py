"""Pack numbers and texts of a dashboard into ASCII blocks that the browser unpacks.

A block is Base64 of gzip, so texts can never act as markup or script. Next to a page it is a
script that returns the text, because a page opened from a folder may load scripts only."""

import base64
import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._storage.paths import all_or_nothing

CALL = "theodoliteBlock"
TYPES = {"u1": "<u1", "u2": "<u2", "u4": "<u4", "i2": "<i2", "f4": "<f4"}


def pack_block(texts: Any, arrays: Mapping[str, np.ndarray]) -> str:
    """Pack texts as JSON followed by arrays of ``TYPES``; equal content gives equal text."""
    listed, content = [], []
    for name, array in arrays.items():
        kind = f"{array.dtype.kind}{array.dtype.itemsize}"
        listed.append([name, kind, int(array.size)])
        content.append(np.ascontiguousarray(array).astype(TYPES[kind], copy=False).tobytes())
    header = json.dumps({"texts": texts, "arrays": listed}, separators=(",", ":")).encode()
    size = np.array([len(header)], "<u4").tobytes()
    packed = gzip.compress(b"".join([size, header, *content]), 6, mtime=0)
    return base64.b64encode(packed).decode()


@dataclass(eq=False)
class BlockWriter:
    """Writer of blocks: as scripts next to the page, or inside it."""

    folder: Path | None
    inside: dict[str, str]
    """Blocks that go into the page, by name."""
    written: int = 0
    """Number of bytes written next to the page."""

    def add(self, name: str, block: str) -> None:
        """Write a block as a script or keep it for the page."""
        if self.folder is None:
            self.inside[name] = block
            return
        content = f'{CALL}("{name}","{block}")\n'.encode()
        with all_or_nothing(self.folder / f"{name}.js") as stream:
            stream.write(content)
        self.written += len(content)

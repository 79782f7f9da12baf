"""Numbers and texts that travel with a page: packed into plain ASCII, unpacked by the browser.

A block is Base64 of gzip, so that nothing in it can be taken for markup or for a script, whatever
the texts hold. Beside a page it is a script that hands the text over: a page that was opened from
a folder, without a server, may load scripts and nothing else.
"""

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
    """Texts as JSON, then arrays; their types are in ``TYPES``. Equal content, equal text."""
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
    """Where blocks go: beside the page as scripts, or into it."""

    folder: Path | None
    inside: dict[str, str]
    """Blocks that go into the page, by name."""
    written: int = 0
    """Bytes beside the page."""

    def add(self, name: str, block: str) -> None:
        """Put a block where it belongs."""
        if self.folder is None:
            self.inside[name] = block
            return
        content = f'{CALL}("{name}","{block}")\n'.encode()
        with all_or_nothing(self.folder / f"{name}.js") as stream:
            stream.write(content)
        self.written += len(content)

"""Vocabulary: the bytes of each token by its id, stored next to evidence.

It is not an axis: tokens may hold control characters or parts of characters, and may not be unique.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from theodolite._storage.packed_arrays import pack_arrays, unpack_arrays
from theodolite._storage.stores import Store
from theodolite.errors import EvidenceError, UnsafeInputError, printable

FILE = "vocabulary.safetensors"
MAX_BYTES = 1 << 28


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Bytes of all tokens, concatenated, and where each ends.

    >>> words = Vocabulary.of(["the", " cat", b"\\xf0\\x9f"])
    >>> len(words), words[1], words.shown(2)
    (3, b' cat', "b'\\\\xf0\\\\x9f'")
    """

    content: np.ndarray
    ends: np.ndarray

    def __post_init__(self) -> None:
        rises = np.diff(self.ends, prepend=0)
        last = int(self.ends[-1]) if len(self.ends) else 0
        if self.content.dtype != np.uint8 or (rises < 0).any() or last != len(self.content):
            raise EvidenceError("vocabulary", "ends that do not fit", "where each token ends")

    @classmethod
    def of(cls, tokens: Sequence[str | bytes]) -> "Vocabulary":
        """Build from texts or bytes, in the order of ids."""
        parts = [t.encode() if isinstance(t, str) else bytes(t) for t in tokens]
        content = np.frombuffer(b"".join(parts), np.uint8)
        return cls(content, np.cumsum([len(part) for part in parts], dtype=np.int64))

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, token: int) -> bytes:
        if not 0 <= token < len(self):
            raise EvidenceError("tokens", f"the id {token}", f"0 to {len(self) - 1}")
        first = int(self.ends[token - 1]) if token else 0
        return self.content[first : int(self.ends[token])].tobytes()

    def shown(self, token: int) -> str:
        """Return a token as harmless quoted text, so that spaces are visible."""
        own = self[token]
        try:
            return printable(repr(own.decode()), 120)
        except UnicodeDecodeError:  # part of a character
            return printable(repr(own), 120)

    def save(self, folder: Path | str) -> None:
        """Write the vocabulary to the evidence folder."""
        Store.at(folder).write(FILE, pack_arrays({"content": self.content, "ends": self.ends}))

    @classmethod
    def load(cls, folder: Path | str) -> "Vocabulary":
        """Read the vocabulary from a folder and check it."""
        arrays = unpack_arrays(Store.at(folder).read(FILE, MAX_BYTES), FILE)
        if set(arrays) != {"content", "ends"} or arrays["ends"].dtype != np.int64:
            raise UnsafeInputError(FILE, f"{sorted(arrays)}", "content and ends")
        return cls(arrays["content"], arrays["ends"])

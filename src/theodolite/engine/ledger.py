"""What was done already: one file per piece of work, named by all that decides what is in it.

A file that is there is done; it appears only when complete. So a run that was cut off anywhere, on
whatever machine, goes on with what is missing, and nothing is done twice.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from theodolite.errors import EvidenceError, RefusedInput
from theodolite.io.packed import Arrays, packed, unpacked
from theodolite.io.stores import Store

MOST_BYTES = 1 << 31
HALF_WRITTEN = re.compile(r"\.[0-9a-f]{64}\.safetensors\.\d+\.partial")
PIECE = re.compile(r"([0-9a-f]{64})\.safetensors")
"""How files of pieces are named; others in the same place are not touched."""


ROOT = Path(__file__).parents[1]
"""The package whose code is digested."""


@lru_cache(maxsize=1)
def code_version() -> str:
    """The version, and a digest of the code itself: other code may give other numbers. Code of
    other packages is named by the pieces that it decides (``Metric.packages``)."""
    digest = hashlib.sha256()
    for path in sorted(ROOT.rglob("*.py")):
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return f"{version('theodolite')}+{digest.hexdigest()[:16]}"


def key_of(description: Mapping[str, Any], digest: str, code: str) -> str:
    """The name of a piece: a digest of the work, of the data and of the code."""
    text = json.dumps([description, digest, code], sort_keys=True, default=_to_builtin)
    return hashlib.sha256(text.encode()).hexdigest()


def _to_builtin(value: Any) -> Any:
    """Numbers of numpy as numbers; what has no one way to be written is refused."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no name of its own")


@dataclass(frozen=True)
class Ledger:
    """Finished pieces in a store."""

    store: Store

    def done(self) -> set[str]:
        """The keys of all finished pieces."""
        matches = (PIECE.fullmatch(name) for name in self.store.names())
        return {match[1] for match in matches if match is not None}

    def read(self, key: str) -> dict[str, Any] | None:
        """What a piece gave; nothing if it is not there, or damaged: then it is done again."""
        name = f"{key}.safetensors"
        if self.store.size(name) is None:
            return None
        try:
            return unpacked(self.store.read(name, MOST_BYTES), name)
        except RefusedInput:
            return None

    def write(self, key: str, arrays: Arrays) -> None:
        """Keep what a piece gave."""
        self.store.write(f"{key}.safetensors", packed(arrays))

    def keep_only(self, keys: set[str]) -> None:
        """Remove pieces that this run did not use: those of earlier settings or code."""
        for path in [] if self.store.local is None else self.store.local.glob(".*.partial"):
            if HALF_WRITTEN.fullmatch(path.name):  # whoever wrote it was killed
                path.unlink(missing_ok=True)
        for key in sorted(self.done() - keys):
            self.store.remove(f"{key}.safetensors")


@dataclass(frozen=True)
class LedgerEntry:
    """A finished piece, for other pieces to read."""

    ledger: Ledger
    digest: str
    """Its key."""

    def read(self) -> Arrays:
        arrays = self.ledger.read(self.digest)
        if arrays is None:
            raise EvidenceError(
                f"piece {self.digest}", "no such piece, or a damaged one", "what was written",
                "Start the same command again: what is missing is done again.",
            )  # fmt: skip
        return arrays

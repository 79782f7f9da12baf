"""Write sparse SAE activations to a folder shard by shard; the manifest comes last."""

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from theodolite._storage.arrays import write_safetensors
from theodolite._storage.paths import sha256_of
from theodolite._storage.text import write_json
from theodolite.errors import EvidenceError
from theodolite.language.sae.activation_shard import (
    MAX_SHARD_POSITIONS,
    SparseActivationShard,
    check_shard,
    join_shards,
)
from theodolite.language.sae.evidence import (
    COUNTS,
    FORMAT,
    FORMAT_VERSION,
    MANIFEST,
    SparseActivationEvidence,
    check_names,
)

POSITIONS_PER_SHARD = 1 << 19
"""Approximate number of positions per shard, between 2^18 and 2^20."""


class SparseActivationWriter:
    """Writer of whole documents in shards of about ``positions`` positions.

    Use it in a ``with`` block: what was not finished has no manifest, and cannot be opened.
    """

    def __init__(
        self,
        folder: Path | str,
        *,
        units: int,
        concepts: Sequence[str],
        positions: int = POSITIONS_PER_SHARD,
    ) -> None:
        """Prepare a new folder for ``units`` units and these concepts."""
        self.units, self.concepts = check_names(units, concepts)
        if not 0 < positions <= MAX_SHARD_POSITIONS:
            raise EvidenceError(
                "positions", f"{positions}", f"1 to {MAX_SHARD_POSITIONS:,} a piece"
            )
        self.folder, self.positions = Path(folder), positions
        if (self.folder / MANIFEST).exists():
            raise EvidenceError("folder", "codes already", "an empty folder")
        self._waiting: list[SparseActivationShard] = []
        self._entries: list[dict[str, Any]] = []
        self._value: Any = "unknown"

    def add(self, codes: SparseActivationShard) -> None:
        """Add some documents to the current shard."""
        check_shard(codes, self.units, len(self.concepts))
        value = None if codes.value is None else codes.value.dtype.name
        if self._value not in ("unknown", value):
            raise EvidenceError("value", f"{value}", f"{self._value}, as before")
        self._value = value
        first = 0
        while first < codes.documents:
            room = self.positions - sum(len(part) for part in self._waiting)
            limit = int(codes.place[first]) + room
            last = max(int(np.searchsorted(codes.place, limit, "right")) - 1, first + 1)
            self._waiting.append(codes.part(first, last))
            first = last
            if sum(len(part) for part in self._waiting) >= self.positions or last < codes.documents:
                self._write()

    def _write(self) -> None:
        piece = join_shards(self._waiting)
        self._waiting = []
        name = f"piece-{len(self._entries):06}.safetensors"
        write_safetensors(self.folder / name, piece.arrays())
        counts = (len(piece), piece.documents, len(piece.unit))
        self._entries.append(
            {"file": name, "sha256": sha256_of(self.folder / name)}
            | dict(zip(COUNTS, counts, strict=True))
        )

    def finish(self) -> SparseActivationEvidence:
        """Write the remaining documents and the manifest."""
        if self._waiting:
            self._write()
        write_json(
            self.folder / MANIFEST,
            {
                "format": FORMAT,
                "format_version": FORMAT_VERSION,
                "units": self.units,
                "concepts": list(self.concepts),
                "pieces": self._entries,
            },
        )
        return SparseActivationEvidence.open(self.folder)

    def __enter__(self) -> "SparseActivationWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.finish()

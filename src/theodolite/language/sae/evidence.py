"""Sparse SAE activations as evidence: shards in memory, or in a folder with a manifest."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._storage.memory_mapping import map_safetensors
from theodolite._storage.packed_arrays import digest_arrays
from theodolite._storage.paths import confined, sha256_of
from theodolite._storage.text import read_json
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.language.sae.activation_shard import (
    MAX_SHARD_POSITIONS,
    NAMES,
    SparseActivationShard,
    check_shard,
)

FORMAT, FORMAT_VERSION = "theodolite-codes", 1
MANIFEST = "codes.json"
MAX_UNITS, MAX_CONCEPTS = 1 << 24, 1 << 16
COUNTS = ("positions", "documents", "values")


@dataclass(frozen=True)
class PieceEntry:
    """Manifest entry of a shard."""

    file: str
    sha256: str
    positions: int
    documents: int
    values: int


class SparseActivationEvidence:
    """Sparse activations of an SAE with the concepts at each position.

    In memory, from shards (``SparseActivationShard``); or from a folder that
    ``SparseActivationWriter`` wrote, by ``SparseActivationEvidence.open(folder)``. Arrays are
    sparse: they hold active units only.
    """

    def __init__(
        self, pieces: Sequence[SparseActivationShard], *, units: int, concepts: Sequence[str]
    ) -> None:
        """Create evidence from shards in memory.

        Args:
            pieces: Whole documents each.
            units: How many the dictionary has.
            concepts: Names of the concepts that labels number.
        """
        self.units, self.concepts = check_names(units, concepts)
        self.folder: Path | None = None
        self._pieces = tuple(pieces)
        for piece in pieces:
            check_shard(piece, units, len(self.concepts))
        kinds = {None if piece.value is None else piece.value.dtype for piece in pieces}
        if len(kinds) != 1:
            raise EvidenceError("pieces", f"{len(kinds)} types of values", "one, in at least one")
        self.entries = tuple(
            PieceEntry("", digest_arrays(p.arrays()), len(p), p.documents, len(p.unit))
            for p in pieces
        )

    @classmethod
    def open(cls, folder: Path | str) -> "SparseActivationEvidence":
        """Open a folder; shards are read and checked when they are needed."""
        root = Path(folder)
        manifest = read_json(root / MANIFEST, "manifest of codes")
        evidence = cls.__new__(cls)
        evidence.folder, evidence._pieces = root.resolve(), ()
        try:
            if manifest["format"] != FORMAT or manifest["format_version"] != FORMAT_VERSION:
                got = f"{manifest['format']!r} {manifest['format_version']!r}"
                raise UnsafeInputError(f"codes {root.name!r}", got, f"{FORMAT!r} {FORMAT_VERSION}")
            entries = tuple(_entry(row, root) for row in manifest["pieces"])
            names = tuple(manifest["concepts"])
            evidence.units, evidence.concepts = check_names(manifest["units"], names)
        except (KeyError, TypeError, AttributeError) as error:
            got = f"a manifest without {error}"
            raise UnsafeInputError(
                f"codes {root.name!r}", got, f"{MANIFEST} as docs say"
            ) from error
        if not entries:
            raise UnsafeInputError(f"codes {root.name!r}", "no piece", "at least one")
        evidence.entries = entries
        return evidence

    def __len__(self) -> int:
        """Return the number of shards."""
        return len(self.entries)

    @cached_property
    def positions(self) -> int:
        """Number of positions in all shards."""
        return sum(entry.positions for entry in self.entries)

    @cached_property
    def documents(self) -> int:
        """Number of documents in all shards."""
        return sum(entry.documents for entry in self.entries)

    @cached_property
    def values(self) -> int:
        """Number of active values in all shards."""
        return sum(entry.values for entry in self.entries)

    def writeable(self) -> "SparseActivationEvidence":
        """Return itself, or a copy if its arrays are write-protected."""
        if all(a.flags.writeable for p in self._pieces for a in p.arrays().values()):
            return self
        pieces = [
            SparseActivationShard(**{n: a.copy() for n, a in p.arrays().items()})
            for p in self._pieces
        ]
        return SparseActivationEvidence(pieces, units=self.units, concepts=self.concepts)

    def digest(self) -> str:
        """Return a digest of all content."""
        text = "\n".join([f"{self.units}", *self.concepts, *(e.sha256 for e in self.entries)])
        return hashlib.sha256(text.encode()).hexdigest()

    def piece(self, number: int, *, check: bool = False) -> SparseActivationShard:
        """Return a shard; from a folder it is memory-mapped after its digest is checked once.

        ``check`` looks at every number in it too; content of the same digest passes for ever.
        """
        if self.folder is None:
            return self._pieces[number]
        entry = self.entries[number]
        path = confined(self.folder, entry.file)
        _compare(path, entry)
        arrays = map_safetensors(path)
        missing = set(NAMES) - set(arrays)
        wrong = [n for n in NAMES if n in arrays and arrays[n].dtype != np.uint32]
        flat = all(array.ndim == 1 for array in arrays.values())
        if missing or wrong or not flat or not set(arrays) <= {*NAMES, "value"}:
            raise UnsafeInputError(
                f"piece {path.name!r}", f"arrays {', '.join(sorted(arrays)) or 'none'}",
                f"rows of uint32: {', '.join(NAMES)}; and value in float16 or float32, or none",
            )  # fmt: skip
        piece = SparseActivationShard(**{n: arrays[n] for n in NAMES}, value=arrays.get("value"))
        if check:
            check_shard(piece, self.units, len(self.concepts))
        counts = (len(piece), piece.documents, len(piece.unit))
        if counts != (entry.positions, entry.documents, entry.values):
            got = f"{counts[0]:,} positions, {counts[1]:,} documents, {counts[2]:,} values"
            raise UnsafeInputError(f"piece {path.name!r}", got, "as many as the manifest says")
        return piece

    def __repr__(self) -> str:
        size = f"{self.positions:,} positions, {self.documents:,} documents"
        concepts = f"{len(self.concepts):,} concepts"
        return f"SparseActivationEvidence({self.units:,} units, {concepts}, {size})"


_compared: dict[Path, tuple[int, int, str]] = {}


def _compare(path: Path, entry: PieceEntry) -> None:
    """Check a file's digest, unless it did not change since the last check."""
    if not path.is_file():
        raise UnsafeInputError(f"piece {path.name!r}", "nothing there", "a file of the manifest")
    state = path.stat()
    known = (state.st_size, state.st_mtime_ns, entry.sha256)
    if _compared.get(path) != known:
        if sha256_of(path) != entry.sha256:
            raise UnsafeInputError(
                f"piece {path.name!r}", "another digest than in the manifest", "what was written"
            )
        _compared[path] = known


def check_names(units: Any, concepts: Sequence[str]) -> tuple[int, tuple[str, ...]]:
    """Return the number of units and the concept names, or raise."""
    if type(units) is not int or not 0 < units <= MAX_UNITS:
        raise EvidenceError("units", f"{units!r}", f"a whole number, 1 to {MAX_UNITS:,}")
    names = () if isinstance(concepts, str) else tuple(concepts)
    if not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
        raise EvidenceError("concepts", "no names, or some twice", "distinct names")
    if not 0 < len(names) < MAX_CONCEPTS:
        raise EvidenceError("concepts", f"{len(names):,}", f"1 to {MAX_CONCEPTS - 1:,} names")
    return units, names


def _entry(row: dict[str, Any], root: Path) -> PieceEntry:
    counts = [row[name] for name in COUNTS]
    whole = all(type(count) is int and count >= 0 for count in counts)
    if not whole or not 0 < counts[0] <= MAX_SHARD_POSITIONS or not 0 < counts[1] <= counts[0]:
        raise UnsafeInputError(f"codes {root.name!r}", f"counts {counts}", "as docs say")
    confined(root, row["file"])
    return PieceEntry(row["file"], str(row["sha256"]), *counts)

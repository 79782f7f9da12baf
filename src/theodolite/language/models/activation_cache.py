"""Activations of all texts in a folder, in pieces: a run that was killed goes on at the next."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from theodolite._storage.arrays import read_npy, write_npy
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.evidence.pipeline_output import Progress, silent
from theodolite.evidence.ragged import compute_starts
from theodolite.language.models.hooked import HookedModel, Ids

PIECE_TEXTS = 2_048


@dataclass(frozen=True, eq=False)
class CachedActivations:
    """Rows of all tokens, read from files when they are asked for."""

    pieces: Sequence[np.ndarray]
    starts: Int[np.ndarray, " pieces1"]
    """First row of each piece, and the number of rows."""

    @property
    def shape(self) -> tuple[int, int]:
        """Tokens and dimensions."""
        return int(self.starts[-1]), int(self.pieces[0].shape[1])

    def __len__(self) -> int:
        return int(self.starts[-1])

    def __getitem__(self, which: Any) -> np.ndarray:
        """Return some rows in float32, by slice or numbers."""
        if isinstance(which, slice) and which.step in (None, 1):
            first, last, _ = which.indices(len(self))
            parts = [
                piece[max(first - at, 0) : max(last - at, 0)]
                for at, piece in zip(self.starts[:-1].tolist(), self.pieces, strict=True)
                if at < last and at + len(piece) > first
            ]
            empty = np.zeros((0, self.shape[1]), np.float32)
            return np.concatenate(parts).astype(np.float32) if parts else empty
        rows = np.arange(len(self))[which]
        piece = np.searchsorted(self.starts, rows, "right") - 1
        values = np.empty((len(rows), self.shape[1]), np.float32)
        for number in np.unique(piece):
            own = piece == number
            values[own] = self.pieces[number][rows[own] - self.starts[number]]
        return values


def cache_activations(
    network: HookedModel, ids: Ids, folder: Path, progress: Progress = silent
) -> CachedActivations:
    """Run the network over all texts, piece by piece; pieces that are there are kept."""
    pieces = []
    firsts = range(0, len(ids), PIECE_TEXTS)
    for number, at in enumerate(firsts):
        some = ids[at : at + PIECE_TEXTS]
        path = folder / f"{number:05d}.npy"
        known = _read(path, sum(map(len, some)))
        if known is None:
            progress("activations", number, len(firsts))
            values = network.activations(some)
            if not np.isfinite(values).all():
                got = "activations that are no numbers"
                raise EvidenceError(network.module, got, "finite ones")
            write_npy(path, values.astype(np.float32))
            known = read_npy(path, mapped=True)
        pieces.append(known)
    return CachedActivations(pieces, compute_starts([len(piece) for piece in pieces]))


def _read(path: Path, rows: int) -> np.ndarray | None:
    """Return a piece that was written before; None if it is not there or was cut off."""
    try:
        known = read_npy(path, mapped=True) if path.is_file() else None
    except UnsafeInputError:
        return None
    if known is None or known.ndim != 2 or len(known) != rows:
        return None
    return known if np.isfinite(known).all() else None

"""Small sparse codes with something planted: some units follow a formula, the rest nothing."""

import numpy as np

from theodolite.language.sae.activation_shard import SparseActivationShard
from theodolite.language.sae.evidence import SparseActivationEvidence

LENGTHS = (5, 9, 16, 3)


def planted_piece(
    seed: int, *, documents: int = 40, units: int = 60, concepts: int = 12, dense: int = 0
) -> SparseActivationShard:
    """Documents of unequal length. Unit u follows concept u % concepts; every third is blind. The
    first ``dense`` are active at most positions, and mean something only where they are high."""
    rng = np.random.default_rng(seed)
    lengths = np.resize(LENGTHS, documents)
    n = int(lengths.sum())
    topic = np.repeat(rng.integers(0, concepts, documents), lengths)
    has = rng.random((n, concepts)) < 0.12
    has |= (np.arange(concepts) == topic[:, None]) & (rng.random((n, concepts)) < 0.6)
    high = has[:, np.arange(units) % concepts] & (rng.random((n, units)) < 0.7)
    high[:, ::3] = rng.random((n, len(range(0, units, 3)))) < 0.08
    active = high | (rng.random((n, units)) < 0.01)
    active[:, :dense] = True
    value = np.where(high, 2.0, 0.5) + rng.random((n, units))
    position, unit = np.nonzero(active)
    return SparseActivationShard.from_coo(
        position, unit, value[active].astype(np.float16), documents=lengths,
        labels=[np.flatnonzero(row).tolist() for row in has],
    )  # fmt: skip


def planted_codes(
    pieces: int = 3, *, units: int = 60, concepts: int = 12, dense: int = 0
) -> SparseActivationEvidence:
    names = [f"concept {c}" for c in range(concepts)]
    parts = [
        planted_piece(seed, units=units, concepts=concepts, dense=dense) for seed in range(pieces)
    ]
    return SparseActivationEvidence(parts, units=units, concepts=names)

"""Build rows of a table in which removed features take values of background rows.
Used by :mod:`.plan`."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from theodolite._stats.sampling import hash_to_uniforms
from theodolite.evidence.kinds.attribution import AttributionEvidence

MAX_BLOCK_VALUES = 2**22
"""Largest number of values in a block of rows."""
_DRAW_SEED = 0x64726177


@dataclass(frozen=True, eq=False)
class RemovalRows:
    """The rows to send to a model: each sample without each of its subsets of features.

    All subsets of a sample take their values from the same background rows.
    """

    evidence: AttributionEvidence
    """With ``inputs`` and ``background``."""
    removed: Bool[np.ndarray, "samples subsets features"]
    n_draws: int
    seed: int

    @property
    def draws(self) -> int:
        """Number of background rows for each sample."""
        return int(self._drawn_rows.shape[1])

    def __len__(self) -> int:
        return self.removed[:, :, 0].size * self.draws

    def blocks(self) -> Iterator[Float[np.ndarray, "rows features"]]:
        """Yield all rows in blocks that fit into memory: by sample, subset and background row."""
        removed = self.removed
        inputs = np.asarray(self.evidence.inputs, float)
        background = np.asarray(self.evidence.background, float)
        n_features = inputs.shape[1]
        step = max(1, MAX_BLOCK_VALUES // (removed.shape[1] * self.draws * n_features))
        for start in range(0, len(removed), step):
            some = slice(start, start + step)
            others = background[self._drawn_rows[some]][:, None]
            rows = np.where(removed[some, :, None, :], others, inputs[some, None, None, :])
            yield np.asarray(rows.reshape(-1, n_features))

    @cached_property
    def _drawn_rows(self) -> Int[np.ndarray, "samples draws"]:
        """Background rows of each sample, drawn without replacement; never the sample itself."""
        background = np.asarray(self.evidence.background)
        inputs, numbers = np.asarray(self.evidence.inputs), self.evidence.samples.index
        uniforms = hash_to_uniforms(np.asarray(numbers), (len(background),), self.seed ^ _DRAW_SEED)
        same = np.array([(background == row).all(axis=1) for row in inputs]).reshape(uniforms.shape)
        others = len(background) - int(same.sum(axis=1).max(initial=0))
        draws = max(1, min(self.n_draws, others))
        return np.argsort(uniforms + same, axis=1, kind="stable")[:, :draws]

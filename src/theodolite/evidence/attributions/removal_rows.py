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
class RemovalQuestions:
    """Features to remove from each sample, and the rows to send to the model.

    Equal questions about a sample are asked once. All questions about a sample draw the same
    background rows, unless they are chosen by likeness.
    """

    evidence: AttributionEvidence
    removals: tuple[str, ...]
    n_draws: int
    seed: int
    masks: Bool[np.ndarray, "samples removals cases groups"]
    """Features or feature groups that each case removes."""

    @cached_property
    def _unique(self) -> tuple[Int[np.ndarray, " questions"], Int[np.ndarray, " all"]]:
        """Return the first case of each distinct question, and the question of each case."""
        samples, removals, cases, groups = self.masks.shape
        of = np.repeat(np.arange(samples * removals, dtype=np.int64), cases)
        packed = np.packbits(self.masks.reshape(-1, groups), axis=1)
        keys = np.concatenate([of.astype(">i8").view(np.uint8).reshape(-1, 8), packed], axis=1)
        rows = np.ascontiguousarray(keys).view(np.dtype((np.void, keys.shape[1])))[:, 0]
        _, first, question = np.unique(rows, return_index=True, return_inverse=True)
        return first, question

    @property
    def draws(self) -> int:
        """Number of background rows per question."""
        return min(self.n_draws, len(np.asarray(self.evidence.background)))

    def __len__(self) -> int:
        return len(self._unique[0]) * self.draws

    def rows(self) -> Iterator[Float[np.ndarray, "rows features"]]:
        """Yield all rows in blocks that fit into memory."""
        first, _ = self._unique
        n_features = np.asarray(self.evidence.values).shape[1]
        step = max(1, MAX_BLOCK_VALUES // (self.draws * n_features))
        for start in range(0, len(first), step):
            yield self._some_rows(first[start : start + step])

    def means(
        self, answers: Float[np.ndarray, " rows"]
    ) -> Float[np.ndarray, "samples removals cases"]:
        """Return the mean answer over background rows for each case."""
        by_question = np.asarray(answers, float).reshape(-1, self.draws).mean(axis=1)
        return np.asarray(by_question[self._unique[1]].reshape(self.masks.shape[:3]))

    def _some_rows(self, cases: Int[np.ndarray, " n"]) -> Float[np.ndarray, "rows features"]:
        sample, removal, case = np.unravel_index(cases, self.masks.shape[:3])
        mask = self.masks[sample, removal, case]
        groups = self.evidence.groups
        mask = mask if groups is None else mask[:, groups]
        chosen = self._drawn_rows[sample]
        if "conditional" in self.removals:
            by_likeness = removal == self.removals.index("conditional")
            chosen[by_likeness] = self._nearest(sample[by_likeness], mask[by_likeness])
        background = np.asarray(self.evidence.background, float)
        own = np.asarray(self.evidence.inputs, float)[sample]
        rows = np.where(mask[:, None, :], background[chosen], own[:, None, :])
        return np.asarray(rows.reshape(-1, rows.shape[-1]))

    @cached_property
    def _drawn_rows(self) -> Int[np.ndarray, "samples draws"]:
        """Background rows of each sample, drawn without replacement from the seed."""
        n, numbers = len(np.asarray(self.evidence.background)), self.evidence.samples.index
        if self.draws == n:
            return np.tile(np.arange(n), (len(self.evidence), 1))
        luck = hash_to_uniforms(np.asarray(numbers), (n,), self.seed ^ _DRAW_SEED)
        return np.argpartition(luck, self.draws, axis=1)[:, : self.draws]

    def _nearest(
        self, sample: Int[np.ndarray, " n"], mask: Bool[np.ndarray, "n features"]
    ) -> Int[np.ndarray, "n draws"]:
        """Return the background rows nearest to a sample in the features that stay."""
        nearest = np.empty((len(sample), self.draws), np.int64)
        for at in np.unique(sample):
            own = sample == at
            distances = ~mask[own] @ self._distances(int(at)).T
            if self.draws < distances.shape[1]:
                nearest[own] = np.argpartition(distances, self.draws, axis=1)[:, : self.draws]
            else:
                nearest[own] = np.arange(self.draws)
        return nearest

    def _distances(self, sample: int) -> Float[np.ndarray, "background_rows features"]:
        """Return squared distances to background rows, scaled by each feature's spread; categories
        count 0 or 1.
        """
        background = np.asarray(self.evidence.background, float)
        spread = background.std(axis=0)
        away = background - np.asarray(self.evidence.inputs, float)[sample]
        scaled = np.divide(away, spread, out=np.zeros_like(away), where=spread > 0) ** 2
        categories = np.array([bool(names) for names in self.evidence.features.categories])
        return np.asarray(np.where(categories, (away != 0) * 2.0, scaled))

"""Plan the bootstrap weights and null draws of one metric on one source of evidence.

Used by all of `_scoring` and by `theodolite compare`.
"""

import functools
import math
from typing import Any

import numpy as np
from jaxtyping import Float

from theodolite._scoring.request import Resampling
from theodolite._stats.grouped_weights import GroupedWeights, RowWeights
from theodolite._stats.groups import GROUPS, SampleGroups, assign_groups, draw_group_weights
from theodolite._stats.resampling import draw_poisson_counts, draw_poisson_weights
from theodolite.evidence.base import Evidence
from theodolite.evidence.shards import Clusters
from theodolite.metrics.base import Metric, NullModel, Pooled
from theodolite.results import Source

POOLED_NULL_DRAWS = 3
"""Number of null draws for scores that need all samples at once."""
MAX_KEYS = 50_000
"""Maximum number of samples or clusters to resample one by one; more are resampled in groups."""
GROUP_RESAMPLES_FACTOR = 4
"""Factor of resamples of groups, which are cheap: the relative error of an interval's width is then
1.5 %, with the error of a thousand groups 2.7 %; of a thousand resamples of samples it is 3.0 %."""


class Plan:
    """Resampling plan: row 0 of the values is the score itself, the other rows are resamples."""

    def __init__(
        self,
        metric: Metric,
        n: int,
        clusters: Clusters | None,
        resampling: Resampling,
        first: Evidence | None = None,
    ) -> None:
        self.resampling = resampling
        self._stored = {} if first is None else _load_stored_draws(metric, first)
        self.pooled = issubclass(metric.state, Pooled)
        self.n = n
        self.sources: tuple[Source, ...] = ("samples",)
        self.n_clusters, self.effective_clusters = 0, 0.0
        if clusters is not None and not (metric.per_class and clusters.whole_classes):
            self.sources = ("clusters",)  # rows of a cluster are no independent draws
            self.n_clusters, self.effective_clusters = clusters.n, clusters.effective
        keys = n if self.sources[0] == "samples" else self.n_clusters
        self.groups = GROUPS if keys > MAX_KEYS and not self.pooled else 0
        """Number of random groups that are resampled; 0 where samples or clusters are."""
        self.resamples = resampling.resamples * (GROUP_RESAMPLES_FACTOR if self.groups else 1)

    @property
    def state_rows(self) -> slice:
        """Rows of a state with resamples: all rows, or one row per random group."""
        return slice(1, 1 + self.groups) if self.groups else slice(0, len(self))

    def weights(
        self, evidence: Evidence, rows: slice
    ) -> Float[np.ndarray, "rows samples"] | SampleGroups:
        """Return how often each sample of a shard counts in each of the rows of a state."""
        if rows.stop <= 1:
            return np.ones((1, len(evidence)))
        samples = evidence.samples
        keys = np.asarray(samples.index if self.sources[0] == "samples" else samples.clusters)
        if self.groups:
            groups = assign_groups(keys, self.resampling.seed)
            return SampleGroups.from_block(groups, slice(rows.start - 1, rows.stop - 1))
        key_bytes = np.ascontiguousarray(keys, np.int64).tobytes()
        weights = _shard_weights(key_bytes, self.resamples, self.resampling.seed)
        # scores of all samples at once have large weights: half the memory
        return weights[rows].astype(np.float32 if self.pooled else np.float64)

    def group_weights(self) -> Float[np.ndarray, "rows groups"]:
        """Return how often each random group counts in each row of values."""
        return draw_group_weights(self.resamples, self.resampling.seed)

    def grouped_weights(self, evidence: Evidence, rows: slice) -> RowWeights:
        """Return the weights of all samples for some rows; of many samples by random groups."""
        if self.n <= GROUPS or rows.stop <= 1:
            return np.asarray(self.weights(evidence, rows), np.float32)
        samples, seed = evidence.samples, self.resampling.seed
        by_sample = self.sources[0] == "samples"
        keys = np.asarray(samples.index if by_sample else samples.clusters)
        if by_sample or self.n_clusters > GROUPS:
            return GroupedWeights(assign_groups(keys, seed), self.group_weights()[rows])
        numbers, groups = np.unique(keys, return_inverse=True)
        draws = draw_poisson_weights(numbers, self.resamples, seed)
        return GroupedWeights(groups, np.concatenate([np.ones((1, len(numbers))), draws])[rows])

    def __len__(self) -> int:
        return 1 + self.resamples

    def draws(self, null: NullModel) -> int:
        """Return the number of draws of a null: more on few samples, one if it is not random.

        Draws that are stored in the evidence are all used.
        """
        if null.name in self._stored:
            return self._stored[null.name]
        if null.on == "state":
            return self.resampling.shuffles
        if not null.random:
            return 1
        if self.pooled:  # each draw costs as much as the score itself
            return min(POOLED_NULL_DRAWS, self.resampling.most_null_draws)
        n_draws = math.ceil(self.resampling.null_batches / max(self.n, 1))
        return min(n_draws, self.resampling.most_null_draws)

    def seeds(self, null: NullModel) -> list[int]:
        """Return the seeds of a null's draws, or the indices of the stored draws."""
        if null.name in self._stored:
            return list(range(self._stored[null.name]))
        states = np.random.SeedSequence(self.resampling.seed).generate_state(self.draws(null))
        return [int(s) for s in states]

    @property
    def block(self) -> slice:
        """Slice of the rows that are resampled."""
        return slice(1, len(self))

    def describe(self) -> dict[str, Any]:
        """Return everything that decides the weights, for digests of states."""
        size = {"groups": self.groups} if self.groups else {"resamples": self.resamples}
        return {"sources": self.sources, "seed": self.resampling.seed} | size


def _load_stored_draws(metric: Metric, evidence: Evidence) -> dict[str, int]:
    """Return the number of draws in the evidence by null; 1 (undefined) if there are none."""
    names = {null.name: null.draws_in for null in metric.nulls if null.draws_in}
    return {
        name: len(evidence.chances) if evidence.has(array) else 1  # type: ignore[attr-defined]
        for name, array in names.items()
    }


@functools.lru_cache(maxsize=4)
def _shard_weights(keys: bytes, resamples: int, seed: int) -> np.ndarray:
    """Return the weights of one shard, cached: all metrics, options and nulls share them."""
    numbers, key = np.unique(np.frombuffer(keys, np.int64), return_inverse=True)
    draws = draw_poisson_counts(numbers, resamples, seed)
    return np.concatenate([np.ones((1, len(key)), np.uint8), draws[:, key]])

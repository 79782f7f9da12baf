"""How chance is drawn: which rows of the resampled values mean what."""

import functools
import math
from typing import Any

import numpy as np
from jaxtyping import Float

from theodolite.evidence.base import Evidence
from theodolite.evidence.shards import Clusters
from theodolite.metrics.base import Metric, NullModel, Pooled
from theodolite.results import Source
from theodolite.scoring.request import Resampling
from theodolite.stats.grouped_weights import GroupedWeights, RowWeights
from theodolite.stats.groups import GROUPS, group_of, group_weights
from theodolite.stats.resampling import poisson_weights

POOLED_NULL_DRAWS = 3


class Plan:
    """Which rows of the resampled values mean what: the value itself, then one block per source."""

    def __init__(
        self, metric: Metric, n: int, clusters: Clusters | None, resampling: Resampling
    ) -> None:
        self.resampling = resampling
        self.pooled = issubclass(metric.state, Pooled)
        self.n = n
        self.sources: tuple[Source, ...] = ("samples",)
        self.n_clusters, self.effective_clusters = 0, 0.0
        if clusters is not None and not (metric.per_class and clusters.whole_classes):
            self.sources = ("clusters",)  # rows of a cluster are no independent draws
            self.n_clusters, self.effective_clusters = clusters.n, clusters.effective

    def weights(self, evidence: Evidence, rows: slice) -> Float[np.ndarray, "rows samples"]:
        """The weights of a shard for some rows of the plan."""
        keys = {"samples": evidence.samples.index, "clusters": evidence.samples.clusters}
        blocks = [np.ones((1, len(evidence)), np.uint8)]
        for number, source in enumerate(self.sources):
            if rows.stop <= 1:
                break
            key_bytes = np.ascontiguousarray(keys[source], np.int64).tobytes()
            blocks.append(
                _shard_weights(key_bytes, self.resampling.resamples, self.resampling.seed + number)
            )
        return np.concatenate(blocks)[rows].astype(np.float64)

    def grouped_weights(self, evidence: Evidence, rows: slice) -> RowWeights:
        """The weights of all samples at once, for some rows of the plan: of many samples through
        random groups of them, so that they are not drawn for each."""
        if self.n <= GROUPS or rows.stop <= 1:
            return self.weights(evidence, rows).astype(np.float32)
        resamples, seed = self.resampling.resamples, self.resampling.seed
        if self.sources[0] == "samples":
            keys = np.asarray(evidence.samples.index)
            return GroupedWeights(group_of(keys, seed), group_weights(resamples, seed)[rows])
        clusters = np.asarray(evidence.samples.clusters)
        if self.n_clusters > GROUPS:
            return GroupedWeights(group_of(clusters, seed), group_weights(resamples, seed)[rows])
        numbers, groups = np.unique(clusters, return_inverse=True)
        draws = np.concatenate(
            [np.ones((1, len(numbers))), poisson_weights(numbers, resamples, seed)]
        )
        return GroupedWeights(groups, draws[rows])

    def __len__(self) -> int:
        return 1 + len(self.sources) * self.resampling.resamples

    def draws(self, null: NullModel) -> int:
        """How often a null is drawn: once if it is large or not random, more often if small."""
        if null.on == "state":
            return self.resampling.shuffles
        if not null.random:
            return 1
        if self.pooled:  # each costs as much as the score itself, and each comes out otherwise
            return min(POOLED_NULL_DRAWS, self.resampling.most_null_draws)
        n_draws = math.ceil(self.resampling.null_pieces / max(self.n, 1))
        return min(n_draws, self.resampling.most_null_draws)

    def rows_of_nulls(self) -> int:
        """Nulls are compared with the value and with the source to quote; no more is needed."""
        return 1 + self.resampling.resamples

    def block(self, source: Source) -> slice:
        """The rows of one source."""
        start = 1 + self.sources.index(source) * self.resampling.resamples
        return slice(start, start + self.resampling.resamples)

    def describe(self) -> dict[str, Any]:
        """What decides the weights."""
        resampling = self.resampling
        return {"sources": self.sources, "resamples": resampling.resamples, "seed": resampling.seed}


@functools.lru_cache(maxsize=4)
def _shard_weights(keys: bytes, resamples: int, seed: int) -> np.ndarray:
    """Weights of one shard: the same for all metrics, options and nulls, so drawn once."""
    numbers = np.frombuffer(keys, np.int64)
    return poisson_weights(numbers, resamples, seed).astype(np.uint8)

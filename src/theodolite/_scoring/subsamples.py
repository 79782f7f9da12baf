"""Draw the subsample on which scores that need all samples at once are computed.

Used by `pooled`; workers draw the rows, this process only sees sample numbers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from theodolite._stats.sampling import hash_integers
from theodolite.evidence.base import Evidence
from theodolite.evidence.plain_arrays import from_sample_arrays, to_sample_arrays
from theodolite.evidence.shards import InMemoryShard, InMemoryShards, Shards, sort_samples
from theodolite.evidence.workers import Arrays, Entry, Work, Workers


@dataclass(frozen=True, eq=False)
class DrawnShard:
    """Samples that a worker drew from some shards and stored."""

    template: Evidence
    entry: Entry

    def evidence(self) -> Evidence:
        return from_sample_arrays(self.template, self.entry.read())


@dataclass(frozen=True, eq=False)
class Subsample:
    """Locations of the drawn samples, shard by shard."""

    first: Evidence
    """One sample, with the names of concepts, classes and units."""
    shards: tuple[Any, ...]
    digest: str
    """Digest of everything that decides the samples and their content."""

    def load(self) -> Evidence:
        """Return all samples in memory, sorted by number."""
        bundles: list[Evidence] = [shard.evidence() for shard in self.shards]
        joined = bundles[0] if len(bundles) == 1 else type(bundles[0]).joined(bundles)
        return sort_samples(joined)


class SubsampleDrawer:
    """Draws subsamples by hashed sample numbers, whatever the division into shards."""

    def __init__(self, remaining: Mapping[int, Sequence[int]], workers: Workers) -> None:
        self._remaining = remaining
        """Indices of the shards that did not fail, by source."""
        self._workers = workers
        self._drawn: dict[tuple[int, int], Subsample] = {}
        self._bundles: dict[tuple[int, int], Evidence] = {}

    def draw(self, shards: Shards, max_samples: int, seed: int) -> Subsample:
        """Return all samples, or ``max_samples`` random ones if there are more."""
        key = (id(shards), max_samples)
        if key not in self._drawn:
            self._drawn[key] = self._draw(shards, max_samples, seed)
        return self._drawn[key]

    def bundle(self, shards: Shards, max_samples: int, seed: int) -> Evidence:
        """Return the samples of `draw` in memory."""
        key = (id(shards), max_samples)
        if key not in self._bundles:
            self._bundles[key] = self.draw(shards, max_samples, seed).load()
        return self._bundles[key]

    def _draw(self, shards: Shards, max_samples: int, seed: int) -> Subsample:
        parts, digests = shards.shards(), shards.digests()
        remaining = list(self._remaining.get(id(shards), range(len(parts))))
        digest = " ".join(digests[n] for n in remaining)
        first = shards.first()
        if len(shards) <= max_samples:
            if isinstance(shards, InMemoryShards) and len(remaining) == len(parts):
                return Subsample(first, (InMemoryShard(shards.whole),), digest)
            return Subsample(first, tuple(parts[n] for n in remaining), digest)
        # as many shards together as give about one shard of drawn samples
        step = -(-len(shards) // max_samples)
        cuts = [remaining[at : at + step] for at in range(0, len(remaining), step)]
        work = Work(
            what="drawing samples",
            do=partial(get_drawn_rows, find_hash_threshold(shards, max_samples, seed), seed),
            items=[[parts[n] for n in cut] for cut in cuts],
            digests=[" ".join(digests[n] for n in cut) for cut in cuts],
            about={"drawing": max_samples, "of": len(shards), "seed": seed},
        )
        entries = [entry for entry in self._workers.entries(work) if entry is not None]
        shards_drawn = tuple(DrawnShard(first, entry) for entry in entries)
        return Subsample(first, shards_drawn, f"{max_samples} by {seed}: {digest}")


def find_hash_threshold(shards: Shards, max_samples: int, seed: int) -> int:
    """Return the largest hash among the ``max_samples`` samples with the smallest hashes."""
    smallest = np.zeros(0, np.uint64)
    for numbers in _iterate_sample_numbers(shards):
        smallest = np.concatenate([smallest, hash_integers(numbers, seed)])
        if len(smallest) > max_samples:
            smallest = np.partition(smallest, max_samples - 1)[:max_samples]
    return int(smallest.max())


def _iterate_sample_numbers(shards: Shards) -> Iterator[np.ndarray]:
    """Yield the numbers of the samples in batches of about a million."""
    batch: list[np.ndarray] = []
    for samples, _ in shards.samples():
        batch.append(np.asarray(samples.index))
        if sum(map(len, batch)) >= 1 << 20:
            yield np.concatenate(batch)
            batch = []
    if batch:
        yield np.concatenate(batch)


def get_drawn_rows(threshold: int, seed: int, shards: Sequence[Any]) -> Arrays:
    """Return the samples of some shards with small hashes; module-level, so workers can load it."""
    parts = []
    for shard in shards:
        evidence = shard.evidence()
        hashes = hash_integers(np.asarray(evidence.samples.index), seed)
        parts.append(evidence[np.flatnonzero(hashes <= np.uint64(threshold))])
    return to_sample_arrays(parts[0] if len(parts) == 1 else type(parts[0]).joined(parts))

"""Split evidence into shards of consecutive samples, in memory or in a store.
All scoring and hashing works shard by shard, so results do not depend on where evidence lies."""

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np

from theodolite._stats.sampling import hash_integers
from theodolite._storage.packed_arrays import digest_arrays
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import NamedAxis, Samples
from theodolite.evidence.base import Bundle, Evidence, flatten_entries
from theodolite.evidence.plain_arrays import replace_arrays
from theodolite.evidence.ragged import starts_by_axis
from theodolite.evidence.read_ahead import read_ahead

SHARD_SAMPLES = 2048
"""Samples per shard. Sums are computed per shard, so this size is fixed."""
MAX_SHARD_ENTRIES = 1 << 22
"""Largest number of ragged values per shard."""


@runtime_checkable
class Shard(Protocol):
    """Some consecutive samples; small to send to a worker."""

    def evidence(self) -> Evidence:
        """Return the samples as evidence."""


@runtime_checkable
class Shards(Protocol):
    """All shards of one bundle, in order."""

    @property
    def kind(self) -> type[Evidence]:
        """Kind of evidence in the shards."""

    def first(self) -> Evidence:
        """Return the first sample with all names and shared arrays."""

    def __len__(self) -> int:
        """Return the number of samples."""

    def shards(self) -> Sequence[Any]:
        """Return all shards in order."""

    def digests(self) -> Sequence[str]:
        """Return a digest of each shard's content."""

    def samples(self) -> Iterator[tuple[Samples, np.ndarray | None]]:
        """Yield the samples of each shard, and their labels if there are any."""


def compute_evidence_digest(evidence: Evidence) -> str:
    """Return a digest of all arrays, names and samples."""
    arrays: dict[str, np.ndarray | None] = dict(list_plain_fields(evidence))
    arrays |= {
        f"in {name}": np.frombuffer(compute_evidence_digest(bundle).encode(), np.uint8)
        for name, bundle in evidence._inner()
    }
    samples = evidence.samples
    for name, numbers in (("index", samples.index), ("clusters", samples.clusters)):
        arrays[f"of {name}"] = None if numbers is None else np.asarray(numbers).astype(np.int64)
    axes = {n: a.header() for n, a in evidence._axes() if isinstance(a, NamedAxis)}
    text = json.dumps([axes, None if samples.ids is None else [str(i) for i in samples.ids]])
    arrays["of names"] = np.frombuffer(text.encode(), np.uint8)
    return digest_arrays({name: np.asarray(a) for name, a in arrays.items() if a is not None})


def list_plain_fields(evidence: Evidence) -> Iterator[tuple[str, np.ndarray]]:
    """Yield all arrays by name; ragged arrays as entries, and row starts by axis."""
    for name, _ in evidence.layouts():
        if evidence.has(name):
            yield name, flatten_entries(getattr(evidence, name))
    fields = [(axes, values) for _, axes, values in evidence.ragged_fields()]
    yield from starts_by_axis(fields).items()


def find_shard_end(evidence: Evidence, first: int, rows: int | None = None) -> int:
    """Return the end of the shard that begins at a row: after ``rows`` rows, or before ragged rows
    exceed the limit. It depends only on these rows, so cuts are equal in memory and in a store.
    """
    end = min(first + (rows or SHARD_SAMPLES), len(evidence))
    for _, axes, values in evidence.ragged_fields():
        levels = [values.starts]
        if values.inner_starts is not None:
            levels.append(values.inner_starts[values.starts])
        width = math.prod(values.flat.shape[1:])
        for starts, n in zip(levels, [1] * (len(axes) - 1) + [width], strict=True):
            limit = starts[first] + MAX_SHARD_ENTRIES // max(n, 1)
            end = min(end, int(np.searchsorted(starts, limit, side="right")) - 1)
    return max(end, first + 1)


def find_shard_starts(evidence: Evidence) -> list[int]:
    """Return where shards of evidence in memory begin, and where the last ends."""
    starts = [0]
    while starts[-1] < len(evidence):
        starts.append(find_shard_end(evidence, starts[-1]))
    return starts if len(starts) > 1 else [0, 0]


def cluster_by_class(evidence: Any) -> Any:
    """Return the evidence with its classes as clusters of samples."""
    for name, bundle in evidence._inner():
        return replace(evidence, **{name: cluster_by_class(bundle)})
    if "labels" not in dict(evidence.layouts()):  # knows no classes: samples are resampled
        return evidence
    labels = evidence.labels
    if labels is None:
        raise EvidenceError("clusters: classes", "evidence without labels", "labels")
    samples = Samples(evidence.samples.index, evidence.samples.ids, np.asarray(labels))
    return replace_arrays(evidence, samples=samples)


@dataclass(frozen=True, eq=False)
class InMemoryShard:
    """Shard of evidence in memory."""

    bundle: Evidence

    def evidence(self) -> Evidence:
        return self.bundle


def find_sample_order(evidence: Evidence) -> np.ndarray | None:
    """Return positions that sort samples by number; None if they are sorted."""
    order = np.argsort(np.asarray(evidence.samples.index), kind="stable")
    return None if (order[1:] > order[:-1]).all() else order


def sort_samples(evidence: Bundle) -> Bundle:
    """Return the evidence with its samples sorted by number."""
    order = find_sample_order(evidence)
    return evidence if order is None else evidence[order]


@dataclass(frozen=True, eq=False)
class InMemoryShards:
    """Evidence in memory. Its samples are taken in the order of their numbers: nothing that is
    summed or drawn depends on the order in which they came."""

    bundle: Evidence

    @cached_property
    def whole(self) -> Evidence:
        """The whole bundle, sorted by sample number."""
        return sort_samples(self.bundle)

    @property
    def kind(self) -> type[Evidence]:
        return type(self.bundle)

    def first(self) -> Evidence:
        return self.whole[:1]

    def __len__(self) -> int:
        return len(self.bundle)

    @cached_property
    def _cut(self) -> list[InMemoryShard]:
        cuts = pairwise(find_shard_starts(self.whole))
        return [InMemoryShard(self.whole[first:last]) for first, last in cuts]

    def shards(self) -> Sequence[InMemoryShard]:
        return self._cut

    @cached_property
    def _digests(self) -> list[str]:  # asked for by every pass
        return [compute_evidence_digest(piece.bundle) for piece in self._cut]

    def digests(self) -> Sequence[str]:
        return self._digests

    def samples(self) -> Iterator[tuple[Samples, np.ndarray | None]]:
        yield self.whole.samples, getattr(self.whole, "labels", None)


@dataclass(frozen=True)
class Clusters:
    """Number and sizes of clusters of dependent samples."""

    n: int
    whole_classes: bool
    """Whether every class lies in a single cluster."""
    effective: float
    """Effective number of clusters: how many of equal size are as informative."""


def count_clusters(shards: Shards) -> Clusters | None:
    """Return statistics of the clusters, read shard by shard; None without clusters."""
    sizes: Counter[int] = Counter()
    pairs: set[tuple[int, int]] = set()
    labeled = True
    for samples, labels in shards.samples():
        if samples.clusters is None:
            return None
        clusters = np.asarray(samples.clusters)
        numbers, counts = np.unique(clusters, return_counts=True)
        sizes.update(dict(zip(numbers.tolist(), counts.tolist(), strict=True)))
        labeled = labeled and labels is not None
        if labels is not None:
            both = np.unique(np.stack([np.asarray(labels), clusters]), axis=1)
            pairs.update((int(label), int(cluster)) for label, cluster in both.T)
    whole = labeled and len(pairs) == len({label for label, _ in pairs})
    rows = np.array(list(sizes.values()), float)
    effective = float(rows.sum() ** 2 / (rows**2).sum()) if len(rows) else 0.0
    return Clusters(len(rows), whole, effective)


def draw_samples(shards: Shards, most: int, seed: int, pieces: Sequence[int] | None = None) -> Any:
    """Return all samples in memory, or ``most`` of them drawn by the seed.

    Of some pieces only, if these are given.

    Which are drawn depends on their numbers alone, so that it is the same wherever they lie.
    """
    if isinstance(shards, InMemoryShards) and len(shards) <= most and pieces is None:
        return shards.whole
    chosen = None
    if len(shards) > most:
        numbers = [np.asarray(samples.index) for samples, _ in shards.samples()]
        luck = np.concatenate([hash_integers(part, seed) for part in numbers])
        chosen = np.partition(luck, most - 1)[most - 1]
    parts = []
    cut = shards.shards()
    some = cut if pieces is None else [cut[n] for n in pieces]
    read_ahead(some)
    for piece in some:
        evidence = piece.evidence()
        if chosen is not None:
            rows = np.flatnonzero(hash_integers(np.asarray(evidence.samples.index), seed) <= chosen)
            evidence = evidence[rows]
        parts.append(evidence)
    return parts[0] if len(parts) == 1 else type(parts[0]).joined(parts)

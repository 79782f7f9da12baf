"""Evidence in pieces that can be had one by one: cut from memory, or far larger than that."""

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
from theodolite._storage.packed import digest_of
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import NamedAxis, Samples
from theodolite.evidence.base import Bundle, Evidence, entries
from theodolite.evidence.columns import with_arrays
from theodolite.evidence.ragged import starts_by_axis
from theodolite.evidence.read_ahead import read_ahead

SHARD = 2048
"""Samples of a piece. Sums are made piece by piece, so it is the same wherever evidence lies."""
MOST_ENTRIES = 1 << 22
"""Values of a piece, of rows of unequal length: 2,048 long sequences would be a gigabyte."""


@runtime_checkable
class Piece(Protocol):
    """Some samples in a row: small to send, whatever it stands for."""

    def evidence(self) -> Evidence:
        """The samples."""


@runtime_checkable
class Shards(Protocol):
    """All pieces of one bundle, in order."""

    @property
    def kind(self) -> type[Evidence]:
        """The kind of evidence."""

    def first(self) -> Evidence:
        """The first sample, with all names and all that is the same for every sample."""

    def __len__(self) -> int:
        """How many samples."""

    def pieces(self) -> Sequence[Any]:
        """The pieces."""

    def digests(self) -> Sequence[str]:
        """A digest of each piece's content."""

    def samples(self) -> Iterator[tuple[Samples, np.ndarray | None]]:
        """Piece by piece which samples are there, and their labels where they have any."""


def evidence_digest(evidence: Evidence) -> str:
    """A digest of all arrays and names, and of which samples they are about."""
    arrays: dict[str, np.ndarray | None] = dict(plain_fields(evidence))
    arrays |= {
        f"in {name}": np.frombuffer(evidence_digest(bundle).encode(), np.uint8)
        for name, bundle in evidence._inner()
    }
    samples = evidence.samples
    for name, numbers in (("index", samples.index), ("clusters", samples.clusters)):
        arrays[f"of {name}"] = None if numbers is None else np.asarray(numbers).astype(np.int64)
    axes = {n: a.header() for n, a in evidence._axes() if isinstance(a, NamedAxis)}
    text = json.dumps([axes, None if samples.ids is None else [str(i) for i in samples.ids]])
    arrays["of names"] = np.frombuffer(text.encode(), np.uint8)
    return digest_of({name: np.asarray(a) for name, a in arrays.items() if a is not None})


def plain_fields(evidence: Evidence) -> Iterator[tuple[str, np.ndarray]]:
    """All arrays by name; of rows of unequal length the entries, and where rows start by axis."""
    for name, _ in evidence.layouts():
        if evidence.has(name):
            yield name, entries(getattr(evidence, name))
    fields = [(axes, values) for _, axes, values in evidence.ragged_fields()]
    yield from starts_by_axis(fields).items()


def piece_end(evidence: Evidence, first: int, rows: int | None = None) -> int:
    """Where a piece that begins at a row ends: after so many rows, or before rows of unequal
    length have more entries than fit. Known from the rows of the piece and the next alone, so the
    cut is the same in memory and in a store, however the rows came."""
    end = min(first + (rows or SHARD), len(evidence))
    for _, axes, values in evidence.ragged_fields():
        levels = [values.starts]
        if values.inner_starts is not None:
            levels.append(values.inner_starts[values.starts])
        width = math.prod(values.flat.shape[1:])
        for starts, n in zip(levels, [1] * (len(axes) - 1) + [width], strict=True):
            limit = starts[first] + MOST_ENTRIES // max(n, 1)
            end = min(end, int(np.searchsorted(starts, limit, side="right")) - 1)
    return max(end, first + 1)


def piece_starts(evidence: Evidence) -> list[int]:
    """Where the pieces of evidence in memory begin, and where the last ends."""
    starts = [0]
    while starts[-1] < len(evidence):
        starts.append(piece_end(evidence, starts[-1]))
    return starts if len(starts) > 1 else [0, 0]


def by_class(evidence: Any) -> Any:
    """The evidence with its classes as clusters of samples."""
    for name, bundle in evidence._inner():
        return replace(evidence, **{name: by_class(bundle)})
    if "labels" not in dict(evidence.layouts()):  # knows no classes: samples are resampled
        return evidence
    labels = evidence.labels
    if labels is None:
        raise EvidenceError("clusters: classes", "evidence without labels", "labels")
    samples = Samples(evidence.samples.index, evidence.samples.ids, np.asarray(labels))
    return with_arrays(evidence, samples=samples)


@dataclass(frozen=True, eq=False)
class InMemoryPiece:
    """Some samples of evidence in memory."""

    bundle: Evidence

    def evidence(self) -> Evidence:
        return self.bundle


def order_of(evidence: Evidence) -> np.ndarray | None:
    """How to bring samples into the order of their numbers; ``None`` if they are."""
    order = np.argsort(np.asarray(evidence.samples.index), kind="stable")
    return None if (order[1:] > order[:-1]).all() else order


def in_order(evidence: Bundle) -> Bundle:
    """The evidence with its samples in the order of their numbers."""
    order = order_of(evidence)
    return evidence if order is None else evidence[order]


@dataclass(frozen=True, eq=False)
class InMemoryShards:
    """Evidence in memory. Its samples are taken in the order of their numbers: nothing that is
    summed or drawn depends on the order in which they came."""

    bundle: Evidence

    @cached_property
    def whole(self) -> Evidence:
        """All of it, in order."""
        return in_order(self.bundle)

    @property
    def kind(self) -> type[Evidence]:
        return type(self.bundle)

    def first(self) -> Evidence:
        return self.whole[:1]

    def __len__(self) -> int:
        return len(self.bundle)

    @cached_property
    def _cut(self) -> list[InMemoryPiece]:
        cuts = pairwise(piece_starts(self.whole))
        return [InMemoryPiece(self.whole[first:last]) for first, last in cuts]

    def pieces(self) -> Sequence[InMemoryPiece]:
        return self._cut

    @cached_property
    def _digests(self) -> list[str]:  # asked for by every pass
        return [evidence_digest(piece.bundle) for piece in self._cut]

    def digests(self) -> Sequence[str]:
        return self._digests

    def samples(self) -> Iterator[tuple[Samples, np.ndarray | None]]:
        yield self.whole.samples, getattr(self.whole, "labels", None)


@dataclass(frozen=True)
class Clusters:
    """Samples that belong together."""

    n: int
    whole_classes: bool
    """Whether no class lies in two clusters."""
    effective: float
    """How many clusters of equal size would tell as much: the largest count most."""


def clusters_of(shards: Shards) -> Clusters | None:
    """How many clusters there are, seen piece by piece; nothing if samples stand alone."""
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


def some_samples(shards: Shards, most: int, seed: int, pieces: Sequence[int] | None = None) -> Any:
    """All samples in memory; if there are more than ``most``, so many drawn by the seed.

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
    cut = shards.pieces()
    some = cut if pieces is None else [cut[n] for n in pieces]
    read_ahead(some)
    for piece in some:
        evidence = piece.evidence()
        if chosen is not None:
            rows = np.flatnonzero(hash_integers(np.asarray(evidence.samples.index), seed) <= chosen)
            evidence = evidence[rows]
        parts.append(evidence)
    return parts[0] if len(parts) == 1 else type(parts[0]).joined(parts)

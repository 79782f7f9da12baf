"""The samples that scores are computed from which need all at once: drawn by whoever works."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from theodolite._stats.sampling import hash_integers
from theodolite.evidence.base import Evidence
from theodolite.evidence.columns import sample_arrays, with_samples
from theodolite.evidence.shards import InMemoryPiece, InMemoryShards, Shards, in_order
from theodolite.evidence.workers import Arrays, Entry, Work, Workers


@dataclass(frozen=True, eq=False)
class DrawnPiece:
    """Samples that were drawn from some pieces, where a worker has left them."""

    template: Evidence
    entry: Entry

    def evidence(self) -> Evidence:
        return with_samples(self.template, self.entry.read())


@dataclass(frozen=True, eq=False)
class Subsample:
    """Where the samples lie, piece by piece."""

    first: Evidence
    """One of the samples, with all names."""
    pieces: tuple[Any, ...]
    digest: str
    """Of all that decides which they are, and what is in them."""

    def whole(self) -> Evidence:
        """All of them here, in the order of their numbers."""
        bundles: list[Evidence] = [piece.evidence() for piece in self.pieces]
        joined = bundles[0] if len(bundles) == 1 else type(bundles[0]).joined(bundles)
        return in_order(joined)


class Drawing:
    """Draws as many samples as there may be at once, by their numbers alone: they are the same
    wherever they lie. The driver knows numbers, never rows."""

    def __init__(self, left: Mapping[int, Sequence[int]], workers: Workers) -> None:
        self._left = left
        """Of some sources, the pieces that did not fail."""
        self._workers = workers
        self._drawn: dict[tuple[int, int], Subsample] = {}
        self._bundles: dict[tuple[int, int], Evidence] = {}

    def __call__(self, shards: Shards, most: int, seed: int) -> Subsample:
        """All samples; if there are more than ``most``, so many drawn by the seed."""
        key = (id(shards), most)
        if key not in self._drawn:
            self._drawn[key] = self._draw(shards, most, seed)
        return self._drawn[key]

    def bundle(self, shards: Shards, most: int, seed: int) -> Evidence:
        """The same samples, here."""
        key = (id(shards), most)
        if key not in self._bundles:
            self._bundles[key] = self(shards, most, seed).whole()
        return self._bundles[key]

    def _draw(self, shards: Shards, most: int, seed: int) -> Subsample:
        pieces, digests = shards.pieces(), shards.digests()
        left = list(self._left.get(id(shards), range(len(pieces))))
        digest = " ".join(digests[n] for n in left)
        first = shards.first()
        if len(shards) <= most:
            if isinstance(shards, InMemoryShards) and len(left) == len(pieces):
                return Subsample(first, (InMemoryPiece(shards.whole),), digest)
            return Subsample(first, tuple(pieces[n] for n in left), digest)
        # as many pieces together as give about a piece of drawn samples
        step = -(-len(shards) // most)
        cuts = [left[at : at + step] for at in range(0, len(left), step)]
        work = Work(
            what="drawing samples",
            do=partial(get_drawn_rows, find_hash_threshold(shards, most, seed), seed),
            items=[[pieces[n] for n in cut] for cut in cuts],
            digests=[" ".join(digests[n] for n in cut) for cut in cuts],
            about={"drawing": most, "of": len(shards), "seed": seed},
        )
        entries = [entry for entry in self._workers.entries(work) if entry is not None]
        parts = tuple(DrawnPiece(first, entry) for entry in entries)
        return Subsample(first, parts, f"{most} by {seed}: {digest}")


def find_hash_threshold(shards: Shards, most: int, seed: int) -> int:
    """A sample is drawn whose threshold is at most this; so many are."""
    least = np.zeros(0, np.uint64)
    for numbers in _iterate_sample_numbers(shards):
        least = np.concatenate([least, hash_integers(numbers, seed)])
        if len(least) > most:
            least = np.partition(least, most - 1)[:most]
    return int(least.max())


def _iterate_sample_numbers(shards: Shards) -> Iterator[np.ndarray]:
    """Numbers of the samples, some at a time."""
    some: list[np.ndarray] = []
    for samples, _ in shards.samples():
        some.append(np.asarray(samples.index))
        if sum(map(len, some)) >= 1 << 20:
            yield np.concatenate(some)
            some = []
    if some:
        yield np.concatenate(some)


def get_drawn_rows(threshold: int, seed: int, pieces: Sequence[Any]) -> Arrays:
    """The samples of some pieces that are drawn; a function of a module, to be sent to workers."""
    parts = []
    for piece in pieces:
        evidence = piece.evidence()
        hashes = hash_integers(np.asarray(evidence.samples.index), seed)
        parts.append(evidence[np.flatnonzero(hashes <= np.uint64(threshold))])
    return sample_arrays(parts[0] if len(parts) == 1 else type(parts[0]).joined(parts))

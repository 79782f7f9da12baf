"""Shards in memory, and workers that do the pieces elsewhere, in other blocks, or fail."""

import json
from collections.abc import Collection, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import numpy as np

from theodolite.dissection.shards import digest_of
from theodolite.evidence.workers import Arrays, Merge, SerialWorkers, Work


@dataclass(frozen=True, eq=False)
class InMemory:
    """Arrays as a source of shards."""

    maps: np.ndarray
    labels: np.ndarray
    concepts: tuple[str, ...]
    shard_rows: int
    categories: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.categories:
            object.__setattr__(self, "categories", ("object",) * len(self.concepts))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.maps.shape

    @property
    def grid(self) -> tuple[int, int]:
        return (self.labels.shape[2], self.labels.shape[3])

    def shard(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        rows = slice(number * self.shard_rows, (number + 1) * self.shard_rows)
        return self.maps[rows].astype(np.float32), self.labels[rows]

    def digest(self, number: int) -> str:
        return digest_of(*self.shard(number))


def piece(work: Work, numbers: list[int]) -> list[Arrays]:
    """Some items of a work, in another process."""
    tools = () if work.tool is None else (work.tool(),)
    return [work.do(work.items[number], *tools) for number in numbers]


class Elsewhere(SerialWorkers):
    """Pieces in other processes, several at a time and sent in other groups; joined in order."""

    def __init__(self, pool: ProcessPoolExecutor, block: int) -> None:
        self._pool, self._block = pool, block

    def each(self, work: Work) -> Iterator[Arrays | None]:
        numbers = list(range(len(work.items)))
        cut = [numbers[at : at + self._block] for at in range(0, len(numbers), self._block)]
        tasks = [self._pool.submit(piece, work, some) for some in cut]
        for task in tasks:
            yield from task.result()


def spawned() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(2, mp_context=get_context("spawn"))


class LeftToRight(SerialWorkers):
    """Merges one after the other instead of in pairs: sums must not depend on that."""

    def reduced(self, work: Work, merge: Merge) -> Arrays | None:
        whole: Any = None
        for given in self.each(work):
            whole = given if whole is None else merge(whole, given)
        return whole  # type: ignore[no-any-return]


class Remembering(SerialWorkers):
    """Never does again what it knows, as a store of finished pieces does."""

    def __init__(self) -> None:
        self._known: dict[str, Arrays] = {}

    def each(self, work: Work) -> Iterator[Arrays | None]:
        for number, digest in enumerate(work.digests):
            key = json.dumps([work.about, digest], sort_keys=True)
            if key not in self._known:
                (self._known[key],) = piece(work, [number])
            yield self._known[key]


class Failing(SerialWorkers):
    """Some pieces fail for good: (what, name)."""

    def __init__(self, fail: Collection[tuple[str, str]]) -> None:
        self._fail = fail

    def each(self, work: Work) -> Iterator[Arrays | None]:
        for number, given in enumerate(super().each(work)):
            yield None if (work.what, work.name(number)) in self._fail else given

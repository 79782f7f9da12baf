"""Work cut into pieces, done by a pool of processes, and kept in a ledger."""

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from theodolite.engine.ledger import Ledger, LedgerEntry, code_version, key_of
from theodolite.engine.pieces import TRIES, Done, FailedPiece, Pool, Task
from theodolite.engine.watch import Watch
from theodolite.errors import VerificationFailed
from theodolite.evidence.produced import Progress, silent
from theodolite.evidence.workers import Arrays, Entry, Merge, Tree, Work
from theodolite.io.packed import digest_of

LONG_ENOUGH = 1.0
"""Seconds that a task should take at least: sending it costs about a thousandth of that."""
MOST_PIECES = 64


@dataclass(frozen=True)
class _Block:
    """Pieces in a row; a power of two of them, so that merging them is a part of the one tree."""

    first: int
    count: int
    crashes: int = 0
    """How often a process died over it."""

    def rows(self) -> range:
        return range(self.first, self.first + self.count)


@runtime_checkable
class Infers(Protocol):
    """A pool that can run networks in a way of its own."""

    uses_ray_data: bool

    def infer(
        self, task: Task, items: Sequence[tuple[Any, str, str]]
    ) -> Iterator[tuple[int, Done]]:
        """Do pieces (item, key, name), in any order; their numbers, and what came of them."""


class WorkerPool:
    """Does work on a pool. The bytes of what it gives depend neither on the pool nor on luck:
    pieces are merged in one fixed tree, however they were cut into tasks and in whatever order
    these ended."""

    def __init__(
        self,
        pool: Pool,
        ledger: Ledger,
        progress: Progress = silent,
        *,
        code: str = "",
        check: "LedgerCheck | None" = None,
        watch: Watch | None = None,
    ) -> None:
        self.pool, self.ledger, self.progress = pool, ledger, progress
        self.watch = watch or Watch(pool.size)
        self.notes: list[str] = []
        """What a reader must know of how it was done."""
        self.code = code or code_version()
        self.check = check
        self.given_up: frozenset[str] = frozenset()
        """Pieces that are known to fail, and are not tried again."""
        self._missing: frozenset[int] = frozenset()
        self._busy = False
        self.failed: list[FailedPiece] = []
        self.computed = 0
        self.keys: set[str] = set()
        """All pieces of this run."""

    def each(self, work: Work) -> Iterator[Arrays | None]:
        if work.network and isinstance(self.pool, Infers) and self.pool.uses_ray_data:
            done_there = self._infer(work, self.pool)
            if not work.kept:
                yield from ({} if n in done_there else None for n in range(len(work.items)))
                return
        for _, done in self._done(work, None):  # what was kept is read, what is left is done
            yield from done.parts

    def _infer(self, work: Work, pool: "Infers") -> set[int]:
        """By actors that hold the network; the numbers of the pieces that they did."""
        keys = self.keys_of(work)
        there = self.ledger.done() if work.kept else set()
        todo = [n for n, key in enumerate(keys) if key not in there]
        items = [(work.items[n], keys[n], work.name(n)) for n in todo]
        task = self._task(work, None, keys, _Block(0, 0))
        pieces: set[int] = set()
        self.watch.begin(work.what, len(todo))
        for number, done in pool.infer(task, items) if items else ():
            self.computed += done.computed
            self.watch.add(1, done)
            if not done.failed:
                pieces.add(todo[number])
            elif not work.kept:
                self.failed += done.failed
            self.progress(work.what, len(keys) - len(todo) + len(pieces), len(keys))
        return pieces

    def missing(self) -> frozenset[int]:
        return self._missing

    @property
    def n_failed(self) -> int:
        """Pieces that were given up, in however many works."""
        return len({failed.piece for failed in self.failed})

    def once(self, description: Mapping[str, Any], digest: str, do: Callable[[], Arrays]) -> Arrays:
        key = key_of(description, digest, self.code)
        self.keys.add(key)
        arrays: Arrays | None = self.ledger.read(key)
        if arrays is None and self.check is not None:
            raise VerificationFailed("piece", "no such piece in the ledger", "all that the run did")
        if arrays is None:
            arrays = do()
            self.computed += 1
            self.ledger.write(key, arrays)
        elif (
            self.check is not None
            and self.check.share == 1
            and digest_of(do()) != digest_of(arrays)
        ):
            raise VerificationFailed(
                str(description), "other numbers when computed again", "the same"
            )
        return arrays

    def keys_of(self, work: Work) -> list[str]:
        """The names of its pieces."""
        keys = [key_of(work.about, digest, self.code) for digest in work.digests]
        if work.kept:
            self.keys.update(keys)
        return keys

    def entries(self, work: Work) -> list[Entry | None]:
        done = self._done(work, None, stays=True)
        parts = [part for _, outcome in done for part in outcome.parts]
        return [
            None if part is None else LedgerEntry(self.ledger, key)
            for part, key in zip(parts, self.keys_of(work), strict=True)
        ]

    def reduced(self, work: Work, merge: Merge) -> Arrays | None:
        tree = Tree(merge)
        for block, done in self._done(work, merge):
            tree.add(done.parts[0], block.count)
        arrays: Arrays | None = tree.whole()
        return arrays

    def _done(
        self, work: Work, merge: Merge | None, *, stays: bool = False
    ) -> Iterator[tuple[_Block, Done]]:
        """Blocks in order, with what came of them."""
        if self._busy:
            message = "one work at a time: the results of the last were not all taken"
            raise RuntimeError(message)
        self._busy = True
        try:
            yield from self._in_order(work, merge, stays=stays)
        finally:
            self._busy = False
            self.pool.drop()

    def _in_order(
        self, work: Work, merge: Merge | None, *, stays: bool
    ) -> Iterator[tuple[_Block, Done]]:
        keys = self.keys_of(work)
        missing: set[int] = set()
        self._missing = frozenset()
        recheck = None if self.check is None else self.check.sample(keys)
        queue = _Queue(len(work.items), self.pool.size)
        running: dict[Any, _Block] = {}
        ended: dict[int, tuple[_Block, Done]] = {}
        due = finished = 0
        self.progress(work.what, 0, len(keys))
        self.watch.begin(work.what, len(keys))
        while due < len(keys):
            while len(running) < self.pool.size + 1:
                # not far ahead of a slow piece; but what is begun again is what is waited for
                if running and not queue.begins_again and len(ended) > 2 * self.pool.size:
                    break
                block = queue.next()
                if block is None:
                    break
                task = replace(self._task(work, merge, keys, block), recheck=recheck, stays=stays)
                running[self.pool.submit(task)] = block
            handle, outcome = self.pool.wait()
            block = running.pop(handle)
            if outcome is None:
                if block.count > 1 or block.crashes + 1 < TRIES:
                    queue.again(block)
                    self.watch.count("retried", block.count)
                    continue
                outcome = Done([None], [_died(work.name(block.first), keys[block.first])])
            self.failed += outcome.failed
            self.computed += outcome.computed
            queue.learn(block, outcome)
            finished += block.count
            self.watch.add(block.count, outcome)
            self.progress(work.what, finished, len(keys))
            given_up = {failed.key for failed in outcome.failed}
            missing.update(n for n in block.rows() if keys[n] in given_up | self.given_up)
            self._missing = frozenset(missing)
            ended[block.first] = (block, outcome)
            while due in ended:
                yield ended[due]
                due += ended.pop(due)[0].count

    def tried(self, work: Work, numbers: Sequence[int]) -> list[Done]:
        """A few pieces at once, each computed twice and timed the second time."""
        keys = self.keys_of(work)
        tasks = [self._task(work, None, keys, _Block(n, 1)) for n in numbers]
        handles = [self.pool.submit(replace(task, rehearsed=True)) for task in tasks]
        try:
            ended = dict(self.pool.wait() for _ in handles)
        finally:
            self.pool.drop()
        return [ended[handle] or Done([None]) for handle in handles]

    def _task(self, work: Work, merge: Merge | None, keys: list[str], block: _Block) -> Task:
        rows = block.rows()
        return Task(
            do=work.do,
            items=[work.items[n] for n in rows],
            keys=[keys[n] for n in rows],
            names=[work.name(n) for n in rows],
            ledger=self.ledger if work.kept else None,
            merge=merge,
            tool=work.tool,
            tool_key="" if work.tool is None else key_of(work.about, "tool", ""),
            network=work.network,
            given_up=self.given_up,
        )


@dataclass(frozen=True)
class LedgerCheck:
    """Pieces in the ledger are computed again, a share of them, and must come out the same."""

    share: float

    def sample(self, keys: Sequence[str]) -> frozenset[str]:
        """Which, drawn anew each time: at least one of every work."""
        n = max(round(self.share * len(keys)), 1)
        return frozenset(np.random.default_rng().choice(keys, n, replace=False).tolist())


class _Queue:
    """Which pieces to do next, and how many at a time."""

    def __init__(self, n: int, workers: int) -> None:
        self._n, self._at, self._size = n, 0, 1
        self._most = _power(min(MOST_PIECES, max(n // (4 * workers), 1)))
        self._again: deque[_Block] = deque()

    def next(self) -> _Block | None:
        if self._again:
            return self._again.popleft()
        if self._at == self._n:
            return None
        aligned = self._at & -self._at or self._most
        block = _Block(self._at, _power(min(self._size, aligned, self._n - self._at)))
        self._at += block.count
        return block

    def again(self, block: _Block) -> None:
        """A process died: piece by piece, so that the one to blame is found."""
        self._again.extend(_Block(row, 1, block.crashes + 1) for row in block.rows())

    @property
    def begins_again(self) -> bool:
        """Whether pieces wait whose process died."""
        return bool(self._again)

    def learn(self, block: _Block, done: Done) -> None:
        """Longer tasks where pieces are quick."""
        if done.computed == block.count and done.seconds > 0:
            count = math.ceil(LONG_ENOUGH * block.count / done.seconds)
            self._size = min(_power(count, up=True), self._most)


def _power(n: int, *, up: bool = False) -> int:
    """The nearest power of two below, or above."""
    return 1 << ((n - 1).bit_length() if up else n.bit_length() - 1)


def _died(name: str, key: str) -> FailedPiece:
    return FailedPiece(name, key, "ProcessDied", "its process died, as by a lack of memory", "")

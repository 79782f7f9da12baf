"""Work cut into pieces, done by a pool of processes, and kept in a ledger."""

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from theodolite._runs.engine.identity import (
    ARITHMETIC,
    Identity,
    MismatchedNode,
    arithmetic,
    check_files,
    code_version,
    foreign_modules,
    identity,
    modules_code,
    packages_in_use,
)
from theodolite._runs.engine.ledger import (
    Ledger,
    LedgerEntry,
    PieceName,
    SealedEntry,
    canonical,
    key_of,
)
from theodolite._runs.engine.pieces import TRIES, Done, FailedPiece, Pool, Task, check_again
from theodolite._runs.engine.watch import Watch
from theodolite.errors import VerificationError
from theodolite.evidence.pipeline_output import Progress, silent
from theodolite.evidence.workers import Arrays, Entry, Merge, Tree, Work

LONG_ENOUGH = 1.0
"""Seconds that a task should take at least: sending it costs about a thousandth of that."""
MOST_PIECES = 64
MOST_LOSSES = 20
"""So often a piece may be lost with its machine before that counts as a failure of the piece."""


@dataclass(frozen=True)
class _Block:
    """Pieces in a row; a power of two of them, so that merging them is a part of the one tree."""

    first: int
    count: int
    crashes: int = 0
    """How often a process died over it."""
    losses: int = 0
    """How often it was lost with its machine."""

    def rows(self) -> range:
        return range(self.first, self.first + self.count)


@runtime_checkable
class Infers(Protocol):
    """A pool that can run networks in a way of its own."""

    uses_ray_data: bool

    def infer(
        self, task: Task, items: Sequence[tuple[Any, PieceName, str]]
    ) -> Iterator[tuple[int, Done]]:
        """Do pieces (item, piece, name), in any order; their numbers, and what came of them."""


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
        code: Any = None,
        check: "LedgerCheck | None" = None,
        watch: Watch | None = None,
    ) -> None:
        """With ``code`` pieces are named as by other code, which made those that are checked."""
        self.pool, self.ledger, self.progress = pool, ledger, progress
        self.watch = watch or Watch(pool.size)
        self.notes: list[str] = []
        """What a reader must know of how it was done."""
        self.code, self.check = code, check
        self.mixed_cpus = False
        """Whether machines may differ in last digits."""
        self.given_up: frozenset[str] = frozenset()
        """Pieces that are known to fail, and are not tried again."""
        self._missing: frozenset[int] = frozenset()
        self._mismatched: set[str] = set()
        self._busy = False
        self.failed: list[FailedPiece] = []
        self.computed = 0
        self.keys: set[str] = set()
        """All pieces of this run."""
        self.used: dict[str, SealedEntry] = {}
        """What the ledger has of them, by key."""
        self.instead = ""
        """Why the pool is another than the one that was chosen."""
        self.nearly = 0
        """Pieces that came out the same but for last digits when they were checked."""

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
        names = self._names(work)
        there = self.ledger.done() if work.kept else set()
        todo = [n for n, name in enumerate(names) if name.key not in there]
        items = [(work.items[n], names[n], work.name(n)) for n in todo]
        task = self._task(work, None, names, _Block(0, 0))
        pieces: set[int] = set()
        self.watch.begin(work.what, len(todo))
        for number, done in pool.infer(task, items) if items else ():
            self.computed += done.computed
            self.used.update((entry.key, entry) for entry in done.entries)
            self.watch.add(1, done)
            if not done.failed:
                pieces.add(todo[number])
            elif not work.kept:
                self.failed += done.failed
            self.progress(work.what, len(names) - len(todo) + len(pieces), len(names))
        return pieces

    def missing(self) -> frozenset[int]:
        return self._missing

    @property
    def n_failed(self) -> int:
        """Pieces that were given up, in however many works."""
        return len({failed.piece for failed in self.failed})

    def once(self, description: Mapping[str, Any], digest: str, do: Callable[[], Arrays]) -> Arrays:
        name = self.name_of(description, digest, do)
        self.keys.add(name.key)
        known = self.ledger.read(name.key)
        if known is None and self.check is not None:
            raise VerificationError("piece", "no such piece in the ledger", "all that the run did")
        if known is None:
            arrays = do()
            self.computed += 1
            known = (dict(arrays), self.ledger.write(name, arrays, arithmetic()))
        elif self.check is not None and self.check.share == 1:
            self.nearly += check_again(known, do(), str(description))
        self.used[name.key] = known[1]
        return known[0]

    def name_of(
        self, description: Mapping[str, Any], digest: str, do: Callable[[], Arrays]
    ) -> PieceName:
        """The name of work that cannot be cut."""
        return PieceName.of(canonical(description), digest, self._code(foreign_modules(do)))

    def _code(self, modules: Sequence[str], *, network: bool = False) -> str:
        """What of the code goes into the names of pieces."""
        code = self.code
        if code is None:
            packages = dict(packages_in_use(network=network))
            code = {"theodolite": code_version(), "packages": packages}
        if isinstance(code, dict) and modules:
            code = code | {"modules": dict(modules_code(modules))}
        return canonical(code)

    def keys_of(self, work: Work) -> list[str]:
        """The keys of its pieces."""
        return [name.key for name in self._names(work)]

    def _names(self, work: Work) -> list[PieceName]:
        description = canonical(work.about)
        code = self._code(foreign_modules(work.do, work.tool), network=work.network)
        names = [PieceName.of(description, digest, code) for digest in work.digests]
        if work.kept:
            self.keys.update(name.key for name in names)
        return names

    def _identity(self, modules: Sequence[str], *, network: bool) -> Identity:
        own = identity(modules, network=network)
        return own.without(ARITHMETIC) if self.mixed_cpus else own

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
        names = self._names(work)
        missing: set[int] = set()
        self._missing = frozenset()
        keys = [name.key for name in names]
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
                task = self._task(work, merge, names, block)
                task = replace(task, recheck=recheck, stays=stays)
                running[self.pool.submit(task)] = block
            handle, outcome = self.pool.wait()
            block = running.pop(handle)
            if outcome is None or outcome.lost or outcome.mismatch:
                if self._again(queue, block, outcome):
                    continue
                outcome = Done([None], [_died(work.name(block.first), keys[block.first])])
            self._count(outcome)
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

    def _again(self, queue: "_Queue", block: _Block, outcome: Done | None) -> bool:
        """Put a block back that nothing came of; not if it was its own fault too often."""
        if outcome is not None and outcome.mismatch is not None:
            self._turn_away(outcome.mismatch)
            queue.put_back(block)  # nothing was tried
            return True
        lost = "" if outcome is None else outcome.lost
        if lost == "node" and block.losses < MOST_LOSSES:
            self.watch.count("retried", block.count)
            queue.put_back(replace(block, losses=block.losses + 1))
            return True
        if block.count == 1 and block.crashes + 1 >= TRIES:
            return False
        self.watch.count("retried", block.count)
        queue.again(block, halves=lost == "memory")
        return True

    def _turn_away(self, mismatch: MismatchedNode) -> None:
        """Give that node nothing more; however many tasks it sends back, it counts once."""
        who = mismatch.place or mismatch.node
        self.watch.count("strangers", int(who not in self._mismatched))
        self._mismatched.add(who)
        self.pool.avoid(mismatch)

    def _count(self, done: Done) -> None:
        self.failed += done.failed
        self.computed += done.computed
        self.nearly += done.nearly
        self.used.update((entry.key, entry) for entry in done.entries)

    def tried(self, work: Work, numbers: Sequence[int]) -> list[Done]:
        """A few pieces at once, each computed twice and timed the second time."""
        names = self._names(work)
        tasks = [self._task(work, None, names, _Block(n, 1)) for n in numbers]
        handles = [self.pool.submit(replace(task, rehearsed=True)) for task in tasks]
        try:
            ended = dict(self.pool.wait() for _ in handles)
        finally:
            self.pool.drop()
        for done in ended.values():
            if done is not None and done.mismatch is not None:
                self._turn_away(done.mismatch)
        outcomes = [ended[handle] for handle in handles]
        return [done if done is not None and done.parts else Done([None]) for done in outcomes]

    def _task(
        self, work: Work, merge: Merge | None, names: Sequence[PieceName], block: _Block
    ) -> Task:
        rows = block.rows()
        modules = foreign_modules(work.do, work.tool, merge)
        if self.pool.elsewhere:
            check_files(modules)
        return Task(
            do=work.do,
            items=[work.items[n] for n in rows],
            pieces=[names[n] for n in rows],
            names=[work.name(n) for n in rows],
            ledger=self.ledger if work.kept else None,
            identity=self._identity(modules, network=work.network),
            modules=modules,
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

    def again(self, block: _Block, *, halves: bool = False) -> None:
        """A process died: piece by piece, so that the one to blame is found; or in halves, which
        need less memory."""
        count = block.count // 2 if halves and block.count > 1 else 1
        self._again.extend(
            _Block(row, count, block.crashes + 1, block.losses) for row in block.rows()[::count]
        )

    def put_back(self, block: _Block) -> None:
        """It was not begun, or lost by no fault of its own."""
        self._again.append(block)

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

"""Do work piece by piece in a pool of processes, and keep each piece as a checkpoint."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from theodolite._runs.engine.block_queue import BlockQueue, PieceBlock
from theodolite._runs.engine.checkpoints import (
    CheckpointName,
    CheckpointRecord,
    CheckpointStore,
    StoredCheckpoint,
    compute_key,
    to_canonical_json,
)
from theodolite._runs.engine.process_identity import (
    ARITHMETIC,
    Identity,
    MismatchedNode,
    check_importable,
    digest_arithmetic,
    digest_modules,
    get_code_version,
    get_identity,
    list_packages,
    list_plugin_modules,
)
from theodolite._runs.engine.run_progress import RunProgress
from theodolite._runs.engine.tasks import (
    AGAIN,
    MAX_TRIES,
    FailedTask,
    Task,
    TaskOutcome,
    TaskPool,
    check_recomputed,
)
from theodolite.errors import EvidenceError, VerificationError
from theodolite.evidence.pipeline_output import Progress, silent
from theodolite.evidence.workers import Arrays, Entry, Merge, Tree, Work

MAX_LOSSES = 20
"""So often a piece may be lost with its machine before the run stops."""


@runtime_checkable
class InferencePool(Protocol):
    """A pool that can run networks in a way of its own."""

    uses_ray_data: bool

    def infer(
        self, task: Task, items: Sequence[tuple[Any, CheckpointName, str]]
    ) -> Iterator[tuple[int, TaskOutcome]]:
        """Do pieces (item, piece, name), in any order; their numbers, and what came of them."""


@runtime_checkable
class GrowingPool(Protocol):
    """A pool that can be given more processes while it works."""

    def request(self, tasks: int) -> None:
        """Ask for as many processes as tasks can use at once."""


class WorkerPool:
    """Does work on a pool. The bytes of its results depend neither on the pool nor on chance:
    pieces are merged in one fixed tree, however they were cut into tasks and in whatever order
    these ended."""

    def __init__(
        self,
        pool: TaskPool,
        checkpoints: CheckpointStore,
        progress: Progress = silent,
        *,
        code: Any = None,
        check: "CheckpointCheck | None" = None,
        watch: RunProgress | None = None,
    ) -> None:
        """With ``code`` pieces are named as by other code, which made those that are checked."""
        self.pool, self.checkpoints, self.progress = pool, checkpoints, progress
        self.watch = watch or RunProgress(pool.size)
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
        self.failed: list[FailedTask] = []
        self.computed = 0
        self.keys: set[str] = set()
        """All pieces of this run."""
        self.used: dict[str, CheckpointRecord] = {}
        """What the checkpoint store has of them, by key."""
        self.instead = ""
        """Why the pool is another than the one that was chosen."""
        self.nearly = 0
        """Pieces that came out the same but for last digits when they were checked."""

    def each(self, work: Work) -> Iterator[Arrays | None]:
        if work.network and isinstance(self.pool, InferencePool) and self.pool.uses_ray_data:
            done_there = self._infer(work, self.pool)
            if not work.kept:
                yield from ({} if n in done_there else None for n in range(len(work.items)))
                return
        for _, done in self._done(work, None):  # what was kept is read, what is left is done
            yield from done.parts

    def _infer(self, work: Work, pool: "InferencePool") -> set[int]:
        """By actors that hold the network; the numbers of the pieces that they did."""
        names = self._names(work)
        there = self.checkpoints.done() if work.kept else set()
        todo = [n for n, name in enumerate(names) if name.key not in there]
        items = [(work.items[n], names[n], work.name(n)) for n in todo]
        task = self._task(work, None, names, PieceBlock(0, 0))
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
        known = self.checkpoints.read(name.key)
        if known is None and self.check is not None:
            raise VerificationError("piece", "no such checkpoint", "all that the run did")
        if known is None:
            arrays = do()
            self.computed += 1
            known = (dict(arrays), self.checkpoints.write(name, arrays, digest_arithmetic()))
        elif self.check is not None and self.check.share == 1:
            self.nearly += check_recomputed(known, do(), str(description))
        self.used[name.key] = known[1]
        return known[0]

    def name_of(
        self, description: Mapping[str, Any], digest: str, do: Callable[[], Arrays]
    ) -> CheckpointName:
        """Return the checkpoint name of a work that is not split."""
        return CheckpointName.of(
            to_canonical_json(description), digest, self._code(list_plugin_modules(do))
        )

    def _code(self, modules: Sequence[str], *, network: bool = False) -> str:
        """What of the code goes into the names of pieces."""
        code = self.code
        if code is None:
            packages = dict(list_packages(network=network))
            code = {"theodolite": get_code_version(), "packages": packages}
        if isinstance(code, dict) and modules:
            code = code | {"modules": dict(digest_modules(modules))}
        return to_canonical_json(code)

    def keys_of(self, work: Work) -> list[str]:
        """Return the keys of all tasks of a work."""
        return [name.key for name in self._names(work)]

    def _names(self, work: Work) -> list[CheckpointName]:
        description = to_canonical_json(work.about)
        code = self._code(list_plugin_modules(work.do, work.tool), network=work.network)
        names = [CheckpointName.of(description, digest, code) for digest in work.digests]
        if work.kept:
            self.keys.update(name.key for name in names)
        return names

    def _identity(self, modules: Sequence[str], *, network: bool) -> Identity:
        own = get_identity(modules, network=network)
        return own.without(ARITHMETIC) if self.mixed_cpus else own

    def entries(self, work: Work) -> list[Entry | None]:
        done = self._done(work, None, stays=True)
        parts = [part for _, outcome in done for part in outcome.parts]
        return [
            None if part is None else StoredCheckpoint(self.checkpoints, key)
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
    ) -> Iterator[tuple[PieceBlock, TaskOutcome]]:
        """Blocks in order, with what came of them."""
        if self._busy:
            message = "one work at a time: the results of the last were not all taken"
            raise RuntimeError(message)
        self._busy = True
        if isinstance(self.pool, GrowingPool):
            self.pool.request(len(work.items))
        try:
            yield from self._in_order(work, merge, stays=stays)
        finally:
            self._busy = False
            self.pool.drop()

    def _in_order(
        self, work: Work, merge: Merge | None, *, stays: bool
    ) -> Iterator[tuple[PieceBlock, TaskOutcome]]:
        names = self._names(work)
        missing: set[int] = set()
        self._missing = frozenset()
        keys = [name.key for name in names]
        recheck = None if self.check is None else self.check.sample(keys)
        queue = BlockQueue(len(work.items), self.pool.size)
        running: dict[Any, PieceBlock] = {}
        ended: dict[int, tuple[PieceBlock, TaskOutcome]] = {}
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
                outcome = _describe_crash(work.name(block.first), keys[block.first])
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

    def _again(self, queue: BlockQueue, block: PieceBlock, outcome: TaskOutcome | None) -> bool:
        """Put a block back that nothing came of; not if it was its own fault too often."""
        if outcome is not None and outcome.mismatch is not None:
            self._turn_away(outcome.mismatch)
            queue.put_back(block)  # nothing was tried
            return True
        lost = "" if outcome is None else outcome.lost
        if lost == "node":
            if block.losses >= MAX_LOSSES:
                got = f"a task that was lost with its node {MAX_LOSSES} times"
                raise EvidenceError("engine", got, "nodes that stay", AGAIN)
            self.watch.count("retried", block.count)
            queue.put_back(replace(block, losses=block.losses + 1))
            return True
        if block.count == 1 and block.crashes + 1 >= MAX_TRIES:
            return False
        self.watch.count("retried", block.count)
        queue.again(block, halves=lost == "memory")
        return True

    def _turn_away(self, mismatch: MismatchedNode) -> None:
        """Give that node nothing more; however many tasks it sends back, it counts once."""
        who = mismatch.place or mismatch.node
        self.watch.count("mismatched_nodes", int(who not in self._mismatched))
        self._mismatched.add(who)
        self.pool.avoid(mismatch)

    def _count(self, done: TaskOutcome) -> None:
        self.failed += done.failed
        self.computed += done.computed
        self.nearly += done.nearly
        self.used.update((entry.key, entry) for entry in done.entries)

    def tried(self, work: Work, numbers: Sequence[int]) -> list[TaskOutcome]:
        """A few pieces at once, each computed twice and timed the second time."""
        names = self._names(work)
        tasks = [self._task(work, None, names, PieceBlock(n, 1)) for n in numbers]
        handles = [self.pool.submit(replace(task, rehearsed=True)) for task in tasks]
        try:
            ended = dict(self.pool.wait() for _ in handles)
        finally:
            self.pool.drop()
        for done in ended.values():
            if done is not None and done.mismatch is not None:
                self._turn_away(done.mismatch)
        outcomes = [ended[handle] for handle in handles]
        return [
            done if done is not None and done.parts else TaskOutcome([None]) for done in outcomes
        ]

    def _task(
        self, work: Work, merge: Merge | None, names: Sequence[CheckpointName], block: PieceBlock
    ) -> Task:
        rows = block.rows()
        modules = list_plugin_modules(work.do, work.tool, merge)
        if self.pool.elsewhere:
            check_importable(modules)
        return Task(
            do=work.do,
            items=[work.items[n] for n in rows],
            pieces=[names[n] for n in rows],
            names=[work.name(n) for n in rows],
            checkpoints=self.checkpoints if work.kept else None,
            identity=self._identity(modules, network=work.network),
            modules=modules,
            merge=merge,
            tool=work.tool,
            tool_key="" if work.tool is None else compute_key(work.about, "tool", ""),
            network=work.network,
            given_up=self.given_up,
        )


@dataclass(frozen=True)
class CheckpointCheck:
    """A share of the checkpoints is computed again, and must come out the same."""

    share: float

    def sample(self, keys: Sequence[str]) -> frozenset[str]:
        """Return which tasks to recompute, drawn at random: at least one of each pass."""
        n = max(round(self.share * len(keys)), 1)
        return frozenset(np.random.default_rng().choice(keys, n, replace=False).tolist())


def _describe_crash(name: str, key: str) -> TaskOutcome:
    message = "its process died, as by a lack of memory"
    return TaskOutcome([None], [FailedTask(name, key, "ProcessDied", message, "")])

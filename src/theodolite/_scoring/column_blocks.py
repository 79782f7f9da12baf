"""Compute scores over all samples in parts: one block of concepts, or a pair of blocks, each.

Workers store the samples by blocks of concept columns, and each part reads only its own blocks, so
no process ever holds all columns. Used by `pooled`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from theodolite._scoring.counting import StateJob
from theodolite._scoring.failures import RAISED, encode_error, is_limited_to_request
from theodolite._scoring.request import MetricRequest
from theodolite._scoring.subsamples import Subsample
from theodolite._scoring.values import Values
from theodolite._storage.packed_arrays import digest_arrays
from theodolite.evidence.base import Evidence
from theodolite.evidence.plain_arrays import (
    from_sample_arrays,
    join_concept_blocks,
    select_concepts,
    to_sample_arrays,
)
from theodolite.evidence.shards import sort_samples
from theodolite.evidence.workers import Arrays, Entry, Work, Workers
from theodolite.metrics.blocks import (
    BlockContext,
    BlockItem,
    Blockwise,
    Common,
    Truths,
    merge_parts,
    split_into_blocks,
)


class LostTasksError(RuntimeError):
    """Raised if a task that the score needs failed three times."""


def uses_column_blocks(request: MetricRequest) -> bool:
    """Return True if the metric and all its nulls can be computed in column blocks."""
    nulls = request.metric.nulls
    return issubclass(request.metric.state, Blockwise) and all(n.of_columns for n in nulls)


@dataclass(frozen=True, eq=False)
class _ColumnBlock:
    """Stored columns of one block of concepts."""

    entry: Entry
    concepts: range
    template: Evidence
    """One sample with these concepts only."""

    def evidence(self) -> Evidence:
        return from_sample_arrays(self.template, self.entry.read())


@dataclass(frozen=True, eq=False)
class _PartInput:
    """Input of one part: its item and the stored columns it reads."""

    item: BlockItem
    entries: list[Entry]
    template: Evidence


class ColumnBlocks:
    """Stored columns, unchanged and under nulls, and the parts computed from them."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._columns: dict[tuple[str, int], list[_ColumnBlock]] = {}
        self._truths: dict[tuple[str, int], Entry] = {}

    def measure_parts(
        self, job: StateJob, subsample: Subsample, *, catches: bool = False
    ) -> Arrays:
        """Return the merged parts of a job, or with ``catches`` the error of its metric."""
        state: type[Blockwise] = job.request.metric.state
        blocks = self._get_columns(job, subsample, state.block)
        common = self._compute_common(blocks)
        truths = self._get_truths(subsample, state.block) if state.needs_truths else None
        names: Any = subsample.first
        n = len(names.concepts)
        entries = {block.concepts: block.entry for block in blocks}
        items = [
            _PartInput(
                item,
                [entries[block] for block in item.blocks],
                select_concepts(subsample.first, item.concepts),
            )
            for item in state.items(n)
        ]
        work = Work(
            what=job.request.metric.name,
            do=partial(_measure_part, job, n, common, truths, catches=catches),
            items=items,
            digests=[" ".join(entry.digest for entry in part.entries) for part in items],
            about={
                "part": job.describe({}),
                "samples": job.plan.n,
                "concepts": n,
                "common": digest_arrays(common.arrays()),
                "truths": "" if truths is None else truths.digest,
            },
            names=[f"{job.request.metric.name}, {_get_item_name(part.item)}" for part in items],
        )
        parts = self._workers.reduced(work, _merge_parts)
        if parts is None or self._workers.missing():
            raise LostTasksError(f"tasks of {job.request.metric.name} failed three times")
        return parts

    def _get_columns(self, job: StateJob, subsample: Subsample, size: int) -> list[_ColumnBlock]:
        """Return the stored columns of the evidence that the job counts."""
        key, null = (subsample.digest, size), job.null_model
        names: Any = subsample.first
        concepts = split_into_blocks(len(names.concepts), size)
        if key not in self._columns:
            self._columns[key] = self._store(
                _read_columns,
                [(subsample.shards, block) for block in concepts],
                {"columns of": type(subsample.first).kind},
                [
                    (block, subsample.digest, select_concepts(subsample.first, block))
                    for block in concepts
                ],
            )
        columns = self._columns[key]
        if null is None:
            return columns
        truths = self._get_truths(subsample, size)
        return self._store(
            partial(_apply_null, job, truths),
            columns,
            {
                "columns under": [job.request.metric.name, null.name, job.draw],
                "truths": truths.digest,
            },
            [(block.concepts, block.entry.digest, block.template) for block in columns],
        )

    def _store(
        self,
        do: Callable[..., Arrays],
        items: Sequence[Any],
        description: dict[str, Any],
        blocks: Sequence[tuple[range, str, Evidence]],
    ) -> list[_ColumnBlock]:
        work = Work(
            what="columns",
            do=do,
            items=items,
            digests=[f"{block.start} to {block.stop}: {digest}" for block, digest, _ in blocks],
            about=description,
            names=[f"columns {block.start} to {block.stop - 1}" for block, _, _ in blocks],
        )
        entries = self._workers.entries(work)
        return [
            _ColumnBlock(_require_entry(entry), block, template)
            for entry, (block, _, template) in zip(entries, blocks, strict=True)
        ]

    def _compute_common(self, blocks: Sequence[_ColumnBlock]) -> Common:
        digests = [block.entry.digest for block in blocks]
        work = Work(
            what="columns", do=_get_common, items=blocks, digests=digests, about={"common": 1}
        )
        merged = self._workers.reduced(work, _merge_common)
        if merged is None or self._workers.missing():
            raise LostTasksError("stored columns could not be read")
        return Common.from_arrays(merged)

    def _get_truths(self, subsample: Subsample, size: int) -> Entry:
        key = (subsample.digest, size)
        if key not in self._truths:
            columns = self._columns[key]
            work = Work(
                what="columns",
                do=_read_truths,
                items=[columns],
                digests=[" ".join(block.entry.digest for block in columns)],
                about={"truths": 1},
            )
            self._truths[key] = _require_entry(self._workers.entries(work)[0])
        return self._truths[key]


def measure_from_parts(state: type[Blockwise], parts: Arrays, samples: int) -> Values:
    """Return the values of a score from the merged parts of all its items."""
    rows = state.whole(parts)
    shape = rows.shape[1:]
    return Values(rows, np.full(shape, samples), np.zeros(shape))


def _require_entry(entry: Entry | None) -> Entry:
    if entry is None:
        raise LostTasksError("columns failed three times")
    return entry


def _get_item_name(item: BlockItem) -> str:
    ranges = [f"{block.start} to {block.stop - 1}" for block in item.blocks]
    return "concepts " + " and ".join(ranges)


# work of the workers: module-level functions, so that they can be sent


def _read_columns(source: tuple[Sequence[Any], range]) -> Arrays:
    """Return the columns of a block of concepts, samples sorted by number."""
    shards, concepts = source
    bundles = [select_concepts(shard.evidence(), concepts) for shard in shards]
    whole = bundles[0] if len(bundles) == 1 else type(bundles[0]).joined(bundles)
    return to_sample_arrays(sort_samples(whole))


def _apply_null(job: StateJob, truths: Entry, block: _ColumnBlock) -> Arrays:
    """Return the columns of a block under the null of a job."""
    null = job.null_model
    assert null is not None and null.of_columns is not None  # noqa: S101, PT018  else not asked for
    known = Truths.from_arrays(truths.read())
    changed = null.of_columns(block.evidence(), job.draw, known, block.concepts.start)
    return to_sample_arrays(changed)


def _read_truths(blocks: Sequence[_ColumnBlock]) -> Arrays:
    """Return the ground truth of all concepts from their blocks."""
    parts = [Truths.of(block.evidence()).arrays() for block in blocks]
    whole = {n: np.concatenate([part[n] for part in parts]) for n in parts[0] if n != "n"}
    return whole | {"n": parts[0]["n"]}


def _get_common(block: _ColumnBlock) -> Arrays:
    return Common.of(block.evidence()).arrays()


def _merge_common(left: Arrays, right: Arrays) -> Arrays:
    return Common.from_arrays(left).merged(Common.from_arrays(right)).arrays()


def _measure_part(
    job: StateJob,
    n: int,
    common: Common,
    truths: Entry | None,
    source: _PartInput,
    *,
    catches: bool,
) -> Arrays:
    """Compute the part of one item."""
    metric = job.request.metric
    evidence = join_concept_blocks(source.template, [entry.read() for entry in source.entries])
    counting = metric.counting_options()
    options = {k: v for k, v in job.request.options.items() if k in counting}
    known = None if truths is None else Truths.from_arrays(truths.read())
    try:
        weights = job.plan.grouped_weights(evidence, job.rows)
        block = BlockContext(source.item, n, common, known)
        parts: Arrays = metric.state.part(evidence, weights, block, **options)
    except Exception as error:
        if not catches or not is_limited_to_request(metric, error):
            raise
        return {RAISED: encode_error(error)}
    return parts


def _merge_parts(left: Arrays, right: Arrays) -> Arrays:
    for side in (left, right):
        if RAISED in side:
            return side
    return merge_parts(left, right)

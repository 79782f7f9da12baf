"""Scores of all samples that are measured some concepts, or pairs of blocks of them, at a time.

The samples are kept by columns, a block of concepts an entry; an item reads the blocks of its
concepts and nothing else. So no process ever has all columns, whatever the number of concepts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from theodolite._scoring.counting import StateJob
from theodolite._scoring.drawing import Subsample
from theodolite._scoring.failures import RAISED, encode_error, is_limited_to_request
from theodolite._scoring.request import MetricRequest
from theodolite._scoring.values import Values
from theodolite._storage.packed import digest_of
from theodolite.evidence.base import Evidence
from theodolite.evidence.columns import columns_beside, sample_arrays, some_concepts, with_samples
from theodolite.evidence.shards import in_order
from theodolite.evidence.workers import Arrays, Entry, Work, Workers
from theodolite.metrics.blocks import (
    BlockContext,
    BlockItem,
    Blockwise,
    Common,
    Truths,
    blocks_of,
    merged_parts,
)


class LostTasksError(RuntimeError):
    """Some piece that the score needs failed three times."""


def uses_column_blocks(request: MetricRequest) -> bool:
    """Whether a score is measured so, and its nulls too."""
    nulls = request.metric.nulls
    return issubclass(request.metric.state, Blockwise) and all(n.of_columns for n in nulls)


@dataclass(frozen=True, eq=False)
class _ColumnBlock:
    """The columns of a block of concepts, where a worker has left them."""

    entry: Entry
    concepts: range
    template: Evidence
    """Of any sample, about these concepts."""

    def evidence(self) -> Evidence:
        return with_samples(self.template, self.entry.read())


@dataclass(frozen=True, eq=False)
class _PartInput:
    """What an item is measured from."""

    item: BlockItem
    entries: list[Entry]
    template: Evidence


class ColumnBlocks:
    """Columns of samples as they are and under nulls, and what is measured from them."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._columns: dict[tuple[str, int], list[_ColumnBlock]] = {}
        self._truths: dict[tuple[str, int], Entry] = {}

    def parts(self, job: StateJob, subsample: Subsample, *, catches: bool = False) -> Arrays:
        """What all items of a job give together; with ``catches``, what its metric raised."""
        state: type[Blockwise] = job.request.metric.state
        blocks = self._of(job, subsample, state.block)
        common = self._common(blocks)
        truths = self._truths_of(subsample, state.block) if state.needs_truths else None
        names: Any = subsample.first
        n = len(names.concepts)
        entries = {block.concepts: block.entry for block in blocks}
        items = [
            _PartInput(
                item,
                [entries[own] for own in item.blocks],
                some_concepts(subsample.first, item.concepts),
            )
            for item in state.items(n)
        ]
        work = Work(
            what=job.request.metric.name,
            do=partial(_measure_part, job, n, common, truths, catches=catches),
            items=items,
            digests=[" ".join(entry.digest for entry in own.entries) for own in items],
            about={
                "part": job.describe({}),
                "samples": job.plan.n,
                "concepts": n,
                "common": digest_of(common.arrays()),
                "truths": "" if truths is None else truths.digest,
            },
            names=[f"{job.request.metric.name}, {_get_item_name(own.item)}" for own in items],
        )
        parts = self._workers.reduced(work, _merge_parts)
        if parts is None or self._workers.missing():
            raise LostTasksError(f"pieces of {job.request.metric.name} failed three times")
        return parts

    def _of(self, job: StateJob, subsample: Subsample, size: int) -> list[_ColumnBlock]:
        """Columns of the evidence that the job counts."""
        key, null = (subsample.digest, size), job.null_model
        names: Any = subsample.first
        concepts = blocks_of(len(names.concepts), size)
        if key not in self._columns:
            self._columns[key] = self._entries(
                _read_columns,
                [(subsample.pieces, some) for some in concepts],
                {"columns of": type(subsample.first).kind},
                [
                    (some, subsample.digest, some_concepts(subsample.first, some))
                    for some in concepts
                ],
            )
        columns = self._columns[key]
        if null is None:
            return columns
        truths = self._truths_of(subsample, size)
        return self._entries(
            partial(_apply_null, job, truths),
            columns,
            {
                "columns under": [job.request.metric.name, null.name, job.draw],
                "truths": truths.digest,
            },
            [(own.concepts, own.entry.digest, own.template) for own in columns],
        )

    def _entries(
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
            digests=[f"{own.start} to {own.stop}: {digest}" for own, digest, _ in blocks],
            about=description,
            names=[f"columns {own.start} to {own.stop - 1}" for own, _, _ in blocks],
        )
        entries = self._workers.entries(work)
        return [
            _ColumnBlock(_is_defined(entry), own, template)
            for entry, (own, _, template) in zip(entries, blocks, strict=True)
        ]

    def _common(self, blocks: Sequence[_ColumnBlock]) -> Common:
        digests = [block.entry.digest for block in blocks]
        work = Work(
            what="columns", do=_get_common, items=blocks, digests=digests, about={"common": 1}
        )
        merged = self._workers.reduced(work, _merge_common)
        if merged is None or self._workers.missing():
            raise LostTasksError("columns that were kept could not be read")
        return Common.from_arrays(merged)

    def _truths_of(self, subsample: Subsample, size: int) -> Entry:
        key = (subsample.digest, size)
        if key not in self._truths:
            columns = self._columns[key]
            work = Work(
                what="columns",
                do=_read_truths,
                items=[columns],
                digests=[" ".join(own.entry.digest for own in columns)],
                about={"truths": 1},
            )
            self._truths[key] = _is_defined(self._workers.entries(work)[0])
        return self._truths[key]


def measure_from_parts(state: type[Blockwise], parts: Arrays, samples: int) -> Values:
    """What a score says, from what all its items gave."""
    rows = state.whole(parts)
    shape = rows.shape[1:]
    return Values(rows, np.full(shape, samples), np.zeros(shape))


def _is_defined(entry: Entry | None) -> Entry:
    if entry is None:
        raise LostTasksError("columns failed three times")
    return entry


def _get_item_name(item: BlockItem) -> str:
    ranges = [f"{own.start} to {own.stop - 1}" for own in item.blocks]
    return "concepts " + " and ".join(ranges)


# what workers do: functions of a module, so that they can be sent


def _read_columns(source: tuple[Sequence[Any], range]) -> Arrays:
    """The columns of a block of concepts, of all samples in the order of their numbers."""
    pieces, concepts = source
    bundles = [some_concepts(piece.evidence(), concepts) for piece in pieces]
    whole = bundles[0] if len(bundles) == 1 else type(bundles[0]).joined(bundles)
    return sample_arrays(in_order(whole))


def _apply_null(job: StateJob, truths: Entry, block: _ColumnBlock) -> Arrays:
    """The same columns under a null."""
    null = job.null_model
    assert null is not None and null.of_columns is not None  # noqa: S101, PT018  else not asked for
    known = Truths.from_arrays(truths.read())
    changed = null.of_columns(block.evidence(), job.draw, known, block.concepts.start)
    return sample_arrays(changed)


def _read_truths(blocks: Sequence[_ColumnBlock]) -> Arrays:
    """The truth of all concepts, from one block after the other."""
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
    """What an item gives."""
    metric = job.request.metric
    evidence = columns_beside(source.template, [entry.read() for entry in source.entries])
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
    return merged_parts(left, right)

"""Passes over the evidence: many states are made while a piece of it is at hand."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from theodolite.errors import EvidenceError
from theodolite.evidence.produced import Progress
from theodolite.evidence.shards import Shards
from theodolite.evidence.workers import Arrays, Tree, Work, Workers
from theodolite.metrics.base import added
from theodolite.scoring.counting import (
    Slot,
    StateJob,
    counted,
    in_blocks,
    read,
    state_bytes,
    states_of,
    summed,
    sums_name,
)
from theodolite.scoring.values import Values

NOTHING_COUNTED = "no piece that could be counted"
BLOCK_BYTES = 1 << 26
"""States that are made in one pass."""
KEPT_BYTES = 1 << 30
"""States of one pass that are kept with a run."""


@dataclass(frozen=True, eq=False)
class PassItem:
    """A state of some request, to be made from some evidence."""

    request: int
    job: StateJob
    evidence: Shards


@dataclass(frozen=True, eq=False)
class PassGroup:
    """States of one source that are made in one pass, and how large they are together."""

    items: list[PassItem]
    bytes: int


Sums = Mapping[str, Arrays]


def passes(
    items: Sequence[PassItem], workers: Workers, progress: Progress
) -> tuple[list[dict[Slot, Values]], dict[int, list[int]]]:
    """What all states say, by request; and the numbers of the pieces that they are of, by source.

    All are of the same pieces: if one fails in one pass, all passes are made without it.
    """
    groups = [group for source in _sources(items) for group in _groups(items, source)]
    left: dict[int, list[int]] = {
        id(source): list(range(len(source.pieces()))) for source in _sources(items)
    }
    while True:
        parts, lost = _one_round(items, groups, left, workers, progress)
        if not any(lost.values()):
            break
        left = {key: [n for n in numbers if n not in lost[key]] for key, numbers in left.items()}
    progress("scores", len(groups), len(groups))
    n = max((item.request for item in items), default=-1) + 1
    values_by_request: list[dict[Slot, Values]] = [{} for _ in range(n)]
    for (request, slot), blocks in parts.items():
        values_by_request[request][slot] = Values.joined(blocks)
    return values_by_request, left


Parts = dict[tuple[int, Slot], list[Values]]


def _one_round(
    items: Sequence[PassItem],
    groups: Sequence[PassGroup],
    left: Mapping[int, list[int]],
    workers: Workers,
    progress: Progress,
) -> tuple[Parts, dict[int, set[int]]]:
    """All passes over the pieces that are left; and the pieces that failed, by source."""
    lost: dict[int, set[int]] = {key: set() for key in left}
    sums: dict[int, Sums] = {}
    parts: Parts = {}
    for number, group in enumerate(groups):
        progress("scores", number, len(groups))
        source = group.items[0].evidence
        some = _Some(source, left[id(source)], lost[id(source)], workers)
        if id(source) not in sums:
            sums[id(source)] = _sums(items, some)
        known = sums[id(source)]
        jobs = [item.job for item in group.items]
        arrays = some.reduced(
            "pieces",
            partial(counted, jobs, _needed(jobs, known)),
            {"states": [job.describe(known) for job in jobs]},
            group.bytes,
        )
        for item, state in zip(group.items, states_of(jobs, arrays), strict=True):
            values = read(item.job, state)
            parts.setdefault((item.request, item.job.slot), []).append(values)
    return parts, lost


@dataclass(frozen=True, eq=False)
class _Some:
    """The pieces of a source that are left."""

    source: Shards
    left: Sequence[int]
    lost: set[int]
    """Those that failed are added here."""
    workers: Workers

    def reduced(self, what: str, do: Any, description: Mapping[str, Any], size: int) -> Arrays:
        """What ``do`` gives for all of them, merged."""
        pieces, digests = self.source.pieces(), self.source.digests()
        n = together(size, len(self.left))
        cuts = [self.left[at : at + n] for at in range(0, len(self.left), n)]
        arrays = self.workers.reduced(
            Work(
                what=what,
                do=partial(of_several, do),
                items=[[pieces[i] for i in cut] for cut in cuts],
                digests=[" ".join(digests[i] for i in cut) for cut in cuts],
                about=description,
                names=[f"piece {cut[0]}" + f" to {cut[-1]}" * (len(cut) > 1) for cut in cuts],
            ),
            added,
        )
        self.lost.update(i for k in self.workers.missing() for i in cuts[k])
        if arrays is None:
            raise EvidenceError("evidence", NOTHING_COUNTED, "at least one")
        return arrays


def together(size: int, pieces: int) -> int:
    """How many pieces are kept as one: states may be far larger than what they are made of."""
    over = -(-size * pieces // KEPT_BYTES)
    return 1 << max(over - 1, 0).bit_length()


def of_several(do: Callable[[Any], Arrays], pieces: Sequence[Any]) -> Arrays:
    """What a few pieces in a row give, merged as all are."""
    tree = Tree(added)
    for piece in pieces:
        tree.add(do(piece), 1)
    arrays: Arrays = tree.whole()
    return arrays


def _sources(items: Sequence[PassItem]) -> list[Shards]:
    return list({id(item.evidence): item.evidence for item in items}.values())


def _groups(items: Sequence[PassItem], source: Shards) -> Iterator[PassGroup]:
    """The states of one source, as many at a time as fit into memory; those of one null next to
    each other, so that it is made once."""
    first = source.first()
    own = sorted(
        (item for item in items if item.evidence is source), key=lambda item: item.job.change
    )
    sizes: dict[tuple[int, str, str], int] = {}  # the draws of a null are alike
    group: list[PassItem] = []
    group_bytes = 0
    for item in own:
        kind = item.request, item.job.role, item.job.null
        if kind not in sizes:
            sizes[kind] = state_bytes(item.job, first)
        for block in in_blocks(item.job, sizes[kind], BLOCK_BYTES):
            needs = sizes[kind] * (block.rows.stop - block.rows.start)
            if group and group_bytes + needs > BLOCK_BYTES:
                yield PassGroup(group, group_bytes)
                group, group_bytes = [], 0
            group.append(PassItem(item.request, block, source))
            group_bytes += needs
    if group:
        yield PassGroup(group, group_bytes)


def _sums(items: Sequence[PassItem], some: _Some) -> Sums:
    """What nulls must know about all samples before they can be made of some."""
    jobs = {
        sums_name(item.job): item.job
        for item in items
        if item.evidence is some.source and item.job.learns
    }
    if not jobs:
        return {}
    metrics = {name: job.request.metric for name, job in sorted(jobs.items())}
    description = {
        "sums of": {name: [metric.name, metric.version] for name, metric in metrics.items()}
    }
    arrays = some.reduced("nulls", partial(summed, list(jobs.values())), description, 0)
    sums: dict[str, dict[str, np.ndarray]] = {name: {} for name in jobs}
    for name, array in arrays.items():
        null, _, own = name.rpartition(":")
        sums[null][own] = array
    return sums


def _needed(jobs: Sequence[StateJob], sums: Sums) -> Sums:
    names = {sums_name(job) for job in jobs if job.learns}
    return {name: sums[name] for name in sorted(names)}

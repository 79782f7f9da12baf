"""Passes over the evidence: many states are made while a piece of it is at hand."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from theodolite.contracts.bundle import Evidence
from theodolite.contracts.made import Progress
from theodolite.contracts.shards import Shards, some_samples
from theodolite.contracts.work import Arrays, Work, Workers
from theodolite.errors import EvidenceError
from theodolite.execution._countings import (
    Counting,
    Slot,
    counted,
    countings,
    in_blocks,
    seeds_of,
    state_bytes,
    state_of,
    summed,
    sums_name,
)
from theodolite.execution._plan import Plan
from theodolite.execution._request import Request
from theodolite.execution._values import Values
from theodolite.metrics._base import added

BLOCK_BYTES = 1 << 27
"""States that are made in one pass."""


@dataclass(frozen=True, eq=False)
class Wanted:
    """A state of some request, to be made from some evidence."""

    request: int
    counting: Counting
    evidence: Shards


Sums = Mapping[str, Arrays]


def passes(
    wanted: Sequence[Wanted], workers: Workers, progress: Progress
) -> list[dict[Slot, Values]]:
    """What all states say, by request."""
    groups = [group for source in _sources(wanted) for group in _groups(wanted, source)]
    sums: dict[int, Sums] = {}
    parts: dict[tuple[int, Slot], list[Values]] = {}
    for number, group in enumerate(groups):
        progress("scores", number, len(groups))
        source = group[0].evidence
        if id(source) not in sums:
            sums[id(source)] = _sums(wanted, source, workers)
        known = sums[id(source)]
        asked = [one.counting for one in group]
        arrays = workers.reduced(
            Work(
                what="pieces",
                do=partial(counted, asked, _needed(asked, known)),
                items=source.pieces(),
                digests=source.digests(),
                about={"states": [counting.about(known) for counting in asked]},
            ),
            added,
        )
        if arrays is None:
            raise EvidenceError("evidence", "no piece that could be counted", "at least one")
        for place, one in enumerate(group):
            values = _read(one.counting, state_of(one.counting, place, arrays))
            parts.setdefault((one.request, one.counting.slot), []).append(values)
    progress("scores", len(groups), len(groups))
    n = max((one.request for one in wanted), default=-1) + 1
    found: list[dict[Slot, Values]] = [{} for _ in range(n)]
    for (request, slot), blocks in parts.items():
        found[request][slot] = Values.joined(blocks)
    return found


def _sources(wanted: Sequence[Wanted]) -> list[Shards]:
    return list({id(one.evidence): one.evidence for one in wanted}.values())


def _groups(wanted: Sequence[Wanted], source: Shards) -> Iterator[list[Wanted]]:
    """The states of one source, as many at a time as fit into memory; those of one null next to
    each other, so that it is made once."""
    first = source.first()
    own = sorted(
        (one for one in wanted if one.evidence is source), key=lambda one: one.counting.change
    )
    group: list[Wanted] = []
    held = 0
    for one in own:
        size = state_bytes(one.counting, first)
        for block in in_blocks(one.counting, size, BLOCK_BYTES):
            needs = size * (block.rows.stop - block.rows.start)
            if group and held + needs > BLOCK_BYTES:
                yield group
                group, held = [], 0
            group.append(Wanted(one.request, block, source))
            held += needs
    if group:
        yield group


def _sums(wanted: Sequence[Wanted], source: Shards, workers: Workers) -> Sums:
    """What nulls must know about all samples before they can be made of some."""
    asked = {
        sums_name(one.counting): one.counting
        for one in wanted
        if one.evidence is source and one.counting.learns
    }
    if not asked:
        return {}
    arrays = workers.reduced(
        Work(
            what="nulls",
            do=partial(summed, list(asked.values())),
            items=source.pieces(),
            digests=source.digests(),
            about={"sums of": sorted(asked)},
        ),
        added,
    )
    found: dict[str, dict[str, np.ndarray]] = {name: {} for name in asked}
    for name, array in (arrays or {}).items():
        null, _, own = name.rpartition(":")
        found[null][own] = array
    return found


def _needed(asked: Sequence[Counting], sums: Sums) -> Sums:
    names = {sums_name(counting) for counting in asked if counting.learns}
    return {name: sums[name] for name in sorted(names)}


def _read(counting: Counting, state: Any) -> Values:
    """What a state says; of a null that is made on the state, what all its draws say."""
    null = counting.baseline
    if null is None or null.on == "evidence":
        return Values.of(state, counting.finish())
    drawn = [
        null.make(state, seed).value(**counting.finish()) for seed in seeds_of(counting.plan, null)
    ]
    return Values(np.concatenate(drawn))


def pooled_values(request: Request, plan: Plan, evidence: Sequence[Shards]) -> dict[Slot, Values]:
    """What a score says that needs all samples at once, or as many as it can take."""
    held: list[Evidence] = [some_samples(one, plan.n, plan.resampling.seed) for one in evidence]
    found = {}
    for counting in countings(request, plan, len(held)):
        changed = counting.changed(held[counting.experiment], {})
        found[counting.slot] = _read(counting, counting.state(changed))
    return found

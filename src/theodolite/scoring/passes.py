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
    counting: StateJob
    evidence: Shards


@dataclass(frozen=True, eq=False)
class PassGroup:
    """States of one source that are made in one pass, and how large they are together."""

    wanted: list[PassItem]
    bytes: int


Sums = Mapping[str, Arrays]


def passes(
    wanted: Sequence[PassItem], workers: Workers, progress: Progress
) -> tuple[list[dict[Slot, Values]], dict[int, list[int]]]:
    """What all states say, by request; and the numbers of the pieces that they are of, by source.

    All are of the same pieces: if one fails in one pass, all passes are made without it.
    """
    groups = [group for source in _sources(wanted) for group in _groups(wanted, source)]
    left: dict[int, list[int]] = {
        id(source): list(range(len(source.pieces()))) for source in _sources(wanted)
    }
    while True:
        parts, lost = _one_round(wanted, groups, left, workers, progress)
        if not any(lost.values()):
            break
        left = {key: [n for n in kept if n not in lost[key]] for key, kept in left.items()}
    progress("scores", len(groups), len(groups))
    n = max((one.request for one in wanted), default=-1) + 1
    found: list[dict[Slot, Values]] = [{} for _ in range(n)]
    for (request, slot), blocks in parts.items():
        found[request][slot] = Values.joined(blocks)
    return found, left


Parts = dict[tuple[int, Slot], list[Values]]


def _one_round(
    wanted: Sequence[PassItem],
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
        source = group.wanted[0].evidence
        some = _Some(source, left[id(source)], lost[id(source)], workers)
        if id(source) not in sums:
            sums[id(source)] = _sums(wanted, some)
        known = sums[id(source)]
        asked = [one.counting for one in group.wanted]
        arrays = some.reduced(
            "pieces",
            partial(counted, asked, _needed(asked, known)),
            {"states": [counting.about(known) for counting in asked]},
            group.bytes,
        )
        for one, state in zip(group.wanted, states_of(asked, arrays), strict=True):
            values = read(one.counting, state)
            parts.setdefault((one.request, one.counting.slot), []).append(values)
    return parts, lost


@dataclass(frozen=True, eq=False)
class _Some:
    """The pieces of a source that are left."""

    source: Shards
    left: Sequence[int]
    lost: set[int]
    """Those that failed are added here."""
    workers: Workers

    def reduced(self, what: str, do: Any, about: Mapping[str, Any], size: int) -> Arrays:
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
                about=about,
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
    found: Arrays = tree.whole()
    return found


def _sources(wanted: Sequence[PassItem]) -> list[Shards]:
    return list({id(one.evidence): one.evidence for one in wanted}.values())


def _groups(wanted: Sequence[PassItem], source: Shards) -> Iterator[PassGroup]:
    """The states of one source, as many at a time as fit into memory; those of one null next to
    each other, so that it is made once."""
    first = source.first()
    own = sorted(
        (one for one in wanted if one.evidence is source), key=lambda one: one.counting.change
    )
    sizes: dict[tuple[int, str, str], int] = {}  # the draws of a null are alike
    group: list[PassItem] = []
    held = 0
    for one in own:
        kind = one.request, one.counting.role, one.counting.null
        if kind not in sizes:
            sizes[kind] = state_bytes(one.counting, first)
        for block in in_blocks(one.counting, sizes[kind], BLOCK_BYTES):
            needs = sizes[kind] * (block.rows.stop - block.rows.start)
            if group and held + needs > BLOCK_BYTES:
                yield PassGroup(group, held)
                group, held = [], 0
            group.append(PassItem(one.request, block, source))
            held += needs
    if group:
        yield PassGroup(group, held)


def _sums(wanted: Sequence[PassItem], some: _Some) -> Sums:
    """What nulls must know about all samples before they can be made of some."""
    asked = {
        sums_name(one.counting): one.counting
        for one in wanted
        if one.evidence is some.source and one.counting.learns
    }
    if not asked:
        return {}
    entries = {name: counting.request.metric for name, counting in sorted(asked.items())}
    about = {"sums of": {name: [entry.name, entry.version] for name, entry in entries.items()}}
    arrays = some.reduced("nulls", partial(summed, list(asked.values())), about, 0)
    found: dict[str, dict[str, np.ndarray]] = {name: {} for name in asked}
    for name, array in arrays.items():
        null, _, own = name.rpartition(":")
        found[null][own] = array
    return found


def _needed(asked: Sequence[StateJob], sums: Sums) -> Sums:
    names = {sums_name(counting) for counting in asked if counting.learns}
    return {name: sums[name] for name in sorted(names)}

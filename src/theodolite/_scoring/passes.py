"""Passes over the evidence: many states are made while a piece of it is at hand."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from theodolite._scoring.counting import (
    Slot,
    StateJob,
    counted,
    get_fields,
    get_sums_name,
    measure_state_bytes,
    read,
    read_groups,
    split_into_blocks,
    sum_for_nulls,
)
from theodolite._scoring.failures import (
    RAISED,
    describe_failure,
    encode_error,
    get_errors,
    is_limited_to_request,
    merge_arrays,
)
from theodolite._scoring.values import Values
from theodolite.errors import EvidenceError
from theodolite.evidence.base import Evidence
from theodolite.evidence.produced import Progress
from theodolite.evidence.shards import Shards
from theodolite.evidence.workers import Arrays, Tree, Work, Workers
from theodolite.metrics.base import state_from
from theodolite.results import Failed

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


Parts = dict[tuple[int, Slot], list[Values]]
Failures = dict[int, Failed]
"""By request, what failed first."""


@dataclass(frozen=True, eq=False)
class PassResult:
    """What came of all passes."""

    values: list[dict[Slot, Values]]
    """What all states say, by request."""
    left: dict[int, list[int]]
    """The numbers of the pieces that they are of, by source."""
    failures: Failures


def run_passes(
    items: Sequence[PassItem], workers: Workers, progress: Progress, *, catches: bool = False
) -> PassResult:
    """Make all states, and read them.

    All are of the same pieces: if one fails in one pass, all passes are made without it. With
    ``catches``, a metric that raises fails alone.
    """
    too_early: Failures = {}
    groups = [
        group
        for source in _list_sources(items)
        for own in _group_by_package(items, source)
        for group in _group_items(own, source, too_early if catches else None)
    ]
    left: dict[int, list[int]] = {
        id(source): list(range(len(source.pieces()))) for source in _list_sources(items)
    }
    while True:
        this_round = _Round(left, workers, dict(too_early), catches=catches)
        for number, group in enumerate(groups):
            progress("scores", number, len(groups))
            this_round.add(group, items)
        lost = this_round.lost
        if not any(lost.values()):
            break
        left = {key: [n for n in numbers if n not in lost[key]] for key, numbers in left.items()}
    progress("scores", len(groups), len(groups))
    n = max((item.request for item in items), default=-1) + 1
    values_by_request: list[dict[Slot, Values]] = [{} for _ in range(n)]
    for (request, slot), blocks in this_round.parts.items():
        if request not in this_round.failures:
            values_by_request[request][slot] = Values.joined(blocks)
    return PassResult(values_by_request, left, this_round.failures)


class _Round:
    """All passes over the pieces that are left."""

    def __init__(
        self,
        left: Mapping[int, list[int]],
        workers: Workers,
        failures: Failures,
        *,
        catches: bool,
    ) -> None:
        self.left, self.workers, self.catches = left, workers, catches
        self.failures = failures
        self.lost: dict[int, set[int]] = {key: set() for key in left}
        """The pieces that failed, by source."""
        self.parts: Parts = {}
        self._groups: dict[tuple[int, Slot], list[Mapping[str, np.ndarray]]] = {}
        """Sums of groups, block by block: read when all are there."""
        self._sums: dict[tuple[int, tuple[str, ...]], Sums] = {}

    def add(self, group: PassGroup, items: Sequence[PassItem]) -> None:
        """Make the states of a group, and read them."""
        known = self._known(group, items)
        group_items = [item for item in group.items if self._has_sums(item, known)]
        if not group_items:
            return
        jobs = [item.job for item in group_items]
        arrays = self._some(group).reduced(
            "pieces",
            partial(counted, jobs, _select_needed(jobs, known), catches=self.catches),
            {"states": [job.describe(known) for job in jobs]},
            group.bytes,
        )
        errors = get_errors(arrays)
        for number, (item, fields) in enumerate(
            zip(group_items, get_fields(jobs, arrays), strict=True)
        ):
            if str(number) in errors:
                self._note(item, item.job.stage, errors[str(number)])
            else:
                self._read(item, fields)

    def _read(self, item: PassItem, fields: Mapping[str, np.ndarray]) -> None:
        metric, key = item.job.request.metric, (item.request, item.job.slot)
        blocks = [fields]
        if item.job.grouped:
            blocks = self._groups.setdefault(key, [])
            blocks.append(fields)
            if item.job.rows.stop < item.job.plan.state_rows.stop:
                return
        try:
            if item.job.grouped:
                values = read_groups(item.job, blocks, BLOCK_BYTES)
            else:
                values = read(item.job, state_from(metric.state, fields))
        except Exception as error:
            if not self.catches or not is_limited_to_request(metric, error):
                raise
            stage = "read" if item.job.role == "value" else item.job.stage
            self._note(item, stage, encode_error(error))
        else:
            self.parts.setdefault(key, []).append(values)

    def _known(self, group: PassGroup, items: Sequence[PassItem]) -> Sums:
        """What nulls must know about all samples, learned once for a source and a package."""
        source, package = group.items[0].evidence, _get_package_key(group.items[0])
        key = (id(source), package)
        if key not in self._sums:
            own = [i for i in items if i.evidence is source and _get_package_key(i) == package]
            self._sums[key] = _collect_sums(own, self._some(group), catches=self.catches)
        return self._sums[key]

    def _has_sums(self, item: PassItem, known: Sums) -> bool:
        """Whether what its null must know could be learned."""
        if not item.job.learns or RAISED not in known[get_sums_name(item.job)]:
            return True
        self._note(item, item.job.stage, known[get_sums_name(item.job)][RAISED])
        return False

    def _note(self, item: PassItem, stage: str, content: np.ndarray) -> None:
        self.failures.setdefault(item.request, describe_failure(item.job.request, stage, content))

    def _some(self, group: PassGroup) -> "_Some":
        source = group.items[0].evidence
        return _Some(source, self.left[id(source)], self.lost[id(source)], self.workers)


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
                do=partial(reduce_shards, do),
                items=[[pieces[i] for i in cut] for cut in cuts],
                digests=[" ".join(digests[i] for i in cut) for cut in cuts],
                about=description,
                names=[f"piece {cut[0]}" + f" to {cut[-1]}" * (len(cut) > 1) for cut in cuts],
            ),
            merge_arrays,
        )
        self.lost.update(i for k in self.workers.missing() for i in cuts[k])
        if arrays is None:
            raise EvidenceError("evidence", NOTHING_COUNTED, "at least one")
        return arrays


def together(size: int, pieces: int) -> int:
    """How many pieces are kept as one: states may be far larger than what they are made of."""
    over = -(-size * pieces // KEPT_BYTES)
    return 1 << max(over - 1, 0).bit_length()


def reduce_shards(do: Callable[[Any], Arrays], pieces: Sequence[Any]) -> Arrays:
    """What a few pieces in a row give, merged as all are."""
    tree = Tree(merge_arrays)
    for piece in pieces:
        tree.add(do(piece), 1)
    arrays: Arrays = tree.whole()
    return arrays


def _list_sources(items: Sequence[PassItem]) -> list[Shards]:
    return list({id(item.evidence): item.evidence for item in items}.values())


def _get_package_key(item: PassItem) -> tuple[str, ...]:
    """Whose code decides a state; empty where it is ours alone."""
    return tuple(str(package) for package in item.job.request.metric.packages)


def _group_by_package(items: Sequence[PassItem], source: Shards) -> Iterator[list[PassItem]]:
    """The states of one source, ours first. Those of other packages are in passes of their own:
    changed code of one changes the names of its pieces, and of no others."""
    own = [item for item in items if item.evidence is source]
    for package in sorted({_get_package_key(item) for item in own}):
        yield [item for item in own if _get_package_key(item) == package]


def _group_items(
    items: Sequence[PassItem], source: Shards, failures: Failures | None
) -> Iterator[PassGroup]:
    """States of one source, as many at a time as fit into memory; those of one null next to each
    other, so that it is made once. What fails on a single sample is left out, if ``failures`` takes
    it."""
    first = source.first()
    own = sorted(items, key=lambda item: item.job.change)
    sizes: dict[tuple[int, str, str], int] = {}  # the draws of a null are alike
    group: list[PassItem] = []
    group_bytes = 0
    for item in own:
        kind = item.request, item.job.role, item.job.null
        if kind not in sizes:
            sizes[kind] = _measure_size(item, first, failures)
        if failures is not None and item.request in failures:
            continue
        for block in split_into_blocks(item.job, sizes[kind], BLOCK_BYTES):
            needs = sizes[kind] * (block.rows.stop - block.rows.start)
            if group and group_bytes + needs > BLOCK_BYTES:
                yield PassGroup(group, group_bytes)
                group, group_bytes = [], 0
            group.append(PassItem(item.request, block, source))
            group_bytes += needs
    if group:
        yield PassGroup(group, group_bytes)


def _measure_size(item: PassItem, first: Evidence, failures: Failures | None) -> int:
    job = item.job
    try:
        return measure_state_bytes(job, first)
    except Exception as error:
        if failures is None or not is_limited_to_request(job.request.metric, error):
            raise
        failures.setdefault(
            item.request, describe_failure(job.request, job.stage, encode_error(error))
        )
        return 0


def _collect_sums(items: Sequence[PassItem], some: _Some, *, catches: bool) -> Sums:
    """What nulls must know about all samples before they can be made of some."""
    jobs = {get_sums_name(item.job): item.job for item in items if item.job.learns}
    if not jobs:
        return {}
    metrics = {name: job.request.metric for name, job in sorted(jobs.items())}
    description: dict[str, Any] = {
        "sums of": {name: [metric.name, metric.version] for name, metric in metrics.items()}
    }
    packages = {package for metric in metrics.values() for package in metric.packages}
    if packages:
        description["packages"] = sorted(tuple(vars(package).values()) for package in packages)
    arrays = some.reduced(
        "nulls", partial(sum_for_nulls, list(jobs.values()), catches=catches), description, 0
    )
    sums: dict[str, dict[str, np.ndarray]] = {name: {} for name in jobs}
    for name, array in arrays.items():
        null, _, own = name.rpartition(":")
        sums[null][own] = array
    return sums


def _select_needed(jobs: Sequence[StateJob], sums: Sums) -> Sums:
    names = {get_sums_name(job) for job in jobs if job.learns}
    return {name: sums[name] for name in sorted(names)}

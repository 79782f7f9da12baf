"""Compute many states in each pass over the shards of the evidence.

Used by `evaluate` and `theodolite compare` for metrics whose states add up over shards.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from theodolite._scoring.counting import (
    Slot,
    StateJob,
    count_states,
    get_fields,
    get_sums_name,
    measure_state_bytes,
    read_grouped_state,
    read_state,
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
from theodolite.evidence.pipeline_output import Progress
from theodolite.evidence.shards import Shards
from theodolite.evidence.workers import Arrays, Tree, Work, Workers
from theodolite.metrics.base import state_from
from theodolite.results import Failed

NOTHING_COUNTED = "no piece that could be counted"
BLOCK_BYTES = 1 << 26
"""Maximum size of the states that are computed in one pass."""
MAX_STORED_BYTES = 1 << 30
"""Maximum size of the states of one pass that are stored with a run."""


@dataclass(frozen=True, eq=False)
class PassItem:
    """One state to compute from one source of evidence."""

    request: int
    """Index of the request that the state belongs to."""
    job: StateJob
    evidence: Shards


@dataclass(frozen=True, eq=False)
class PassGroup:
    """States of one source that are computed in one pass."""

    items: list[PassItem]
    bytes: int
    """Total size of the states."""


Sums = Mapping[str, Arrays]
Parts = dict[tuple[int, Slot], list[Values]]
Failures = dict[int, Failed]
"""First failure of each request."""


@dataclass(frozen=True, eq=False)
class PassResult:
    """Values, remaining shards and failures after all passes."""

    values: list[dict[Slot, Values]]
    """Values of all states, by request."""
    left: dict[int, list[int]]
    """Indices of the shards that were read without failure, by source."""
    failures: Failures


def run_passes(
    items: Sequence[PassItem], workers: Workers, progress: Progress, *, catches: bool = False
) -> PassResult:
    """Compute and read all states.

    All states cover the same shards: if a shard fails in one pass, all passes are repeated without
    it. With ``catches``, a metric that raises fails alone.
    """
    early_failures: Failures = {}
    groups = [
        group
        for source in _list_sources(items)
        for package_items in _group_by_package(items, source)
        for group in _group_items(package_items, source, early_failures if catches else None)
    ]
    left: dict[int, list[int]] = {
        id(source): list(range(len(source.shards()))) for source in _list_sources(items)
    }
    while True:
        pass_round = _PassRound(left, workers, dict(early_failures), catches=catches)
        for number, group in enumerate(groups):
            progress("scores", number, len(groups))
            pass_round.add(group, items)
        failed = pass_round.failed_shards
        if not any(failed.values()):
            break
        left = {key: [n for n in numbers if n not in failed[key]] for key, numbers in left.items()}
    progress("scores", len(groups), len(groups))
    n = max((item.request for item in items), default=-1) + 1
    values_by_request: list[dict[Slot, Values]] = [{} for _ in range(n)]
    for (request, slot), blocks in pass_round.parts.items():
        if request not in pass_round.failures:
            values_by_request[request][slot] = Values.concatenate(blocks)
    return PassResult(values_by_request, left, pass_round.failures)


class _PassRound:
    """One round of all passes over the remaining shards."""

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
        self.failed_shards: dict[int, set[int]] = {key: set() for key in left}
        """Indices of the shards that failed in this round, by source."""
        self.parts: Parts = {}
        self._groups: dict[tuple[int, Slot], list[Mapping[str, np.ndarray]]] = {}
        """Sums of groups, block by block; read when all blocks are complete."""
        self._sums: dict[tuple[int, tuple[str, ...]], Sums] = {}

    def add(self, group: PassGroup, items: Sequence[PassItem]) -> None:
        """Compute and read the states of a group."""
        sums = self._get_sums(group, items)
        group_items = [item for item in group.items if self._has_sums(item, sums)]
        if not group_items:
            return
        jobs = [item.job for item in group_items]
        arrays = self._get_remaining(group).reduce(
            "pieces",
            partial(count_states, jobs, _select_needed(jobs, sums), catches=self.catches),
            {"states": [job.describe(sums) for job in jobs]},
            group.bytes,
        )
        errors = get_errors(arrays)
        for number, (item, fields) in enumerate(
            zip(group_items, get_fields(jobs, arrays), strict=True)
        ):
            if str(number) in errors:
                self._record_failure(item, item.job.stage, errors[str(number)])
            else:
                self._read(item, fields)

    def _read(self, item: PassItem, fields: Mapping[str, np.ndarray]) -> None:
        metric, key = item.job.request.metric, (item.request, item.job.slot)
        blocks = [fields]
        if item.job.is_grouped:
            blocks = self._groups.setdefault(key, [])
            blocks.append(fields)
            if item.job.rows.stop < item.job.plan.state_rows.stop:
                return
        try:
            if item.job.is_grouped:
                values = read_grouped_state(item.job, blocks, BLOCK_BYTES)
            else:
                values = read_state(item.job, state_from(metric.state, fields))
        except Exception as error:
            if not self.catches or not is_limited_to_request(metric, error):
                raise
            stage = "read" if item.job.role == "value" else item.job.stage
            self._record_failure(item, stage, encode_error(error))
        else:
            self.parts.setdefault(key, []).append(values)

    def _get_sums(self, group: PassGroup, items: Sequence[PassItem]) -> Sums:
        """Return the sums that nulls need, computed once for each source and package."""
        source, package = group.items[0].evidence, _get_package_key(group.items[0])
        key = (id(source), package)
        if key not in self._sums:
            members = [i for i in items if i.evidence is source and _get_package_key(i) == package]
            self._sums[key] = _collect_sums(
                members, self._get_remaining(group), catches=self.catches
            )
        return self._sums[key]

    def _has_sums(self, item: PassItem, sums: Sums) -> bool:
        """Return True if the sums that the null needs could be computed."""
        if not item.job.needs_sums or RAISED not in sums[get_sums_name(item.job)]:
            return True
        self._record_failure(item, item.job.stage, sums[get_sums_name(item.job)][RAISED])
        return False

    def _record_failure(self, item: PassItem, stage: str, content: np.ndarray) -> None:
        self.failures.setdefault(item.request, describe_failure(item.job.request, stage, content))

    def _get_remaining(self, group: PassGroup) -> "_RemainingShards":
        source = group.items[0].evidence
        remaining, failed = self.left[id(source)], self.failed_shards[id(source)]
        return _RemainingShards(source, remaining, failed, self.workers)


@dataclass(frozen=True, eq=False)
class _RemainingShards:
    """Shards of one source that have not failed yet."""

    source: Shards
    remaining: Sequence[int]
    failed: set[int]
    """Indices of the shards that fail; `reduce` adds to them."""
    workers: Workers

    def reduce(self, what: str, do: Any, description: Mapping[str, Any], size: int) -> Arrays:
        """Call ``do`` with each shard and return the merged results."""
        shards, digests = self.source.shards(), self.source.digests()
        n = count_joint_shards(size, len(self.remaining))
        cuts = [self.remaining[at : at + n] for at in range(0, len(self.remaining), n)]
        arrays = self.workers.reduced(
            Work(
                what=what,
                do=partial(reduce_shards, do),
                items=[[shards[i] for i in cut] for cut in cuts],
                digests=[" ".join(digests[i] for i in cut) for cut in cuts],
                about=description,
                names=[f"piece {cut[0]}" + f" to {cut[-1]}" * (len(cut) > 1) for cut in cuts],
            ),
            merge_arrays,
        )
        self.failed.update(i for k in self.workers.missing() for i in cuts[k])
        if arrays is None:
            raise EvidenceError("evidence", NOTHING_COUNTED, "at least one")
        return arrays


def count_joint_shards(size: int, shards: int) -> int:
    """Return the number of shards whose states are stored as one, to limit the storage."""
    over = -(-size * shards // MAX_STORED_BYTES)
    return 1 << max(over - 1, 0).bit_length()


def reduce_shards(do: Callable[[Any], Arrays], shards: Sequence[Any]) -> Arrays:
    """Call ``do`` with each shard and merge the results in the order of the full merge."""
    tree = Tree(merge_arrays)
    for shard in shards:
        tree.add(do(shard), 1)
    arrays: Arrays = tree.whole()
    return arrays


def _list_sources(items: Sequence[PassItem]) -> list[Shards]:
    return list({id(item.evidence): item.evidence for item in items}.values())


def _get_package_key(item: PassItem) -> tuple[str, ...]:
    """Return the packages whose code decides a state; empty if theodolite alone does."""
    return tuple(str(package) for package in item.job.request.metric.packages)


def _group_by_package(items: Sequence[PassItem], source: Shards) -> Iterator[list[PassItem]]:
    """Group the states of one source by package, theodolite first.

    Packages have separate passes, so that new code of one only renames its own checkpoints.
    """
    members = [item for item in items if item.evidence is source]
    for package in sorted({_get_package_key(item) for item in members}):
        yield [item for item in members if _get_package_key(item) == package]


def _group_items(
    items: Sequence[PassItem], source: Shards, failures: Failures | None
) -> Iterator[PassGroup]:
    """Group the states of one source so that each group fits into memory.

    States of one null are neighbors, so that it is applied once. States that fail on a single
    sample are left out and recorded in ``failures`` if it is given.
    """
    first = source.first()
    ordered = sorted(items, key=lambda item: item.job.evidence_key)
    sizes: dict[tuple[int, str, str], int] = {}  # the draws of a null are alike
    group: list[PassItem] = []
    group_bytes = 0
    for item in ordered:
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


def _collect_sums(items: Sequence[PassItem], shards: _RemainingShards, *, catches: bool) -> Sums:
    """Compute the sums over all samples that nulls need before they can be applied."""
    jobs = {get_sums_name(item.job): item.job for item in items if item.job.needs_sums}
    if not jobs:
        return {}
    metrics = {name: job.request.metric for name, job in sorted(jobs.items())}
    description: dict[str, Any] = {
        "sums of": {name: [metric.name, metric.version] for name, metric in metrics.items()}
    }
    packages = {package for metric in metrics.values() for package in metric.packages}
    if packages:
        description["packages"] = sorted(tuple(vars(package).values()) for package in packages)
    arrays = shards.reduce(
        "nulls", partial(sum_for_nulls, list(jobs.values()), catches=catches), description, 0
    )
    sums: dict[str, dict[str, np.ndarray]] = {name: {} for name in jobs}
    for name, array in arrays.items():
        null, _, own = name.rpartition(":")
        sums[null][own] = array
    return sums


def _select_needed(jobs: Sequence[StateJob], sums: Sums) -> Sums:
    names = {get_sums_name(job) for job in jobs if job.needs_sums}
    return {name: sums[name] for name in sorted(names)}

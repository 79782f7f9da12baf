"""Compute each unit's threshold over all shards; a pass of :mod:`.sharded`."""

import math
from functools import partial
from typing import Literal

import numpy as np
from jaxtyping import Float, Int64, Integer, UInt32

from theodolite.dissection.quantiles import (
    BITS,
    Method,
    TopValues,
    middle_of_bin,
    ordered_codes,
    position,
    value_of,
)
from theodolite.dissection.shards import MapShards, n_shards, read_shard
from theodolite.dissection.shards import shard_work as cut
from theodolite.dissection.units import PAPER
from theodolite.errors import EvidenceError
from theodolite.evidence.workers import Arrays, Work, Workers

Thresholds = Literal["exact", "binned", "refined"]
"""``exact`` keeps 0.5 % of all values. ``binned`` reads once, in constant memory, and is
off by less than 1/128. ``refined`` reads twice and is exact, in constant memory."""
Limits = tuple[Float[np.ndarray, " units"], list[int]]
CODES = 1 << BITS


def shard_limits(
    source: MapShards,
    workers: Workers,
    *,
    quantile: float = PAPER,
    method: Method = "linear",
    how: Thresholds = "exact",
) -> Limits:
    """Return each unit's threshold, and the shards that did not fail.

    With ``exact`` and ``refined`` these are the quantiles of all values, to the last bit.
    """
    if not 0 < quantile < 1:
        raise EvidenceError("quantile", f"{quantile}", "a share between 0 and 1, such as 0.995")
    ways = {"exact": _from_largest, "binned": _from_bins, "refined": _refined}
    return ways[how](source, workers, quantile, method)


def _whole(workers: Workers, work: Work, merge: partial[Arrays]) -> tuple[Arrays, list[int]]:
    """All shards merged, and which of them are in it."""
    whole = workers.reduced(work, merge)
    if whole is None:
        raise EvidenceError("activations", "no shard that could be read", "at least one")
    return whole, whole["done"].tolist()


def _from_largest(source: MapShards, workers: Workers, quantile: float, method: Method) -> Limits:
    n, _, height, width = source.shape
    keep = math.ceil((1 - quantile) * n * height * width) + 2
    do = partial(largest_of_shard, source=source, keep=keep)
    work = cut("largest values", do, source, range(n_shards(source)), {"keep": keep})
    whole, done = _whole(workers, work, partial(merge_largest, keep=keep))
    return TopValues.of(whole, keep).quantile(quantile, method), done


def largest_of_shard(number: int, source: MapShards, keep: int) -> Arrays:
    """Return the largest values of each unit, in descending order."""
    top = TopValues(source.shape[1], keep)
    top.take(read_shard(source, number)[0])
    return {**top.arrays(), "done": np.array([number])}


def merge_largest(left: Arrays, right: Arrays, keep: int) -> Arrays:
    """Return the largest values of both results."""
    both = TopValues.of(left, keep) + TopValues.of(right, keep)
    return {**both.arrays(), "done": np.concatenate([left["done"], right["done"]])}


def _from_bins(source: MapShards, workers: Workers, quantile: float, method: Method) -> Limits:
    whole, done = _bins(source, workers, range(n_shards(source)))
    rank = math.floor(position(quantile, int(whole["seen"][0]), method))
    units = np.arange(source.shape[1])
    return middle_of_bin(_at_rank(whole, units, np.full(len(units), rank))[0]), done


def _bins(
    source: MapShards, workers: Workers, numbers: range | list[int]
) -> tuple[Arrays, list[int]]:
    work = cut("values in bins", partial(bins_of_shard, source=source), source, numbers, {})
    return _whole(workers, work, partial(merge_counts))


def _refined(source: MapShards, workers: Workers, quantile: float, method: Method) -> Limits:
    """Which bins hold the two values that the quantile lies between; then, where in these bins."""
    numbers: range | list[int] = range(n_shards(source))
    while True:
        first, done = _bins(source, workers, numbers)
        seen = int(first["seen"][0])
        at = position(quantile, seen, method)
        low = math.floor(at)
        ranks = np.tile([low, min(low + 1, seen - 1)], source.shape[1])
        bins, within = _at_rank(first, np.arange(source.shape[1]).repeat(2), ranks)
        do = partial(rest_of_shard, source=source, bins=bins)
        work = cut("values refined", do, source, done, {"bins": bins.tolist()})
        second, numbers = _whole(workers, work, partial(merge_counts))
        if numbers == done:  # a shard that failed now must not have been counted before either
            break
    rest, _ = _at_rank(second, np.arange(len(bins)), within)
    values = value_of(bins << np.uint32(BITS) | rest).astype(np.float64).reshape(-1, 2)
    return values[:, 0] + (at - low) * (values[:, 1] - values[:, 0]), done


def bins_of_shard(number: int, source: MapShards) -> Arrays:
    """Count each unit's values by their leading 16 bits."""
    codes = ordered_codes(read_shard(source, number)[0])
    return _counted(codes >> np.uint32(32 - BITS), number, codes.shape[1])


def rest_of_shard(
    number: int, source: MapShards, bins: UInt32[np.ndarray, " two_a_unit"]
) -> Arrays:
    """Count the values in each unit's two bins by their trailing 16 bits."""
    codes = ordered_codes(read_shard(source, number)[0])
    leading = codes >> np.uint32(BITS)
    rest = [codes[slot // 2][leading[slot // 2] == own] for slot, own in enumerate(bins)]
    return _counted([some & np.uint32(CODES - 1) for some in rest], number, codes.shape[1])


def _counted(
    groups: UInt32[np.ndarray, "groups values"] | list[np.ndarray], number: int, seen: int
) -> Arrays:
    """Only what occurs: a shard has far fewer values than there are bins."""
    keys, counts = [], []
    for group, codes in enumerate(groups):
        if len(codes) < CODES // 16:  # few: to sort them is faster than to go through all bins
            there, occurrences = np.unique(codes, return_counts=True)
        else:
            occurrences = np.bincount(codes, minlength=CODES)
            there = np.flatnonzero(occurrences)
            occurrences = occurrences[there]
        keys.append(there.astype(np.int64) + group * CODES)
        counts.append(occurrences)
    return {
        "key": np.concatenate(keys).astype(np.int64),
        "count": np.concatenate(counts).astype(np.int64),
        "seen": np.array([seen], np.int64),
        "done": np.array([number], np.int64),
    }


def merge_counts(left: Arrays, right: Arrays) -> Arrays:
    """Return the sums of the counts."""
    keys = np.concatenate([left["key"], right["key"]])
    order = np.argsort(keys, kind="stable")  # two sorted runs: a merge, not a sort
    keys, counts = keys[order], np.concatenate([left["count"], right["count"]])[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    return {
        "key": keys[first],
        "count": np.add.reduceat(counts, first),
        "seen": left["seen"] + right["seen"],
        "done": np.concatenate([left["done"], right["done"]]),
    }


def _at_rank(
    counted: Arrays, groups: Integer[np.ndarray, " n"], ranks: Integer[np.ndarray, " n"]
) -> tuple[UInt32[np.ndarray, " n"], Int64[np.ndarray, " n"]]:
    """The code of the value with this rank in each group, and its rank among those of its code."""
    total = np.concatenate([[0], np.cumsum(counted["count"])])
    begin = np.searchsorted(counted["key"], groups.astype(np.int64) * CODES)
    target = total[begin] + ranks
    at = np.searchsorted(total, target, side="right") - 1
    return (counted["key"][at] % CODES).astype(np.uint32), target - total[at]

"""Accumulate a metric over batches as one block of bytes; used by the torchmetrics bridge.

A block holds either sums (of a metric that streams) or the samples themselves, if their numbers
decide which samples came twice. Blocks can be concatenated.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import UInt8

from theodolite._scoring.values import average_defined
from theodolite._storage.packed_arrays import pack_arrays, unpack_arrays
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import NamedAxis, Samples
from theodolite.evidence.base import Evidence
from theodolite.evidence.files import read_axis
from theodolite.evidence.ragged import STARTS, with_starts
from theodolite.evidence.shards import list_plain_fields
from theodolite.metrics.base import Metric, added, arrays_of, state_from
from theodolite.metrics.catalogue import find_metric
from theodolite.metrics.states import SAME

Block = UInt8[np.ndarray, " _bytes"]
Arrays = dict[str, np.ndarray]
HEAD = 8
"""Number of bytes before a block that hold its length, so that blocks can be concatenated."""
TEXT, AXIS, NUMBER = '"', "#", "@"
"""Prefixes of names in a block: a text, the names of an axis, the numbers of samples."""
GIVEN = "@given"
"""Name of the array that says whether samples came with their own numbers."""
CLOSE = 1e-3
"""Tolerance for two outputs of one sample, which rounding makes different between batches."""


@dataclass(frozen=True)
class BatchMetric:
    """A metric and its options, to be computed from batches of samples."""

    name: str
    options: dict[str, Any]
    """Options; one value of each swept option, unless several were requested."""
    single: tuple[str, ...]
    """Swept options with one value, which are no axis of the result."""

    @property
    def metric(self) -> Metric:
        """The metric of that name in the catalogue."""
        return find_metric(self.name)

    def keeps(self, *, numbered: bool) -> bool:
        """Return whether samples are kept: sums cannot detect numbered samples that come twice."""
        return numbered or not self.metric.streams

    def block(self, evidence: Evidence, *, numbered: bool = False) -> Block:
        """Return the block of one batch: sums over its samples, or the samples themselves.

        ``numbered`` means that sample numbers are unique over all batches.
        """
        lacking = self.metric.missing(evidence, self.options)
        if lacking:
            raise EvidenceError(self.name, f"no {', '.join(lacking)}", "them", "Pass them too.")
        if self.keeps(numbered=numbered):
            index = np.asarray(evidence.samples.index)
            cut = not np.array_equal(index, np.arange(len(index)))  # from a larger bundle
            return _frame(_flatten(evidence) | {GIVEN: np.array([numbered, cut])})
        return _frame(arrays_of(self.metric.state.of(evidence, **self._get_counting_options())))

    def merged(self, content: Block) -> Block:
        """Return one block with the sum of concatenated blocks of sums."""
        return _frame(self._sum_states(list(_read_blocks(content))))

    def value(self, content: Block) -> np.ndarray:
        """Return the score of all samples; NaN if there are none."""
        if not content.size:
            return np.array(np.nan)
        parts = list(_read_blocks(content))
        if GIVEN not in parts[0]:
            state = state_from(self.metric.state, self._sum_states(parts))
        else:
            whole = _join_samples(self.metric.needs, parts)
            state = self.metric.state.of(whole, **self._get_counting_options())
        finish = {k: v for k, v in self.options.items() if k not in self.metric.counting_options()}
        values = np.asarray(state.value(**finish))
        if self.metric.detail:  # averaged over defined items, as in a report
            values = average_defined(np.moveaxis(values, -1, 0))
        index = tuple(0 if name in self.single else slice(None) for name in self.metric.sweeps)
        return np.asarray(values[index])

    def _sum_states(self, parts: Sequence[Arrays]) -> Arrays:
        first, *others = parts
        for other in others:
            if GIVEN in other or GIVEN in first:
                raise _make_numbers_error()
            _check_alike(first, other, samples=())
            first = _add_states(first, other)
        return first

    def _get_counting_options(self) -> dict[str, Any]:
        return {k: v for k, v in self.options.items() if k in self.metric.counting_options()}


def _add_states(first: Arrays, other: Arrays) -> Arrays:
    def with_prefix(arrays: Arrays) -> Arrays:  # `added` expects names of nested states
        return {f":{name}": array for name, array in arrays.items()}

    total = added(with_prefix(first), with_prefix(other))
    return {name[1:]: array for name, array in total.items()}


def _frame(arrays: Arrays) -> Block:
    plain = {}
    for name, array in arrays.items():
        if array.dtype.kind == "U":
            name, array = TEXT + name, np.frombuffer(str(array.item()).encode(), np.uint8)
        plain[name] = array
    content = pack_arrays(plain)
    return np.frombuffer(len(content).to_bytes(HEAD, "little") + content, np.uint8)


def _read_blocks(content: Block) -> Iterator[Arrays]:
    start, whole = 0, content.tobytes()
    while start < len(whole):
        length = int.from_bytes(whole[start : start + HEAD], "little")
        arrays = unpack_arrays(whole[start + HEAD : start + HEAD + length], "metric state")
        yield {
            name.removeprefix(TEXT): np.asarray(array.tobytes().decode())
            if name.startswith(TEXT)
            else array
            for name, array in arrays.items()
        }
        start += HEAD + length


def _check_alike(first: Arrays, other: Arrays, samples: Sequence[str]) -> None:
    """Refuse batches whose shapes differ: numpy would broadcast one class to three."""
    for name in dict.fromkeys([*first, *other]):
        if name in samples or name.startswith((AXIS, NUMBER)):
            continue
        plain = name.rpartition("/")[2].lstrip(f"{SAME}.")
        left, right = first.get(name), other.get(name)
        if left is None or right is None:
            raise EvidenceError(plain, "in some batches only", "it in all or none")
        if left.shape != right.shape:
            raise EvidenceError(
                plain, f"shapes {left.shape} and {right.shape} in two batches", "the same in all",
                "Name all classes in each batch: classes=[...].",
            )  # fmt: skip
        constant = bool(samples) or name.startswith(SAME)
        if constant and not np.array_equal(left, right, equal_nan=left.dtype.kind == "f"):
            raise EvidenceError(
                plain, "other values than in an earlier batch", "the same for all samples",
                "Call reset() before a changed model is scored.",
            )  # fmt: skip


def _flatten(evidence: Evidence, before: str = "") -> Arrays:
    """Return all arrays of a bundle and of nested bundles, axis names and sample numbers."""
    arrays: Arrays = {}
    for name, values in list_plain_fields(evidence):
        arrays[before + name] = values
    for name, axis in evidence._axes():
        if isinstance(axis, NamedAxis):
            text = json.dumps(axis.header()).encode()
            arrays[AXIS + before + name] = np.frombuffer(text, np.uint8)
    for name, inner in evidence._inner():
        arrays |= _flatten(inner, f"{before}{name}/")
    if not before and evidence.samples.index is not None:
        arrays[NUMBER] = np.asarray(evidence.samples.index).astype(np.int64)
    return arrays


def _join_samples(kind: type[Evidence], parts: Sequence[Arrays]) -> Evidence:
    """Join the samples of all batches into one bundle; keep samples of one number once."""
    if len({tuple(part[GIVEN][:1]) if GIVEN in part else None for part in parts}) > 1:
        raise _make_numbers_error()
    numbered, cut = np.array([part.pop(GIVEN) for part in parts], bool).T
    on_samples = list(_list_sample_arrays(kind))
    for part in parts[1:]:
        _check_alike(parts[0], part, samples=on_samples)
    for name in on_samples:
        if len({name in part for part in parts}) > 1:
            raise EvidenceError(name, "in some batches only", "it in all or none")
    axes = {n: _select_longest([p[n] for p in parts]) for n in parts[0] if n.startswith(AXIS)}
    lengths = [len(part[NUMBER]) for part in parts]
    numbers = np.concatenate([part[NUMBER] for part in parts])
    unique = bool(numbered.all() or cut.any())
    if not unique:  # each batch counted from 0
        numbers = np.arange(len(numbers))
    indices = np.split(numbers, np.cumsum(lengths)[:-1])
    whole = kind.joined(
        [
            _rebuild_evidence(kind, part, axes, Samples(index=index))
            for part, index in zip(parts, indices, strict=True)
        ]
    )
    if not unique:
        return whole
    # entries of ragged rows are not samples, so repeats of such samples are not checked
    rectangular = not any(layout.ragged for _, layout in kind.layouts())
    shared = [name for name in on_samples if name in parts[0]] if rectangular else []
    arrays = {name: np.concatenate([part[name] for part in parts]) for name in shared}
    return whole[_find_first_rows(numbers, arrays)]


def _make_numbers_error() -> EvidenceError:
    return EvidenceError("samples", "numbers in some batches only", "them in all or none")


def _find_first_rows(numbers: np.ndarray, arrays: Arrays) -> np.ndarray:
    """Return the first row of each number; rows of one number must hold the same sample."""
    _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    again = np.flatnonzero(first[inverse] != np.arange(len(numbers)))
    for name, array in arrays.items():
        original, repeat = array[first[inverse[again]]], array[again]
        is_float = original.dtype.kind == "f"
        near = (
            np.isclose(original, repeat, CLOSE, CLOSE, equal_nan=True)
            if is_float
            else original == repeat
        )
        other = again[~near.reshape(len(again), -1).all(axis=1)] if len(again) else again
        if len(other):
            raise EvidenceError(
                f"samples: number {numbers[other[0]]}", f"twice, with other {name}",
                "a separate number for each sample",
                "Number samples over the whole data set, not in each batch.",
            )  # fmt: skip
    return np.asarray(first)


def _rebuild_evidence(
    kind: type[Evidence], whole: Arrays, axes: Mapping[str, Any], samples: Samples, before: str = ""
) -> Evidence:
    fields: dict[str, Any] = {
        n: whole[before + n] for n, _ in kind.layouts() if before + n in whole
    }
    own = {name.removeprefix(before): array for name, array in whole.items()}
    for name, layout in kind.layouts():
        if layout.ragged and name in fields:
            fields[name] = with_starts(fields[name], layout.ragged, own)
    for name, inner in kind.inner_kinds():
        fields[name] = _rebuild_evidence(inner, whole, axes, samples, f"{before}{name}/")
    if not list(kind.inner_kinds()):
        fields["samples"] = samples
    inside = {name for _, inner in kind.inner_kinds() for name in inner.axes()}
    for name, axis_kind in kind.axes().items():
        header = axes.get(AXIS + before + name)
        if header is not None and name not in inside:
            fields[name] = read_axis(axis_kind, header, "metric state")
    return kind.make_shard(fields)


def _list_sample_arrays(kind: type[Evidence], before: str = "") -> Iterator[str]:
    for name, layout in kind.layouts():
        if layout.axes[0] == "samples":
            yield before + name
        yield from (before + axis + STARTS for axis in layout.ragged)
    for name, inner in kind.inner_kinds():
        yield from _list_sample_arrays(inner, f"{before}{name}/")


def _select_longest(headers: Sequence[np.ndarray]) -> dict[str, Any]:
    """Return the longest axis: a batch without names only has the classes that occur in it."""
    parsed_headers: list[dict[str, Any]] = [json.loads(header.tobytes()) for header in headers]
    longest = max(parsed_headers, key=lambda h: (len(h["names"]), h.get("count", 0)))
    for header in parsed_headers:
        if header["names"] != longest["names"][: len(header["names"])]:
            raise EvidenceError("names", "others than in an earlier batch", "the same in all")
    return longest

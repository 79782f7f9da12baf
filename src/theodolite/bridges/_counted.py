"""Accumulate a metric over batches as one block of bytes; used by the torchmetrics bridge."""

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
"""Bytes before a block that say how long it is: blocks in a row can be told apart."""
TEXT, AXIS, NUMBER = '"', "#", "@"
"""What names begin with that are a text, the names of an axis, or the numbers of samples."""
GIVEN = "@given"
"""Name of whether samples came with numbers of their own."""
CLOSE = 1e-3
"""How far two outputs for one sample may lie apart: batches are not computed to the last digit."""


@dataclass(frozen=True)
class BatchMetric:
    """A metric with its options, put to samples that come batch by batch."""

    name: str
    options: dict[str, Any]
    """Of swept options one choice each, unless several were asked for."""
    single: tuple[str, ...]
    """Swept options with one choice: they are no axis of the value."""

    @property
    def metric(self) -> Metric:
        """The metric."""
        return find_metric(self.name)

    def keeps(self, *, numbered: bool) -> bool:
        """Whether samples are kept: sums cannot tell which of numbered samples came twice."""
        return numbered or not self.metric.streams

    def block(self, evidence: Evidence, *, numbered: bool = False) -> Block:
        """What one batch adds: sums over its samples, or the samples themselves.

        ``numbered``: the numbers of its samples tell them apart in all batches.
        """
        lacking = self.metric.missing(evidence, self.options)
        if lacking:
            raise EvidenceError(self.name, f"no {', '.join(lacking)}", "them", "Pass them too.")
        if self.keeps(numbered=numbered):
            index = np.asarray(evidence.samples.index)
            cut = not np.array_equal(index, np.arange(len(index)))  # from a larger bundle
            return _framed(_flat(evidence) | {GIVEN: np.array([numbered, cut])})
        return _framed(arrays_of(self.metric.state.of(evidence, **self._counting())))

    def merged(self, content: Block) -> Block:
        """Sums in a row as one."""
        return _framed(self._sum(list(_blocks(content))))

    def value(self, content: Block) -> np.ndarray:
        """The value of all samples together; NaN if there are none."""
        if not content.size:
            return np.array(np.nan)
        parts = list(_blocks(content))
        if GIVEN not in parts[0]:
            state = state_from(self.metric.state, self._sum(parts))
        else:
            whole = _joined(self.metric.needs, parts)
            state = self.metric.state.of(whole, **self._counting())
        finish = {k: v for k, v in self.options.items() if k not in self.metric.counting_options()}
        values = np.asarray(state.value(**finish))
        if self.metric.detail:  # summed up by the mean of what is defined, as in a report
            values = average_defined(np.moveaxis(values, -1, 0))
        at = tuple(0 if name in self.single else slice(None) for name in self.metric.sweeps)
        return np.asarray(values[at])

    def _sum(self, parts: Sequence[Arrays]) -> Arrays:
        first, *others = parts
        for other in others:
            if GIVEN in other or GIVEN in first:
                raise _numbers_missing()
            _check_alike(first, other, samples=())
            first = _added(first, other)
        return first

    def _counting(self) -> dict[str, Any]:
        return {k: v for k, v in self.options.items() if k in self.metric.counting_options()}


def _added(first: Arrays, other: Arrays) -> Arrays:
    def owned(arrays: Arrays) -> Arrays:
        return {f":{name}": array for name, array in arrays.items()}

    return {name[1:]: array for name, array in added(owned(first), owned(other)).items()}


def _framed(arrays: Arrays) -> Block:
    plain = {}
    for name, array in arrays.items():
        if array.dtype.kind == "U":
            name, array = TEXT + name, np.frombuffer(str(array.item()).encode(), np.uint8)
        plain[name] = array
    content = pack_arrays(plain)
    return np.frombuffer(len(content).to_bytes(HEAD, "little") + content, np.uint8)


def _blocks(content: Block) -> Iterator[Arrays]:
    at, whole = 0, content.tobytes()
    while at < len(whole):
        length = int.from_bytes(whole[at : at + HEAD], "little")
        arrays = unpack_arrays(whole[at + HEAD : at + HEAD + length], "metric state")
        yield {
            name.removeprefix(TEXT): np.asarray(array.tobytes().decode())
            if name.startswith(TEXT)
            else array
            for name, array in arrays.items()
        }
        at += HEAD + length


def _check_alike(first: Arrays, other: Arrays, samples: Sequence[str]) -> None:
    """Refuse to add what does not fit: numpy would stretch one class over three."""
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


def _flat(evidence: Evidence, before: str = "") -> Arrays:
    """All arrays of a bundle and of the bundle inside it, its names, and its samples' numbers."""
    arrays: Arrays = {}
    for name, values in list_plain_fields(evidence):
        arrays[before + name] = values
    for name, axis in evidence._axes():
        if isinstance(axis, NamedAxis):
            text = json.dumps(axis.header()).encode()
            arrays[AXIS + before + name] = np.frombuffer(text, np.uint8)
    for name, inner in evidence._inner():
        arrays |= _flat(inner, f"{before}{name}/")
    if not before and evidence.samples.index is not None:
        arrays[NUMBER] = np.asarray(evidence.samples.index).astype(np.int64)
    return arrays


def _joined(kind: type[Evidence], parts: Sequence[Arrays]) -> Evidence:
    """The samples of all batches as one bundle, those of one number once."""
    if len({tuple(part[GIVEN][:1]) if GIVEN in part else None for part in parts}) > 1:
        raise _numbers_missing()
    numbered, cut = np.array([part.pop(GIVEN) for part in parts], bool).T
    on_samples = list(_on_samples(kind))
    for part in parts[1:]:
        _check_alike(parts[0], part, samples=on_samples)
    for name in on_samples:
        if len({name in part for part in parts}) > 1:
            raise EvidenceError(name, "in some batches only", "it in all or none")
    axes = {n: _longest([p[n] for p in parts]) for n in parts[0] if n.startswith(AXIS)}
    lengths = [len(part[NUMBER]) for part in parts]
    numbers = np.concatenate([part[NUMBER] for part in parts])
    unique = bool(numbered.all() or cut.any())
    if not unique:  # each batch counted from 0
        numbers = np.arange(len(numbers))
    indices = np.split(numbers, np.cumsum(lengths)[:-1])
    whole = kind.joined(
        [
            _bundle(kind, part, axes, Samples(index=index))
            for part, index in zip(parts, indices, strict=True)
        ]
    )
    if not unique:
        return whole
    # entries of rows of unequal length are not samples: of these, the first is taken unchecked
    rectangular = not any(layout.ragged for _, layout in kind.layouts())
    shared = [name for name in on_samples if name in parts[0]] if rectangular else []
    arrays = {name: np.concatenate([part[name] for part in parts]) for name in shared}
    return whole[_first_of_each(numbers, arrays)]


def _numbers_missing() -> EvidenceError:
    return EvidenceError("samples", "numbers in some batches only", "them in all or none")


def _first_of_each(numbers: np.ndarray, arrays: Arrays) -> np.ndarray:
    """Rows that hold each number first, by number; a sample that comes twice must be the same."""
    _, first, of = np.unique(numbers, return_index=True, return_inverse=True)
    again = np.flatnonzero(first[of] != np.arange(len(numbers)))
    for name, array in arrays.items():
        original, repeat = array[first[of[again]]], array[again]
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
                "a number of its own for each sample",
                "Number samples over the whole data set, not in each batch.",
            )  # fmt: skip
    return np.asarray(first)


def _bundle(
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
        fields[name] = _bundle(inner, whole, axes, samples, f"{before}{name}/")
    if not list(kind.inner_kinds()):
        fields["samples"] = samples
    inside = {name for _, inner in kind.inner_kinds() for name in inner.axes()}
    for name, axis_kind in kind.axes().items():
        header = axes.get(AXIS + before + name)
        if header is not None and name not in inside:
            fields[name] = read_axis(axis_kind, header, "metric state")
    return kind.make_shard(fields)


def _on_samples(kind: type[Evidence], before: str = "") -> Iterator[str]:
    for name, layout in kind.layouts():
        if layout.axes[0] == "samples":
            yield before + name
        yield from (before + axis + STARTS for axis in layout.ragged)
    for name, inner in kind.inner_kinds():
        yield from _on_samples(inner, f"{before}{name}/")


def _longest(headers: Sequence[np.ndarray]) -> dict[str, Any]:
    """Batches without names know as many classes as they met: the most of them are all."""
    parsed_headers: list[dict[str, Any]] = [json.loads(header.tobytes()) for header in headers]
    longest = max(parsed_headers, key=lambda h: (len(h["names"]), h.get("count", 0)))
    for header in parsed_headers:
        if header["names"] != longest["names"][: len(header["names"])]:
            raise EvidenceError("names", "others than in an earlier batch", "the same in all")
    return longest

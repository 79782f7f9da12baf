"""Select concepts of evidence, and convert evidence to and from plain arrays that workers
exchange."""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from theodolite._storage.packed_arrays import Arrays
from theodolite.evidence.axes import Concepts, Samples
from theodolite.evidence.base import Bundle, Evidence, flatten_entries
from theodolite.evidence.ragged import starts_by_axis, with_starts

INDEX, CLUSTERS = "of index", "of clusters"
"""Names of the arrays that hold sample numbers and clusters."""


def select_concepts(evidence: Bundle, numbers: Sequence[int]) -> Bundle:
    """Return the bundle restricted to some concepts, in this order, without checking again."""
    cut = object.__new__(type(evidence))
    rows = np.asarray(numbers, np.int64)
    layouts = dict(evidence.layouts())
    for f in fields(evidence):
        value = getattr(evidence, f.name)
        if isinstance(value, Evidence):
            value = select_concepts(value, numbers)
        elif isinstance(value, Concepts):
            value = _some_names(value, rows.tolist())
        elif f.name in layouts and value is not None and "concepts" in layouts[f.name].axes:
            value = np.take(np.asarray(value), rows, axis=layouts[f.name].axes.index("concepts"))
        object.__setattr__(cut, f.name, value)
    return cut


def _some_names(axis: Concepts, numbers: list[int]) -> Concepts:
    return Concepts(
        tuple(axis.names[i] for i in numbers),
        tuple(axis.kinds[i] for i in numbers),
        tuple(axis.cardinalities[i] for i in numbers),
    )


def replace_arrays(evidence: Bundle, **arrays: Any) -> Bundle:
    """Return the bundle with some arrays or inner bundles replaced, without checking again."""
    other = object.__new__(type(evidence))
    for f in fields(evidence):
        object.__setattr__(other, f.name, arrays.get(f.name, getattr(evidence, f.name)))
    return other


def to_sample_arrays(evidence: Evidence) -> dict[str, np.ndarray]:
    """Return all arrays that have a row per sample, with sample numbers and clusters."""
    arrays = {name: np.ascontiguousarray(values) for name, values in _on_samples(evidence, "")}
    arrays[INDEX] = np.asarray(evidence.samples.index).astype(np.int64)
    if evidence.samples.clusters is not None:
        arrays[CLUSTERS] = np.asarray(evidence.samples.clusters).astype(np.int64)
    return arrays


def _on_samples(evidence: Evidence, place: str) -> Iterator[tuple[str, np.ndarray]]:
    for name, layout in evidence.layouts():
        if layout.axes[0] == "samples" and evidence.has(name):
            yield place + name, flatten_entries(getattr(evidence, name))
    uneven = [(axes, values) for _, axes, values in evidence.ragged_fields()]
    for name, starts in starts_by_axis(uneven).items():
        yield place + name, starts
    for name, bundle in evidence._inner():
        yield from _on_samples(bundle, f"{place}{name}.")


def from_sample_arrays(template: Bundle, arrays: Arrays, place: str = "") -> Bundle:
    """Return evidence with the samples of ``arrays`` and everything else from the template."""
    whole = object.__new__(type(template))
    layouts = dict(template.layouts())
    for f in fields(template):
        value: Any = getattr(template, f.name)
        if isinstance(value, Samples):
            value = Samples(arrays[INDEX], None, arrays.get(CLUSTERS))
        elif isinstance(value, Evidence):
            value = from_sample_arrays(value, arrays, f"{place}{f.name}.")
        elif f.name in layouts and layouts[f.name].axes[0] == "samples":
            value, uneven = arrays.get(place + f.name), layouts[f.name].ragged
            if uneven and value is not None:
                own = {n.removeprefix(place): array for n, array in arrays.items()}
                value = with_starts(value, uneven, own)
        object.__setattr__(whole, f.name, value)
    return whole


def join_concept_blocks(template: Bundle, blocks: Sequence[Arrays]) -> Bundle:
    """Return evidence from the arrays of several blocks of concepts, in the template's order."""
    along = dict(_concept_axes(template, ""))
    arrays = {
        name: np.concatenate([block[name] for block in blocks], axis=along[name])
        if name in along and len(blocks) > 1
        else array
        for name, array in blocks[0].items()
    }
    return from_sample_arrays(template, arrays)


def _concept_axes(evidence: Evidence, place: str) -> Iterator[tuple[str, int]]:
    for name, layout in evidence.layouts():
        if layout.axes[0] == "samples" and "concepts" in layout.axes:
            yield place + name, layout.axes.index("concepts")
    for name, bundle in evidence._inner():
        yield from _concept_axes(bundle, f"{place}{name}.")

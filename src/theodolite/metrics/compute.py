"""Compute a metric's value from arrays. Called by the generated functions of
``theodolite.metrics``."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theodolite.evidence.base import Evidence
from theodolite.evidence.checks import Layout
from theodolite.evidence.ragged import Ragged, compute_starts
from theodolite.metrics.base import metric_of

DTYPES = {"flag": bool, "index": np.int64}


def number(state: type[Any], arrays: Mapping[str, Any], options: Mapping[str, Any]) -> float:
    """Compute a metric without sweeps and detail."""
    return float(table(state, arrays, options))


def table(
    state: type[Any], arrays: Mapping[str, Any], options: Mapping[str, Any]
) -> NDArray[np.float64]:
    """Compute a metric with axes for the swept options, then for the items."""
    metric = metric_of(state)
    checked = metric.check(options)
    counting = metric.counting_options()
    evidence = evidence_of(metric.needs, arrays)
    counted = metric.state.of(evidence, **{n: v for n, v in checked.items() if n in counting})
    value = counted.value(**{n: v for n, v in checked.items() if n not in counting})
    return np.asarray(value, np.float64)


def evidence_of(kind: type[Evidence], arrays: Mapping[str, Any]) -> Evidence:
    """Evidence of a kind from the arrays that a metric reads, by their declared names.

    What the kind needs and the metric does not read is filled with zeros that take no memory.
    """
    present = {name: values for name, values in arrays.items() if values is not None}
    own: dict[str, Any] = {name: values for name, values in present.items() if "." not in name}
    lengths = _get_lengths(kind, present)
    for field, inner in kind.inner_kinds():
        inside = {n.partition(".")[2]: v for n, v in present.items() if n.startswith(f"{field}.")}
        own[field] = inner(**_filled(inner, inside, lengths))
    return kind(**_filled(kind, own, lengths))


def _get_lengths(kind: type[Evidence], arrays: Mapping[str, Any]) -> dict[str, int]:
    """Return the length of each axis from the arrays along it."""
    layouts = dict(kind.layouts())
    for field, inner in kind.inner_kinds():
        layouts |= {f"{field}.{name}": layout for name, layout in inner.layouts()}
    lengths: dict[str, int] = {}
    for name, values in arrays.items():
        if name in layouts and layouts[name].ragged:
            lengths["samples"] = len(values)
        elif name in layouts:
            lengths |= dict(zip(layouts[name].axes, np.shape(values), strict=False))
    return lengths


def _filled(
    kind: type[Evidence], arrays: Mapping[str, Any], lengths: Mapping[str, int]
) -> dict[str, Any]:
    required = {f.name for f in fields(kind) if f.default is MISSING}
    filled = dict(arrays)
    for name, layout in kind.layouts():
        if name in required and name not in arrays and layout.ragged:
            filled[name] = _zeros_like_another(kind, arrays, layout)
        elif name in required and name not in arrays:
            shape = [int(a) if a.isdigit() else lengths.get(a, 1) for a in layout.axes]
            zero = np.zeros((), DTYPES.get(layout.content, np.float64))
            filled[name] = np.broadcast_to(zero, shape)
    return filled


def _zeros_like_another(
    kind: type[Evidence], arrays: Mapping[str, Any], layout: Layout
) -> Ragged | list[list[int]]:
    """Rows as long as those of an array along the same axis; where there is none, rows of one."""
    for name, other in kind.layouts():
        if name in arrays and other.ragged[:1] == layout.ragged[:1]:
            values = arrays[name]
            lengths = values.lengths if isinstance(values, Ragged) else [len(row) for row in values]
            zero = np.zeros((), DTYPES.get(layout.content, np.float64))
            starts = compute_starts(lengths)
            return Ragged(np.broadcast_to(zero, starts[-1:]), starts)
    on_samples = (n for n, own in kind.layouts() if n in arrays and own.axes[0] == "samples")
    return [[0] for _ in arrays.get(next(on_samples, ""), [0])]

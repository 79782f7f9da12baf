"""Hold the values read from states, and average them over draws and seeds.

Used by all of `_scoring` and by `theodolite compare`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from theodolite.metrics.base import Pooled


@dataclass(frozen=True, eq=False)
class Values:
    """Values of a score: row 0 on the samples as they are, the other rows on resamples."""

    rows: Float[np.ndarray, "rows *shape"]
    defined: np.ndarray | None = None
    """Number of defined samples or items, for states that count them."""
    undefined: np.ndarray | None = None
    moments: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Further arrays about the error of the value, for states that give them."""

    @classmethod
    def from_state(cls, state: Any, options: Mapping[str, Any]) -> "Values":
        """Read the values of a state with these reading options."""
        if isinstance(state, Pooled):  # all samples enter; undefined items show in the detail
            rows, moments = state.value_with_moments()
            shape = rows.shape[1:]
            return cls(rows, np.full(shape, len(state)), np.zeros(shape), moments)
        rows = np.asarray(state.value(**options))
        if hasattr(state, "counted"):
            defined, undefined = (np.asarray(part[0]) for part in state.counted())
            return cls(rows, defined, undefined)
        return cls(rows)

    @classmethod
    def concatenate(cls, parts: Sequence["Values"]) -> "Values":
        """Concatenate blocks of rows; the first holds the counts."""
        rows = np.concatenate([part.rows for part in parts])
        return cls(rows, parts[0].defined, parts[0].undefined)


def average_over_seeds(values: Sequence[np.ndarray]) -> np.ndarray:
    """Return the mean over experiment seeds; resamples vary as those of the first seed."""
    first = next((v for v in values if not np.isnan(v[:1]).all()), values[0])
    moved = first - first[:1]
    moved[:1] = 0.0
    return np.asarray(average_defined([v[:1] for v in values]) + moved)


def average_defined(arrays: Sequence[np.ndarray] | np.ndarray) -> np.ndarray:
    """Return the mean of the defined values; NaN where none is defined."""
    stacked = np.asarray(arrays)
    defined = ~np.isnan(stacked)
    n = defined.sum(axis=0)
    total = np.where(defined, stacked, 0.0).sum(axis=0)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)

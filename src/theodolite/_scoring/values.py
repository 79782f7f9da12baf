"""Values read from states: as they are, as resampled, over draws and over seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from theodolite.metrics.base import Pooled


@dataclass(frozen=True, eq=False)
class Values:
    """Values in rows, row 0 as they are, then as resampled; and what was counted."""

    rows: Float[np.ndarray, "rows *shape"]
    defined: np.ndarray | None = None
    undefined: np.ndarray | None = None
    """What was counted, for states that count."""
    moments: Mapping[str, np.ndarray] = field(default_factory=dict)
    """What is known of the error beside the resampled rows, for states that know more."""

    @classmethod
    def of(cls, state: Any, finish: Mapping[str, Any]) -> "Values":
        """What a state says."""
        if isinstance(state, Pooled):  # all samples enter; what is undefined shows in the detail
            rows, moments = state.value_with_moments()
            shape = rows.shape[1:]
            return cls(rows, np.full(shape, len(state)), np.zeros(shape), moments)
        rows = np.asarray(state.value(**finish))
        if hasattr(state, "counted"):
            defined, undefined = (np.asarray(part[0]) for part in state.counted())
            return cls(rows, defined, undefined)
        return cls(rows)

    @classmethod
    def joined(cls, parts: Sequence["Values"]) -> "Values":
        """Blocks of rows, one after the other; what was counted is in the first."""
        rows = np.concatenate([part.rows for part in parts])
        return cls(rows, parts[0].defined, parts[0].undefined)


def average_over_seeds(values: Sequence[np.ndarray]) -> np.ndarray:
    """The mean over the experiment's seeds; how it varies over samples is the first seed's."""
    first = next((v for v in values if not np.isnan(v[:1]).all()), values[0])
    moved = first - first[:1]
    moved[:1] = 0.0
    return np.asarray(average_defined([v[:1] for v in values]) + moved)


def average_defined(arrays: Sequence[np.ndarray] | np.ndarray) -> np.ndarray:
    """Mean of what is defined; NaN where nothing is."""
    stacked = np.asarray(arrays)
    defined = ~np.isnan(stacked)
    n = defined.sum(axis=0)
    total = np.where(defined, stacked, 0.0).sum(axis=0)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)

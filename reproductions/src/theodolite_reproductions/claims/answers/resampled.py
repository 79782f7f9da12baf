"""From statistics over units to answers."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import ndtr

from theodolite._stats.resampling import (
    LEVEL,
    RESAMPLES,
    SEED,
    Draws,
    Values,
    compute_percentile_ends,
)
from theodolite_reproductions.claims.power import detectable_effect
from theodolite_reproductions.claims.results import EntryAnswer, Figure
from theodolite_reproductions.unit_resamples import UnitResamples

__all__ = [
    "LEVEL", "RESAMPLES", "SEED", "Draws", "UnitResamples", "Values", "answer_from",
    "compute_percentile_ends", "slope_over_range",
]  # fmt: skip


def slope_over_range(draws: list[Draws]) -> Draws:
    """Least-squares change from the first to the last of evenly spaced statistics."""
    rows = np.stack(draws)
    steps = np.arange(len(rows)) - (len(rows) - 1) / 2
    each = np.einsum("s,sr->r", steps / (steps**2).sum(), rows)
    return np.asarray(each * (len(rows) - 1))


def answer_from(  # noqa: PLR0913  an answer has these parts
    entry: str,
    draws: Draws,
    resamples: UnitResamples,
    n: int,
    settings: Mapping[str, Any],
    ours: Mapping[str, Figure],
    *,
    nearest: bool = False,
) -> EntryAnswer:
    """An answer with its interval, its p-value by the normal law, and its power.

    What is undefined has no effect, and so no verdict.
    """
    known = draws[1:][~np.isnan(draws[1:])]
    if np.isnan(draws[0]) or len(known) < 2:
        return EntryAnswer(
            entry=entry, settings=dict(settings), unit=resamples.unit, n=n, ours=dict(ours)
        )
    value, error = float(draws[0]), float(known.std(ddof=1))
    low, high = compute_percentile_ends(draws)
    p = float(2 * ndtr(-abs(value) / error)) if error > 0 else float(abs(value) <= 1e-12)
    return EntryAnswer(
        entry=entry, settings=dict(settings), nearest=nearest, effect=value, low=low, high=high,
        p=p, unit=resamples.unit, n=n,
        min_detectable_effect=detectable_effect(error), ours=dict(ours),
    )  # fmt: skip

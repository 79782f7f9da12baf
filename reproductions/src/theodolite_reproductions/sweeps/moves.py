"""Which choice moves which contrast: all else averaged, seeds and samples resampled alike."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from theodolite._stats.intervals import Estimate, sample_variance, student_interval, two_sided_p
from theodolite._stats.multiple import correct_holm
from theodolite_reproductions.sweeps.cells import Cell, ContrastRows
from theodolite_reproductions.sweeps.spec import Choice, SweepSpec

Measured = Sequence[tuple[Cell, Mapping[str, ContrastRows]]]


@dataclass(frozen=True)
class ContrastEstimate:
    """A contrast, or how far it moves, with its interval."""

    value: float
    low: float
    high: float
    p: float
    draws: float
    seeds: int


@dataclass(frozen=True)
class Move:
    """What choosing otherwise does to a contrast, over all cells that differ in that alone."""

    setting: str
    before: Choice
    after: Choice
    contrast: str
    estimate: ContrastEstimate
    corrected: float = math.nan
    """The p-value, given that all moves were looked at."""


def estimate_of(
    rows: Float[np.ndarray, " rows"],
    seeds: Float[np.ndarray, " seeds"],
    draws: float,
    level: float = 0.95,
) -> ContrastEstimate:
    """Samples vary, and so does what is random in making the evidence, where there are seeds."""
    value, n = float(rows[0]), len(seeds)
    variance, df = sample_variance(rows[1:], draws), max(draws - 1, 1.0)
    if n > 1:
        between = float(seeds.var(ddof=1)) / n
        both = variance + between
        if both > 0:  # Welch and Satterthwaite
            df = both**2 / (variance**2 / df + between**2 / (n - 1)) if between else df
        variance = both
    if math.isnan(value) or math.isnan(variance):
        return ContrastEstimate(value, math.nan, math.nan, math.nan, draws, n)
    estimate = Estimate(value, variance, df, "clusters", len(rows) - 1)
    interval = student_interval(estimate, level)
    p = two_sided_p(value, estimate.error, df)
    return ContrastEstimate(value, interval.low, interval.high, p, draws, n)


def moves(sweep: SweepSpec, measured: Measured, level: float = 0.95) -> list[Move]:
    """Every pair of choices of every setting, for every contrast; corrected for all of them."""
    every = list(_moves(sweep, measured, level))
    steps = correct_holm([move.estimate.p for move in every], 1 - level)
    return [replace(move, corrected=float(p)) for move, p in zip(every, steps.p, strict=True)]


def _moves(sweep: SweepSpec, measured: Measured, level: float) -> Iterator[Move]:
    for setting, choices in sweep.vary.items():
        for before, after in itertools.combinations(choices, 2):
            for contrast in sweep.contrasts:
                sides = [
                    [own[contrast.name] for cell, own in measured if cell[setting] == choice]
                    for choice in (before, after)
                ]
                rows, seeds = (
                    _mean([getattr(own, field) for own in sides[1]])
                    - _mean([getattr(own, field) for own in sides[0]])
                    for field in ("rows", "seeds")
                )
                draws = min(own.draws for side in sides for own in side)
                estimate = estimate_of(rows, seeds, draws, level)
                yield Move(setting, before, after, contrast.name, estimate)


def _mean(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Undefined where any is: the mean of the others would be of other cells."""
    return np.asarray(np.mean(np.stack(parts), axis=0))

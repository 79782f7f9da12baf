"""Intervals from what a paper prints: a correlation, a mean with its spread, a list of means."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri, stdtr

from theodolite._stats.intervals import quantile, two_sided_p
from theodolite_reproductions.claims.answers.resampled import LEVEL, Draws, UnitResamples
from theodolite_reproductions.claims.power import detectable_effect
from theodolite_reproductions.claims.results import EntryAnswer, Figure

HALF_DIGIT = 0.005
"""Figures are printed with two digits."""
MOST_UNITS, STEP = 3000, 5


@dataclass(frozen=True)
class SignedEffect:
    """A signed effect with its interval, as an answer needs it."""

    effect: float
    low: float
    high: float
    error: float
    p: float
    n: int
    unit: str

    def answer(
        self, entry: str, cell: Mapping[str, Any], ours: Mapping[str, Figure], *, nearest: bool
    ) -> EntryAnswer:
        """To an entry, in one cell."""
        return EntryAnswer(
            entry=entry, settings=dict(cell), nearest=nearest, effect=self.effect, low=self.low,
            high=self.high, p=self.p, unit=self.unit, n=self.n,
            min_detectable_effect=detectable_effect(self.error), ours=dict(ours),
        )  # fmt: skip


def mean_and_spread(text: str) -> tuple[float, float]:
    """Of a printed cell.

    >>> mean_and_spread("0.48+-0.05")
    (0.48, 0.05)
    """
    mean, _, spread = text.partition("+-")
    return float(mean), float(spread)


def fisher(r: float, n: int, unit: str) -> SignedEffect:
    """A correlation over so many units, by Fisher's z."""
    error = 1 / math.sqrt(n - 3)
    z, half = math.atanh(r), float(ndtri((1 + LEVEL) / 2)) / math.sqrt(n - 3)
    p = correlation_p(r, n)
    return SignedEffect(
        r, math.tanh(z - half), math.tanh(z + half), error * (1 - r * r), p, n, unit
    )  # fmt: skip


def correlation_p(r: float, n: float) -> float:
    """Two-sided p-value of a correlation over so many units.

    >>> round(correlation_p(0.1, 385), 3)
    0.05
    """
    t = abs(r) * math.sqrt((n - 2) / (1 - r * r))
    return float(2 * stdtr(n - 2, -t))


def welch(more: str, less: str, runs: int) -> SignedEffect:
    """Difference of two printed means with their spreads over so many runs each."""
    return _unpaired(mean_and_spread(more), mean_and_spread(less), runs, "runs")


def welch_of(
    more: Float[np.ndarray, " first"], less: Float[np.ndarray, " second"], unit: str
) -> SignedEffect:
    """Difference of the means of two lists as long as each other that are not paired."""
    sides = [(float(side.mean()), float(side.std(ddof=1))) for side in (more, less)]
    return _unpaired(sides[0], sides[1], len(more), unit)


def _unpaired(
    more: tuple[float, float], less: tuple[float, float], n: int, unit: str
) -> SignedEffect:
    va, vb = (spread * spread / n for _, spread in (more, less))
    df = (n - 1) * (va + vb) ** 2 / (va * va + vb * vb)
    return _student(more[0] - less[0], math.sqrt(va + vb), df, n, unit)


def student(values: Float[np.ndarray, " units"], unit: str) -> SignedEffect:
    """The mean of a few numbers."""
    n = len(values)
    error = float(values.std(ddof=1)) / math.sqrt(n)
    return _student(float(values.mean()), error, n - 1, n, unit)


def rank_difference(printed: Mapping[str, str], more: str, less: str, people: int) -> SignedEffect:
    """Difference of two mean ranks of the same people.

    Ranks of a person add up to the same number, so covariances make up for variances: each is
    taken to be their mean, minus the sum of variances over the number of ordered pairs.
    """
    spreads = {name: mean_and_spread(cell)[1] for name, cell in printed.items()}
    k = len(spreads)
    covariance = -sum(spread**2 for spread in spreads.values()) / (k * (k - 1))
    variance = spreads[more] ** 2 + spreads[less] ** 2 - 2 * covariance
    value = mean_and_spread(printed[more])[0] - mean_and_spread(printed[less])[0]
    return _student(value, math.sqrt(variance / people), people - 1, people, "people")


def _student(value: float, error: float, df: float, n: int, unit: str) -> SignedEffect:
    half = quantile(df, LEVEL) * error
    p = two_sided_p(value, error, df)
    return SignedEffect(value, value - half, value + half, error, p, n, unit)


def fits(r: float, p: float | str, n: int) -> bool:
    """Return whether a rounded correlation and a rounded p-value can be of this many units.

    Powers of ten are taken as upper bounds.
    """
    weakest, strongest = max(abs(r) - HALF_DIGIT, 0.0), abs(r) + HALF_DIGIT
    if isinstance(p, str) and "e" not in p:
        least, most = float(p) - HALF_DIGIT, float(p) + HALF_DIGIT
    else:
        least, most = 0.0, math.sqrt(10) * float(p)
    return correlation_p(strongest, n) <= most and correlation_p(weakest, n) >= least


def units_that_fit(cells: Iterable[Sequence[Any]]) -> tuple[int, int]:
    """The fewest units that fit most of the printed pairs of r and p, and how many pairs those are.

    Fewer units make wider intervals, so that nothing is claimed that a larger number would not.
    """
    pairs = [(float(r), p) for r, p in cells]
    tried = range(STEP * 10, MOST_UNITS + 1, STEP)
    counts = [sum(fits(r, p, n) for r, p in pairs) for n in tried]
    most = max(counts)
    return tried[counts.index(most)], most


def within_groups(
    more: Float[np.ndarray, " first"], less: Float[np.ndarray, " second"], unit: str
) -> tuple[Draws, UnitResamples]:
    """Difference of two means, each group resampled on its own."""
    first = UnitResamples.draw(len(more), unit, seed=0)
    second = UnitResamples.draw(len(less), unit, seed=1)
    return np.asarray(first.mean(more) - second.mean(less)), first


def variance_within_minus_between(groups: Sequence[Float[np.ndarray, " own"]]) -> Draws:
    """Variance inside groups minus that of groups, by analysis of variance; groups resampled."""
    resamples = UnitResamples.draw(len(groups), "methods").times
    n = np.array([len(group) for group in groups], float)
    mean = np.array([group.mean() for group in groups])
    inside = np.array([((group - group.mean()) ** 2).sum() for group in groups])

    def total(values: Float[np.ndarray, " groups"]) -> Draws:
        return np.asarray(np.einsum("rg,g->r", resamples, values))

    everything, k = total(n), resamples.sum(axis=1)
    overall = total(n * mean) / everything
    within = total(inside) / total(n - 1)
    spread = total(n * mean**2) - everything * overall**2
    size = (everything - total(n * n) / everything) / (k - 1)
    return np.asarray(within - (spread / (k - 1) - within) / size)

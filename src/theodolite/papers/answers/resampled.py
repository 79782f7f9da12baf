"""Statistics over units from one set of resamples, so that differences are paired."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtr

from theodolite.errors import EvidenceError
from theodolite.papers.power import detectable_effect
from theodolite.papers.results import EntryAnswer, Figure

RESAMPLES, SEED, LEVEL = 2000, 0, 0.95
Values = Float[np.ndarray, " units"]
Draws = Float[np.ndarray, " resamples"]
"""The statistic on all units first, then on each resample."""


@dataclass(frozen=True, eq=False)
class UnitResamples:
    """How often each unit is in each resample; row 0 is the sample itself."""

    times: Float[np.ndarray, "resamples units"]
    unit: str

    @classmethod
    def of(cls, n: int, unit: str, resamples: int = RESAMPLES, seed: int = SEED) -> "UnitResamples":
        """Units drawn with replacement."""
        if n < 2:
            raise EvidenceError(unit, f"{n}", "two or more to resample")
        random = np.random.default_rng(seed)
        times = random.multinomial(n, np.full(n, 1 / n), size=resamples)
        return cls(np.vstack([np.ones(n), times]).astype(float), unit)

    def mean(self, values: Values) -> Draws:
        """Mean of what is defined."""
        known = ~np.isnan(values)
        weight = self._sum(known.astype(float))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self._sum(np.where(known, values, 0.0)) / weight)

    def clustered_mean(
        self, values: Float[np.ndarray, " rows"], unit: Int[np.ndarray, " rows"]
    ) -> Draws:
        """Mean over rows of what is defined, where each row belongs to one of the units."""
        known, n = ~np.isnan(values), self.times.shape[1]
        total = np.bincount(unit[known], values[known], minlength=n)
        count = np.bincount(unit[known], minlength=n).astype(float)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self._sum(total) / self._sum(count))

    def correlation(self, x: Values, y: Values, control: Values | None = None) -> Draws:
        """Pearson's correlation of what is defined; that of residuals where something is held."""
        if control is None:
            return self._pearson(x, y)
        known = ~(np.isnan(x) | np.isnan(y) | np.isnan(control))
        x, y, z = (np.where(known, values, np.nan) for values in (x, y, control))
        xy, xz, yz = self._pearson(x, y), self._pearson(x, z), self._pearson(y, z)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((xy - xz * yz) / np.sqrt((1 - xz**2) * (1 - yz**2)))

    def _pearson(self, x: Values, y: Values) -> Draws:
        known = ~(np.isnan(x) | np.isnan(y))
        w = self._sum(known.astype(float))
        # about the overall means, lest squares of large numbers lose digits
        a = np.where(known, x - x[known].mean() if known.any() else 0.0, 0.0)
        b = np.where(known, y - y[known].mean() if known.any() else 0.0, 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            sums = {name: self._sum(v) / w for name, v in
                    (("a", a), ("b", b), ("ab", a * b), ("aa", a * a), ("bb", b * b))}  # fmt: skip
            spread = np.sqrt((sums["aa"] - sums["a"] ** 2) * (sums["bb"] - sums["b"] ** 2))
            r = (sums["ab"] - sums["a"] * sums["b"]) / np.where(spread > 1e-15, spread, np.nan)
        return np.asarray(np.clip(r, -1.0, 1.0))

    def _sum(self, values: Values) -> Draws:
        return np.asarray(np.einsum("ru,u->r", self.times, values, optimize=False))


def slope_over_range(draws: list[Draws]) -> Draws:
    """Least-squares change from the first to the last of evenly spaced statistics."""
    rows = np.stack(draws)
    steps = np.arange(len(rows)) - (len(rows) - 1) / 2
    each = np.einsum("s,sr->r", steps / (steps**2).sum(), rows)
    return np.asarray(each * (len(rows) - 1))


def percentile_ends(draws: Draws, level: float = LEVEL) -> tuple[float, float]:
    """The interval of a statistic from its resamples."""
    low, high = np.nanquantile(draws[1:], [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


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
    low, high = percentile_ends(draws)
    p = float(2 * ndtr(-abs(value) / error)) if error > 0 else float(abs(value) <= 1e-12)
    return EntryAnswer(
        entry=entry, settings=dict(settings), nearest=nearest, effect=value, low=low, high=high,
        p=p, unit=resamples.unit, n=n, detectable=detectable_effect(error), ours=dict(ours),
    )  # fmt: skip

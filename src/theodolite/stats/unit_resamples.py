"""Statistics over units from one set of resamples, so that differences are paired."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from theodolite.errors import EvidenceError

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

    @classmethod
    def within(
        cls,
        groups: Int[np.ndarray, " units"],
        unit: str,
        resamples: int = RESAMPLES,
        seed: int = SEED,
    ) -> "UnitResamples":
        """Units drawn with replacement from their own group, so that each keeps its size."""
        random = np.random.default_rng(seed)
        times = np.ones((resamples + 1, len(groups)))
        for group in np.unique(groups):
            own = np.flatnonzero(groups == group)
            shares = np.full(len(own), 1 / len(own))
            times[1:, own] = random.multinomial(len(own), shares, size=resamples)
        return cls(times, unit)

    def of_rows(self, units: Int[np.ndarray, " rows"]) -> "UnitResamples":
        """How often each row is in each resample, where rows belong to units."""
        return UnitResamples(self.times[:, units], self.unit)

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


def percentile_ends(draws: Draws, level: float = LEVEL) -> tuple[float, float]:
    """The interval of a statistic from its resamples."""
    low, high = np.nanquantile(draws[1:], [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)

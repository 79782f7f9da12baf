"""Bootstrap over units such as techniques, classes or trainings."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from theodolite._stats.resampling import RESAMPLES, SEED, Draws, Values
from theodolite.errors import EvidenceError


@dataclass(frozen=True, eq=False)
class UnitResamples:
    """Number of times each unit is in each resample; row 0 is the sample itself."""

    times: Float[np.ndarray, "resamples units"]
    unit: str

    @classmethod
    def draw(
        cls, n: int, unit: str, resamples: int = RESAMPLES, seed: int = SEED
    ) -> "UnitResamples":
        """Draw units with replacement."""
        if n < 2:
            raise EvidenceError(unit, f"{n}", "two or more to resample")
        random = np.random.default_rng(seed)
        times = random.multinomial(n, np.full(n, 1 / n), size=resamples)
        return cls(np.vstack([np.ones(n), times]).astype(float), unit)

    @classmethod
    def draw_within_groups(
        cls,
        groups: Int[np.ndarray, " units"],
        unit: str,
        resamples: int = RESAMPLES,
        seed: int = SEED,
    ) -> "UnitResamples":
        """Draw units with replacement within groups, so that each group keeps its size."""
        random = np.random.default_rng(seed)
        times = np.ones((resamples + 1, len(groups)))
        for group in np.unique(groups):
            members = np.flatnonzero(groups == group)
            odds = np.full(len(members), 1 / len(members))
            times[1:, members] = random.multinomial(len(members), odds, size=resamples)
        return cls(times, unit)

    def expand_to_rows(self, units: Int[np.ndarray, " rows"]) -> "UnitResamples":
        """Return the resamples of rows that belong to the units."""
        return UnitResamples(self.times[:, units], self.unit)

    def mean(self, values: Values) -> Draws:
        """Return the mean of defined values in each resample."""
        known = ~np.isnan(values)
        weight = self._sum(known.astype(float))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self._sum(np.where(known, values, 0.0)) / weight)

    def clustered_mean(
        self, values: Float[np.ndarray, " rows"], unit: Int[np.ndarray, " rows"]
    ) -> Draws:
        """Return the mean of defined rows in each resample, where each row belongs to a unit."""
        known, n = ~np.isnan(values), self.times.shape[1]
        total = np.bincount(unit[known], values[known], minlength=n)
        count = np.bincount(unit[known], minlength=n).astype(float)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self._sum(total) / self._sum(count))

    def correlation(self, x: Values, y: Values, control: Values | None = None) -> Draws:
        """Return Pearson's correlation in each resample, partial if ``control`` is given."""
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
        # around the overall means, since squares of large numbers lose digits
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

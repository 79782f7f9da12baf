"""Intervals by resampling: which samples count how often, the same in every shard and order."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, UInt8
from scipy.special import pdtr, stdtrit  # scipy.stats would take a second to load

from theodolite._stats.native import functions as native
from theodolite._stats.native.library import has_native
from theodolite._stats.sampling import GOLDEN, hash_integers, hash_to_uniforms
from theodolite.errors import EvidenceError
from theodolite.results import Interval, Source

_POISSON = pdtr(np.arange(24), 1.0)  # shares of 0, at most 1, at most 2, … of Poisson(1)
DRAWS_AT_ONCE = 1 << 21
RESAMPLES, SEED, LEVEL = 2000, 0, 0.95
Values = Float[np.ndarray, " units"]
Draws = Float[np.ndarray, " resamples"]
"""The statistic on all units first, then on each resample."""


def poisson_weights(
    keys: Int[np.ndarray, " samples"], resamples: int, seed: int
) -> Float[np.ndarray, "resamples samples"]:
    """How often each sample counts in each resample: independent Poisson(1) numbers.

    A sample's numbers depend on its key and the seed alone, so that shards on different machines
    draw the same resamples, and samples with one key (a cluster) are drawn together. For sums and
    ratios of sums this is the bootstrap, without needing to know how many samples there are.

    >>> whole = poisson_weights(np.arange(5), 3, seed=1)
    >>> bool((poisson_weights(np.array([4, 2]), 3, seed=1) == whole[:, [4, 2]]).all())
    True
    """
    return poisson_counts(keys, resamples, seed).astype(np.float64)


def poisson_counts(
    keys: Int[np.ndarray, " samples"], resamples: int, seed: int
) -> UInt8[np.ndarray, "resamples samples"]:
    """The same in an eighth of the memory."""
    counts = np.empty((resamples, len(keys)), np.uint8)
    if not has_native():
        step = max(DRAWS_AT_ONCE // max(resamples, 1), 1)
        for some in (slice(at, at + step) for at in range(0, len(keys), step)):
            draws = hash_to_uniforms(keys[some], (resamples,), seed).T
            counts[:, some] = np.searchsorted(_POISSON, draws, side="right")
        return counts
    limits = np.append(np.ceil(_POISSON * 2.0**53), 2.0**53).astype(np.uint64)
    native.count_draws(hash_integers(np.asarray(keys), seed), int(GOLDEN), limits, counts)
    return counts


def percentile_interval(
    resampled: Float[np.ndarray, " resamples"], value: float, level: float, over: Source
) -> Interval | None:
    """The middle share of the resampled values; none if nothing was defined or nothing varied.

    The resampled values are moved so that their median is the value. For a mean that changes next
    to nothing. A cosine of noisy means, however, gets smaller with every bit of noise, and
    resampling adds noise: unmoved, its interval would lie beside the value.
    """
    defined = resampled[~np.isnan(resampled)]
    if len(defined) < 2 or np.ptp(defined) <= 1e-14:
        return None
    tail = (1 - level) / 2
    low, middle, high = np.quantile(defined, [tail, 0.5, 1 - tail])
    below, above = float(low - middle), float(high - middle)
    method = "bootstrap percentiles around the value"
    return Interval(value + below, value + above, level, over, method, len(defined))


def shuffle_interval(
    shuffled: Float[np.ndarray, " draws"], value: float, level: float
) -> Interval | None:
    """How far a value stands out from a null that was drawn many times: a permutation test.

    The interval of the difference lies beside 0 where the value lies beside the middle ``level``
    of the draws.
    """
    defined = shuffled[~np.isnan(shuffled)]
    if len(defined) < 2 or np.isnan(value):
        return None
    tail = (1 - level) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return Interval(
        float(value - high), float(value - low), level, "shuffles", "shuffles", len(defined)
    )


def boundary_interval(
    value: float, bounds: tuple[float, float], n: int, level: float, over: Source
) -> Interval | None:
    """For a mean of n samples that all sit on a bound, where resampling sees no spread.

    If all n samples are at the bound, then with confidence ``level`` at least a share
    ((1 - level) / 2) ** (1 / n) of all samples is, and the mean is at least as near as that.
    """
    near = next((end for end in bounds if abs(value - end) <= 1e-12), None)
    if n < 1 or near is None:
        return None
    reach = abs(bounds[1] - bounds[0]) * (1 - ((1 - level) / 2) ** (1 / n))
    low, high = (value - reach, value) if near == max(bounds) else (value, value + reach)
    return Interval(low, high, level, over, "exact, all samples on the bound", n)


def mean_interval(values: Float[np.ndarray, " n"], level: float, over: Source) -> Interval | None:
    """Student's interval for the mean of a few independent values, such as seeds."""
    defined = values[~np.isnan(values)]
    if len(defined) < 2:
        return None
    error = defined.std(ddof=1) / np.sqrt(len(defined))
    if error <= 1e-14:  # the seeds changed nothing
        return None
    half = float(stdtrit(len(defined) - 1, (1 + level) / 2) * error)
    middle = float(defined.mean())
    return Interval(middle - half, middle + half, level, over, "Student t", len(defined))


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

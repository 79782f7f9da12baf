"""Does a score follow another over models? Both are known only up to an error."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from theodolite.errors import EvidenceError
from theodolite_reproductions.findings.decision import NAN, decide_correlation

Models = Float[np.ndarray, " models"]
EFFECT = 0.1
"""The smallest correlation that is called one, by convention."""
FEWEST_MODELS = 4
"""With fewer there is no correlation to speak of."""


@dataclass(frozen=True)
class Correlation:
    """A pooled correlation with its interval, and the p-value of none."""

    r: float
    low: float
    high: float
    p: float
    n: int
    draws: int
    z: float = NAN
    """The mean of Fisher's z, which is decided on."""
    error: float = NAN
    """Of z."""
    df: float = NAN


def correlation_study(
    score: tuple[Models, Models],
    other: tuple[Models, Models],
    *,
    draws: int = 10_000,
    level: float = 0.95,
    seed: int = 0,
) -> Correlation:
    """Pearson's correlation of two scores over models, each given as means and standard errors.

    Both scores are drawn ``draws`` times from normals, cut off at 0; each draw has its correlation.
    The reported ``r`` is their plain mean. For the p-value and the interval they are turned by
    Fisher's z and pooled as by Rubin: variance within a draw 1/(n - 3), between draws as seen, with
    the degrees of freedom (M - 1)(1 + U / ((1 + 1/M) B))². As in :cite:t:`parisini2025leakage`,
    section 6. Models without a score are left out; fewer than four give NaN.

    Example:
        >>> x = np.arange(6.0)
        >>> study = correlation_study((x, 0.1 + 0 * x), (x**1.1, 0.1 + 0 * x), draws=500)
        >>> study.r > 0.99, study.p < 0.001, study.n
        (True, True, 6)
    """
    if draws < 2:
        raise EvidenceError("draws", f"{draws}", "at least 2")
    arrays = [np.asarray(part, float) for pair in (score, other) for part in pair]
    usable = ~np.isnan(arrays).any(axis=0)
    n = int(usable.sum())
    if n < FEWEST_MODELS:
        return Correlation(NAN, NAN, NAN, NAN, n, draws)
    random = np.random.default_rng(seed)
    a, of_a, b, of_b = (part[usable] for part in arrays)
    x = np.maximum(random.normal(a, of_a, (draws, n)), 0.0)
    y = np.maximum(random.normal(b, of_b, (draws, n)), 0.0)
    x, y = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
    spread = np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1))
    each = np.divide((x * y).sum(axis=1), spread, out=np.full(draws, np.nan), where=spread > 0)
    each = each[~np.isnan(each)]
    if len(each) < 2:
        return Correlation(NAN, NAN, NAN, NAN, n, draws)
    z = np.arctanh(np.clip(each, -1 + 1e-12, 1 - 1e-12))
    middle, within = float(z.mean()), 1 / (n - 3)
    between = (1 + 1 / len(z)) * float(z.var(ddof=1))
    error = float(np.sqrt(within + between))
    freedom = (len(z) - 1) * (1 + within / max(between, 1e-12)) ** 2
    pooled = decide_correlation(middle, error, freedom, EFFECT, level=level, repeats=n)
    ends = (pooled.low, pooled.high)
    return Correlation(float(each.mean()), *ends, pooled.p, n, draws, middle, error, freedom)

"""Compute the predictive information of one pair of columns in one stratum in numpy.

Used by `predictive_pairs` for few rows, and by tests of the native kernels.
"""

import numpy as np
from jaxtyping import Float, Int

from theodolite._stats.predictive_small import (
    EDGE,
    PRIORS,
    Numbers,
    Row,
    get_own_weight,
    mix_models,
)

LEVELS = (2, 4, 8)
SHRINKAGE = (1.0, 9.0)
"""Numbers of uncorrelated clusters that shrink the correlation."""
MAX_CORRELATION = 0.995

Both = Float[np.ndarray, "2 rows"]


def pair_stratum_terms(
    ranks: Both, normal: Both, starts: Int[np.ndarray, " clusters_and_one"], *, smooth: bool
) -> Float[np.ndarray, "2 rows"]:
    """Return the gains with each row's cluster left out, and with it included.

    Rows are sorted by cluster. ``smooth`` says that no value has more than half of the weight;
    otherwise normal scores are not used.
    """
    sizes = np.diff(starts)
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    weights = np.repeat(1 / sizes, sizes)
    out, inside = [np.zeros(len(weights))], [np.zeros(len(weights))]
    groups = (1, 1)
    for level in LEVELS:
        if level > 2 and level**2 > len(sizes) / 2:
            break
        bins = np.minimum((level * ranks + EDGE).astype(int), level - 1)
        used = len(np.unique(bins[0])), len(np.unique(bins[1]))
        if min(used) > 1 and used != groups:
            groups = used
            _append_table_gains(bins, level, clusters, weights, (out, inside))
    if smooth:
        products = weights * normal[0] * normal[1]
        own = np.bincount(clusters, products)[clusters]
        for added in SHRINKAGE:
            n = len(sizes) + added
            out.append(_compute_normal_gain((products.sum() - own) / (n - 1), normal))
            inside.append(_compute_normal_gain(np.full(len(own), products.sum() / n), normal))
    return mix_models(out, inside, clusters, weights)


def _append_table_gains(
    bins: Int[np.ndarray, "2 rows"],
    level: int,
    clusters: Numbers,
    weights: Row,
    gains: tuple[list[Row], list[Row]],
) -> None:
    """Append the gains of a table of both columns with three strengths of smoothing."""
    n, cells = int(clusters[-1]) + 1, bins[0] * level + bins[1]
    parts = [
        (np.bincount(b, weights)[b], get_own_weight(b, clusters, weights)) for b in (*bins, cells)
    ]
    for left, total, side in ((1, n - 1, gains[0]), (0, n, gains[1])):
        first, second, both = (whole - left * own for whole, own in parts)
        base = (first + 0.5) * (second + 0.5) / (total + level / 2) ** 2
        for prior in PRIORS:
            side.append(np.log((both / base + prior) / (total + prior)))


def _compute_normal_gain(correlation: Row, normal: Both) -> Row:
    """Return the log density of jointly normal scores relative to independent ones."""
    r, (x, y) = np.clip(correlation, -MAX_CORRELATION, MAX_CORRELATION), normal
    rest = 1 - r**2
    return np.asarray(-np.log(rest) / 2 - (r**2 * (x**2 + y**2) - 2 * r * x * y) / (2 * rest))

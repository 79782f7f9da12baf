"""From gains of samples to the joint share, its error, and the share that a score test sees."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from theodolite._stats.joint.gains import JointGains
from theodolite._stats.joint.inputs import JointInputs
from theodolite._stats.predictive_interval import PredictiveMoments, row_weights
from theodolite.results import Caveat

MIN_CLUSTERS = 50
MIN_CLUSTERS_OF_LABEL = 10
MIN_ENTROPY_LEFT = 0.05
MAX_RARE = 0.2
EIGENVALUE = 1e-6
MAX_SCORE_SHARE = 0.9
"""Where the score test sees more, the held-out gain decides."""


@dataclass(frozen=True)
class ScoreShare:
    """The share that the values' directions tell without any fit, and its error without a leak."""

    value: float
    error: float
    directions: int


@dataclass(frozen=True)
class JointLimits:
    """What decides whether answers can be read from the joint share."""

    clusters: float
    labels: float
    concepts: float
    common_labels: float
    """Labels with ten clusters or more."""
    rarest: float
    """Clusters of the rarest label."""
    rare: float
    """Share of rows whose label fewer than two clusters have."""
    entropy_left: float
    """What the true concepts leave open about the label, over the entropy of the labels."""
    directions: float
    """Independent directions of the values."""


def score_share(inputs: JointInputs, gains: JointGains) -> ScoreShare:
    """Estimate the joint share from the gradient at no effect: nothing is fitted."""
    z, w, n = inputs.scores, inputs.weights, inputs.n_clusters
    surprise = float(row_means(gains.surprise, inputs))
    if not z.shape[1] or not surprise > 0:
        return ScoreShare(0.0, 0.0, 0)
    spread, axes = np.linalg.eigh(z.T @ (z * w[:, None]) / w.sum())
    used = spread > EIGENVALUE * spread.max()
    white = z @ (axes[:, used] / np.sqrt(spread[used]))
    expected = np.exp(gains.base)
    total, shares = 0.0, w @ expected / w.sum()
    for label in range(inputs.n_labels):
        residual = w * ((inputs.labels == label) - expected[:, label])
        each = np.zeros((n, white.shape[1]))
        np.add.at(each, inputs.clusters, residual[:, None] * white)
        sums = each.sum(axis=0)
        variance = np.maximum((each**2).sum(axis=0) - sums**2 / n, 1e-300)
        total += (1 - shares[label]) * float((sums**2 / variance).sum())
    freedom = white.shape[1] * float((1 - shares).sum())
    q = min((total - freedom) / n, MAX_SCORE_SHARE)
    error = math.sqrt(freedom / 2) / (n * surprise)
    return ScoreShare(-math.log(1 - q) / (2 * surprise), error, white.shape[1])


def row_means(terms: Float[np.ndarray, " samples"], inputs: JointInputs) -> float:
    """Return the mean over rows, those of a cluster counted as far as their labels vary."""
    counts = counted_rows(inputs)
    return float(counts @ terms / counts.sum())


def counted_rows(inputs: JointInputs) -> Float[np.ndarray, " samples"]:
    """Return how much each row counts: 1 / (1 + (rows of its cluster - 1) r), as elsewhere."""
    clusters: Int[np.ndarray, " samples"] = inputs.clusters
    weights = row_weights(inputs.labels, clusters)
    return np.ones(len(clusters)) if weights is None else weights


def joint_moments(inputs: JointInputs, gains: JointGains, seen: ScoreShare) -> PredictiveMoments:
    """Return the joint share with its error, at least one nat over all clusters."""
    counts, n = counted_rows(inputs), inputs.n_clusters
    surprise = row_means(gains.surprise, inputs)
    if n < 2 or not surprise > 0:
        nan = math.nan
        return PredictiveMoments(nan, nan, nan, 1.0, nan, n, n, 0.0)
    value = row_means(gains.out, inputs) / surprise
    sums = np.bincount(inputs.clusters, counts * (gains.out / surprise - value), n)
    error = math.sqrt(n / (n - 1) * float((sums**2).sum())) / float(counts.sum())
    return PredictiveMoments(
        value=value,
        upper_value=max(value, seen.value, 0.0),
        error=max(error, 1 / (n * surprise)),
        rho=1.0,
        surprise=surprise,
        clusters=float(n),
        stratum_clusters=float(n),
        undefined=0.0,
        upper_error=seen.error,
    )


def joint_limits(
    inputs: JointInputs, gains: JointGains, seen: ScoreShare, labels: int
) -> JointLimits:
    """Return what decides whether answers can be read from the share.

    Args:
        inputs: Samples that were learned from.
        gains: Of these samples.
        seen: Of these samples, from ``score_share``.
        labels: Number of labels before they were grouped.
    """
    pairs = np.unique(np.stack([inputs.labels, inputs.clusters]), axis=1)[0]
    clusters = np.bincount(pairs, minlength=inputs.n_labels)
    shares = np.bincount(inputs.labels, inputs.weights, inputs.n_labels) / inputs.weights.sum()
    entropy = -float((shares * np.log(np.maximum(shares, 1e-300))).sum())
    surprise = row_means(gains.surprise, inputs)
    return JointLimits(
        clusters=float(inputs.n_clusters),
        labels=float(labels),
        concepts=float(inputs.ranks.shape[1]),
        common_labels=float((clusters >= MIN_CLUSTERS_OF_LABEL).sum()),
        rarest=float(clusters.min()) if len(clusters) else 0.0,
        rare=float((clusters[inputs.labels] < 2).mean()),
        entropy_left=surprise / entropy if entropy > 0 else math.nan,
        directions=float(seen.directions),
    )


def needed_clusters(surprise: float, tolerance: float, directions: float, labels: float) -> int:
    """Return how many clusters "yes" needs about where nothing leaks.

    >>> [needed_clusters(0.693, 0.05, k, 2) for k in (5, 30, 112)]
    [380, 535, 823]
    >>> needed_clusters(0.056, 0.05, 5, 2)
    4703
    """
    t, p = 1.96, max(directions * (labels - 1), 1.0)
    x = (math.sqrt(4 + 2 * p / t**2) - 2) * t**2 / p
    return math.ceil(1.5 * t**2 / (surprise * tolerance * x))


def joint_caveat(limits: JointLimits) -> Caveat | None:
    """Return which answers cannot be read from the share, and why."""
    if limits.clusters < MIN_CLUSTERS or limits.common_labels < 2:
        needed = f"{MIN_CLUSTERS} samples or clusters, {MIN_CLUSTERS_OF_LABEL} of two labels each"
        return Caveat("underpowered", f"{limits.clusters:.0f} samples or clusters; needed {needed}")
    if limits.rare > MAX_RARE:
        return Caveat(
            "undefined", f"{limits.rare:.0%} of the rows have a label that no other cluster has"
        )
    if math.isnan(limits.entropy_left) or limits.entropy_left < MIN_ENTROPY_LEFT:
        return Caveat("no_headroom", "the true concepts already determine the label")
    if limits.directions * (limits.labels - 1) > 2 * limits.clusters:
        because = (
            f"{limits.directions:.0f} independent values and {limits.labels:.0f} labels are too "
            f"many for {limits.clusters:.0f} samples or clusters"
        )
        return Caveat("underpowered", because, ("yes", "partly"))
    return None

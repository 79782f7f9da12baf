"""Shares of features in all attribution, two versions of a model, and how far they are apart."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from theodolite._runs.comparison.intervals import ResamplingSource, compute_paired_interval
from theodolite._scoring.request import Resampling
from theodolite._stats.intervals import FEWEST_CLUSTERS, quantile
from theodolite._stats.multiple import correct_holm
from theodolite._stats.resampling import draw_poisson_weights
from theodolite.evidence.axes import Samples
from theodolite.results import Interval, Items

METHOD = "paired bootstrap, signs of small differences left open"
SURE = 3.0
"""Standard errors from which on the sign of a feature's difference is taken as known. Below it the
size of a difference is in part noise, which never cancels; percentiles of resamples would take that
noise for drift (missed in up to 100 % of trials where nothing drifts; so it is 5 %)."""
SAMPLES_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class Magnitudes:
    """How much each feature, group or concept counts for each sample, whatever its sign."""

    names: tuple[str, ...]
    sizes: Float[np.ndarray, "samples features"]

    def on(self, names: Sequence[str]) -> Float[np.ndarray, "samples features"]:
        """Return the columns of these features; 0 for those that this version lacks."""
        place = {name: at for at, name in enumerate(self.names)}
        columns = np.zeros((len(self.sizes), len(names)))
        for at, name in enumerate(names):
            if name in place:
                columns[:, at] = self.sizes[:, place[name]]
        return columns


@dataclass(frozen=True, eq=False)
class ShareDrift:
    """Two versions' shares of mean magnitude, and the total variation between them."""

    over: Items
    names: tuple[str, ...]
    before: Float[np.ndarray, " features"]
    after: Float[np.ndarray, " features"]
    value: float
    interval: Interval | None
    low: Float[np.ndarray, " features"]
    """The interval of each difference, after minus before."""
    high: Float[np.ndarray, " features"]
    p: Float[np.ndarray, " features"]
    """Of each difference, corrected over all of them (Holm)."""

    @property
    def differences(self) -> Float[np.ndarray, " features"]:
        """Difference of each feature: after minus before."""
        return np.asarray(self.after - self.before)

    def to_records(self) -> list[dict[str, str | float]]:
        """A row for each feature, the largest difference first."""
        order = np.argsort(-np.abs(self.differences), kind="stable")
        return [
            {
                "name": self.names[at], "before": float(self.before[at]),
                "after": float(self.after[at]), "difference": float(self.differences[at]),
                "low": float(self.low[at]), "high": float(self.high[at]), "p": float(self.p[at]),
            }
            for at in order
        ]  # fmt: skip


def compute_shares(
    sums: Float[np.ndarray, "*rows features"],
) -> Float[np.ndarray, "*rows features"]:
    """Return each feature's share of all attribution; NaN if there is none."""
    whole = sums.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(sums, whole, out=np.full_like(sums, np.nan), where=whole > 0))


def compute_total_variation(
    before: Float[np.ndarray, "*rows features"], after: Float[np.ndarray, "*rows features"]
) -> Float[np.ndarray, "*rows"]:
    """Half the sum of differences: the part of all attribution that moved to other features.

    >>> shares = np.array([0.5, 0.3, 0.2])
    >>> float(compute_total_variation(shares, shares[::-1]).round(6))
    0.3
    """
    return np.asarray(np.abs(after - before).sum(axis=-1) / 2)


def list_features(versions: Sequence[Magnitudes]) -> tuple[str, ...]:
    """Features of any version, in the order in which they come."""
    return tuple(dict.fromkeys(name for version in versions for name in version.names))


def compute_share_drift(
    before: Sequence[Magnitudes],
    after: Sequence[Magnitudes],
    samples: Samples,
    resampling: Resampling,
    over: Items = "features",
) -> ShareDrift:
    """Return the drift between two versions on the same samples.

    With several trainings, each of the first is compared with its counterpart in the second, and
    the drift is the mean of these, so that it can be compared with single retrainings.

    Args:
        before: Magnitudes of each training of the first version.
        after: The same of the second.
        samples: What both are about; whole clusters are drawn where there are any.
        resampling: How chance is drawn.
        over: What the columns are.
    """
    names = list_features([*before, *after])
    pairs = list(zip(before, after, strict=False))
    columns = np.stack([np.stack([side.on(names) for side in pair]) for pair in pairs])
    clusters = samples.clusters is not None
    keys = np.asarray(samples.clusters if clusters else samples.index, np.int64)
    sums = _compute_resampled_sums(columns, keys, resampling)  # rows, trainings, versions, features
    parts = compute_shares(sums)
    moved = parts[:, :, 1] - parts[:, :, 0]
    n = len(np.unique(keys))
    source = ResamplingSource(
        "clusters" if clusters else "samples", n, resampling.level, 1.0,
        identical=bool((columns[:, 0] == columns[:, 1]).all()),
    )  # fmt: skip
    tests = [
        compute_paired_interval(differences[1:], float(differences[0]), source)
        for differences in moved.mean(axis=1).T
    ]
    ends = [(np.nan, np.nan) if t is None else (t.interval.low, t.interval.high) for t in tests]
    own, other = parts[0].mean(axis=0)
    return ShareDrift(
        over, names, own, other,
        float(compute_total_variation(parts[0, :, 0], parts[0, :, 1]).mean()),
        compute_drift_interval(moved, source, resampling.resamples),
        np.array([low for low, _ in ends]), np.array([high for _, high in ends]),
        correct_holm([np.nan if t is None else t.p for t in tests], 1 - resampling.level).p,
    )  # fmt: skip


def compute_drift_interval(
    moved: Float[np.ndarray, "rows trainings features"], source: ResamplingSource, resamples: int
) -> Interval | None:
    """The interval of a total variation: differences of shares, then those of each resample.

    The drift is a sum of sizes. Where a feature's difference is small beside its standard error,
    its size is noise in part, and noise adds up over features. So at the lower end such features
    count with the size of their error, others with its sign; at the upper end all have their sign.
    """
    value = float(np.abs(moved[0]).sum(axis=-1).mean() / 2)
    if np.isnan(value):
        return None
    errors = moved[1:] - moved[0]
    errors = errors[~np.isnan(errors).any(axis=(1, 2))] * np.sqrt(source.n / max(source.n - 1, 1))
    if len(errors) < 2 or source.n < FEWEST_CLUSTERS:
        return None
    sure = np.abs(moved[0]) > SURE * errors.std(axis=0)
    signed = np.sign(moved[0]) * errors
    above = np.where(sure, signed, np.abs(errors)).sum(axis=-1).mean(axis=-1) / 2
    spread = float((signed.sum(axis=-1).mean(axis=-1) / 2).std())
    t = quantile(source.n - 1, source.level)
    reach = max(above.mean() + t * above.std(), np.quantile(above, (1 + source.level) / 2))
    low, high = max(value - float(reach), 0.0), min(value + t * spread, 1.0)
    return Interval(
        low, high, source.level, source.over, METHOD, resamples, error=spread, df=source.n - 1
    )


def _compute_resampled_sums(
    columns: Float[np.ndarray, "trainings versions samples features"],
    keys: np.ndarray,
    resampling: Resampling,
) -> Float[np.ndarray, "rows trainings versions features"]:
    """Sums over samples, as they are and in each resample; some samples at a time."""
    trainings, versions, n, features = columns.shape
    flat = np.moveaxis(columns, 2, 0).reshape(n, -1)
    sums = np.zeros((1 + resampling.resamples, flat.shape[1]))
    for start in range(0, n, SAMPLES_AT_ONCE):
        rows = slice(start, start + SAMPLES_AT_ONCE)
        sums[0] += flat[rows].sum(axis=0)
        sums[1:] += (
            draw_poisson_weights(keys[rows], resampling.resamples, resampling.seed) @ flat[rows]
        )
    return sums.reshape(-1, trainings, versions, features)

"""Test whether an explanation fits all activations of a latent or only the strongest ones.

Explanations are mostly written from the strongest activations. Public in ``theodolite.ext``."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from theodolite._stats.resampling import (
    boundary_interval,
    draw_poisson_weights,
    percentile_interval,
)
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.plain_arrays import replace_arrays
from theodolite.evidence.ragged import Ragged, compute_starts, require_ragged
from theodolite.metrics.catalogue import find_metric
from theodolite.metrics.states import ratio, total
from theodolite.results import Interval

BandedScore = Literal["activation_precision", "label_precision"]
Values = Literal["tokens", "sequences"]
MAX_BANDS = 100
LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class BandPrecision:
    """Precision of explanations in bands of activation strength, weakest to strongest."""

    metric: BandedScore
    values: Float[np.ndarray, "bands explanations"]
    """Precision of each explanation in each band; NaN where a latent has no value in the band."""
    means: Float[np.ndarray, " bands"]
    """Mean of each band over the explanations that are defined there."""
    intervals: tuple[Interval | None, ...]
    """Confidence intervals of the means, over sequences or their clusters."""
    fall: float
    """Mean of the strongest band minus that of the weakest."""
    fall_interval: Interval | None

    @property
    def named_after_strongest(self) -> bool:
        """Whether precision falls from the strongest band to the weakest, beyond its interval."""
        return self.fall_interval is not None and self.fall_interval.low > 0

    def warnings(self) -> list[str]:
        """Return warnings about the scores."""
        if not self.named_after_strongest:
            return []
        part = {2: "half", 4: "quarter", 10: "tenth"}.get(len(self.means), "band")
        numbers = f"{self.means[-1]:.3f} there, {self.means[0]:.3f} in its weakest"
        return [f"named after its strongest {part}: {self.metric} {numbers}"]


def select_band(
    evidence: TokenEvidence, band: int, *, bands: int = 10, of: Values
) -> TokenEvidence:
    """Return the evidence with only those values of explained latents that lie in one band of
    activation strength, 0 the weakest; equal values share a band.

    Of ``tokens`` every value counts; of ``sequences`` the largest of each sequence. Chance that was
    made of all values is left out.
    """
    if not 1 <= bands <= MAX_BANDS or not 0 <= band < bands:
        raise EvidenceError("band", f"{band} of {bands}", f"0 to {bands - 1}, of 1 to {MAX_BANDS}")
    values, latent = require_ragged(evidence.value), require_ragged(evidence.latent)
    stays = np.flatnonzero(np.isin(latent.flat, np.asarray(evidence.explained)) & (values.flat > 0))
    if of == "sequences":
        stays = _largest(latent.flat[stays], values.row[stays], values.flat[stays], stays)
    number = _band_of(latent.flat[stays], values.flat[stays], bands)
    stays = np.sort(stays[number == band])
    inner = compute_starts(np.bincount(values.inner_row[stays], minlength=values.starts[-1]))
    arrays = {
        name: Ragged(field.flat[stays], field.starts, inner)
        for name in ("latent", "value", "importance", "effect")
        if (field := getattr(evidence, name)) is not None
    }
    return replace_arrays(evidence, chance_activation=None, chance_on_formula=None, **arrays)


def _largest(
    latent: np.ndarray, row: np.ndarray, value: np.ndarray, entry: np.ndarray
) -> np.ndarray:
    order = np.lexsort((-value.astype(float), row, latent))
    key = np.stack([latent[order], row[order]])
    first = np.concatenate([[True], (np.diff(key, axis=1) != 0).any(axis=0)])
    return np.asarray(entry[order[first[: len(order)]]])


def _band_of(latent: np.ndarray, value: np.ndarray, bands: int) -> np.ndarray:
    band = np.zeros(len(latent), np.int64)
    for number in np.unique(latent):
        own = np.flatnonzero(latent == number)
        below = np.searchsorted(np.sort(value[own]), value[own], side="left")
        band[own] = below * bands // len(own)
    return band


def precision_by_band(
    evidence: TokenEvidence,
    metric: BandedScore = "activation_precision",
    *,
    bands: int = 10,
    weight: Literal["value", "token"] = "value",
    resamples: int = 1000,
    seed: int = 0,
) -> BandPrecision:
    """Compute precision in each activation band, and whether it falls towards weak activations.

    Bands need all sequences at once, so this is no option of the scores themselves: these add up
    piece by piece. The published number is that of the strongest tenth.

    Args:
        evidence: In memory, with explained latents.
        metric: Of tokens where a predicate holds, or of sequences with a concept; then the largest
            value of each sequence counts.
        bands: How many.
        weight: Of ``activation_precision``: what each active token counts.
        resamples: Of the intervals.
        seed: Of the intervals.

    >>> from theodolite.testing import plant_example
    >>> result = precision_by_band(plant_example(TokenEvidence, 0), bands=2, resamples=50)
    >>> result.values.shape, len(result.intervals)
    ((2, 3), 2)
    """
    if not 1 <= bands <= MAX_BANDS:
        raise EvidenceError("bands", f"{bands}", f"1 to {MAX_BANDS}")
    if metric not in get_args(BandedScore):
        raise EvidenceError("metric", repr(metric), f"one of {get_args(BandedScore)}")
    entry = find_metric(metric)
    missing = entry.missing(evidence, {})
    if missing:
        raise EvidenceError(missing[0], "none", f"`{missing[0]}`, for {metric}")
    options: dict[str, Any] = entry.counting_options()
    if metric == "activation_precision":
        options = options | entry.check({"weight": weight})
    of: Values = "tokens" if metric == "activation_precision" else "sequences"
    samples: Any = evidence.samples
    keys = np.asarray(samples.index if samples.clusters is None else samples.clusters)
    weights = draw_poisson_weights(keys, resamples, seed)
    values, resampled, trials = [], [], []
    for band in range(bands):
        each = entry.state.each(select_band(evidence, band, bands=bands, of=of), **options)
        trials.append(len(np.unique(keys[each.whole.any(axis=1)])))
        values.append(ratio(total(each.part), total(each.whole)))
        resampled.append(ratio(total(each.part, weights), total(each.whole, weights)))
    return _result(metric, np.stack(values), np.stack(resampled), trials)


def _result(
    metric: BandedScore, values: np.ndarray, resampled: np.ndarray, trials: list[int]
) -> BandPrecision:
    means, draws = _means(values), _means(resampled)
    intervals = tuple(
        _interval(own, float(mean), (0.0, 1.0), n)
        for own, mean, n in zip(draws, means, trials, strict=True)
    )
    fall, least = float(means[-1] - means[0]), min(trials[0], trials[-1])
    of_fall = _interval(draws[-1] - draws[0], fall, (-1.0, 1.0), least)
    return BandPrecision(metric, values, means, intervals, fall, of_fall)


def _interval(
    draws: np.ndarray, value: float, bounds: tuple[float, float], n: int
) -> Interval | None:
    interval = percentile_interval(draws, value, LEVEL, "samples")
    return interval or boundary_interval(value, bounds, n, LEVEL, "samples")


def _means(values: np.ndarray) -> np.ndarray:
    known = np.isfinite(values)
    sums = np.where(known, values, 0.0).sum(axis=-1)
    return ratio(sums, known.sum(axis=-1).astype(float))

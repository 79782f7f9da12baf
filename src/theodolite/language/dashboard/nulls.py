"""Scores of latents, and whether each latent beats uninformative nulls."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int

from theodolite.errors import EvidenceError, printable

LEVEL = 0.95
"""Quantile of the null that a latent must exceed."""
MAX_NULL_LATENTS = 200
"""Number of null latents with the nearest firing rate that a latent is compared with."""
MIN_NULL_LATENTS = 20
"""Smallest number of null latents for a comparison."""
CANNOT_TELL, NO, YES = 0, 1, 2
Z = 1.959963984540054


@dataclass(frozen=True, eq=False)
class FeatureNull:
    """Null scores that each latent is compared with.

    Args:
        name: Such as "random directions".
        bar: What a feature must be above; NaN where that cannot be told.
        by_chance: The share of features that would be above it if there were nothing to find; NaN
            where it is a plain comparison.
        meaning: One sentence: what is compared.
    """

    name: str
    bar: Float[np.ndarray, " latents"]
    by_chance: float = 1 - LEVEL
    meaning: str = ""

    def __post_init__(self) -> None:
        for name in ("name", "meaning"):
            object.__setattr__(self, name, printable(getattr(self, name)))


@dataclass(frozen=True, eq=False)
class FeatureScore:
    """One score per latent, with its nulls; higher is better.

    Args:
        title: As the page has it.
        values: Of each latent; NaN where undefined.
        nulls: At least one: a score that stands alone says nothing.
        meaning: One sentence: what it measures.
        share: Whether it is a share, shown in per cent.
    """

    title: str
    values: Float[np.ndarray, " latents"]
    nulls: Sequence[FeatureNull] = field(default=())
    meaning: str = ""
    share: bool = True

    def __post_init__(self) -> None:
        for name in ("title", "meaning"):
            object.__setattr__(self, name, printable(getattr(self, name), 400))
        if not self.nulls:
            do = "A score of features is shown beside what knows nothing of the network."
            raise EvidenceError(f"score {self.title!r}", "no null", "one or more", do)
        for null in self.nulls:
            if np.shape(null.bar) != np.shape(self.values):
                got = f"{np.shape(null.bar)} numbers"
                raise EvidenceError(f"null {null.name!r}", got, f"{np.shape(self.values)}")

    def marks(self) -> Int[np.ndarray, "nulls latents"]:
        """Return for each null and latent whether the latent beats it: yes, no or cannot tell."""
        return np.stack([_marks(np.asarray(self.values, float), null.bar) for null in self.nulls])


def _marks(values: np.ndarray, bar: np.ndarray) -> np.ndarray:
    undefined = np.isnan(values) | np.isnan(bar)
    return np.where(undefined, CANNOT_TELL, np.where(values > bar, YES, NO)).astype(np.uint8)


def compute_bars_by_rate(
    values: Float[np.ndarray, " others"],
    rates: Float[np.ndarray, " others"],
    own_rates: Float[np.ndarray, " latents"],
) -> Float[np.ndarray, " latents"]:
    """Return the 95 % quantile of the null latents that fire about as often as each latent.

    Features that are seldom active reach high overlaps by luck, so that each is held against those
    that are as seldom active.

    Args:
        values: Scores of the null's features.
        rates: How often these are active.
        own_rates: How often the features in question are.
    """
    known = ~np.isnan(values) & (rates > 0)
    if known.sum() < MIN_NULL_LATENTS:
        return np.full(len(own_rates), np.nan)
    order = np.argsort(rates[known], kind="stable")
    values, rates = values[known][order], rates[known][order]
    n = min(MAX_NULL_LATENTS, len(values))
    windows = np.lib.stride_tricks.sliding_window_view(values, n)
    bars = np.quantile(windows, LEVEL, axis=1)
    middle = np.searchsorted(rates, own_rates, side="left")
    first = np.clip(middle - n // 2, 0, len(bars) - 1)
    return np.where(own_rates > 0, bars[first], np.nan)


def compute_bars(values: Float[np.ndarray, "latents others"]) -> Float[np.ndarray, " latents"]:
    """Return the 95 % quantile of each latent's own null values."""
    n = (~np.isnan(values)).sum(axis=1)
    bars = np.full(len(values), np.nan)
    enough = n >= MIN_NULL_LATENTS
    if enough.any():
        bars[enough] = np.nanquantile(values[enough], LEVEL, axis=1)
    return bars


@dataclass(frozen=True)
class NullShare:
    """Number of latents that beat a null."""

    score: str
    null: str
    meaning: str
    yes: int
    no: int
    cannot_tell: int
    by_chance: float

    @property
    def share(self) -> float:
        """Fraction of latents that beat it, among those with an answer; NaN if there is none."""
        n = self.yes + self.no
        return self.yes / n if n else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        """95 % Wilson interval of the fraction, over latents."""
        n, p = self.yes + self.no, self.share
        if not n:
            return float("nan"), float("nan")
        middle = (p + Z**2 / (2 * n)) / (1 + Z**2 / n)
        half = Z / (1 + Z**2 / n) * np.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
        return float(max(middle - half, 0)), float(min(middle + half, 1))


def count_wins(score: FeatureScore) -> list[NullShare]:
    """Count how many latents beat each null of a score."""
    return [
        NullShare(score.title, null.name, null.meaning, *_counts(marks), null.by_chance)
        for null, marks in zip(score.nulls, score.marks(), strict=True)
    ]


def _counts(marks: np.ndarray) -> tuple[int, int, int]:
    yes, no, cannot_tell = (int((marks == mark).sum()) for mark in (YES, NO, CANNOT_TELL))
    return yes, no, cannot_tell

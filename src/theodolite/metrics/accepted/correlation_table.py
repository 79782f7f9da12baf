"""Correlate scores with ratings of people, with all scores and questions in one table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtr, ndtri, stdtr

from theodolite._stats.multiple import correct_discoveries, correct_holm
from theodolite._stats.resampling import draw_poisson_weights
from theodolite.errors import EvidenceError
from theodolite.metrics.accepted._ratings import pearson, spearman

Method = Literal["pearson", "spearman"]
Correction = Literal["holm", "benjamini-hochberg", "none"]
NAN = float("nan")
LEVEL = 0.95
RESAMPLES = 1000
FEWEST = 4
"""Fisher's interval needs four."""
FULL = 1 - 1e-12
"""Correlations beyond it are full ones, so that z stays finite."""


@dataclass(frozen=True)
class CorrelationRow:
    """Correlation of one score with one question."""

    score: str
    question: str
    method: Method
    coefficient: float
    low: float
    high: float
    p: float
    corrected_p: float
    """p-value corrected for as many comparisons as the table has defined rows."""
    n: int
    left_out: int
    """Explanations without the score or without a vote."""


def correlation_table(
    scores: Mapping[str, np.ndarray],
    votes: Mapping[str, np.ndarray],
    *,
    method: Sequence[Method] = ("pearson", "spearman"),
    correction: Correction = "holm",
    clusters: Int[np.ndarray, " samples"] | None = None,
    seed: int = 0,
) -> tuple[CorrelationRow, ...]:
    """Correlate each score with each question, with intervals and corrected p-values.

    Without ``clusters`` p is that of Student's t and the 95 % interval is Fisher's (for Spearman
    with the variance of Bonett and Wright). Explanations of one image are not independent: with
    ``clusters`` (the image of each) both come from Fisher's z with the standard error that
    resampling whole clusters gives. A full correlation does not vary when resampled: then they are
    those of as many independent explanations as there are clusters. What is undefined is NaN and
    no comparison.

    Example:
        >>> x = np.arange(12.0)
        >>> row, other = correlation_table({"faithfulness": x}, {"Q1": x % 3}, correction="holm")
        >>> round(row.coefficient, 6), round(row.p, 6), round(row.corrected_p, 6), row.n
        (0.236525, 0.459216, 0.918433, 12)
    """
    lengths = {name: len(values) for name, values in (*scores.items(), *votes.items())}
    if clusters is not None:
        lengths["clusters"] = len(clusters)
    if len(set(lengths.values())) > 1:
        raise EvidenceError("scores and votes", f"{lengths}", "one number for each explanation")
    endless = [name for name, v in (*scores.items(), *votes.items()) if np.isinf(v).any()]
    if endless:
        raise EvidenceError(f"score {endless[0]!r}", "an infinite value", "finite ones, or NaN")
    rows = [
        _row(
            (score, question, statistic),
            (np.asarray(x, float), np.asarray(y, float)),
            clusters,
            seed,
        )
        for question, y in votes.items()
        for score, x in scores.items()
        for statistic in method
    ]
    adjusted = corrected(np.array([row.p for row in rows]), correction)
    return tuple(replace(row, corrected_p=float(p)) for row, p in zip(rows, adjusted, strict=True))


def _row(
    names: tuple[str, str, Method],
    sides: tuple[np.ndarray, np.ndarray],
    clusters: np.ndarray | None,
    seed: int,
) -> CorrelationRow:
    known = np.flatnonzero(~np.isnan(sides[0]) & ~np.isnan(sides[1]))
    x, y = (side[known] for side in sides)
    n, left_out = len(known), len(sides[0]) - len(known)
    r = float(_correlated(x, y, np.ones((1, n)), names[2])[0])
    if n < FEWEST or np.isnan(r):
        return CorrelationRow(*names, r if n > 1 else NAN, NAN, NAN, NAN, NAN, n, left_out)
    z = float(np.arctanh(np.clip(r, -FULL, FULL)))
    if clusters is None:
        error, p = _independent(r, n, names[2])
    elif abs(r) >= FULL:
        error, p = _independent(r, len(np.unique(clusters[known])), names[2])
    else:
        weights = draw_poisson_weights(clusters[known], RESAMPLES, seed)
        replicates = _correlated(x, y, weights, names[2])
        replicates = np.arctanh(np.clip(replicates[~np.isnan(replicates)], -FULL, FULL))
        error = float(replicates.std(ddof=1)) if len(replicates) > 1 else 0.0
        p = 2 * float(ndtr(-abs(z) / error)) if error > 0 else NAN
    half = float(ndtri((1 + LEVEL) / 2)) * error if error > 0 else NAN
    low, high = float(np.tanh(z - half)), float(np.tanh(z + half))
    return CorrelationRow(*names, r, low, high, p, NAN, n, left_out)


def _independent(r: float, n: int, method: Method) -> tuple[float, float]:
    """Return the standard error of z and the p-value for this many explanations."""
    if n < FEWEST:
        return 0.0, NAN
    error = float(np.sqrt((1 + (r**2 / 2 if method == "spearman" else 0)) / (n - 3)))
    t = r * np.sqrt((n - 2) / max((1 - r) * (1 + r), 1e-300))
    return error, 2 * float(stdtr(n - 2, -abs(t)))


def _correlated(x: np.ndarray, y: np.ndarray, weights: np.ndarray, method: Method) -> np.ndarray:
    return {"pearson": pearson, "spearman": spearman}[method](x, y, weights)


def corrected(p: Float[np.ndarray, " tests"], how: Correction) -> Float[np.ndarray, " tests"]:
    """P-values for many comparisons at once: Holm's, Benjamini and Hochberg's, or as they are.

    >>> corrected(np.array([0.01, 0.04, np.nan]), "holm")
    array([0.02, 0.04,  nan])
    """
    if how == "none":
        return np.array(p, float)
    return correct_holm(p.tolist()).p if how == "holm" else correct_discoveries(p)

"""A linear probe on a few latents: L2 logistic regression, its strength chosen in folds."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)
"""Inverse of the penalty, as scikit-learn has it; of equals the smaller."""
FOLDS = 5
MOST_STEPS, MOST_HALVINGS = 100, 30
CLOSE = 1e-10


@dataclass(frozen=True, eq=False)
class SparseProbe:
    """Weights of some latents."""

    scale: Float[np.ndarray, " latents"]
    weights: Float[np.ndarray, " latents"]
    constant: float
    strength: float

    def scores(self, values: Float[np.ndarray, "n latents"]) -> Float[np.ndarray, " n"]:
        """Above 0 where the concept is more likely than not."""
        # a sum in a fixed order: equal rows get equal scores, whatever other rows there are
        return np.asarray((values / self.scale * self.weights).sum(axis=1) + self.constant)


def fitted_probe(
    values: Float[np.ndarray, "n latents"],
    there: Bool[np.ndarray, " n"],
    fold: Int[np.ndarray, " n"],
) -> SparseProbe:
    """Fitted to all rows, with the strength that tells each fold best from the others.

    Latents are divided by their root mean square, so that one penalty suits all.
    """
    scale = np.sqrt((values**2).mean(axis=0))
    scale = np.where(scale > 0, scale, 1.0)
    columns = np.concatenate([values / scale, np.ones((len(values), 1))], axis=1)
    outside = np.array([fold != number for number in range(FOLDS)], float)
    rows = np.repeat(outside, len(STRENGTHS), axis=0)
    strengths = np.tile(STRENGTHS, FOLDS)
    each = logistic_regressions(columns, there, rows, strengths)
    losses = (_losses(each @ columns.T, there) * (1 - rows)).sum(axis=1)
    by_strength = losses.reshape(FOLDS, len(STRENGTHS)).sum(axis=0)
    best = STRENGTHS[int(np.argmin(by_strength.round(9)))]
    own = logistic_regressions(columns, there, np.ones((1, len(values))), np.array([best]))[0]
    return SparseProbe(scale, own[:-1], float(own[-1]), best)


def logistic_regressions(
    columns: Float[np.ndarray, "n columns"],
    there: Bool[np.ndarray, " n"],
    rows: Float[np.ndarray, "problems n"],
    strengths: Float[np.ndarray, " problems"],
) -> Float[np.ndarray, "problems columns"]:
    """Several at once, each of some rows, by Newton's method; the last column has no penalty.

    Minimizes half the squared weights plus ``strength`` times the summed losses.
    """
    penalty = np.ones(columns.shape[1])
    penalty[-1] = 1e-6  # rows of one class only must not run away

    def objective(weights: np.ndarray) -> np.ndarray:
        loss = (_losses(weights @ columns.T, there) * rows).sum(axis=1)
        return np.asarray((penalty * weights**2).sum(axis=1) / 2 + strengths * loss)

    weights = np.zeros((len(rows), columns.shape[1]))
    now = objective(weights)
    for _ in range(MOST_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(weights @ columns.T, -500, 500)))
        slope = ((chance - there) * rows) @ columns * strengths[:, None] + penalty * weights
        spread = (chance * (1 - chance) * rows * strengths[:, None])[:, :, None] * columns
        curve = np.swapaxes(spread, 1, 2) @ columns + np.diag(penalty)
        step = np.linalg.solve(curve, slope[:, :, None])[:, :, 0]
        weights, now, moved = _downhill(objective, weights, now, step)
        if moved <= CLOSE:
            break
    return weights


def _downhill(
    objective: Callable[[np.ndarray], np.ndarray],
    weights: np.ndarray,
    now: np.ndarray,
    step: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, float]:
    """A step of each problem, halved until it is none the worse."""
    share = np.ones(len(weights))
    for _ in range(MOST_HALVINGS):
        tried = weights - share[:, None] * step
        after = objective(tried)
        worse = after > now + 1e-12 * np.abs(now)
        if not worse.any():
            break
        share = np.where(worse, share / 2, share)
    tried, after = np.where(worse[:, None], weights, tried), np.where(worse, now, after)
    return tried, after, float((now - after).max(initial=0.0) / max(float(now.max()), 1e-300))


def _losses(scores: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Of each row, without overflow."""
    return np.asarray(np.logaddexp(0.0, np.where(there, -scores, scores)))

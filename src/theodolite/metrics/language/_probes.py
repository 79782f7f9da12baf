"""Pool the values of latents over sequences, and train probes for concepts on them.

Used by `latent_probe` and `splitting`. In this module ``there`` is True for sequences that contain
the concept.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Bool, Float, Int
from pydantic import Field

from theodolite._stats.ranks import average_ranks
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import require_ragged

Pooling = Annotated[
    Literal["max", "mean", "last", "sum"],
    Field(description="A latent's value in a sequence: its largest, mean, last, or summed."),
]
By = Annotated[
    Literal["auroc", "mean_difference"],
    Field(description="What chooses the latent: its AUROC, or how far its class means are apart."),
]
Side = Annotated[
    Literal["positive", "either"],
    Field(description="Whether a latent that is silent where the concept is may be chosen."),
]
BLOCK = 512
"""Number of latents that are made dense at a time, since all of them may not fit into memory."""
STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)
"""Candidates for the inverse penalty (C of scikit-learn); ties go to the smaller one."""
FOLDS = 5
MOST_STEPS, MOST_HALVINGS = 100, 30
CLOSE = 1e-10


@dataclass(frozen=True, eq=False)
class PooledCodes:
    """Pooled values of latents in sequences in sparse form, sorted by latent."""

    sample: np.ndarray
    latent: np.ndarray
    value: np.ndarray
    n_samples: int
    n_latents: int

    def block(self, first: int, last: int) -> np.ndarray:
        """Return the values of some latents in all sequences."""
        a, b = np.searchsorted(self.latent, [first, last])
        dense = np.zeros((self.n_samples, last - first))
        dense[self.sample[a:b], self.latent[a:b] - first] = self.value[a:b]
        return dense

    def of(self, latent: int) -> np.ndarray:
        """Return the values of one latent."""
        return np.asarray(self.block(latent, latent + 1)[:, 0])


def pool_activations(evidence: TokenEvidence, pooling: Pooling) -> PooledCodes:
    """Pool sparse activations, or return values that were pooled before."""
    n, k = len(evidence), len(evidence.latents)
    if evidence.latent is None and evidence.chance_pooled is not None:
        before = np.asarray(evidence.chance_pooled[:, 0], float).T
        latent, sample = np.nonzero(before)
        return PooledCodes(sample, latent, before[latent, sample], n, k)
    latents, values = require_ragged(evidence.latent), require_ragged(evidence.value)
    row, latent, value = values.row, latents.flat.astype(np.int64), values.flat.astype(float)
    if pooling == "last":
        last = values.inner_row == values.starts[1:][row] - 1
        row, latent, value = row[last], latent[last], value[last]
    order = np.lexsort((row, latent))
    row, latent, value = row[order], latent[order], value[order]
    key = latent * max(n, 1) + row
    first = np.flatnonzero(np.diff(key, prepend=-1))
    if pooling == "max":
        together = np.maximum.reduceat(value, first) if len(first) else value
        # where it is not active at some token, its value there is 0
        count = np.diff(np.append(first, len(key)))
        silent = count < values.lengths[row[first]]
        together = np.where(silent, np.maximum(together, 0.0), together)
    else:
        together = np.add.reduceat(value, first) if len(first) else value
    if pooling == "mean":
        together = together / values.lengths[row[first]]
    return PooledCodes(row[first], latent[first], together, n, k)


def compute_aurocs(values: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Compute the AUROC of each column."""
    n_there, n_not = int(there.sum()), int((~there).sum())
    if not n_there or not n_not:
        return np.full(values.shape[1], np.nan)
    ranks = average_ranks(values.T).T
    wins = ranks[there].sum(axis=0) - n_there * (n_there + 1) / 2
    return np.asarray(wins / (n_there * n_not))


def compute_merits(values: np.ndarray, there: np.ndarray, by: By, side: Side) -> np.ndarray:
    """Compute the score by which latents are chosen, column by column."""
    if by == "auroc":
        own = compute_aurocs(values, there) - 0.5
    else:
        n_active = (values != 0).sum(axis=0)
        scale = np.abs(values).sum(axis=0) / np.maximum(n_active, 1)
        apart = values[there].mean(axis=0) - values[~there].mean(axis=0)
        own = apart / np.where(scale > 0, scale, 1.0)
    return np.asarray(np.abs(own) if side == "either" else own)


@dataclass(frozen=True, eq=False)
class SparseProbe:
    """L2 logistic regression on a few latents, with its strength chosen by cross-validation."""

    scale: Float[np.ndarray, " latents"]
    weights: Float[np.ndarray, " latents"]
    constant: float
    strength: float

    def scores(self, values: Float[np.ndarray, "n latents"]) -> Float[np.ndarray, " n"]:
        """Return log-odds of the concept; above 0 if it is more likely than not."""
        # a sum in a fixed order: equal rows get equal scores, whatever other rows there are
        return np.asarray((values / self.scale * self.weights).sum(axis=1) + self.constant)


def fitted_probe(
    values: Float[np.ndarray, "n latents"],
    there: Bool[np.ndarray, " n"],
    fold: Int[np.ndarray, " n"],
) -> SparseProbe:
    """Fit a probe to all rows, with the strength that has the smallest loss on held-out folds.

    Latents are divided by their root mean square, so that one penalty suits all.
    """
    scale = np.sqrt((values**2).mean(axis=0))
    scale = np.where(scale > 0, scale, 1.0)
    columns = np.concatenate([values / scale, np.ones((len(values), 1))], axis=1)
    outside = np.array([fold != number for number in range(FOLDS)], float)
    rows = np.repeat(outside, len(STRENGTHS), axis=0)
    strengths = np.tile(STRENGTHS, FOLDS)
    each = logistic_regressions(columns, there, rows, strengths)
    losses = (_compute_losses(each @ columns.T, there) * (1 - rows)).sum(axis=1)
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
    """Fit several logistic regressions by Newton's method; return the weights of each.

    ``rows`` has the weights of samples in each problem. The objective is half the squared weights
    plus ``strength`` times the summed losses. The last column, the constant, has almost no penalty.
    """
    penalty = np.ones(columns.shape[1])
    penalty[-1] = 1e-6  # rows of one class only must not run away

    def objective(weights: np.ndarray) -> np.ndarray:
        loss = (_compute_losses(weights @ columns.T, there) * rows).sum(axis=1)
        return np.asarray((penalty * weights**2).sum(axis=1) / 2 + strengths * loss)

    weights = np.zeros((len(rows), columns.shape[1]))
    now = objective(weights)
    for _ in range(MOST_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(weights @ columns.T, -500, 500)))
        slope = ((chance - there) * rows) @ columns * strengths[:, None] + penalty * weights
        spread = (chance * (1 - chance) * rows * strengths[:, None])[:, :, None] * columns
        curve = np.swapaxes(spread, 1, 2) @ columns + np.diag(penalty)
        step = np.linalg.solve(curve, slope[:, :, None])[:, :, 0]
        weights, now, moved = _descend(objective, weights, now, step)
        if moved <= CLOSE:
            break
    return weights


def _descend(
    objective: Callable[[np.ndarray], np.ndarray],
    weights: np.ndarray,
    now: np.ndarray,
    step: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Take one step of each problem, halved until the loss does not increase."""
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


def _compute_losses(scores: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Compute the loss of each row without overflow."""
    return np.asarray(np.logaddexp(0.0, np.where(there, -scores, scores)))

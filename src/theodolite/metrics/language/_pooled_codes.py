"""What a latent is worth in a whole sequence, and how well that tells a concept."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from theodolite._stats.ranks import average_ranks
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import rows_of

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
"""Latents that are looked at together: all of them, sequence by sequence, may not fit."""


@dataclass(frozen=True, eq=False)
class PooledCodes:
    """Values of latents in sequences, those that are not 0, in the order of latents."""

    sample: np.ndarray
    latent: np.ndarray
    value: np.ndarray
    n_samples: int
    n_latents: int

    def block(self, first: int, last: int) -> np.ndarray:
        """Some latents' values in all sequences."""
        a, b = np.searchsorted(self.latent, [first, last])
        dense = np.zeros((self.n_samples, last - first))
        dense[self.sample[a:b], self.latent[a:b] - first] = self.value[a:b]
        return dense

    def of(self, latent: int) -> np.ndarray:
        """One latent's values."""
        return np.asarray(self.block(latent, latent + 1)[:, 0])


def pooled_codes(evidence: TokenEvidence, pooling: Pooling) -> PooledCodes:
    """Of sparse codes; where there are none, of values that were pooled before."""
    n, k = len(evidence), len(evidence.latents)
    if evidence.latent is None and evidence.chance_pooled is not None:
        before = np.asarray(evidence.chance_pooled[:, 0], float).T
        latent, sample = np.nonzero(before)
        return PooledCodes(sample, latent, before[latent, sample], n, k)
    latents, values = rows_of(evidence.latent), rows_of(evidence.value)
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


def aurocs(values: np.ndarray, there: np.ndarray) -> np.ndarray:
    """How well each column tells where something is: the share of pairs that it puts in order."""
    n_there, n_not = int(there.sum()), int((~there).sum())
    if not n_there or not n_not:
        return np.full(values.shape[1], np.nan)
    ranks = average_ranks(values.T).T
    wins = ranks[there].sum(axis=0) - n_there * (n_there + 1) / 2
    return np.asarray(wins / (n_there * n_not))


def merits(values: np.ndarray, there: np.ndarray, by: By, side: Side) -> np.ndarray:
    """What a latent is chosen by, column by column: the more the better."""
    if by == "auroc":
        own = aurocs(values, there) - 0.5
    else:
        n_active = (values != 0).sum(axis=0)
        scale = np.abs(values).sum(axis=0) / np.maximum(n_active, 1)
        apart = values[there].mean(axis=0) - values[~there].mean(axis=0)
        own = apart / np.where(scale > 0, scale, 1.0)
    return np.asarray(np.abs(own) if side == "either" else own)


def weighted_aurocs(values: np.ndarray, there: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The AUROC of one latent under each row of weights."""
    order = np.argsort(values, kind="stable")
    starts = np.flatnonzero(np.diff(values[order], prepend=np.nan))  # of values that are equal
    counts, there = weights[:, order].astype(float), there[order]
    positive, negative = (
        np.add.reduceat(counts * own, starts, axis=1) if len(starts) else counts
        for own in (there, ~there)
    )
    below = np.cumsum(negative, axis=1) - negative / 2
    pairs = positive.sum(axis=1) * negative.sum(axis=1)
    wins = (positive * below).sum(axis=1)
    shares = np.divide(wins, pairs, out=np.full(len(weights), np.nan), where=pairs > 0)
    return np.asarray(np.minimum(shares, 1.0))

"""Largest codes of latents in texts as sparse triples, and AUROCs of all latents from these."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int


@dataclass(frozen=True, eq=False)
class PooledTriples:
    """Values above 0 of latents in texts, sorted by latent and text; all others are 0."""

    text: Int[np.ndarray, " values"]
    latent: Int[np.ndarray, " values"]
    value: Float[np.ndarray, " values"]
    latents: int
    texts: int

    @classmethod
    def of(
        cls,
        texts: Int[np.ndarray, " tokens"],
        latents: Int[np.ndarray, "tokens active"],
        values: Float[np.ndarray, "tokens active"],
        n_latents: int,
        n_texts: int | None = None,
    ) -> "PooledTriples":
        """Pool the codes of tokens, each of a text, by their largest value."""
        active = values > 0
        row = np.broadcast_to(texts[:, None], values.shape)[active]
        if n_texts is None:
            n_texts = int(texts[-1]) + 1 if len(texts) else 0
        key = latents[active].astype(np.int64) * max(n_texts, 1) + row
        value = values[active].astype(np.float32)
        order = np.argsort(key, kind="stable")
        key = key[order]
        first = np.flatnonzero(np.diff(key, prepend=-1))
        value = np.maximum.reduceat(value[order], first) if len(first) else value
        latent, text = np.divmod(key[first], max(n_texts, 1))
        return cls(text.astype(np.int32), latent.astype(np.int32), value, n_latents, n_texts)

    @classmethod
    def of_dense(cls, values: Float[np.ndarray, "texts latents"]) -> "PooledTriples":
        """Return the triples of values of all latents."""
        latent, text = np.nonzero(values.T)
        return cls(text, latent, values[text, latent], values.shape[1], len(values))

    @classmethod
    def joined(
        cls, parts: Sequence["PooledTriples"], n_latents: int, n_texts: int
    ) -> "PooledTriples":
        """Join parts of texts that rise."""
        text, latent, value = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("text", "latent", "value")
        )
        order = np.argsort(latent, kind="stable")
        return cls(text[order], latent[order], value[order], n_latents, n_texts)

    def dense(self, latents: Int[np.ndarray, " some"]) -> Float[np.ndarray, "texts some"]:
        """Return the values of some latents in all texts."""
        values = np.zeros((self.texts, len(latents)), np.float32)
        ends = np.searchsorted(self.latent, np.stack([latents, latents + 1]))
        for column, (first, last) in enumerate(ends.T):
            values[self.text[first:last], column] = self.value[first:last]
        return values


def compute_triple_aurocs(
    pooled: PooledTriples,
    truth: Bool[np.ndarray, "texts concepts"],
    rows: Bool[np.ndarray, " texts"],
) -> Float[np.ndarray, "latents concepts"]:
    """Return the AUROC of each latent for each concept among some texts, from values above 0 only.

    Values are sorted once for all concepts; all zeros are one tie below.
    """
    inside = rows[pooled.text]
    text, latent, value = (part[inside] for part in (pooled.text, pooled.latent, pooled.value))
    n = int(rows.sum())
    order = np.lexsort((value, latent))
    text, latent, value = text[order], latent[order], value[order]
    count = np.bincount(latent, minlength=pooled.latents)
    start = np.cumsum(count) - count
    zeros = n - count
    # average ranks of equal values of a latent
    new = np.ones(len(value), bool)
    new[1:] = (np.diff(latent) != 0) | (np.diff(value) != 0)
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(value)) - 1
    tie = np.cumsum(new) - 1
    rank = (first[tie] + last[tie]) / 2 - start[latent] + 1 + zeros[latent]
    result = np.full((pooled.latents, truth.shape[1]), np.nan)
    for concept in range(truth.shape[1]):
        there = truth[:, concept] & rows
        n_there = int(there.sum())
        if not 0 < n_there < n:
            continue
        own = there[text]
        sums: np.ndarray = np.bincount(latent[own], rank[own], pooled.latents)
        active = np.bincount(latent[own], minlength=pooled.latents)
        sums = sums + (n_there - active) * (zeros + 1) / 2
        result[:, concept] = (sums - n_there * (n_there + 1) / 2) / (n_there * (n - n_there))
    return result

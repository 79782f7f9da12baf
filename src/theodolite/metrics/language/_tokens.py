"""Compute the activity of explained latents, and the tokens where predicates hold."""

import numpy as np

from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import require_ragged


def explained_entries(evidence: TokenEvidence) -> tuple[np.ndarray, np.ndarray]:
    """Active values of explained latents: the number of the value, and of the explanation.

    A latent may have several explanations, and most have none.
    """
    latent, explained = require_ragged(evidence.latent).flat, np.asarray(evidence.explained)
    order = np.argsort(explained, kind="stable")
    first = np.searchsorted(explained[order], latent, side="left")
    n = np.searchsorted(explained[order], latent, side="right") - first
    entry = np.repeat(np.arange(len(latent)), n)
    within = np.arange(len(entry)) - np.repeat(np.cumsum(n) - n, n)
    return entry, order[np.repeat(first, n) + within]


def holds_at(evidence: TokenEvidence, token: np.ndarray, predicate: np.ndarray) -> np.ndarray:
    """Return whether predicates hold of tokens, both given by number."""
    holds = require_ragged(evidence.holds)
    width = len(evidence.predicates) + 1
    known = holds.inner_row * width + holds.flat  # in order: predicates rise within each token
    key = np.asarray(token) * width + predicate
    at = np.minimum(np.searchsorted(known, key), max(len(known) - 1, 0))
    if not len(known):
        return np.zeros(len(key), bool)
    return np.asarray((known[at] == key) & (np.asarray(predicate) >= 0))


def summed(
    evidence: TokenEvidence, sample: np.ndarray, item: np.ndarray, amounts: np.ndarray
) -> np.ndarray:
    """Sums by sequence and explanation, in float64 and in the order that entries have."""
    shape = (len(evidence), len(evidence.explanations))
    place = sample * shape[1] + item
    flat = np.bincount(place, np.asarray(amounts, float), shape[0] * shape[1])
    return np.asarray(flat.reshape(shape))

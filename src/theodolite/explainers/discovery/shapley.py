"""Shapley values of concepts: mean marginal contribution over all orders of the concepts."""

from collections.abc import Callable
from math import factorial

import numpy as np
from jaxtyping import Bool, Float, Int

from theodolite.errors import EvidenceError

EXACT_UP_TO = 10
Value = Callable[[np.ndarray], np.ndarray]
"""Function from sets (sets x concepts, booleans) to values (sets, or sets x classes)."""


def shapley_importance(
    value: Value, n: int, *, samples: int = 64, seed: int = 0
) -> Float[np.ndarray, "*classes concepts"]:
    r"""Return the Shapley value of each of ``n`` concepts for a set function.

    .. math:: \phi_k = \sum_{S \not\ni k} \frac{|S|!\,(n - |S| - 1)!}{n!}
        \left(v(S \cup \{k\}) - v(S)\right)

    Exact, over all :math:`2^n` sets, for up to 10 concepts. For more, the mean over ``samples``
    random orders, each taken forwards and backwards, which cancels much of the noise; it is
    unbiased, and the values still add up to :math:`v(\text{all}) - v(\emptyset)` exactly. It asks
    for the worth of some ``2 * samples * n`` sets, ``2 * n`` at a time. The worth may have a column
    per class; the result then has a row per class.

    Example:
        >>> together = lambda sets: sets[:, :2].all(axis=1) + 3.0 * sets[:, 2]
        >>> shapley_importance(together, 3)
        array([0.5, 0.5, 3. ])
    """
    if n < 1 or samples < 1:
        raise EvidenceError("n, samples", f"{n}, {samples}", "at least 1 of each")
    return _exact(value, n) if n <= EXACT_UP_TO else _sampled(value, n, samples, seed)


def _exact(value: Value, n: int) -> np.ndarray:
    number = np.arange(2**n)
    sets = (number[:, None] >> np.arange(n) & 1).astype(bool)
    worth = np.asarray(value(sets), np.float64)
    weight = np.array([factorial(s) * factorial(n - s - 1) / factorial(n) for s in range(n)])
    importances = []
    for k in range(n):
        without = number[~sets[:, k]]
        gain = worth[without + 2**k] - worth[without]
        importances.append(weight[sets[without].sum(axis=1)] @ gain)
    return np.stack(importances, axis=-1)


def _sampled(value: Value, n: int, samples: int, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    none, every = np.asarray(value(np.stack([np.zeros(n, bool), np.ones(n, bool)])), np.float64)
    total = np.zeros((n, *none.shape))
    for _ in range(samples):
        forwards = random.permutation(n)
        orders = np.stack([forwards, forwards[::-1]])
        place = np.argsort(orders, axis=1)
        # the first one, two, ... n - 1 concepts of each order
        sets = place[:, None, :] < np.arange(1, n)[:, None]
        worth = np.asarray(value(sets.reshape(-1, n)), np.float64)
        for order, between in zip(orders, np.split(worth, 2), strict=True):
            total[order] += np.diff(np.concatenate([none[None], between, every[None]]), axis=0)
    return np.moveaxis(total / (2 * samples), 0, -1)


def concept_completeness_value(
    codes: Float[np.ndarray, "samples concepts"],
    labels: Int[np.ndarray, " samples"],
    decode: Callable[[np.ndarray], np.ndarray],
    outputs: Callable[[np.ndarray], np.ndarray],
) -> Value:
    """Return the set function of ConceptSHAP: the accuracy per class with only these concepts.

    For each class the share of its samples whose largest output is their label, after the codes
    of all other concepts were set to 0 and embeddings were made of the rest by ``decode``. NaN
    for a class without samples. Passed to `shapley_importance` it gives ConceptSHAP's importances
    per class; as there, the decoder is not retrained for each set. Yeh et al. 2020.

    Example:
        >>> codes, labels = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([0, 1])
        >>> same = lambda values: values
        >>> value = concept_completeness_value(codes, labels, same, same)
        >>> value(np.array([[True, False], [True, True]]))
        array([[1., 0.],
               [1., 1.]])
    """

    def value(sets: Bool[np.ndarray, "sets concepts"]) -> Float[np.ndarray, "sets classes"]:
        recalls = []
        for chosen in sets:
            scores = np.asarray(outputs(decode(codes * chosen)))
            right = scores.argmax(axis=1) == labels
            members = np.bincount(labels, minlength=scores.shape[1])
            hits = np.bincount(labels[right], minlength=scores.shape[1])
            share = np.full(len(members), np.nan)
            recalls.append(np.divide(hits, members, out=share, where=members > 0))
        return np.stack(recalls)

    return value

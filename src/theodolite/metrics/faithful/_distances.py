"""Distances and likenesses between what a network and a surrogate put out, sample by sample."""

import numpy as np
import scipy.special
from jaxtyping import Bool, Float, Int

from theodolite._stats.ranks import average_ranks
from theodolite.errors import EvidenceError

Outputs = Float[np.ndarray, "samples classes"]
Labels = Int[np.ndarray, " samples"] | None
Compared = tuple[Float[np.ndarray, " samples"], Float[np.ndarray, " samples"]]


def _everywhere(part: Float[np.ndarray, " samples"]) -> Compared:
    return part, np.ones(len(part))


def _nowhere(n: int) -> Compared:
    return np.zeros(n), np.zeros(n)


def absolute_error(network: Outputs, surrogate: Outputs, labels: Labels) -> Compared:
    """Mean over the outputs of how far each is off."""
    del labels
    return _everywhere(np.abs(network - surrogate).mean(axis=1))


def moved_probability(network: Outputs, surrogate: Outputs, labels: Labels) -> Compared:
    """The probability that lies elsewhere: half the sum of differences. One output has none."""
    del labels
    if network.shape[1] < 2:
        return _nowhere(len(network))
    away = np.abs(scipy.special.softmax(network, axis=1) - scipy.special.softmax(surrogate, axis=1))
    return _everywhere(np.minimum(away.sum(axis=1) / 2, 1.0))


def same_answer(network: Outputs, surrogate: Outputs, labels: Labels) -> Compared:
    """Whether both have the same highest output; where several are highest, the chance of it."""
    del labels
    if network.shape[1] < 2:
        return _nowhere(len(network))
    a, b = _highest(network), _highest(surrogate)
    return _everywhere((a & b).sum(axis=1) / (a.sum(axis=1) * b.sum(axis=1)))


def right_answer(outputs: Outputs, labels: Int[np.ndarray, " samples"]) -> np.ndarray:
    """Whether the highest output is the label's; where several are highest, the chance of it."""
    highest = _highest(outputs)
    return np.asarray(highest[np.arange(len(labels)), labels] / highest.sum(axis=1))


def rank_correlation(network: Outputs, surrogate: Outputs, labels: Labels) -> Compared:
    """Spearman's correlation over the outputs of a sample; undefined if either has no order."""
    del labels
    a, b = (_centred_ranks(outputs) for outputs in (network, surrogate))
    spread = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    coefficients = np.divide((a * b).sum(axis=1), spread, out=np.zeros(len(a)), where=spread > 0)
    return np.clip(coefficients, -1.0, 1.0), (spread > 0).astype(float)


def relative_error(network: Outputs, surrogate: Outputs, labels: Labels) -> Compared:
    """How far the label's output is off, as a share of it; undefined where it is 0."""
    if labels is None:
        raise EvidenceError("labels", "none", "the true class of each sample", "Pass `labels`.")
    rows = np.arange(len(network))
    label_outputs = network[rows, labels]
    off, size = np.abs(label_outputs - surrogate[rows, labels]), np.abs(label_outputs)
    return np.divide(off, size, out=np.zeros(len(off)), where=size > 0), (size > 0).astype(float)


def same_sides(network: Outputs, surrogate: Outputs, labels: Labels) -> Compared:
    """Share of outputs on the same side of 0: attributes that both say are there, or are not."""
    del labels
    return _everywhere(((network > 0) == (surrogate > 0)).mean(axis=1))


def _highest(outputs: Outputs) -> Bool[np.ndarray, "samples classes"]:
    return np.asarray(outputs == outputs.max(axis=1, keepdims=True))


def _centred_ranks(outputs: Outputs) -> Outputs:
    """Ranks less their mean; equal values share theirs."""
    ranks = average_ranks(outputs)
    return np.asarray(ranks - (outputs.shape[1] + 1) / 2)

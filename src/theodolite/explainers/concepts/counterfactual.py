"""Compute the smallest change of each single concept that changes a Gaussian head's prediction.
One of the methods of :mod:`.methods`."""

import numpy as np
from jaxtyping import Float, Int

from theodolite.explainers.concepts.heads import GaussianHead


def find_smallest_changes(
    head: GaussianHead,
    values: Float[np.ndarray, "samples concepts"],
    labels: Int[np.ndarray, " samples"],
) -> Float[np.ndarray, "samples concepts"]:
    r"""Return the signed change of each concept alone that loses the predicted class.

    Where the head does not choose the class, how far the concept must move for it to be won. NaN
    where no change of this concept alone does it. What is given is the distance to the border:
    the decision changes just beyond it.

    Along concept :math:`j` the score of class :math:`k` with precision :math:`P` and
    :math:`d = x - \mu_k` is :math:`g_k(x) - t (P d)_j - t^2 P_{jj} / 2`, so that two classes are
    even where a quadratic in :math:`t` is zero.
    """
    rows = np.asarray(values, np.float64)
    return np.stack([_of_sample(head, row, int(y)) for row, y in zip(rows, labels, strict=True)])


def _of_sample(
    head: GaussianHead, row: Float[np.ndarray, " concepts"], label: int
) -> Float[np.ndarray, " concepts"]:
    away = row - head.means
    scores = head.scores(row[None])[0]
    slopes = -np.einsum("cjk,ck->cj", head.precisions, away)
    bends = -np.diagonal(head.precisions, axis1=1, axis2=2) / 2
    others = np.delete(np.arange(len(scores)), label)
    # the lead of the class over each other one: level + slope t + bend t², (others, concepts)
    level, slope, bend = (of[label] - of[others] for of in (scores, slopes, bends))
    level = np.broadcast_to(level[:, None], slope.shape)
    moves = _roots(level, slope, bend)  # (2, others, concepts)
    turning = (slope + 2 * bend * moves) * np.where(moves < 0, -1.0, 1.0)
    chosen = bool((level >= 0).all())
    right_way = turning < 0 if chosen else turning > 0
    # at the border with one class, the lead over all others must be there
    with np.errstate(invalid="ignore", over="ignore"):  # a border may be very far
        leads = level + slope * moves[:, :, None] + bend * moves[:, :, None] ** 2
    same = np.eye(len(others), dtype=bool)[None, :, :, None]
    there = (np.where(same, 0.0, leads) >= 0).all(axis=2) & right_way
    size = np.where(there, np.abs(moves), np.inf).reshape(-1, len(row))
    nearest = size.argmin(axis=0)
    changes = np.take_along_axis(moves.reshape(size.shape), nearest[None], axis=0)[0]
    return np.where(np.isfinite(size.min(axis=0)), changes, np.nan)


def _roots(level: np.ndarray, slope: np.ndarray, bend: np.ndarray) -> np.ndarray:
    """Return both zeros of ``level + slope t + bend t²``, NaN unless there are two."""
    with np.errstate(invalid="ignore", divide="ignore"):
        inner = slope**2 - 4 * bend * level
        root = np.sqrt(np.where(inner > 0, inner, np.nan))
        # the sum of two numbers of one sign: nothing cancels, and a bend of 0 does no harm
        half = -(slope + np.where(slope < 0, -root, root)) / 2
        both = np.stack([half / bend, level / half])
    return np.where(np.isfinite(both), both, np.nan)

"""Products of scores and true concepts that go with what a model leaves unexplained."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from theodolite._stats.joint.fits import LabelTask, Logs, Matrix
from theodolite._stats.joint.inputs import FOLDS, JointInputs

CHOSEN = 8


@dataclass(frozen=True, eq=False)
class Candidates:
    """Products of two columns, in the order in which ties are settled."""

    left: Float[np.ndarray, "samples left"]
    right: Float[np.ndarray, "samples right"]
    pairs: Int[np.ndarray, "products 2"]
    """Columns of ``left`` and ``right``."""
    shift: Float[np.ndarray, " products"]
    """What is subtracted from each product."""

    def columns(self, chosen: Int[np.ndarray, " chosen"]) -> Matrix:
        """Return the values of some products."""
        a, b = self.pairs[chosen].T
        return np.asarray(self.left[:, a] * self.right[:, b] - self.shift[chosen])


def score_products(inputs: JointInputs) -> Candidates:
    """Products of scores, squared scores, and products of scores with other true concepts."""
    z, x = inputs.scores, inputs.truth[:, inputs.truth_concepts >= 0]
    owners = inputs.truth_concepts[inputs.truth_concepts >= 0]
    both, n = np.concatenate([z, x], axis=1), z.shape[1]
    i, j = np.triu_indices(n, 1)
    own = np.arange(n)
    a, b = np.nonzero(inputs.columns[:, None] != owners[None, :])
    pairs = np.concatenate(
        [np.stack([i, j], axis=1), np.stack([own, own], axis=1), np.stack([a, n + b], axis=1)]
    )
    shift = np.concatenate([np.zeros(len(i)), np.ones(n), np.zeros(len(a))])
    return Candidates(z, both, pairs, shift)


def truth_products(inputs: JointInputs) -> Candidates:
    """Products of two true concepts."""
    x = inputs.truth[:, inputs.truth_concepts >= 0]
    pairs = np.stack(np.triu_indices(x.shape[1], 1), axis=1)
    return Candidates(x, x, pairs, np.zeros(len(pairs)))


def rank_products(
    candidates: Candidates, residual: Logs, task: LabelTask, rows: np.ndarray
) -> Float[np.ndarray, " products"]:
    """Return for each product the sum over labels of squared sum over sum of squares."""
    total = np.zeros(len(candidates.pairs))
    for label in range(task.n_labels):
        sums, squares = _products(candidates, task.weights[rows] * residual[rows, label], rows)
        total += _ratio(sums, squares)
    return total


def rank_by_fold(
    candidates: Candidates, residual: Logs, task: LabelTask
) -> Float[np.ndarray, "folds products"]:
    """Return the same without each fold, from sums over the rows of every fold."""
    total = np.zeros((FOLDS, len(candidates.pairs)))
    for label in range(task.n_labels):
        parts = [
            _products(candidates, task.weights[rows] * residual[rows, label], rows)
            for rows in (np.flatnonzero(task.folds == fold) for fold in range(FOLDS))
        ]
        sums = np.stack([part[0] for part in parts])
        squares = np.stack([part[1] for part in parts])
        total += _ratio(sums.sum(axis=0) - sums, squares.sum(axis=0) - squares)
    return total


def _products(
    candidates: Candidates, residual: Float[np.ndarray, " rows"], rows: np.ndarray
) -> tuple[Float[np.ndarray, " products"], Float[np.ndarray, " products"]]:
    """Return sums of residual times product, and of their squares, over some rows."""
    left = residual[:, None] * candidates.left[rows]
    right = candidates.right[rows]
    a, b = candidates.pairs.T
    shift = candidates.shift
    sums = (left.T @ right)[a, b]
    squares = ((left**2).T @ right**2)[a, b]
    if shift.any():  # (zz - 1) r: its square is (rzz)^2 - 2 rzz r + r^2
        cross = ((left * residual[:, None]).T @ right)[a, b]
        squares = squares - 2 * shift * cross + shift**2 * (residual @ residual)
        sums = sums - shift * residual.sum()
    return sums, squares


def _ratio(sums: np.ndarray, squares: np.ndarray) -> np.ndarray:
    return np.asarray(np.divide(sums**2, squares, out=np.zeros_like(sums), where=squares > 1e-12))


def choose(ranks: Float[np.ndarray, " products"]) -> Int[np.ndarray, " chosen"]:
    """Return the best products; of equals the first."""
    return np.asarray(np.argsort(-ranks.round(9), kind="stable")[:CHOSEN])

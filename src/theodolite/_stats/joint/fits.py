"""Regressions, tables and their mixture, all learned without the fold that they predict."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logsumexp

from theodolite._stats.joint.inputs import FOLDS

PRECISION = 1e-8
"""Largest entry of the gradient at which a fit ends, per cluster."""
MAX_STEPS = 200
Logs = Float[np.ndarray, "samples labels"]
Matrix = Float[np.ndarray, "samples columns"]


@dataclass(frozen=True, eq=False)
class LabelTask:
    """Labels to predict, and which rows are learned from."""

    labels: Int[np.ndarray, " samples"]
    weights: Float[np.ndarray, " samples"]
    folds: Int[np.ndarray, " samples"]
    n_labels: int
    n_clusters: int

    def splits(self) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Yield each fold with the rows to learn from and the rows to predict."""
        for fold in range(FOLDS):
            held_out = np.flatnonzero(self.folds == fold)
            if len(held_out):
                yield fold, np.flatnonzero(self.folds != fold), held_out

    def chosen(self, logs: Logs) -> Float[np.ndarray, " samples"]:
        """Log probabilities of the labels."""
        return np.asarray(logs[np.arange(len(self.labels)), self.labels])


def fit_ridge(
    columns: Matrix, offset: Logs, task: LabelTask, rows: np.ndarray, penalty: float,
    start: Float[np.ndarray, "columns labels"] | None = None,
) -> Float[np.ndarray, "columns labels"]:  # fmt: skip
    """Fit softmax regression with an offset and no intercept.

    Minimizes the weighted log loss plus half the penalty times the sum of squared coefficients.
    The optimum is unique, so the solver and its start do not matter.
    """
    x, o = columns[rows], offset[rows]
    y, w = task.labels[rows], task.weights[rows]
    goal = PRECISION * task.n_clusters
    if not x.shape[1]:
        return np.zeros((0, task.n_labels))
    if task.n_labels == 2:
        slope = np.zeros(x.shape[1]) if start is None else start[:, 1] - start[:, 0]
        slope = _newton(x, o[:, 1] - o[:, 0], y, w, penalty, slope, goal)
        return np.stack([-slope / 2, slope / 2], axis=1)
    return _lbfgs(x, o, y, w, penalty, start, goal)


def _newton(  # noqa: PLR0913  a regression and its start
    x: Matrix, offset: Float[np.ndarray, " samples"], y: Int[np.ndarray, " samples"],
    w: Float[np.ndarray, " samples"], penalty: float, slope: Float[np.ndarray, " columns"],
    goal: float,
) -> Float[np.ndarray, " columns"]:  # fmt: skip
    """Fit two labels by Newton's method with halved steps."""

    def loss(b: np.ndarray) -> float:
        margin = offset + x @ b
        return float(w @ (np.logaddexp(0, margin) - y * margin) + penalty / 4 * b @ b)

    current = loss(slope)
    for _ in range(MAX_STEPS):
        p = expit(offset + x @ slope)
        gradient = x.T @ (w * (p - y)) + penalty / 2 * slope
        if np.abs(gradient).max(initial=0.0) <= goal:
            break
        hessian = x.T @ (x * (w * p * (1 - p))[:, None])
        hessian[np.diag_indices_from(hessian)] += penalty / 2
        step = cho_solve(cho_factor(hessian), gradient)
        size = 1.0
        while (next_loss := loss(slope - size * step)) > current and size > 1e-6:
            size /= 2
        slope, current = slope - size * step, next_loss
    return slope


def _lbfgs(  # noqa: PLR0913  a regression and its start
    x: Matrix, offset: Logs, y: Int[np.ndarray, " samples"], w: Float[np.ndarray, " samples"],
    penalty: float, start: Float[np.ndarray, "columns labels"] | None, goal: float,
) -> Float[np.ndarray, "columns labels"]:  # fmt: skip
    """Fit several labels in coordinates in which the curvature is close to 1."""
    n_labels = offset.shape[1]
    spread, axes = np.linalg.eigh(x.T @ (x * w[:, None]))
    shares = np.bincount(y, w, n_labels) / w.sum()
    curvature = np.maximum(spread, 0.0)[:, None] * (shares * (1 - shares)) + penalty
    scale = 1 / np.sqrt(curvature)
    turned = x @ axes
    own = np.arange(len(y)), y

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        b = flat.reshape(scale.shape) * scale
        p = turned @ b
        p += offset
        p -= p.max(axis=1, keepdims=True)
        chosen = p[own]
        np.exp(p, out=p)
        total = p.sum(axis=1)
        value = w @ (np.log(total) - chosen) + penalty / 2 * float((b**2).sum())
        p *= (w / total)[:, None]
        p[own] -= w
        return float(value), ((turned.T @ p + penalty * b) * scale).ravel()

    first = np.zeros(scale.shape) if start is None else axes.T @ start / scale
    options = {"gtol": goal * float(scale.min()), "ftol": 0.0, "maxiter": MAX_STEPS, "maxcor": 20}
    result = minimize(loss, first.ravel(), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(axes @ (result.x.reshape(scale.shape) * scale))


def ridge_logs(
    columns: Matrix | Callable[[int], Matrix],
    offset: Logs | Callable[[int], Logs],
    task: LabelTask,
    penalties: Sequence[float],
) -> list[Logs]:
    """Return held-out log probabilities of a ridge fit for each penalty, the strongest first.

    Columns and offset may depend on the fold, where they come from the other folds.
    """
    results = [np.zeros((len(task.labels), task.n_labels)) for _ in penalties]
    starts: list[np.ndarray | None] = [None] * len(penalties)  # the last fold's fits are close
    for fold, rows, held_out in task.splits():
        x = columns(fold) if callable(columns) else columns
        o = offset(fold) if callable(offset) else offset
        fitted: np.ndarray | None = None
        for number, (result, penalty) in enumerate(zip(results, penalties, strict=True)):
            start = fitted if starts[number] is None else starts[number]
            fitted = starts[number] = fit_ridge(x, o, task, rows, penalty, start)
            result[held_out] = log_softmax(o[held_out] + x[held_out] @ fitted, axis=1)
    return results


def prior_logs(task: LabelTask, fold: int) -> Logs:
    """Return log shares of the labels outside a fold, half a row added to each; for every row."""
    rows = task.folds != fold
    counts = np.bincount(task.labels[rows], task.weights[rows], task.n_labels)
    shares = np.log((counts + 0.5) / (counts.sum() + task.n_labels / 2))
    return np.broadcast_to(shares, (len(task.labels), task.n_labels))


def pattern_logs(
    strata: Int[np.ndarray, "samples concepts"],
    guess: Logs,
    task: LabelTask,
    strengths: Sequence[float],
) -> list[Logs]:
    """Return log shares of labels among rows of the same true concepts, drawn towards a guess."""
    pattern = np.unique(strata, axis=0, return_inverse=True)[1].reshape(-1)
    cells = pattern * task.n_labels + task.labels
    n_cells = (int(pattern.max(initial=0)) + 1) * task.n_labels
    results = [np.zeros(guess.shape) for _ in strengths]
    for _, rows, held_out in task.splits():
        counts = np.bincount(cells[rows], task.weights[rows], n_cells)
        own = counts.reshape(-1, task.n_labels)[pattern[held_out]]
        for result, strength in zip(results, strengths, strict=True):
            mixed = own + strength * np.exp(guess[held_out])
            result[held_out] = np.log(mixed / (own.sum(axis=1, keepdims=True) + strength))
    return results


def stack_logs(
    models: Sequence[Logs], task: LabelTask
) -> tuple[Logs, Float[np.ndarray, "folds models"]]:
    """Mix models in each fold by how well they predicted the other folds."""
    gains = np.stack([task.weights * task.chosen(logs) for logs in models])
    per_fold = np.stack([np.bincount(task.folds, own, FOLDS) for own in gains], axis=1)
    others = per_fold.sum(axis=0) - per_fold
    log_shares = others - logsumexp(others, axis=1, keepdims=True)
    mixed = np.full(models[0].shape, -np.inf)
    for number, logs in enumerate(models):
        np.logaddexp(mixed, log_shares[task.folds, number][:, None] + logs, out=mixed)
    return mixed, np.exp(log_shares)

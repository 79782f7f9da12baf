"""Regressions, tables and their mixture, all learned without the fold that they predict."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg.lapack import spotrf, spotri
from scipy.special import log_softmax, logsumexp

from theodolite._stats.joint.inputs import FOLDS

PRECISION = 1e-9
"""Largest entry of the gradient at which a fit ends, per cluster."""
MAX_STEPS = 200
MAX_EXACT = 600
"""Coefficients up to which their whole curvature is used."""
REMEMBERED = 12
"""Steps that correct the metric."""
SLACK = 1e-12
"""By how much, relative to the loss, a step may raise it: rounding."""
Logs = Float[np.ndarray, "samples labels"]
_Step = tuple[np.ndarray, np.ndarray, float]
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


@dataclass(frozen=True, eq=False)
class _Metric:
    """The inverse of the curvature near a fit, or of a product that is close to it."""

    inverse: np.ndarray
    """Of a product, its eigenvectors."""
    scale: np.ndarray | None = None
    """Eigenvalues of a product."""

    def apply(self, gradient: np.ndarray) -> np.ndarray:
        """Return the step that a gradient asks for."""
        if self.scale is None:
            flat = self.inverse @ gradient.ravel().astype(np.float32)
            return flat.astype(float).reshape(gradient.shape)
        return np.asarray((gradient @ self.inverse / self.scale) @ self.inverse.T)


@dataclass(frozen=True, eq=False)
class Fit:
    """Coefficients, and a metric near them: a similar fit starts from both."""

    slopes: Float[np.ndarray, "labels columns"]
    metric: _Metric | None = None


@dataclass(frozen=True, eq=False)
class _Problem:
    """A penalized softmax regression; samples are columns."""

    x: Float[np.ndarray, "columns samples"]
    offset: Float[np.ndarray, "labels samples"]
    y: Int[np.ndarray, " samples"]
    w: Float[np.ndarray, " samples"]
    penalty: float

    def loss(self, slopes: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the loss and the weighted probabilities of all labels."""
        p = slopes @ self.x
        p += self.offset
        p -= p.max(axis=0)
        chosen = p[self.y, np.arange(len(self.y))]
        np.exp(p, out=p)
        total = p.sum(axis=0)
        p *= self.w / total
        loss = self.w @ (np.log(total) - chosen) + self.penalty / 2 * np.vdot(slopes, slopes)
        return float(loss), p

    def gradient(self, slopes: np.ndarray, p: np.ndarray) -> Float[np.ndarray, "labels columns"]:
        """Return the gradient for weighted probabilities, which become residuals."""
        p[self.y, np.arange(len(self.y))] -= self.w
        return np.asarray(p @ self.x.T + self.penalty * slopes)

    def metric(self, slopes: np.ndarray) -> _Metric:
        """Return the inverse of the curvature, for many coefficients of a product close to it."""
        n, k = slopes.shape
        if slopes.size > MAX_EXACT:
            spread, axes = np.linalg.eigh((self.x * self.w) @ self.x.T)
            shares = np.bincount(self.y, self.w, n)[:, None] / self.w.sum()
            spread = np.maximum(spread, 0.0) * shares * (1 - shares)
            return _Metric(axes, spread + self.penalty)
        p = self.loss(slopes)[1]
        x = self.x.astype(np.float32)  # steps correct what is lost
        whole = np.zeros((n, k, n, k), np.float32)
        for label in range(n):
            pairs = -p[label:] * (p[label] / self.w)
            pairs[0] += p[label]
            blocks = (pairs.astype(np.float32)[:, None] * x).reshape(-1, len(self.w)) @ x.T
            whole[label:, :, label] = blocks.reshape(-1, k, k)
        square = whole.reshape(n * k, n * k)
        square[np.diag_indices(n * k)] += np.float32(self.penalty)
        lower = spotri(spotrf(square, lower=True)[0], lower=True)[0]
        return _Metric(np.tril(lower) + np.tril(lower, -1).T)


def fit_ridge(
    columns: Matrix, offset: Logs, task: LabelTask, rows: np.ndarray, penalty: float,
    start: Fit | None = None,
) -> Fit:  # fmt: skip
    """Fit softmax regression with an offset and no intercept.

    Minimizes the weighted log loss plus half the penalty times the sum of squared coefficients.
    The optimum is unique, so the solver and its start do not matter.
    """
    nothing = np.zeros((task.n_labels, columns.shape[1]))
    if not nothing.size:
        return Fit(nothing)
    x, o = np.ascontiguousarray(columns[rows].T), np.ascontiguousarray(offset[rows].T)
    problem = _Problem(x, o, task.labels[rows], task.weights[rows], penalty)
    start = Fit(nothing) if start is None else start
    return _minimize(problem, start, PRECISION * task.n_clusters)


def _minimize(problem: _Problem, start: Fit, goal: float) -> Fit:
    """Fit by quasi-Newton steps: what past steps tell of the curvature corrects the metric."""
    slopes, metric = start.slopes, start.metric
    loss, p = problem.loss(slopes)
    gradient = problem.gradient(slopes, p)
    past: list[_Step] = []
    for number in range(1, MAX_STEPS):
        if np.abs(gradient).max() <= goal:
            break
        if metric is None or (metric.scale is None and number % max(4, slopes.size // 20) == 0):
            metric, past = problem.metric(slopes), []
        step, size = -_direction(gradient, past, metric), 1.0
        next_loss, p = problem.loss(slopes + step)
        while next_loss > loss + SLACK * abs(loss) and size > 1e-6:
            size /= 2
            next_loss, p = problem.loss(slopes + size * step)
        slopes, loss, last = slopes + size * step, next_loss, gradient
        gradient = problem.gradient(slopes, p)
        moved, change = size * step.ravel(), (gradient - last).ravel()
        product = float(moved @ change)
        if product > 0:
            past = [*past[1 - REMEMBERED :], (moved, change, product)]
    return Fit(slopes, metric)


def _direction(gradient: np.ndarray, past: list[_Step], metric: _Metric) -> np.ndarray:
    """Return the direction of steepest rise in the metric, corrected by past steps (L-BFGS)."""
    result, shares = gradient.ravel(), []
    for step, change, product in reversed(past):
        shares.append(float(step @ result) / product)
        result = result - shares[-1] * change
    result = metric.apply(result.reshape(gradient.shape)).ravel()
    for (step, change, product), share in zip(past, reversed(shares), strict=True):
        result += (share - float(change @ result) / product) * step
    return result.reshape(gradient.shape)


def ridge_fits(
    columns: Matrix | Callable[[int], Matrix],
    offset: Logs | Callable[[int], Logs],
    task: LabelTask,
    penalties: Sequence[float],
    starts: Sequence[Sequence[Fit]] = (),
) -> tuple[list[Logs], list[list[Fit]]]:
    """Return held-out log probabilities of a ridge fit for each penalty, the strongest first.

    Columns and offset may depend on the fold, where they come from the other folds. Also return
    the fits of each fold. Similar fits to start from speed up, and change nothing.
    """
    results = [np.zeros((len(task.labels), task.n_labels)) for _ in penalties]
    fits: list[list[Fit]] = []
    for number, (fold, rows, held_out) in enumerate(task.splits()):
        x = columns(fold) if callable(columns) else columns
        o = offset(fold) if callable(offset) else offset
        first = starts[number] if starts else fits[-1] if fits else ()
        own: list[Fit] = []
        for place, (result, penalty) in enumerate(zip(results, penalties, strict=True)):
            start = first[place] if first else Fit(own[-1].slopes) if own else None
            if start is not None and start.slopes.shape[1] < x.shape[1]:  # more columns follow
                more = x.shape[1] - start.slopes.shape[1]
                slopes = np.pad(start.slopes, ((0, 0), (0, more)))
                start = Fit(slopes, own[-1].metric if own else None)
            own.append(fit_ridge(x, o, task, rows, penalty, start))
            result[held_out] = log_softmax(o[held_out] + x[held_out] @ own[-1].slopes.T, axis=1)
        fits.append(own)
    return results, fits


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

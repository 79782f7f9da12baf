"""Compute for each sample what values add to predicting the label beyond the true concepts."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float, Int
from scipy.special import log_softmax

from theodolite._stats.joint.fits import (
    Fit,
    LabelTask,
    Logs,
    pattern_logs,
    prior_logs,
    ridge_fits,
    stack_logs,
)
from theodolite._stats.joint.inputs import FOLDS, JointInputs
from theodolite._stats.joint.products import (
    choose,
    rank_by_fold,
    rank_products,
    score_products,
    truth_products,
)

BASE_PENALTIES = (10.0, 1.0)
PENALTIES = (100.0, 10.0, 1.0)
STRENGTHS = (1.0, 4.0)
BINS = (8, 32, 128)
MIN_RANK = 25.0
"""For each label, a product that tells nothing ranks about as a chi square: of many thousands the
best stays below 25."""
DRAWN_TO_BASE = 8.0
"""Rows of the base that each cell of a table gets in addition."""


@dataclass(frozen=True, eq=False)
class JointGains:
    """Terms of the joint score and what chose them."""

    out: Float[np.ndarray, " samples"]
    """Log probability of the label with the values minus that without."""
    base: Logs
    """Held-out log probabilities given the true concepts."""
    task: LabelTask
    base_shares: Float[np.ndarray, "folds base_models"]
    base_fits: list[list[Fit]]
    """Regressions on true concepts: those on slightly other true concepts start from them."""
    full_shares: Float[np.ndarray, "folds full_models"]
    pairs: dict[tuple[int, int], float]
    """Squared correlation of products of two with what the true concepts leave, by concepts."""

    @property
    def surprise(self) -> Float[np.ndarray, " samples"]:
        """Minus the log probability of each label given the true concepts."""
        return -self.task.chosen(self.base)


def joint_gains(inputs: JointInputs, *, products: bool = True) -> JointGains:
    """Learn the labels from true concepts, and from true concepts and values.

    Args:
        inputs: Of ``joint_inputs``.
        products: Whether products of true concepts may explain the label, too.
    """
    task = task_of(inputs)
    base, base_shares, base_fits = learn_base(inputs, task, products=products)
    residual = _one_hot(task) - np.exp(base)
    linear, fits = ridge_fits(inputs.scores, base, task, PENALTIES)
    with_pairs, chosen = _pair_logs(inputs, base, residual, task, fits)
    bins = [b for b in BINS if b <= inputs.n_clusters / 8]
    models = [base, *linear, *with_pairs, *_bin_logs(inputs, base, residual, task, bins)]
    full, shares = stack_logs(models, task)
    pair_share = shares[:, 4:7].sum(axis=1)
    pairs: dict[tuple[int, int], float] = {}
    for fold, own in chosen.items():
        for pair, strength in own.items():
            pairs[pair] = pairs.get(pair, 0.0) + strength * float(pair_share[fold]) / len(chosen)
    out = task.chosen(full) - task.chosen(base)
    return JointGains(out, base, task, base_shares, base_fits, shares, pairs)


def task_of(inputs: JointInputs) -> LabelTask:
    """Return the labels to predict."""
    return LabelTask(
        inputs.labels, inputs.weights, inputs.folds, inputs.n_labels, inputs.n_clusters
    )


def learn_base(
    inputs: JointInputs,
    task: LabelTask,
    *,
    products: bool = True,
    starts: Sequence[Sequence[Fit]] = (),
) -> tuple[Logs, Float[np.ndarray, "folds models"], list[list[Fit]]]:
    """Predict labels from true concepts alone; also return fits that similar ones start from."""
    prior = partial(prior_logs, task)
    ridge, fits = ridge_fits(inputs.truth, prior, task, BASE_PENALTIES, starts)
    tables = pattern_logs(inputs.strata, ridge[0], task, STRENGTHS)
    models = [*ridge_fits(inputs.truth[:, :0], prior, task, (1.0,))[0], *ridge, *tables]
    if products:
        models += _product_logs(inputs, task, fits)
    return *stack_logs(models, task), fits


def _one_hot(task: LabelTask) -> Logs:
    target = np.zeros((len(task.labels), task.n_labels))
    target[np.arange(len(task.labels)), task.labels] = 1.0
    return target


def _product_logs(inputs: JointInputs, task: LabelTask, fits: list[list[Fit]]) -> list[Logs]:
    """Predict from true concepts and their products that go with the rest of the labels."""
    candidates, target = truth_products(inputs), _one_hot(task)
    if not len(candidates.pairs):
        return []
    columns = {}
    for (fold, rows, _), own in zip(task.splits(), fits, strict=True):
        guess = np.exp(log_softmax(prior_logs(task, fold) + inputs.truth @ own[0].slopes.T, axis=1))
        chosen = choose(rank_products(candidates, target - guess, task, rows))
        columns[fold] = np.concatenate([inputs.truth, candidates.columns(chosen)], axis=1)
    prior = partial(prior_logs, task)
    return ridge_fits(columns.__getitem__, prior, task, BASE_PENALTIES, fits)[0]


def _pair_logs(
    inputs: JointInputs, base: Logs, residual: Logs, task: LabelTask, fits: list[list[Fit]]
) -> tuple[list[Logs], dict[int, dict[tuple[int, int], float]]]:
    """Predict from scores and products of them, chosen without the fold.

    Also return the pairs of concepts chosen in each fold, with their strength next to the best.
    """
    candidates = score_products(inputs)
    if not len(candidates.pairs):
        return [base] * len(PENALTIES), {}
    ranks = rank_by_fold(candidates, residual, task)
    chosen = {fold: choose(ranks[fold]) for fold in range(FOLDS)}
    columns = {
        fold: np.concatenate([inputs.scores, candidates.columns(own)], axis=1)
        for fold, own in chosen.items()
    }
    n = inputs.scores.shape[1]
    owners = np.concatenate([inputs.columns, inputs.truth_concepts[inputs.truth_concepts >= 0]])
    named = {}
    for fold, own in chosen.items():
        a, b = candidates.pairs[own].T
        both = np.sort(np.stack([owners[:n][a], owners[b]], axis=1), axis=1)
        ranked = zip(both.tolist(), ranks[fold][own].tolist(), strict=True)
        named[fold] = {
            (i, j): rank / inputs.n_clusters  # of several products the strongest comes last
            for (i, j), rank in reversed(list(ranked))
            if i != j and rank > MIN_RANK * task.n_labels
        }
    return ridge_fits(columns.__getitem__, base, task, PENALTIES, fits)[0], named


def _bin_logs(
    inputs: JointInputs, base: Logs, residual: Logs, task: LabelTask, bins: Sequence[int]
) -> list[Logs]:
    """Predict from a table of one concept's ranks, the concept chosen without the fold."""
    return [_one_table(inputs, base, residual, task, n_bins) for n_bins in bins]


def _one_table(
    inputs: JointInputs, base: Logs, residual: Logs, task: LabelTask, n_bins: int
) -> Logs:
    expected, n_labels = np.exp(base), task.n_labels
    best = np.full(FOLDS, -1.0)
    tables: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = [(base, base, base)] * FOLDS
    for concept in inputs.columns:
        cells = _cells(inputs, int(concept), n_bins)
        rows = np.flatnonzero(cells >= 0)
        key = task.folds[rows] * (2 * n_bins) + cells[rows]
        over, size = np.zeros((FOLDS, 2 * n_bins, n_labels)), FOLDS * 2 * n_bins
        whole = np.zeros_like(over)
        for label in range(n_labels):
            w = task.weights[rows]
            over[..., label] = np.bincount(key, w * residual[rows, label], size).reshape(FOLDS, -1)
            whole[..., label] = np.bincount(key, w * expected[rows, label], size).reshape(FOLDS, -1)
        excess, fitted = over.sum(axis=0) - over, whole.sum(axis=0) - whole
        strength = (excess**2 / (fitted + 1)).sum(axis=(1, 2))
        for fold in np.flatnonzero(strength > best + 1e-9).tolist():
            best[fold] = strength[fold]
            tables[fold] = (cells, excess[fold], fitted[fold])
    pi = task.weights @ expected / task.weights.sum()
    result = base.copy()
    for fold, _, held_out in task.splits():
        if best[fold] < 0:
            continue
        cells, excess, fitted = tables[fold]
        rows = held_out[cells[held_out] >= 0]
        raised = np.log((excess + fitted + DRAWN_TO_BASE * pi) / (fitted + DRAWN_TO_BASE * pi))
        result[rows] = log_softmax(base[rows] + raised[cells[rows]], axis=1)
    return np.asarray(result)


def _cells(inputs: JointInputs, concept: int, n_bins: int) -> Int[np.ndarray, " samples"]:
    """Return the cell of each row: its bin within its stratum; -1 where truth is unknown."""
    share, stratum = inputs.ranks[:, concept], inputs.strata[:, concept]
    known = stratum >= 0
    own = np.minimum(np.floor(n_bins * np.where(known, share, 0.0) + 1e-9), n_bins - 1)
    return np.asarray(np.where(known, stratum * n_bins + own.astype(np.int64), -1))

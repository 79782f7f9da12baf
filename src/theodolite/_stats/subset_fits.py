"""Compute how well sums of attributions over removed features fit the change of the output.

Used by the metrics of attributions to tables.
"""

import numpy as np
from jaxtyping import Bool, Float

LEAST_SPREAD = 1e-12
"""Standard deviation of changes of a row below which nothing depends on what is removed."""
RELATIVE_ZERO = 1e-20
"""Fraction of a sum of squares below which the rest is rounding."""
RIDGE = 1e-6
"""Of the mean diagonal."""
FOLDS = 5
Removed = Bool[np.ndarray, "samples subsets groups"]
Table = Float[np.ndarray, "samples groups"]
PerSubset = Float[np.ndarray, "samples subsets"]
Fits = Float[np.ndarray, " samples"]


def sum_removed(values: Table, removed: Removed) -> PerSubset:
    """Return the sum of each row's attributions over each of its subsets."""
    return np.asarray(np.matmul(removed.astype(float), values[:, :, None])[:, :, 0])


def correlate_rows(
    sums: PerSubset, change: PerSubset, weights: PerSubset, sizes: PerSubset | None = None
) -> Fits:
    """Return each row's weighted correlation of sums and changes over its subsets.

    0 where all sums are equal, NaN where no change differs. With ``sizes``, the number of removed
    features is regressed out of both before.

    >>> change = np.array([[2.0, -1, 1, 0, 2, -1]])
    >>> weights = np.full((1, 6), 1 / 6)
    >>> correlate_rows(np.array([[1.0, 1, 2, 1, 2, 2]]), change, weights).round(4).tolist()
    [0.1325]
    """
    parts = []
    for array in (sums, change):
        centered = array - (weights * array).sum(axis=1, keepdims=True)
        parts.append(centered if sizes is None else _regress_out(centered, sizes, weights))
    square_of_sums, square = ((weights * part**2).sum(axis=1) for part in parts)
    raw = [(weights * array**2).sum(axis=1) for array in (sums, change)]
    constant = square_of_sums <= np.maximum(RELATIVE_ZERO * raw[0], 0.0)
    undefined = square <= np.maximum(LEAST_SPREAD**2, RELATIVE_ZERO * raw[1])
    both = (weights * parts[0] * parts[1]).sum(axis=1)
    root = np.sqrt(np.where(constant | undefined, 1.0, square_of_sums * square))
    fits = np.clip(np.where(constant, 0.0, both / root), -1.0, 1.0)
    return np.asarray(np.where(undefined, np.nan, fits))


def _regress_out(centered: PerSubset, sizes: PerSubset, weights: PerSubset) -> PerSubset:
    away = sizes - (weights * sizes).sum(axis=1, keepdims=True)
    square = (weights * away**2).sum(axis=1, keepdims=True)
    slope = (weights * away * centered).sum(axis=1, keepdims=True)
    slope = np.divide(slope, square, out=np.zeros_like(slope), where=square > 0)
    return np.asarray(centered - slope * away)


def fit_additive(removed: Removed, change: PerSubset, weights: PerSubset) -> Table:
    """Return the attributions of each row whose sums come nearest to its changes.

    With all subsets and the Shapley kernel these are Shapley values but for what they add up to.

    >>> removed = np.array([[[True, False], [False, True]]])
    >>> fit_additive(removed, np.array([[3.0, 1.0]]), np.full((1, 2), 0.5)).round(3).tolist()
    [[3.0, 1.0]]
    """
    return _solve(*_normal_equations(removed.astype(float), change, weights))


def predict_additive(
    removed: Removed, change: PerSubset, weights: PerSubset, *, enumerated: bool, signed: bool
) -> PerSubset:
    """Return what the best additive attributions predict: of drawn subsets those left out.

    Args:
        removed: The features of each subset.
        change: What their removal changes.
        weights: Of the subsets.
        enumerated: Whether these are all subsets; then nothing is left out.
        signed: Whether attributions have signs; without, their sizes are summed.
    """
    table = removed.astype(float)
    if enumerated or table.shape[1] < 2 * FOLDS:
        values = _solve(*_normal_equations(table, change, weights))
        return sum_removed(values if signed else np.abs(values), removed)
    square, product = _normal_equations(table, change, weights)
    predicted = np.empty_like(change)
    fold = np.arange(change.shape[1]) // 2 % FOLDS  # complements are neighbors
    for number in range(FOLDS):
        out = fold == number
        own = _normal_equations(table[:, out], change[:, out], weights[:, out])
        values = _solve(square - own[0], product - own[1])
        predicted[:, out] = sum_removed(values if signed else np.abs(values), removed[:, out])
    return predicted


def _normal_equations(
    table: np.ndarray, change: PerSubset, weights: PerSubset
) -> tuple[np.ndarray, np.ndarray]:
    weighted = (table * weights[:, :, None]).swapaxes(1, 2)
    return weighted @ table, (weighted @ change[:, :, None])[:, :, 0]


def _solve(square: np.ndarray, product: np.ndarray) -> Table:
    n = square.shape[1]
    mean = np.trace(square, axis1=1, axis2=2) / n
    ridge = np.where(mean > 0, RIDGE * mean, 1.0)[:, None, None] * np.eye(n)
    return np.asarray(np.linalg.solve(square + ridge, product[:, :, None])[:, :, 0])

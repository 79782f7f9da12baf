"""Compute how much of a leak wrong annotations of the concepts could explain."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from theodolite._stats.joint.fits import Fit
from theodolite._stats.joint.gains import learn_base, task_of
from theodolite._stats.joint.inputs import JointInputs, true_columns
from theodolite._stats.joint.limits import rows_to_use
from theodolite._stats.joint.moments import row_means

ERRORS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2)
"""Rates of wrong annotations that are tried."""
REPLICATES = 3
SEED = 20260101
FACTOR = 1.25
MAX_ROWS = 5_000
LEAST_CLEAN = 1e-3


@dataclass(frozen=True, eq=False)
class JointAllowance:
    """What honest values could tell because annotations are wrong.

    The values of an honest model depend on the real concepts, so beyond the annotations they tell
    at most what the real concepts do. That is estimated by making as many mistakes once more.
    """

    inputs: JointInputs
    surprise: float | None = None
    """Cross-entropy that the annotations leave, where it was learned already."""
    fits: Sequence[Sequence[Fit]] = ()
    """Regressions that learned it."""
    _shares: dict[bytes, float] = field(default_factory=dict)

    @cached_property
    def _learned(self) -> tuple[JointInputs, float, Sequence[Sequence[Fit]]]:
        """Samples to learn from, what the annotations leave open, and its regressions."""
        inputs = _some_rows(self.inputs)
        if inputs is self.inputs and self.surprise is not None:
            return inputs, self.surprise, self.fits
        return inputs, *_surprise(inputs)

    def share(self, errors: Float[np.ndarray, " concepts"]) -> float:
        """Return the joint share, at most 1, for a rate of wrong annotations of each concept."""
        key = np.asarray(errors, float).tobytes()
        if key not in self._shares:
            self._shares[key] = self._learn(errors) if errors.any() else 0.0
        return self._shares[key]

    def _learn(self, errors: Float[np.ndarray, " concepts"]) -> float:
        inputs, surprise, fits = self._learned
        known, lost = inputs.strata >= 0, []
        for replicate in range(REPLICATES):
            random = np.random.default_rng([SEED, replicate])
            wrong = known & (random.random(inputs.strata.shape) < errors)
            strata = np.where(wrong, 1 - inputs.strata, inputs.strata)
            truth, concepts = true_columns(strata, inputs.weights)
            flipped = replace(inputs, strata=strata, truth=truth, truth_concepts=concepts)
            alike = np.array_equal(concepts, inputs.truth_concepts)
            lost.append(_surprise(flipped, fits if alike else ())[0] - surprise)
        contrast = (1 - 2 * float(errors.max())) ** 2
        return float(np.clip(FACTOR * float(np.mean(lost)) / (contrast * surprise), 0.0, 1.0))

    def tipping(self, low: float) -> float:
        """Return the smallest rate tried that could explain a share of ``low``; NaN if none can."""
        rates = [np.full(self.inputs.strata.shape[1], error) for error in ERRORS]
        if self.share(rates[-1]) < low:  # strong leaks: nothing between needs to be tried
            return math.nan
        known = [self._shares.get(rate.tobytes(), math.nan) for rate in rates]
        # the share grows with the rate
        first = max((place + 1 for place, share in enumerate(known) if share < low), default=0)
        last = min(place for place, share in enumerate(known) if share >= low)
        return ERRORS[bisect_left(rates, low, first, last, key=self.share)]


def _some_rows(inputs: JointInputs) -> JointInputs:
    keys = [str(cluster) for cluster in inputs.clusters.tolist()]
    rows = rows_to_use(keys, MAX_ROWS)
    if rows is None:
        return inputs
    return replace(
        inputs, scores=inputs.scores[rows], ranks=inputs.ranks[rows], strata=inputs.strata[rows],
        truth=inputs.truth[rows], labels=np.unique(inputs.labels[rows], return_inverse=True)[1],
        clusters=np.unique(inputs.clusters[rows], return_inverse=True)[1],
        weights=inputs.weights[rows], folds=inputs.folds[rows],
    )  # fmt: skip


def _surprise(
    inputs: JointInputs, starts: Sequence[Sequence[Fit]] = ()
) -> tuple[float, list[list[Fit]]]:
    task = task_of(inputs)
    base, _, fits = learn_base(inputs, task, starts=starts)
    return row_means(-task.chosen(base), inputs), fits


def concept_allowances(
    strata: Int[np.ndarray, "concepts samples"],
    labels: Int[np.ndarray, " samples"],
    weights: Float[np.ndarray, " samples"],
    errors: Float[np.ndarray, " concepts"],
) -> Float[np.ndarray, " concepts"]:
    """Return, for each concept alone, the share that its value could tell for the same reason.

    The table of annotations and labels is turned back into that of real concepts and labels by the
    inverse of the matrix of errors; negative cells are set to 0.
    """
    numbers = np.unique(labels, return_inverse=True)[1]
    n_labels = int(numbers.max(initial=0)) + 1
    result = np.zeros(len(strata))
    for j, (stratum, error) in enumerate(zip(strata, errors, strict=True)):
        known = stratum >= 0
        cells = stratum[known] * n_labels + numbers[known]
        table = np.bincount(cells, weights[known], 2 * n_labels).reshape(2, n_labels)
        flips = np.array([[1 - error, error], [error, 1 - error]])
        real = np.maximum(np.linalg.solve(flips, table), 0.0)
        open_left = _entropy_given_rows(table)
        if error > 0 and open_left > LEAST_CLEAN:
            result[j] = (open_left - _entropy_given_rows(real)) / open_left
    return np.clip(result, 0.0, 1.0)


def _entropy_given_rows(table: Float[np.ndarray, "2 labels"]) -> float:
    """Return the entropy of the column given the row."""
    whole = np.broadcast_to(table.sum(axis=1, keepdims=True), table.shape)
    there = table > 0
    return -float((table[there] * np.log(table[there] / whole[there])).sum() / table.sum())

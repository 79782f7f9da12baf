"""Cohen's kappa with quadratic weights, from sums that add."""

from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np
from jaxtyping import Bool, Float

from theodolite.metrics.accepted._bundle import quotient
from theodolite.metrics.base import Additive, Weights, total

SUMS = 5
"""Pairs, the first's sum, the second's, squares of both, and squared differences."""
Kappa = TypeVar("Kappa", bound="QuadraticKappa")


def quadratic_kappa(sums: Float[np.ndarray, "*n 5"]) -> Float[np.ndarray, "*n"]:
    """One minus squared differences over those expected of independent answers.

    In positions on the full scale, seen or not. Undefined where all answers of both are the same.
    """
    pairs, first, second, squares, apart = np.moveaxis(sums, -1, 0)
    expected = squares - 2 * first * second / np.maximum(pairs, 1.0)
    return np.asarray(1 - quotient(apart, expected))


def pair_sums(
    first: Float[np.ndarray, "*n"], second: Float[np.ndarray, "*n"], both: Bool[np.ndarray, "*n"]
) -> Float[np.ndarray, "*n 5"]:
    """What each pair of positions contributes; nothing where one is missing."""
    x, y = np.where(both, first, 0.0), np.where(both, second, 0.0)
    return np.stack([both.astype(float), x, y, x**2 + y**2, (x - y) ** 2], axis=-1)


@dataclass(frozen=True)
class QuadraticKappa(Additive):
    """Sums over pairs of answers, and how many answers had no partner."""

    sums: np.ndarray
    alone: np.ndarray

    counts_of: ClassVar[str] = "answers"

    @classmethod
    def by(
        cls: type[Kappa],
        each: Float[np.ndarray, "samples 5"],
        alone: Float[np.ndarray, " samples"],
        weights: Weights,
    ) -> Kappa:
        """The state of a shard, from what each sample contributes."""
        return cls(sums=total(each, weights), alone=total(alone, weights))

    def counted(self) -> tuple[np.ndarray, np.ndarray]:
        """Answers that entered, and answers with nothing to compare with."""
        return np.asarray(self.sums[..., 0]), self.alone

    def value(self) -> Float[np.ndarray, "*resamples"]:
        """The kappa."""
        return quadratic_kappa(self.sums)

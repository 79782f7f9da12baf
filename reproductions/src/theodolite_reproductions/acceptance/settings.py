"""How a score is fitted to ratings."""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from theodolite.errors import EvidenceError
from theodolite_reproductions.acceptance.losses import LossWeights, Variant

Kind: TypeAlias = Literal["kernel", "ridge", "lasso", "boosting", "svm", "linear", "mlp"]
ChosenBy: TypeAlias = Literal["agreement", "correlation"]
GRADIENT = ("linear", "mlp")
"""Those that are trained step by step, and chosen by a validation part."""


@dataclass(frozen=True, kw_only=True)
class ScorerSettings:
    """A scoring function and its settings; what is None is as published for ``variant``.

    ``linear`` and ``mlp`` are those of the paper and of its code. ``kernel`` is ridge regression
    on likenesses to landmarks, ``ridge``, ``lasso``, ``svm`` and ``boosting`` are scikit-learn's.
    """

    scorer: Kind = "kernel"
    variant: Variant = "paper"
    """``paper``: losses as printed, features standardized, a linear output. ``reference``: losses,
    raw features and the ReLU at the output as in the published code."""
    penalty: float | None = None
    """Of ridge, lasso and kernel: how much large weights cost."""
    width: float = 0.3
    """Of kernel and svm: gamma, times the number of features."""
    landmarks: int = 500
    straight_penalty: float = 0.2
    """Of kernel: the penalty of a straight feature, as a share of the number of ratings."""
    rounds: int = 200
    """Of boosting: how many trees."""
    epochs: int | None = None
    batch: int | None = None
    learning_rate: float | None = None
    weight_decay: float | None = None
    weights: LossWeights | None = None
    hidden: tuple[int, ...] = (512, 64)
    chosen_by: ChosenBy = "agreement"
    """What picks the epoch on the validation part: quadratic kappa, or Spearman's correlation."""
    every: int = 5
    """Epochs between looks at the validation part."""

    def __post_init__(self) -> None:
        for name, known in (("scorer", Kind), ("variant", Variant), ("chosen_by", ChosenBy)):
            if getattr(self, name) not in get_args(known):
                raise EvidenceError(name, repr(getattr(self, name)), f"one of {get_args(known)}")
        for name in ("penalty", "width", "landmarks", "rounds", "epochs", "batch", "learning_rate",
                     "straight_penalty", "every"):  # fmt: skip
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise EvidenceError(name, f"{value}", "a number above zero")

    @property
    def steps(self) -> "Steps":
        """How it is trained, with what was published for all that is not given."""
        defaults = PUBLISHED[self.variant]
        options = {name: getattr(self, name) for name in defaults.__dataclass_fields__}
        return Steps(**{k: getattr(defaults, k) if v is None else v for k, v in options.items()})


@dataclass(frozen=True, kw_only=True)
class Steps:
    """Training by Adam."""

    epochs: int
    batch: int
    learning_rate: float
    weight_decay: float
    weights: LossWeights


PUBLISHED = {
    "paper": Steps(
        epochs=500, batch=128, learning_rate=1e-3, weight_decay=0.0, weights=LossWeights.of("paper")
    ),
    "reference": Steps(
        epochs=600,
        batch=256,
        learning_rate=2e-6,
        weight_decay=1e-6,
        weights=LossWeights.of("reference"),
    ),
}

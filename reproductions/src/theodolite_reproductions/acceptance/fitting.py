"""Fit a score to ratings, whatever kind it is."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from theodolite._stats.threads import limit_to_one_core
from theodolite.errors import EvidenceError
from theodolite_reproductions.acceptance.scorer import (
    Features,
    Kernel,
    Layers,
    Scorer,
    Trees,
    clip_features,
    likeness,
)
from theodolite_reproductions.acceptance.settings import GRADIENT, ScorerSettings
from theodolite_reproductions.acceptance.training import Ratings, standard, train_layers

SHARE = 0.1
"""The penalty of ridge regression where none is given, times the number of ratings."""
KERNEL_PENALTY = 0.3
LASSO_PENALTY = 0.003
"""Of absolute weights on standardized features, for ratings from 0 to 1."""


@dataclass(frozen=True, eq=False)
class Known:
    """Explanations that were rated, for a score to learn from."""

    features: Features
    """A row for each; finite numbers."""
    ratings: Ratings
    """What people said of each, 0 to 1."""
    straight: int = 0
    """So many of the last features enter a ``kernel`` as they are, without likenesses."""
    levels: int = 5
    """How many answers there were."""

    def __post_init__(self) -> None:
        features, ratings = self.features, self.ratings
        if not np.isfinite(features).all():
            raise EvidenceError("features", "NaN or infinite values", "finite numbers")
        inside = np.isfinite(ratings) & (ratings >= 0) & (ratings <= 1)
        if not len(ratings) or len(ratings) != len(features) or not inside.all():
            raise EvidenceError("ratings", "other values", "0 to 1 for each explanation")
        if not 0 <= self.straight <= features.shape[1]:
            raise EvidenceError("straight", f"{self.straight}", f"0 to {features.shape[1]}")


def fit_scorer(
    known: Known,
    settings: ScorerSettings,
    *,
    validation: Bool[np.ndarray, " explanations"] | None = None,
    seed: int = 0,
) -> Scorer:
    """A score of the kind that the settings say.

    Args:
        known: What it learns from.
        settings: See there.
        validation: The part by which the epoch is chosen. Kinds without epochs learn from all.
        seed: Of all that is drawn.
    """
    features, ratings = known.features, known.ratings
    if settings.scorer in GRADIENT:
        if validation is None:
            raise EvidenceError(
                "validation", "none", f"a part to choose the epoch of {settings.scorer} by"
            )
        return train_layers(features, ratings, validation, settings, levels=known.levels, seed=seed)
    if settings.scorer == "ridge":
        return _ridge(features, ratings, settings)
    if settings.scorer == "lasso":
        return _lasso(features, ratings, settings)
    if settings.scorer == "boosting":
        return _boosting(features, ratings, settings, seed)
    if settings.scorer == "svm":
        return _svm(features, ratings, settings)
    return _kernel(known, settings, seed)


def _ridge(features: Features, ratings: Ratings, settings: ScorerSettings) -> Layers:
    center, spread = standard(features)
    penalty = settings.penalty or SHARE * len(features)
    weights, bias = _solved(
        (features - center) / spread, ratings, np.full(features.shape[1], penalty)
    )
    return Layers(
        center=center, spread=spread, weights=(weights[None],), biases=(np.array([bias]),)
    )


def _lasso(features: Features, ratings: Ratings, settings: ScorerSettings) -> Layers:
    from sklearn.linear_model import Lasso  # noqa: PLC0415

    center, spread = standard(features)
    model = Lasso(alpha=settings.penalty or LASSO_PENALTY).fit(
        (features - center) / spread, ratings
    )
    return Layers(
        center=center,
        spread=spread,
        weights=(np.asarray(model.coef_)[None],),
        biases=(np.array([float(model.intercept_)]),),
    )


def _kernel(known: Known, settings: ScorerSettings, seed: int) -> Kernel:
    """Ridge regression on likenesses to some of the explanations (Nyström's features)."""
    features, ratings, straight = known.features, known.ratings, known.straight
    center, spread = standard(features)
    scaled = (features - center) / spread
    n = features.shape[1] - straight
    if n < 1:
        raise EvidenceError("features", "only straight ones", "at least one that is bent")
    inputs, gamma = clip_features(scaled[:, :n]), settings.width / n
    some = np.random.default_rng([seed, 5]).permutation(len(inputs))[: settings.landmarks]
    landmarks = inputs[np.sort(some)]
    values, vectors = np.linalg.eigh(likeness(landmarks, landmarks, gamma))
    whitened = vectors / np.sqrt(np.maximum(values, 1e-9))
    near = likeness(inputs, landmarks, gamma) @ whitened
    penalties = np.full(near.shape[1] + straight, settings.straight_penalty * len(features))
    penalties[: near.shape[1]] = settings.penalty or KERNEL_PENALTY
    weights, bias = _solved(np.hstack([near, scaled[:, n:]]), ratings, penalties)
    return Kernel(
        center=center,
        spread=spread,
        landmarks=landmarks,
        weights=whitened @ weights[: near.shape[1]],
        straight=weights[near.shape[1] :],
        bias=np.array(bias),
        gamma=np.array(gamma),
    )


def _solved(
    inputs: Features, ratings: Ratings, penalties: Float[np.ndarray, " features"]
) -> tuple[np.ndarray, float]:
    """Least squares with a penalty for each weight and none for the bias."""
    means, middle = inputs.mean(axis=0), float(ratings.mean())
    shifted = inputs - means
    weights = np.linalg.solve(
        shifted.T @ shifted + np.diag(penalties), shifted.T @ (ratings - middle)
    )
    return weights, middle - float(means @ weights)


def _svm(features: Features, ratings: Ratings, settings: ScorerSettings) -> Kernel:
    from sklearn.svm import SVR  # noqa: PLC0415

    center, spread = standard(features)
    gamma = settings.width / features.shape[1]
    model = SVR(gamma=gamma, C=1 / (settings.penalty or 1.0)).fit(
        clip_features((features - center) / spread), ratings
    )
    return Kernel(
        center=center,
        spread=spread,
        landmarks=np.asarray(model.support_vectors_),
        weights=np.asarray(model.dual_coef_[0]),
        straight=np.zeros(0),
        bias=np.array(float(model.intercept_[0])),
        gamma=np.array(gamma),
    )


def _boosting(features: Features, ratings: Ratings, settings: ScorerSettings, seed: int) -> Trees:
    from sklearn.ensemble import HistGradientBoostingRegressor  # noqa: PLC0415

    model = HistGradientBoostingRegressor(
        max_iter=settings.rounds,
        learning_rate=0.05,
        max_leaf_nodes=15,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=seed,
    )
    with (
        limit_to_one_core()
    ):  # votes come by the thousand: threads would wait longer than they work
        model.fit(features, ratings)
    trees = [rounds[0].nodes for rounds in model._predictors]
    return _flat(trees, model._baseline_prediction, features.shape[1])


def _flat(trees: list[Any], base: Any, width: int) -> Trees:
    """Trees in flat arrays: scikit-learn's own form cannot be stored without pickle."""
    starts = np.cumsum([0, *(len(nodes) for nodes in trees[:-1])])
    nodes = np.concatenate(trees)
    shift = np.repeat(starts, [len(tree) for tree in trees])
    leaf = nodes["is_leaf"].astype(bool)
    return Trees(
        roots=starts.astype(np.int64),
        feature=np.where(leaf, -1, nodes["feature_idx"]).astype(np.int64),
        threshold=np.where(leaf, 0.0, nodes["num_threshold"]),
        below=np.where(leaf, 0, nodes["left"].astype(np.int64) + shift),
        above=np.where(leaf, 0, nodes["right"].astype(np.int64) + shift),
        value=np.asarray(nodes["value"], np.float64),
        base=np.array(float(np.asarray(base).ravel()[0])),
        features=width,
    )

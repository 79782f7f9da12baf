"""Fit scores to ratings so that nothing is predicted by a score that has seen its group."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.rating_summary import Aggregate, Ties, aggregate_ratings
from theodolite_reproductions.acceptance.features import ExplanationFeatures
from theodolite_reproductions.acceptance.fitting import Known, fit_scorer
from theodolite_reproductions.acceptance.scorer import Scorer
from theodolite_reproductions.acceptance.settings import GRADIENT, ScorerSettings
from theodolite_reproductions.acceptance.splits import Apart, Split, folds, split

Predictions = Float[np.ndarray, " explanations"]
VALIDATION = 7
"""One in so many groups is kept for choosing the epoch, where explanations are in folds."""


@dataclass(frozen=True, kw_only=True)
class AcceptanceModel(ScorerSettings):
    """A score that is learned: from which features, and how."""

    __pydantic_config__ = {"extra": "forbid"}

    features: tuple[str, ...] = ("embedding",)
    straight: tuple[str, ...] = ()
    """Of ``kernel``: features that enter as they are."""
    aggregate: Aggregate | None = None
    """What it learns of the votes, if not what the others do."""
    apart: Apart | None = None
    """What its test has new, if not what that of the others has."""
    question: str | None = None
    """Whose votes it learns, if not those of the others; of compared scores."""
    rendering: Mapping[str, Any] | None = None
    """What is shown otherwise, such as ``n: 5``; of compared scores."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.features:
            raise EvidenceError("features", "none", "at least one block")
        if self.straight and self.scorer != "kernel":
            raise EvidenceError("straight", f"some for {self.scorer!r}", "none, but for 'kernel'")

    @property
    def as_the_pipeline(self) -> bool:
        """Whether it is about the same votes on the same explanations."""
        return self.question is None and self.rendering is None

    @property
    def blocks(self) -> tuple[str, ...]:
        """All blocks of features, the straight ones last."""
        return (*self.features, *self.straight)


@dataclass(frozen=True, eq=False)
class RatedExplanations:
    """Ratings as a score learns them: one number from 0 to 1 for each explanation."""

    targets: Predictions
    """NaN where nobody voted."""
    images: Int[np.ndarray, " explanations"]
    techniques: Int[np.ndarray, " explanations"] | None
    levels: int
    low: float
    high: float

    @classmethod
    def of(cls, evidence: RatingEvidence, how: Aggregate, ties: Ties) -> "RatedExplanations":
        """One number for the votes on each."""
        low, high = float(evidence.scale[0]), float(evidence.scale[-1])
        votes = aggregate_ratings(evidence.ratings, evidence.scale, how, ties)
        clusters = evidence.samples.clusters
        return cls(
            (votes - low) / (high - low),
            np.arange(len(votes)) if clusters is None else clusters,
            evidence.technique,
            len(evidence.scale),
            low,
            high,
        )

    def on_scale(self, outputs: Predictions) -> Predictions:
        """What a score puts out, on the scale of the raters."""
        return np.asarray(self.low + np.clip(outputs, 0, 1) * (self.high - self.low))


@dataclass(frozen=True)
class SplitSettings:
    """Which explanations a score must not have seen: ``folds`` parts, or 70, 15 and 15 per cent."""

    apart: Apart = "image"
    folds: int = 5

    def splits(self, rated: RatedExplanations, seed: int) -> list[Split]:
        """Each explanation is in the test of one of them at most."""
        if self.folds == 0 or self.apart == "both":
            return [split(rated.images, rated.techniques, apart=self.apart, seed=seed)]
        groups = self._groups(rated)
        fold = folds(groups, self.folds, seed=seed)
        return [self._split(groups, fold == number, seed) for number in range(self.folds)]

    def whole(self, rated: RatedExplanations, seed: int) -> Split:
        """All for learning, apart from what the epoch is chosen by."""
        return self._split(self._groups(rated), np.zeros(len(rated.targets), bool), seed)

    def _groups(self, rated: RatedExplanations) -> Int[np.ndarray, " explanations"]:
        if self.apart == "none":
            return np.arange(len(rated.targets))
        if self.apart != "technique":
            return rated.images
        if rated.techniques is None:
            raise EvidenceError("techniques", "none", "the technique of each explanation")
        return rated.techniques

    @staticmethod
    def _split(groups: np.ndarray, test: Bool[np.ndarray, " explanations"], seed: int) -> Split:
        names = np.unique(groups[~test])
        n = max(len(names) // VALIDATION, 1)
        chosen = np.random.default_rng([seed, 13]).permutation(names)[:n]
        validation = ~test & np.isin(groups, chosen)
        return Split(~test & ~validation, validation, test)


def predictions(
    model: AcceptanceModel,
    features: ExplanationFeatures,
    rated: RatedExplanations,
    splits: Sequence[Split],
    seed: int,
) -> Predictions:
    """What scores expect that have not seen the explanation; NaN where none is so."""
    matrix = features.matrix(model.blocks)
    outputs = np.full(len(matrix), np.nan)
    for part in splits:
        scorer = fit_score(model, features, rated, part, seed)
        outputs[part.test] = scorer.outputs(matrix[part.test])
    return rated.on_scale(outputs)


def fit_score(
    model: AcceptanceModel,
    features: ExplanationFeatures,
    rated: RatedExplanations,
    part: Split,
    seed: int,
) -> Scorer:
    """One score, from the explanations of a split that are not for testing and were rated."""
    matrix = features.matrix(model.blocks)
    use = (part.train | part.validation) & ~np.isnan(rated.targets)
    straight = features.matrix(model.straight).shape[1]
    known = Known(matrix[use], rated.targets[use], straight, rated.levels)
    validation = part.validation[use] if model.scorer in GRADIENT else None
    return fit_scorer(known, model, validation=validation, seed=seed)

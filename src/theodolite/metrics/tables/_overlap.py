"""How many of the features that one attribution names first another names too."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from theodolite.evidence.attributions.orders import by_strength, grouped_values
from theodolite.evidence.kinds.attribution import ANOTHER, RANDOM, AttributionEvidence
from theodolite.metrics.base import NullModel, PerSample

TOP = 5


def first_features(evidence: AttributionEvidence, array: str) -> Bool[np.ndarray, "samples groups"]:
    """Which features, or groups of them, an attribution names among the first five."""
    strength = np.abs(grouped_values(np.asarray(getattr(evidence, array)), evidence.groups))
    named = np.zeros(strength.shape, bool)
    np.put_along_axis(named, by_strength(strength)[:, :TOP], values=True, axis=1)
    return named


def overlap(evidence: AttributionEvidence, other: str) -> PerSample:
    """The share of the first five that another attribution of the same sample has too; undefined
    where there are no more than five."""
    first, second = first_features(evidence, "values"), first_features(evidence, other)
    return _defined((first & second).sum(axis=1) / TOP, first.shape[1])


def _defined(shares: Float[np.ndarray, " samples"], n_groups: int) -> PerSample:
    n = len(shares)
    return PerSample(shares, np.full(n, float(n_groups > TOP)), np.ones(n, bool))


def another_sample(other: str) -> NullModel:
    """The overlap with another sample's attribution, on average over all others."""

    def sums(evidence: AttributionEvidence) -> dict[str, np.ndarray]:
        named = first_features(evidence, other)
        return {"named": named.sum(axis=0).astype(float), "samples": np.asarray(float(len(named)))}

    def expected(
        evidence: AttributionEvidence, sums: Mapping[str, np.ndarray], **options: Any
    ) -> PerSample:
        del options
        first, second = first_features(evidence, "values"), first_features(evidence, other)
        others = max(float(sums["samples"]) - 1, 1.0)
        shares = ((sums["named"] - second) * first).sum(axis=1) / others / TOP
        return _defined(np.clip(shares, 0.0, 1.0), first.shape[1])

    return NullModel(
        ANOTHER, "the overlap with what is named for another sample, mean over all others",
        expected=expected, sums=sums, random=False,
    )  # fmt: skip


def _at_random(evidence: AttributionEvidence, **options: Any) -> PerSample:
    del options
    n_groups = first_features(evidence, "values").shape[1]
    return _defined(np.full(len(evidence), min(TOP / n_groups, 1.0)), n_groups)


AT_RANDOM = NullModel(
    RANDOM, "five features at random: five over their number", expected=_at_random, random=False
)

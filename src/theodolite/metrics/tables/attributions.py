"""Metrics of attributions to features: additivity, and agreement between attributions."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float

from theodolite._stats.ranks import rank_correlations
from theodolite.evidence.attributions.subsets import rank_features, sum_groups
from theodolite.evidence.kinds.attribution import AttributionEvidence
from theodolite.metrics.base import (
    Additive,
    Card,
    NullModel,
    PerSample,
    SampleMean,
    Weights,
    ratio,
    total,
)
from theodolite.metrics.tables.attribution_fit import ANOTHER, RANDOM, attribution_metric

TOP = 5
MIN_RELATIVE_SQUARE = 1e-12
"""Fraction of the output's mean square below which its variance is rounding."""


def _sums(evidence: AttributionEvidence) -> dict[str, np.ndarray]:
    output = np.asarray(evidence.output, float)
    return {"output": np.asarray(output.sum()), "samples": np.asarray(float(len(output)))}


def _always_the_mean(
    evidence: AttributionEvidence, seed: int, sums: Mapping[str, np.ndarray]
) -> AttributionEvidence:
    del seed
    mean = float(sums["output"] / sums["samples"])
    nothing = np.zeros(np.asarray(evidence.values).shape)
    return replace(evidence, values=nothing, base=np.full(len(evidence), mean))


ALWAYS_THE_MEAN = NullModel(
    "constant_mean",
    "no attributions: whatever the sample, the mean output",
    _always_the_mean,
    sums=_sums,
    random=False,
)


@attribution_metric(
    "additivity_gap",
    title="Additivity gap",
    better="lower",
    bounds=(0.0, float("inf")),
    uses=("values", "output", "base"),
    decides=False,
    nulls=(ALWAYS_THE_MEAN,),
    cite="lundberg2017unified",
    card=Card(
        question="How far are base and attributions from adding up to the output?",
        interpretation="0 if they add up, as Shapley values do; 1 if they miss by the spread of "
        "the output. Always answering the mean misses by about 0.8 of it.",
        limitations="Adding up is easy: whatever is left can be given to any feature. A large gap "
        "is mostly another scale (log-odds against probability) or another model.",
        cost="one sum over the features of each sample",
    ),
)
@dataclass(frozen=True)
class AdditivityGap(Additive):
    r"""What base and attributions miss of the output, as a share of its spread.

    .. math:: \frac{\frac1N \sum_i |a_{i0} + \sum_j a_{ij} - f(x_i)|}{\sqrt{\mathrm{Var}_i f(x_i)}}

    :math:`a_{i0}` is the base and :math:`a_{ij}` the attribution to feature :math:`j`. Undefined
    where all outputs are the same. Adding up is the axiom of local accuracy of
    :cite:t:`lundberg2017unified`.

    Example:
        >>> from theodolite.metrics import additivity_gap
        >>> additivity_gap([[1.0, 0.0], [0.0, 0.5]], [1.0, 0.0], [0.0, 0.0])
        0.5
    """

    gap: np.ndarray
    output: np.ndarray
    squares: np.ndarray
    samples: np.ndarray

    @classmethod
    def of(cls, evidence: AttributionEvidence, weights: Weights = None) -> "AdditivityGap":
        """Compute the sums of a shard."""
        output = np.asarray(evidence.output, float)
        parts = np.asarray(evidence.base, float) + np.asarray(evidence.values, float).sum(axis=1)
        return cls(
            gap=total(np.abs(parts - output), weights),
            output=total(output, weights),
            squares=total(output**2, weights),
            samples=total(np.ones(len(output)), weights),
        )

    def counted(self) -> tuple[np.ndarray, np.ndarray]:
        """Count all samples."""
        return self.samples, np.zeros_like(self.samples)

    def value(self) -> np.ndarray:
        """Compute the mean gap relative to the spread."""
        mean, square = ratio(self.output, self.samples), ratio(self.squares, self.samples)
        variance = square - mean**2
        varies = variance > MIN_RELATIVE_SQUARE * square
        spread = np.asarray(np.sqrt(np.where(varies, variance, 0.0)))
        return ratio(ratio(self.gap, self.samples), spread)


def get_top_features(
    evidence: AttributionEvidence, array: str
) -> Bool[np.ndarray, "samples groups"]:
    """Return the features, or groups of them, among an attribution's top five."""
    strength = np.abs(sum_groups(np.asarray(getattr(evidence, array)), evidence.groups))
    named = np.zeros(strength.shape, bool)
    np.put_along_axis(named, rank_features(strength)[:, :TOP], values=True, axis=1)
    return named


def _defined(shares: Float[np.ndarray, " samples"], n_groups: int) -> PerSample:
    """Shares of the first five, undefined where there are no more than five."""
    return PerSample.from_values(shares, np.full(len(shares), n_groups > TOP))


def compute_other_overlap(other: str) -> NullModel:
    """Return the mean overlap with the attributions of all other samples."""

    def sums(evidence: AttributionEvidence) -> dict[str, np.ndarray]:
        named = get_top_features(evidence, other)
        return {"named": named.sum(axis=0).astype(float), "samples": np.asarray(float(len(named)))}

    def expected(
        evidence: AttributionEvidence, sums: Mapping[str, np.ndarray], **options: Any
    ) -> PerSample:
        del options
        first, second = get_top_features(evidence, "values"), get_top_features(evidence, other)
        others = max(float(sums["samples"]) - 1, 1.0)
        shares = ((sums["named"] - second) * first).sum(axis=1) / others / TOP
        return _defined(np.clip(shares, 0.0, 1.0), first.shape[1])

    return NullModel(
        ANOTHER, "the overlap with what is named for another sample, mean over all others",
        expected=expected, sums=sums, random=False, label="another_sample",
    )  # fmt: skip


def _at_random(evidence: AttributionEvidence, **options: Any) -> PerSample:
    del options
    n_groups = get_top_features(evidence, "values").shape[1]
    return _defined(np.full(len(evidence), min(TOP / n_groups, 1.0)), n_groups)


AT_RANDOM = NullModel(
    RANDOM, "five features at random: five over their number", expected=_at_random, random=False
)


agreement_metric = partial(
    attribution_metric,
    better="higher",
    bounds=(0.0, 1.0),
    may_use=("groups",),
    decides=False,
    cite="krishna2024disagreement",
)


class SameFeatures(SampleMean):
    """Mean share of the first five features that another attribution of the sample has too."""

    other: ClassVar[str]
    """The array with the other attribution."""

    @classmethod
    def each(cls, evidence: AttributionEvidence) -> PerSample:
        """Compare the first five features of each sample."""
        first, second = get_top_features(evidence, "values"), get_top_features(evidence, cls.other)
        return _defined((first & second).sum(axis=1) / TOP, first.shape[1])


@agreement_metric(
    "attribution_stability",
    title="Stability of the first five features",
    uses=("values", "repeat_values"),
    nulls=(compute_other_overlap("repeat_values"),),
    card=Card(
        question="Does the explanation name the same features when it is made again?",
        interpretation="1 if another seed, background or sampling names the same five features "
        "first. Compare with another sample's: if that overlaps as much, it is the same features "
        "everywhere that are stable, not the explanation of the single case.",
        limitations="An explanation that is always the same is perfectly stable. With few features "
        "any two explanations overlap; with five or fewer it is undefined.",
        cost="the explanations made twice",
    ),
)
class AttributionStability(SameFeatures):
    r"""Overlap of the first five features of two explanations of one model, mean over samples.

    .. math:: \frac1N \sum_i \frac{|T_i \cap T'_i|}{5}

    :math:`T_i` are the five features of highest absolute attribution. The top-k feature agreement
    of :cite:t:`krishna2024disagreement`, between two runs of one method.

    Example:
        >>> from theodolite.metrics import attribution_stability
        >>> attribution_stability([[6.0, 5, 4, 3, 2, 1]], [[6.0, 5, 4, 3, 1, 2]])
        0.8
    """

    other = "repeat_values"


@agreement_metric(
    "method_agreement",
    title="Agreement of two methods on the first five features",
    uses=("values", "other_method_values"),
    nulls=(compute_other_overlap("other_method_values"), AT_RANDOM),
    card=Card(
        question="Do two methods name the same features for the same sample?",
        interpretation="1 if both name the same five features first. Compare with another "
        "sample's: where that agrees as much, the methods agree on what the model uses in general "
        "and on nothing about the single case.",
        limitations="Agreement is no truth: two methods may share a fault. It decides nothing. "
        "With few features any two explanations overlap; with five or fewer it is undefined.",
        cost="the explanations of a second method",
    ),
)
class MethodAgreement(SameFeatures):
    r"""Overlap of the first five features that two methods name, mean over samples.

    .. math:: \frac1N \sum_i \frac{|T_i \cap T'_i|}{5}

    :math:`T_i` are the five features of highest absolute attribution. The top-k feature agreement
    of :cite:t:`krishna2024disagreement`.

    Example:
        >>> from theodolite.metrics import method_agreement
        >>> method_agreement([[6.0, 5, 4, 3, 2, 1]], [[1.0, 2, 3, 4, 5, 6]])
        0.8
    """

    other = "other_method_values"


def _likeness(evidence: AttributionEvidence) -> Float[np.ndarray, " samples"]:
    """Spearman's correlation over features; NaN where all of one are equal."""
    strengths = (
        np.abs(sum_groups(np.asarray(array), evidence.groups))
        for array in (evidence.values, evidence.randomized_values)
    )
    return rank_correlations(*strengths)


def _nothing_in_common(evidence: AttributionEvidence, **options: Any) -> PerSample:
    del options
    return PerSample.from_values(0.0 * _likeness(evidence))


NOTHING_IN_COMMON = NullModel(
    "zero_correlation",
    "attributions that are others altogether when the model has learned nothing",
    expected=_nothing_in_common,
    random=False,
    is_reference=True,
)


@attribution_metric(
    "attribution_randomization",
    title="Likeness to attributions of a model of permuted labels",
    better="lower",
    bounds=(-1.0, 1.0),
    uses=("values", "randomized_values"),
    may_use=("groups",),
    decides=False,
    tolerance=0.3,
    nulls=(NOTHING_IN_COMMON,),
    cite="adebayo2018sanity",
    card=Card(
        question="Are attributions the same when the model was trained on permuted labels?",
        interpretation="0 if they become others altogether, 1 if the order of features stays: then "
        "it shows the data or the method, but not what the model learned. Up to 0.3 is accepted; a "
        "convention.",
        limitations="Features of large spread, or with many values, may get more from any model: "
        "some likeness is no proof of blindness, much of it is.",
        cost="one more model, trained on permuted labels, and its explanations",
    ),
)
class AttributionRandomization(SampleMean):
    r"""Rank correlation with attributions of a model of permuted labels, mean over samples.

    .. math:: \frac1N \sum_i \rho\bigl(|a_i|, |a_i^{\mathrm{shuffled}}|\bigr)

    Over the features of a sample; equal ones share their rank. Undefined where all features of a
    sample have one attribution. The data randomization test of :cite:t:`adebayo2018sanity`.

    Example:
        >>> from theodolite.metrics import attribution_randomization
        >>> attribution_randomization([[3.0, 2.0, 1.0]], [[1.0, 2.0, -3.0]])
        -1.0
    """

    @staticmethod
    def each(evidence: AttributionEvidence) -> PerSample:
        return PerSample.from_values(_likeness(evidence))

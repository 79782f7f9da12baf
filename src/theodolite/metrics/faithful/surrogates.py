"""Metrics of how close a surrogate of concepts and importances is to the model's outputs."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.special
from jaxtyping import Bool, Float

from theodolite._stats.ranks import rank_correlations
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.surrogate_settings import compute_outputs, make_ideal
from theodolite.metrics.base import (
    Additive,
    Card,
    PerSample,
    SampleMean,
    Weights,
    metric,
    ratio,
    total,
)
from theodolite.metrics.faithful.frame import (
    BLIND,
    MAY_USE,
    OTHER_SAMPLES,
    Compared,
    Outputs,
    Projection,
    Surrogate,
    compute_surrogate_outputs,
    require_array,
    surrogate_card,
    surrogate_metric,
    surrogate_warnings,
)

PerSampleValues = Float[np.ndarray, " samples"]


@surrogate_metric(
    "surrogate_error",
    paper_names=("SURF_MAE",),
    title="Surrogate error (SURF MAE)",
    version=2,
    better="lower",
    bounds=(0.0, float("inf")),
    threshold=0.9,
    threshold_from="null",
    card=surrogate_card(
        question="How far is the sum of concepts times importances from the output?",
        interpretation="In units of the outputs; 0 is the layer itself. Compare with always "
        "answering the average: an explanation that does not beat it says less than no "
        "explanation. From a tenth of the best null on down we would rely on it, which is a "
        "convention.",
        limitations="Outputs have no common scale, so two networks cannot be compared by it. All "
        "classes count alike: a network with a thousand classes can be explained well for "
        "all but the one that matters.",
        template="The sum of {noun} times importances is off by {value} from the reference's "
        "output, in its own units ({low}–{high}{best}). {null}{enough}.",
    ),
)
class SurrogateError(Compared):
    r"""Mean absolute difference between the outputs of a network and of its explanation (SURF).

    .. math:: \hat y_i = b_i + \sum_k \alpha_{ik} P(h; V_i)_k, \qquad
              d = \frac{1}{NC} \sum_{x,i} |y_i - \hat y_i|

    The explanation of class :math:`i` are concepts :math:`V_i` with importances :math:`\alpha_i`;
    the network's bias :math:`b` is added. Nothing is fitted. Introduced in
    :cite:t:`kumar2026unfaithfulness`, eqs. 10 and 11. ``surrogate`` may be another than the
    paper's.

    Example:
        >>> from numpy import nan
        >>> from theodolite.metrics import surrogate_error
        >>> network = {"embeddings": [[1.0, 0.0], [1.0, 3.0]], "head": [[2.0, 0.0], [0.0, 1.0]]}
        >>> surrogate_error([[2.0, nan], [nan, 0.5]], vectors=[[1.0, 0.0], [0.0, 1.0]], **network)
        0.375
    """

    @staticmethod
    def compare(network: Outputs, surrogate: Outputs) -> PerSampleValues:
        return np.asarray(np.abs(network - surrogate).mean(axis=1))


@surrogate_metric(
    "surrogate_distance",
    paper_names=("SURF_EMD",),
    title="Surrogate distance (SURF EMD)",
    version=2,
    better="lower",
    bounds=(0.0, 1.0),
    threshold=0.9,
    warns=surrogate_warnings,
    card=surrogate_card(
        question="How much of the probability does the explanation put on other classes than the "
        "network?",
        interpretation="0.1 means that a tenth of the probability lies on other classes, on "
        "average. Up to 0.1 we would rely on the explanation; that line is a convention.",
        limitations="Softmax makes it depend on the scale of the outputs: a sure network punishes "
        "small errors, one that says nothing punishes none. Read it beside the error of "
        "the outputs. Not seen: concepts that are the outputs under other names, one concept for "
        "each sample, and one class of twenty that is explained wrongly.",
        template="{value} of the probability lands on other classes than the reference's "
        "({low}–{high}{best}). {null}{enough}.",
    ),
)
class SurrogateDistance(Compared):
    r"""Share of the probability that an explanation puts elsewhere than the network (SURF).

    .. math:: d = \frac{1}{2N} \sum_x \sum_i |p_i - \hat p_i|, \qquad p = \mathrm{softmax}(y)

    An earth mover's distance in which all classes are equally far apart; that is, total variation.
    Outputs are made as in :func:`~theodolite.metrics.functions.faithful.surrogate_error`. A single
    output has no distribution: undefined. Introduced in :cite:t:`kumar2026unfaithfulness`, eq. 12.

    Example:
        >>> from numpy import nan
        >>> from theodolite.metrics import surrogate_distance
        >>> network = {"embeddings": [[1.0, 0.0], [1.0, 3.0]], "head": [[2.0, 0.0], [0.0, 1.0]]}
        >>> explained = {"importances": [[2.0, nan], [nan, 0.5]], "vectors": [[1.0, 0], [0, 1]]}
        >>> round(surrogate_distance(**explained, **network), 4)
        0.1768
    """

    @staticmethod
    def compare(network: Outputs, surrogate: Outputs) -> PerSampleValues:
        if network.shape[1] < 2:
            return np.full(len(network), np.nan)
        network, surrogate = (scipy.special.softmax(y, axis=1) for y in (network, surrogate))
        return np.asarray(np.minimum(np.abs(network - surrogate).sum(axis=1) / 2, 1.0))


@surrogate_metric(
    "surrogate_agreement",
    title="Surrogate agreement (Top-1)",
    version=2,
    better="higher",
    bounds=(0.0, 1.0),
    decides=False,
    nulls=BLIND,
    ideal=make_ideal,
    ideal_options={"surrogate": "learned", "projection": "given"},
    cite="zhang2021invertible",
    card=surrogate_card(
        question="Does the explanation lead to the network's answer?",
        interpretation="0.9 means the same answer for nine of ten samples.",
        limitations="Blind to all outputs but the highest, and nearly blind to importances: with "
        "random ones it is often as high. High agreement does not make an explanation "
        "faithful.",
    ),
)
class SurrogateAgreement(Compared):
    r"""Share of samples for which explanation and network have the same highest output.

    .. math:: \frac1N \sum_x 1\bigl[\arg\max_i y_i = \arg\max_i \hat y_i\bigr]

    Agreement with the network, not with the label. Where several outputs are highest, the chance
    that a random choice among them agrees: two thirds, say, is then the best that can be had, and
    it is what the network's outputs score against themselves. Called ICE\ :sub:`2` in
    :cite:t:`kumar2026unfaithfulness`, eq. 6.

    Example:
        >>> from numpy import nan
        >>> from theodolite.metrics import surrogate_agreement
        >>> network = {"embeddings": [[1.0, 0.0], [1.0, 3.0]], "head": [[2.0, 0.0], [0.0, 1.0]]}
        >>> surrogate_agreement([[2.0, nan], [nan, 0.5]], vectors=[[1.0, 0], [0, 1]], **network)
        0.5
    """

    @staticmethod
    def compare(network: Outputs, surrogate: Outputs) -> PerSampleValues:
        if network.shape[1] < 2:
            return np.full(len(network), np.nan)
        a, b = highest(network), highest(surrogate)
        return np.asarray((a & b).sum(axis=1) / (a.sum(axis=1) * b.sum(axis=1)))


def highest(outputs: Outputs) -> Bool[np.ndarray, "samples classes"]:
    """Return which outputs of a sample are the highest; more than one where they are equal."""
    return np.asarray(outputs == outputs.max(axis=1, keepdims=True))


@surrogate_metric(
    "surrogate_rank_correlation",
    title="Surrogate rank correlation",
    better="higher",
    bounds=(-1.0, 1.0),
    decides=False,
    card=surrogate_card(
        question="Does the explanation order the classes as the network does?",
        interpretation="1 is the same order, 0 is unrelated, below 0 the opposite.",
        limitations="All ranks count alike: the order among hundreds of classes that are out of "
        "the question weighs as much as the order of the first two.",
    ),
)
class SurrogateRankCorrelation(Compared):
    r"""Mean over samples of Spearman's correlation between the outputs of network and explanation.

    .. math:: \frac1N \sum_x \mathrm{corr}\bigl(\mathrm{rank}(y), \mathrm{rank}(\hat y)\bigr)

    Over the outputs of one sample; equal outputs share their rank. Undefined for a sample whose
    outputs, or the explanation's, are all equal: counted, and left out.

    Example:
        >>> from numpy import nan
        >>> from theodolite.metrics import surrogate_rank_correlation
        >>> network = {"embeddings": [[1.0, 0.0], [1.0, 3.0]], "head": [[2.0, 0.0], [0.0, 1.0]]}
        >>> explained = {"importances": [[2.0, nan], [nan, 0.5]], "vectors": [[1.0, 0], [0, 1]]}
        >>> surrogate_rank_correlation(**explained, **network)
        0.0
    """

    compare = staticmethod(rank_correlations)


@surrogate_metric(
    "attribute_agreement",
    title="Attribute agreement",
    better="higher",
    bounds=(0.0, 1.0),
    decides=False,
    opt_in=True,
    card=surrogate_card(
        question="Do explanation and network say that the same attributes are there?",
        interpretation="0.9 means that nine of ten attributes come out alike.",
        limitations="Attributes that are hardly ever there agree without any explanation: compare "
        "with always answering the average. Means nothing for classes of which one must "
        "be chosen.",
    ),
)
class AttributeAgreement(Compared):
    r"""Share of outputs that explanation and network put on the same side of 0.

    .. math:: \frac{1}{NC} \sum_{x,i} 1[(y_i > 0) = (\hat y_i > 0)]

    For networks whose outputs are attributes, each there or not there. The paper states no
    threshold; an output above 0 is a probability above one half.

    Example:
        >>> from numpy import nan
        >>> from theodolite.metrics import attribute_agreement
        >>> network = {"embeddings": [[1.0, 0.0], [1.0, 3.0]], "head": [[2.0, 0.0], [0.0, 1.0]]}
        >>> attribute_agreement([[2.0, nan], [nan, 0.5]], vectors=[[1.0, 0], [0, 1]], **network)
        1.0
    """

    @staticmethod
    def compare(network: Outputs, surrogate: Outputs) -> PerSampleValues:
        return np.asarray(((network > 0) == (surrogate > 0)).mean(axis=1))


@surrogate_metric(
    "surrogate_relative_error",
    title="Relative error at the label (Norm L1)",
    better="lower",
    bounds=(0.0, float("inf")),
    uses=("importances", "labels"),
    decides=False,
    cite="zhang2021invertible",
    card=surrogate_card(
        question="How far is the explanation off at the true class, as a share of the output "
        "there?",
        interpretation="0.2 means that the output is missed by a fifth of its size.",
        limitations="A single output near 0 can make it as large as you like. All classes but one "
        "are out of sight.",
    ),
)
class SurrogateRelativeError(Compared):
    r"""Mean over samples of :math:`|y_t - \hat y_t| / |y_t|` at the true class :math:`t`.

    .. math:: \frac1N \sum_x \frac{|y_t - \hat y_t|}{|y_t|}

    Called ICE\ :sub:`1` in :cite:t:`kumar2026unfaithfulness`, eq. 5. Undefined where
    :math:`y_t = 0`. The code of :cite:t:`zhang2021invertible` computes another quantity, a ratio of
    means: :func:`~theodolite.metrics.functions.faithful.surrogate_relative_error_by_class`.

    Example:
        >>> from numpy import nan
        >>> from theodolite.metrics import surrogate_relative_error
        >>> network = {"embeddings": [[1.0, 0.0], [1.0, 3.0]], "head": [[2.0, 0.0], [0.0, 1.0]]}
        >>> explained = {"importances": [[2.0, nan], [nan, 0.5]], "vectors": [[1.0, 0], [0, 1]]}
        >>> surrogate_relative_error(**explained, **network, labels=[0, 1])
        0.25
    """

    at_label = True

    @staticmethod
    def compare(network: PerSampleValues, surrogate: PerSampleValues) -> PerSampleValues:
        return ratio(np.abs(network - surrogate), np.abs(network))


@surrogate_metric(
    "surrogate_relative_error_by_class",
    title="Relative error per class (ICE)",
    better="lower",
    bounds=(0.0, float("inf")),
    uses=("importances", "labels"),
    detail=True,
    per_class=True,
    decides=False,
    cite="zhang2021invertible",
    card=surrogate_card(
        question="How far is a class's output off, as a share of its mean?",
        interpretation="0.2 means that the output is missed by a fifth of its mean size.",
        limitations="A class whose outputs change sign has a mean near 0 and an error without "
        "limit. Only the class's own output is looked at, on its own samples.",
    ),
)
@dataclass(frozen=True)
class SurrogateRelativeErrorByClass(Additive):
    r"""Mean error of a class's own output over the size of its mean, for each class.

    .. math:: d_i = \frac{\sum_{x \in X_i} |y_i - \hat y_i|}{|\sum_{x \in X_i} y_i|}

    :math:`X_i` are the samples of class :math:`i`. This is what the code of
    :cite:t:`zhang2021invertible` computes, without the small number that it adds below the line: a
    class whose mean output is 0, or that has no samples, is undefined. The mean of ratios of
    :func:`~theodolite.metrics.functions.faithful.surrogate_relative_error` is another quantity.

    Example:
        >>> from numpy import nan
        >>> from theodolite.metrics import surrogate_relative_error_by_class
        >>> network = {"embeddings": [[1.0, 0.0], [1.0, 3.0]], "head": [[2.0, 0.0], [0.0, 1.0]]}
        >>> explained = {"importances": [[2.0, nan], [nan, 0.5]], "vectors": [[1.0, 0], [0, 1]]}
        >>> surrogate_relative_error_by_class(**explained, **network, labels=[0, 1])
        array([0. , 0.5])
    """

    errors: Float[np.ndarray, "*resamples classes"]
    outputs: Float[np.ndarray, "*resamples classes"]

    @classmethod
    def of(
        cls,
        evidence: SurrogateEvidence,
        weights: Weights = None,
        *,
        surrogate: Surrogate = "linear",
        projection: Projection = "given",
    ) -> "SurrogateRelativeErrorByClass":
        network = compute_outputs(evidence)
        approximation = compute_surrogate_outputs(evidence, surrogate, projection)
        own = np.zeros(network.shape)
        own[np.arange(len(own)), require_array(evidence, "labels")] = 1.0
        return cls(
            errors=total(own * np.abs(network - approximation), weights),
            outputs=total(own * network, weights),
        )

    def value(
        self, *, over: Literal["classes"] = "classes"
    ) -> Float[np.ndarray, "*resamples classes"]:
        del over
        return ratio(self.errors, np.abs(self.outputs))


@metric(
    "linearization_error",
    title="Linearization error",
    question="faithful",
    better="lower",
    bounds=(0.0, float("inf")),
    uses=("importances", "linearized"),
    may_use=MAY_USE,
    decides=False,
    nulls=(OTHER_SAMPLES,),
    cite="kumar2026unfaithfulness",
    card=Card(
        question="Does the slope of the network tell what it does at the embedding that concepts "
        "make?",
        interpretation="In units of the outputs. Scores by the slope mean something as long as "
        "this is small beside them; where it is as large as the surrogate's error, do not use "
        "them.",
        limitations="Small errors at a layer from which little follows prove nothing about others.",
        cost="counts; one Jacobian-vector product a sample comes before",
    ),
)
class LinearizationError(SampleMean):
    r"""Mean absolute difference between the rest of a network and its slope, at what concepts say.

    .. math:: \frac{1}{NC} \sum_{x,i} |F_i(\hat h) - F_i(h) - J_i(h)(\hat h - h)|

    :math:`F` is the network after the layer, :math:`J` its Jacobian at the sample's embedding
    :math:`h`, and :math:`\hat h` is rebuilt from the concepts. 0 at the last, linear layer.

    Example:
        >>> from theodolite.metrics import linearization_error
        >>> outputs = {"outputs": [[1.0, 2.5]], "rebuilt": [[1.0, 2.0]], "linearized": [[1.5, 2.0]]}
        >>> linearization_error([[1.0, 1.0]], projections=[[1.0]], **outputs)
        0.25
    """

    @staticmethod
    def each(evidence: SurrogateEvidence) -> PerSample:
        rebuilt, slope = (compute_surrogate_outputs(evidence, s) for s in ("rebuilt", "linearized"))
        return PerSample.from_values(SurrogateError.compare(rebuilt, slope))

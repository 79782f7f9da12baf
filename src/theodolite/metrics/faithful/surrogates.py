"""How near are the outputs that concepts and importances make to those of the network?"""

import numpy as np
import scipy.special
from jaxtyping import Bool, Float, Int

from theodolite._stats.ranks import average_ranks
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.surrogate_settings import ideal
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.faithful._nulls import ALL, BLIND
from theodolite.metrics.faithful.frame import MAY_USE, USES_IF, Projection, Surrogate, compared
from theodolite.metrics.faithful.warnings import surrogate_warnings

Outputs = Float[np.ndarray, "samples classes"]
Labels = Int[np.ndarray, " samples"] | None
Compared = tuple[Float[np.ndarray, " samples"], Float[np.ndarray, " samples"]]


def _everywhere(part: Float[np.ndarray, " samples"]) -> Compared:
    return part, np.ones(len(part))


def _nowhere(n: int) -> Compared:
    return np.zeros(n), np.zeros(n)


def absolute_error(network: Outputs, surrogate: Outputs, labels: Labels) -> Compared:
    """Mean over the outputs of how far each is off."""
    del labels
    return _everywhere(np.abs(network - surrogate).mean(axis=1))


def moved_probability(network: Outputs, surrogate: Outputs, labels: Labels) -> Compared:
    """The probability that lies elsewhere: half the sum of differences. One output has none."""
    del labels
    if network.shape[1] < 2:
        return _nowhere(len(network))
    away = np.abs(scipy.special.softmax(network, axis=1) - scipy.special.softmax(surrogate, axis=1))
    return _everywhere(np.minimum(away.sum(axis=1) / 2, 1.0))


def same_answer(network: Outputs, surrogate: Outputs, labels: Labels) -> Compared:
    """Whether both have the same highest output; where several are highest, the chance of it."""
    del labels
    if network.shape[1] < 2:
        return _nowhere(len(network))
    a, b = _highest(network), _highest(surrogate)
    return _everywhere((a & b).sum(axis=1) / (a.sum(axis=1) * b.sum(axis=1)))


def right_answer(outputs: Outputs, labels: Int[np.ndarray, " samples"]) -> np.ndarray:
    """Whether the highest output is the label's; where several are highest, the chance of it."""
    highest = _highest(outputs)
    return np.asarray(highest[np.arange(len(labels)), labels] / highest.sum(axis=1))


def rank_correlation(network: Outputs, surrogate: Outputs, labels: Labels) -> Compared:
    """Spearman's correlation over the outputs of a sample; undefined if either has no order."""
    del labels
    a, b = (_centered_ranks(outputs) for outputs in (network, surrogate))
    spread = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    coefficients = np.divide((a * b).sum(axis=1), spread, out=np.zeros(len(a)), where=spread > 0)
    return np.clip(coefficients, -1.0, 1.0), (spread > 0).astype(float)


def relative_error(network: Outputs, surrogate: Outputs, labels: Labels) -> Compared:
    """How far the label's output is off, as a share of it; undefined where it is 0."""
    if labels is None:
        raise EvidenceError("labels", "none", "the true class of each sample", "Pass `labels`.")
    rows = np.arange(len(network))
    label_outputs = network[rows, labels]
    off, size = np.abs(label_outputs - surrogate[rows, labels]), np.abs(label_outputs)
    return np.divide(off, size, out=np.zeros(len(off)), where=size > 0), (size > 0).astype(float)


def same_sides(network: Outputs, surrogate: Outputs, labels: Labels) -> Compared:
    """Share of outputs on the same side of 0: attributes that both say are there, or are not."""
    del labels
    return _everywhere(((network > 0) == (surrogate > 0)).mean(axis=1))


def _highest(outputs: Outputs) -> Bool[np.ndarray, "samples classes"]:
    return np.asarray(outputs == outputs.max(axis=1, keepdims=True))


def _centered_ranks(outputs: Outputs) -> Outputs:
    """Ranks less their mean; equal values share theirs."""
    ranks = average_ranks(outputs)
    return np.asarray(ranks - (outputs.shape[1] + 1) / 2)


@metric(
    "surrogate_error",
    paper_names=("SURF_MAE",),
    title="Surrogate error (SURF MAE)",
    version=2,
    question="faithful",
    better="lower",
    bounds=(0.0, float("inf")),
    uses=("importances",),
    may_use=MAY_USE,
    uses_if=USES_IF,
    nulls=ALL,
    threshold=0.9,
    threshold_from="null",
    cite="kumar2026unfaithfulness",
    card=Card(
        question="How far is the sum of concepts times importances from the output?",
        interpretation="In units of the outputs; 0 is the layer itself. Compare with always "
        "answering the average: an explanation that does not beat it says less than no "
        "explanation. From a tenth of the best null on down we would rely on it, which is a "
        "convention.",
        limitations="Outputs have no common scale, so two networks cannot be compared by it. All "
        "classes count alike: a network with a thousand classes can be explained well for "
        "all but the one that matters.",
        cost="one product of embeddings and summed concept vectors",
        template="The sum of {noun} times importances is off by {value} from the reference's "
        "output, in its own units ({low}–{high}{best}). {null}{enough}.",
    ),
)
class SurrogateError(SampleMean):
    r"""Mean absolute difference between the outputs of a network and of its explanation (SURF).

    .. math:: \hat y_i = b_i + \sum_k \alpha_{ik} P(h; V_i)_k, \qquad
              d = \frac{1}{NC} \sum_{x,i} |y_i - \hat y_i|

    The explanation of class :math:`i` are concepts :math:`V_i` with importances :math:`\alpha_i`;
    the network's bias :math:`b` is added. Nothing is fitted. Introduced in
    :cite:t:`kumar2026unfaithfulness`, eqs. 10 and 11. ``surrogate`` may be another than the
    paper's.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import surrogate_error
        >>> surrogate_error(
        ...     np.array([[2.0, np.nan], [np.nan, 0.5]]),
        ...     embeddings=np.array([[1.0, 0.0], [1.0, 3.0]]),
        ...     head=np.array([[2.0, 0.0], [0.0, 1.0]]),
        ...     vectors=np.eye(2),
        ... )
        0.375
    """

    @staticmethod
    def each(
        evidence: SurrogateEvidence,
        *,
        surrogate: Surrogate = "linear",
        projection: Projection = "given",
    ) -> PerSample:
        """The mean error of each sample's outputs."""
        return compared(evidence, absolute_error, surrogate, projection)


@metric(
    "surrogate_distance",
    paper_names=("SURF_EMD",),
    title="Surrogate distance (SURF EMD)",
    version=2,
    question="faithful",
    better="lower",
    bounds=(0.0, 1.0),
    uses=("importances",),
    may_use=MAY_USE,
    uses_if=USES_IF,
    threshold=0.9,
    nulls=ALL,
    cite="kumar2026unfaithfulness",
    warns=surrogate_warnings,
    card=Card(
        question="How much of the probability does the explanation put on other classes than the "
        "network?",
        interpretation="0.1 means that a tenth of the probability lies on other classes, on "
        "average. Up to 0.1 we would rely on the explanation; that line is a convention.",
        limitations="Softmax makes it depend on the scale of the outputs: a sure network punishes "
        "small errors, one that says nothing punishes none. Read it beside the error of "
        "the outputs.",
        cost="one product of embeddings and summed concept vectors",
        template="{value} of the probability lands on other classes than the reference's "
        "({low}–{high}{best}). {null}{enough}.",
    ),
)
class SurrogateDistance(SampleMean):
    r"""Share of the probability that an explanation puts elsewhere than the network (SURF).

    .. math:: d = \frac{1}{2N} \sum_x \sum_i |p_i - \hat p_i|, \qquad p = \mathrm{softmax}(y)

    An earth mover's distance in which all classes are equally far apart; that is, total variation.
    Outputs are made as in :func:`~theodolite.metrics.functions.faithful.surrogate_error`. A single
    output has no distribution: undefined. Introduced in :cite:t:`kumar2026unfaithfulness`, eq. 12.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import surrogate_distance
        >>> value = surrogate_distance(
        ...     np.array([[2.0, np.nan], [np.nan, 0.5]]),
        ...     embeddings=np.array([[1.0, 0.0], [1.0, 3.0]]),
        ...     head=np.array([[2.0, 0.0], [0.0, 1.0]]),
        ...     vectors=np.eye(2),
        ... )
        >>> round(value, 4)
        0.1768
    """

    @staticmethod
    def each(
        evidence: SurrogateEvidence,
        *,
        surrogate: Surrogate = "linear",
        projection: Projection = "given",
    ) -> PerSample:
        """The probability that lies elsewhere, for each sample."""
        return compared(evidence, moved_probability, surrogate, projection)


@metric(
    "surrogate_agreement",
    title="Surrogate agreement (Top-1)",
    version=2,
    question="faithful",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("importances",),
    may_use=MAY_USE,
    uses_if=USES_IF,
    decides=False,
    nulls=BLIND,
    ideal=ideal,
    ideal_options={"surrogate": "learned", "projection": "given"},
    cite="zhang2021invertible",
    card=Card(
        question="Does the explanation lead to the network's answer?",
        interpretation="0.9 means the same answer for nine of ten samples.",
        limitations="Blind to all outputs but the highest, and nearly blind to importances: with "
        "random ones it is often as high. High agreement does not make an explanation "
        "faithful.",
        cost="one product of embeddings and summed concept vectors",
    ),
)
class SurrogateAgreement(SampleMean):
    r"""Share of samples for which explanation and network have the same highest output.

    .. math:: \frac1N \sum_x 1\bigl[\arg\max_i y_i = \arg\max_i \hat y_i\bigr]

    Agreement with the network, not with the label. Where several outputs are highest, the chance
    that a random choice among them agrees: two thirds, say, is then the best that can be had, and
    it is what the network's outputs score against themselves. Called ICE\ :sub:`2` in
    :cite:t:`kumar2026unfaithfulness`, eq. 6.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import surrogate_agreement
        >>> surrogate_agreement(
        ...     np.array([[2.0, np.nan], [np.nan, 0.5]]),
        ...     embeddings=np.array([[1.0, 0.0], [1.0, 3.0]]),
        ...     head=np.array([[2.0, 0.0], [0.0, 1.0]]),
        ...     vectors=np.eye(2),
        ... )
        0.5
    """

    @staticmethod
    def each(
        evidence: SurrogateEvidence,
        *,
        surrogate: Surrogate = "linear",
        projection: Projection = "given",
    ) -> PerSample:
        """Whether the answers are equal."""
        return compared(evidence, same_answer, surrogate, projection)


@metric(
    "surrogate_rank_correlation",
    title="Surrogate rank correlation",
    version=1,
    question="faithful",
    better="higher",
    bounds=(-1.0, 1.0),
    uses=("importances",),
    may_use=MAY_USE,
    uses_if=USES_IF,
    decides=False,
    nulls=ALL,
    cite="kumar2026unfaithfulness",
    card=Card(
        question="Does the explanation order the classes as the network does?",
        interpretation="1 is the same order, 0 is unrelated, below 0 the opposite.",
        limitations="All ranks count alike: the order among hundreds of classes that are out of "
        "the question weighs as much as the order of the first two.",
        cost="one product of embeddings and summed concept vectors",
    ),
)
class SurrogateRankCorrelation(SampleMean):
    r"""Mean over samples of Spearman's correlation between the outputs of network and explanation.

    .. math:: \frac1N \sum_x \mathrm{corr}\bigl(\mathrm{rank}(y), \mathrm{rank}(\hat y)\bigr)

    Over the outputs of one sample; equal outputs share their rank. Undefined for a sample whose
    outputs, or the explanation's, are all equal: counted, and left out.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import surrogate_rank_correlation
        >>> surrogate_rank_correlation(
        ...     np.array([[2.0, np.nan], [np.nan, 0.5]]),
        ...     embeddings=np.array([[1.0, 0.0], [1.0, 3.0]]),
        ...     head=np.array([[2.0, 0.0], [0.0, 1.0]]),
        ...     vectors=np.eye(2),
        ... )
        0.0
    """

    @staticmethod
    def each(
        evidence: SurrogateEvidence,
        *,
        surrogate: Surrogate = "linear",
        projection: Projection = "given",
    ) -> PerSample:
        """The correlation over each sample's outputs."""
        return compared(evidence, rank_correlation, surrogate, projection)


@metric(
    "attribute_agreement",
    title="Attribute agreement",
    version=1,
    question="faithful",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("importances",),
    may_use=MAY_USE,
    uses_if=USES_IF,
    decides=False,
    opt_in=True,
    nulls=ALL,
    cite="kumar2026unfaithfulness",
    card=Card(
        question="Do explanation and network say that the same attributes are there?",
        interpretation="0.9 means that nine of ten attributes come out alike.",
        limitations="Attributes that are hardly ever there agree without any explanation: compare "
        "with always answering the average. Means nothing for classes of which one must "
        "be chosen.",
        cost="one product of embeddings and summed concept vectors",
    ),
)
class AttributeAgreement(SampleMean):
    r"""Share of outputs that explanation and network put on the same side of 0.

    .. math:: \frac{1}{NC} \sum_{x,i} 1[(y_i > 0) = (\hat y_i > 0)]

    For networks whose outputs are attributes, each there or not there. The paper states no
    threshold; an output above 0 is a probability above one half.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import attribute_agreement
        >>> attribute_agreement(
        ...     np.array([[2.0, np.nan], [np.nan, 0.5]]),
        ...     embeddings=np.array([[1.0, 0.0], [1.0, 3.0]]),
        ...     head=np.array([[2.0, 0.0], [0.0, 1.0]]),
        ...     vectors=np.eye(2),
        ... )
        1.0
    """

    @staticmethod
    def each(
        evidence: SurrogateEvidence,
        *,
        surrogate: Surrogate = "linear",
        projection: Projection = "given",
    ) -> PerSample:
        """The share of equal attributes of each sample."""
        return compared(evidence, same_sides, surrogate, projection)

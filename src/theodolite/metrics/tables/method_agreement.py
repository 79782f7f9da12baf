"""Do two methods name the same features?"""

from theodolite.evidence.kinds.attribution import AttributionEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.tables._overlap import AT_RANDOM, another_sample, overlap


@metric(
    "method_agreement",
    title="Agreement of two methods on the first five features",
    version=1,
    question="faithful",
    asked_as="Does the model use the features that the attribution names?",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("values", "other_method_values"),
    may_use=("groups",),
    decides=False,
    nulls=(another_sample("other_method_values"), AT_RANDOM),
    cite="krishna2024disagreement",
    card=Card(
        asks="Do two methods name the same features for the same sample?",
        read="1 if both name the same five features first. Compare with another sample's: where "
        "that agrees as much, the methods agree on what the model uses in general and on nothing "
        "about the single case.",
        misleads="Agreement is no truth: two methods may share a fault. It decides nothing. With "
        "few features any two explanations overlap; with five or fewer it is undefined.",
        cost="the explanations of a second method",
    ),
)
class MethodAgreement(SampleMean):
    r"""Overlap of the first five features that two methods name, mean over samples.

    .. math:: \frac1N \sum_i \frac{|T_i \cap T'_i|}{5}

    :math:`T_i` are the five features of highest absolute attribution. The top-k feature agreement
    of :cite:t:`krishna2024disagreement`.

    Example:
        >>> from theodolite.metrics import method_agreement
        >>> method_agreement([[6.0, 5, 4, 3, 2, 1]], [[1.0, 2, 3, 4, 5, 6]])
        0.8
    """

    @staticmethod
    def each(evidence: AttributionEvidence) -> PerSample:
        """Each sample's share of features that both name."""
        return overlap(evidence, "other_method_values")

"""Does an explanation of the same model, made again, name the same features?"""

from theodolite.evidence.kinds.attribution import AttributionEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.tables._overlap import another_sample, overlap


@metric(
    "attribution_stability",
    title="Stability of the first five features",
    version=1,
    question="faithful",
    asked_as="Does the model use the features that the attribution names?",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("values", "repeat_values"),
    may_use=("groups",),
    decides=False,
    nulls=(another_sample("repeat_values"),),
    cite="krishna2024disagreement",
    card=Card(
        asks="Does the explanation name the same features when it is made again?",
        read="1 if another seed, background or sampling names the same five features first. "
        "Compare with another sample's: if that overlaps as much, it is the same features "
        "everywhere that are stable, not the explanation of the single case.",
        misleads="An explanation that is always the same is perfectly stable. With few features "
        "any two explanations overlap; with five or fewer it is undefined.",
        cost="the explanations made twice",
    ),
)
class AttributionStability(SampleMean):
    r"""Overlap of the first five features of two explanations of one model, mean over samples.

    .. math:: \frac1N \sum_i \frac{|T_i \cap T'_i|}{5}

    :math:`T_i` are the five features of highest absolute attribution. The top-k feature agreement
    of :cite:t:`krishna2024disagreement`, between two runs of one method.

    Example:
        >>> from theodolite.metrics import attribution_stability
        >>> attribution_stability([[6.0, 5, 4, 3, 2, 1]], [[6.0, 5, 4, 3, 1, 2]])
        0.8
    """

    @staticmethod
    def each(evidence: AttributionEvidence) -> PerSample:
        """Each sample's share of features that both name."""
        return overlap(evidence, "repeat_values")

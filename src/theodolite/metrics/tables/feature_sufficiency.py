"""Is the answer still there with nothing but the features that an attribution names?"""

from theodolite.evidence.kinds.attribution import AttributionEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.tables._removal import Removals, changes, in_evidence, null_orders


@metric(
    "feature_sufficiency",
    title="Feature sufficiency gap",
    version=1,
    question="faithful",
    asked_as="Does the model use the features that the attribution names?",
    better="lower",
    bounds=(0.0, float("inf")),
    uses=("output", "only"),
    may_use=("removals",),
    nulls_use=("chance_only",),
    sweeps=("removal",),
    headline={"removal": "background"},
    fitting=in_evidence,
    decides=False,
    nulls=null_orders("chance_only"),
    cite="covert2021explaining",
    card=Card(
        asks="How far is the output from itself when only the features named first remain?",
        read="In units of the output; 0 if the named features alone give the same answer. Compare "
        "with one order for all samples.",
        misleads="With nearly all features from background rows, samples are unlike any that the "
        "model knows. A model that needs many features at once scores badly whatever is named.",
        cost="samples x draws x orders x steps answers of the model",
    ),
)
class FeatureSufficiency(SampleMean):
    r"""Change of the output with only the features of highest attribution, mean over samples.

    .. math:: \frac1N \sum_i \frac{1}{|K|} \sum_{k \in K}
        \Bigl| f(x_i) - \frac1B \sum_b f\bigl(b^{(k \leftarrow x_i)}\bigr) \Bigr|

    As :func:`~theodolite.metrics.functions.faithful.feature_necessity`, with all but the first
    :math:`k` features taken from background rows.

    Example:
        >>> from theodolite.metrics import feature_sufficiency
        >>> feature_sufficiency([1.0], [[[0.5, 1.0]]])
        array([0.25])
    """

    @staticmethod
    def each(evidence: AttributionEvidence, *, removal: Removals = ("background",)) -> PerSample:
        """Each sample's change, for each way of removal."""
        return changes(evidence, "only", removal)

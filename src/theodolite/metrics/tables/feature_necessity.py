"""Does the answer change without the features that an attribution names?"""

from theodolite.evidence.kinds.attribution import AttributionEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.tables._removal import (
    Removals,
    best_order,
    changes,
    in_evidence,
    null_orders,
)


@metric(
    "feature_necessity",
    title="Feature necessity",
    version=1,
    question="faithful",
    asked_as="Does the model use the features that the attribution names?",
    better="higher",
    bounds=(0.0, float("inf")),
    uses=("output", "removed"),
    may_use=("removals",),
    nulls_use=("chance_removed", "best_removed"),
    sweeps=("removal",),
    headline={"removal": "background"},
    fitting=in_evidence,
    ideal=best_order,
    reliable_from=0.8,
    nulls=null_orders("chance_removed"),
    cite="covert2021explaining",
    card=Card(
        asks="How far does the output move when the features named first are removed?",
        read="In units of the output: 0.3 is 30 points of probability. Compare with one order for "
        "all samples: what lies above it is what attributions say about the single case. At "
        "random, features hardly matter, so that beating them shows little. From 0.8 of the best "
        "order that a search found we would rely on it; a convention.",
        misleads="Values from background rows break correlations: rows appear that no data set "
        "has, and the model may answer them at its whim. Compare with removal='conditional', which "
        "takes rows like the sample in the features that remain. Where two features say the same, "
        "removing one changes little, however much it is used. The best order is the best that a "
        "greedy search found, and no upper bound.",
        cost="samples x draws x orders x steps answers of the model, and a search of about as many",
        says="Without the features named first, the output moves by {value} ({low}–{high}{best}). "
        "{null}{enough}.",
    ),
)
class FeatureNecessity(SampleMean):
    r"""Change of the output without the features of highest attribution, mean over samples.

    .. math:: \frac1N \sum_i \frac{1}{|K|} \sum_{k \in K}
        \Bigl| f(x_i) - \frac1B \sum_b f\bigl(x_i^{(k \leftarrow b)}\bigr) \Bigr|

    :math:`x^{(k \leftarrow b)}` is the sample with the values of its :math:`k` features of highest
    absolute attribution taken from background row :math:`b`; :math:`K` is 1, 2, 3, 5 and 8 as far
    as there are more features, and of equals the first feature counts first. Score and nulls share
    the background rows. Features of one group are removed together. A removal-based explanation in
    the sense of :cite:t:`covert2021explaining`, used as a test.

    Example:
        >>> from theodolite.metrics import feature_necessity
        >>> feature_necessity([1.0], [[[0.5, 0.5]]])
        array([0.5])
    """

    @staticmethod
    def each(evidence: AttributionEvidence, *, removal: Removals = ("background",)) -> PerSample:
        """Each sample's change, for each way of removal."""
        return changes(evidence, "removed", removal)

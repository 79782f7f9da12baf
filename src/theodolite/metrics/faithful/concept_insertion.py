"""Does the answer come when its most important concepts come?"""

from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.faithful._nulls import RANDOM_IMPORTANCES
from theodolite.metrics.faithful._removal import USES, Of, removal
from theodolite.metrics.faithful.frame import MAY_USE
from theodolite.metrics.option_types import MostSteps


@metric(
    "concept_insertion",
    title="Concept insertion",
    version=1,
    question="faithful",
    better="higher",
    bounds=(0.0, 1.0),
    uses=USES,
    may_use=MAY_USE,
    uses_if={"of": {"label": ("labels",)}},
    decides=False,
    nulls=(RANDOM_IMPORTANCES,),
    cite="fel2023craft",
    card=Card(
        asks="Does the answer come when its most important concepts are put in?",
        read="High means that the concepts named first are enough for the answer. Compare with "
        "random importances: only what lies above that is owed to their order.",
        misleads="Embeddings with concepts left out may be like nothing that the network has "
        "ever seen, and what it makes of them proves little. It looks at the order of importances "
        "only, and at one class.",
        cost="one product per step and class",
    ),
)
class ConceptInsertion(SampleMean):
    r"""Mean probability of a class while its concepts are put in, the most important first.

    .. math:: \frac{1}{N} \sum_x \frac{1}{K} \sum_{s=1}^{K} \frac{p_{s-1} + p_s}{2}

    :math:`p_s` is the probability of the class with only the first :math:`s` of its :math:`K`
    concepts.

    The embedding is rebuilt from the projections that are left, and the last layer's probability of
    the class is read after each step; the value is the mean height of that curve. Nothing is
    normalised. With more than ``most_steps`` concepts several go at a time. As proposed in
    :cite:t:`fel2023craft`, which reads the output before softmax instead of the probability. A
    class without concepts is undefined.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import concept_insertion
        >>> value = concept_insertion(
        ...     np.array([[2.0, np.nan], [1.0, np.nan], [np.nan, 1.0]]),
        ...     embeddings=np.array([[2.0, 1.0]]),
        ...     head=np.array([[2.0, 0.0], [0.0, 1.0]]),
        ...     vectors=np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]),
        ... )
        >>> round(value, 4)
        0.8542
    """

    @staticmethod
    def each(
        evidence: SurrogateEvidence, *, of: Of = "predicted", most_steps: MostSteps = 20
    ) -> PerSample:
        """The area under each sample's curve."""
        return removal(evidence, "insertion", of, most_steps)

"""Does the answer go, or come, with its most important concepts?"""

from typing import Annotated, Literal

import numpy as np
import scipy.special
from jaxtyping import Float, Int
from pydantic import Field

from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.surrogate_settings import bias_of, outputs_of, working
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.faithful._nulls import RANDOM_IMPORTANCES
from theodolite.metrics.faithful.frame import MAY_USE, members, needed
from theodolite.metrics.option_types import MostSteps

Way = Literal["deletion", "insertion"]
Of = Annotated[
    Literal["predicted", "label"],
    Field(description="The class whose probability is read: the predicted or the true one."),
]
USES = ("importances", "head", "vectors")


def removal(evidence: SurrogateEvidence, way: Way, of: Of, most_steps: int) -> PerSample:
    """The area under each sample's curve."""
    head, vectors = (working(needed(evidence, name)) for name in ("head", "vectors"))
    chosen = needed(evidence, "labels") if of == "label" else outputs_of(evidence).argmax(axis=1)
    area, whole = np.zeros(len(evidence)), np.zeros(len(evidence))
    there, gives = members(evidence), np.asarray(vectors @ head.T, float)
    for target in np.unique(chosen) if len(head) > 1 else ():  # one output has no probability
        rows = np.flatnonzero(chosen == target)
        concepts = np.flatnonzero(there[:, target])
        if len(concepts):
            area[rows] = _areas(evidence, rows, (concepts, gives), int(target), (way, most_steps))
            whole[rows] = 1.0
    return PerSample(area, whole, np.ones(len(evidence), bool))


def _areas(
    evidence: SurrogateEvidence,
    rows: Int[np.ndarray, " n"],
    used: tuple[Int[np.ndarray, " k"], Float[np.ndarray, "concepts classes"]],
    of: int,
    how: tuple[Way, int],
) -> Float[np.ndarray, " n"]:
    """The mean over the curve, for samples of one class, from its concepts and what each gives."""
    way, most_steps = how
    concepts, gives = used
    order = concepts[np.argsort(-np.asarray(evidence.importances)[concepts, of], kind="stable")]
    gives = gives[order]
    there = _projected(evidence, rows, order)
    always = bias_of(evidence)
    if evidence.constant is not None:
        always = always + np.asarray(evidence.constant, float)
    k = len(order)
    counts = np.unique(np.round(np.linspace(0, k, min(k, most_steps) + 1)).astype(int))
    curve = np.empty((len(counts), len(rows)))
    for step, n in enumerate(counts):
        present = slice(n, None) if way == "deletion" else slice(0, n)
        outputs = there[:, present] @ gives[present] + always
        curve[step] = scipy.special.softmax(outputs, axis=1)[:, of]
    from scipy.integrate import trapezoid  # noqa: PLC0415  a fifth of a second at every start

    area = trapezoid(curve, counts, axis=0) / k
    return np.asarray(np.clip(area, 0.0, 1.0))


def _projected(
    evidence: SurrogateEvidence, rows: Int[np.ndarray, " n"], concepts: Int[np.ndarray, " k"]
) -> Float[np.ndarray, "n k"]:
    if evidence.projections is not None:
        return np.asarray(np.asarray(evidence.projections)[np.ix_(rows, concepts)], float)
    directions = working(evidence.vectors)[concepts]
    return np.asarray(working(evidence.embeddings)[rows] @ directions.T, float)


@metric(
    "concept_deletion",
    title="Concept deletion",
    version=1,
    question="faithful",
    better="lower",
    bounds=(0.0, 1.0),
    uses=USES,
    may_use=MAY_USE,
    uses_if={"of": {"label": ("labels",)}},
    decides=False,
    nulls=(RANDOM_IMPORTANCES,),
    cite="fel2023craft",
    card=Card(
        question="Does the answer go when its most important concepts are taken away?",
        interpretation="Low means that the concepts named first carry the answer. Compare with "
        "random importances: only what lies below that is owed to their order.",
        limitations="Embeddings with concepts missing may be like nothing that the network has "
        "ever seen, and what it makes of them proves little. It looks at the order of importances "
        "only, and at one class.",
        cost="one product per step and class",
    ),
)
class ConceptDeletion(SampleMean):
    r"""Mean probability of a class while its concepts are taken away, the most important first.

    .. math:: \frac{1}{N} \sum_x \frac{1}{K} \sum_{s=1}^{K} \frac{p_{s-1} + p_s}{2}

    :math:`p_s` is the probability of the class without the first :math:`s` of its :math:`K`
    concepts.

    The embedding is rebuilt from the projections that are left, and the last layer's probability of
    the class is read after each step; the value is the mean height of that curve. Nothing is
    normalized. With more than ``most_steps`` concepts several go at a time. As proposed in
    :cite:t:`fel2023craft`, which reads the output before softmax instead of the probability. A
    class without concepts is undefined.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import concept_deletion
        >>> value = concept_deletion(
        ...     np.array([[2.0, np.nan], [1.0, np.nan], [np.nan, 1.0]]),
        ...     embeddings=np.array([[2.0, 1.0]]),
        ...     head=np.array([[2.0, 0.0], [0.0, 1.0]]),
        ...     vectors=np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]),
        ... )
        >>> round(value, 4)
        0.4976
    """

    @staticmethod
    def each(
        evidence: SurrogateEvidence, *, of: Of = "predicted", most_steps: MostSteps = 20
    ) -> PerSample:
        """The area under each sample's curve."""
        return removal(evidence, "deletion", of, most_steps)


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
        question="Does the answer come when its most important concepts are put in?",
        interpretation="High means that the concepts named first are enough for the answer. "
        "Compare with random importances: only what lies above that is owed to their order.",
        limitations="Embeddings with concepts left out may be like nothing that the network has "
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
    normalized. With more than ``most_steps`` concepts several go at a time. As proposed in
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

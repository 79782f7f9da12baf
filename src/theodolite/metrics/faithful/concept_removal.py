"""Metrics of how the output changes as the most important concepts are removed or inserted."""

from functools import partial
from typing import Annotated, ClassVar, Literal

import numpy as np
import scipy.special
from jaxtyping import Float, Int
from pydantic import Field

from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.surrogate_settings import compute_outputs, get_bias, to_working_precision
from theodolite.metrics.base import Card, PerSample, SampleMean, metric
from theodolite.metrics.faithful.frame import (
    MAY_USE,
    RANDOM_IMPORTANCES,
    find_members,
    require_array,
)
from theodolite.metrics.option_types import MostSteps

Of = Annotated[
    Literal["predicted", "label"],
    Field(description="The class whose probability is read: the predicted or the true one."),
]
removal_metric = partial(
    metric,
    question="faithful",
    bounds=(0.0, 1.0),
    uses=("importances", "head", "vectors"),
    may_use=MAY_USE,
    uses_if={"of": {"label": ("labels",)}},
    decides=False,
    nulls=(RANDOM_IMPORTANCES,),
    cite="fel2023craft",
)
removal_card = partial(Card, cost="one product per step and class")


class ConceptCurve(SampleMean):
    """Mean height of a class's probability while its concepts go, or come."""

    way: ClassVar[Literal["deletion", "insertion"]]

    @classmethod
    def each(
        cls, evidence: SurrogateEvidence, *, of: Of = "predicted", most_steps: MostSteps = 20
    ) -> PerSample:
        """Compute the area under each sample's curve."""
        from scipy.integrate import trapezoid  # noqa: PLC0415  a fifth of a second at every start

        head, vectors = (
            to_working_precision(require_array(evidence, name)) for name in ("head", "vectors")
        )
        labels = (
            require_array(evidence, "labels")
            if of == "label"
            else compute_outputs(evidence).argmax(axis=1)
        )
        importances, there = np.asarray(evidence.importances), find_members(evidence)
        gives, always = np.asarray(vectors @ head.T, float), get_bias(evidence)
        if evidence.constant is not None:
            always = always + np.asarray(evidence.constant, float)
        area = np.full(len(evidence), np.nan)
        for target in np.unique(labels) if len(head) > 1 else ():  # one output has no probability
            rows, concepts = np.flatnonzero(labels == target), np.flatnonzero(there[:, target])
            order = concepts[np.argsort(-importances[concepts, target], kind="stable")]
            if not len(order):
                continue
            k, amounts, by_concept = len(order), _projected(evidence, rows, order), gives[order]
            counts = np.unique(np.round(np.linspace(0, k, min(k, most_steps) + 1)).astype(int))
            curve = np.empty((len(counts), len(rows)))
            for step, n in enumerate(counts):
                present = slice(n, None) if cls.way == "deletion" else slice(0, n)
                outputs = amounts[:, present] @ by_concept[present] + always
                curve[step] = scipy.special.softmax(outputs, axis=1)[:, target]
            area[rows] = np.clip(trapezoid(curve, counts, axis=0) / k, 0.0, 1.0)
        return PerSample.from_values(area)


def _projected(
    evidence: SurrogateEvidence, rows: Int[np.ndarray, " n"], concepts: Int[np.ndarray, " k"]
) -> Float[np.ndarray, "n k"]:
    if evidence.projections is not None:
        return np.asarray(np.asarray(evidence.projections)[np.ix_(rows, concepts)], float)
    directions = to_working_precision(evidence.vectors)[concepts]
    return np.asarray(to_working_precision(evidence.embeddings)[rows] @ directions.T, float)


@removal_metric(
    "concept_deletion",
    title="Concept deletion",
    better="lower",
    card=removal_card(
        question="Does the answer go when its most important concepts are taken away?",
        interpretation="Low means that the concepts named first carry the answer. Compare with "
        "random importances: only what lies below that is owed to their order.",
        limitations="Embeddings with concepts missing may be like nothing that the network has "
        "ever seen, and what it makes of them proves little. It looks at the order of importances "
        "only, and at one class.",
    ),
)
class ConceptDeletion(ConceptCurve):
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
        >>> from numpy import nan
        >>> from theodolite.metrics import concept_deletion
        >>> network = {"embeddings": [[2.0, 1.0]], "head": [[2.0, 0.0], [0.0, 1.0]]}
        >>> vectors = [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
        >>> importances = [[2.0, nan], [1.0, nan], [nan, 1.0]]
        >>> round(concept_deletion(importances, vectors=vectors, **network), 4)
        0.4976
    """

    way = "deletion"


@removal_metric(
    "concept_insertion",
    title="Concept insertion",
    better="higher",
    card=removal_card(
        question="Does the answer come when its most important concepts are put in?",
        interpretation="High means that the concepts named first are enough for the answer. "
        "Compare with random importances: only what lies above that is owed to their order.",
        limitations="Embeddings with concepts left out may be like nothing that the network has "
        "ever seen, and what it makes of them proves little. It looks at the order of importances "
        "only, and at one class.",
    ),
)
class ConceptInsertion(ConceptCurve):
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
        >>> from numpy import nan
        >>> from theodolite.metrics import concept_insertion
        >>> network = {"embeddings": [[2.0, 1.0]], "head": [[2.0, 0.0], [0.0, 1.0]]}
        >>> vectors = [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
        >>> importances = [[2.0, nan], [1.0, nan], [nan, 1.0]]
        >>> round(concept_insertion(importances, vectors=vectors, **network), 4)
        0.8542
    """

    way = "insertion"

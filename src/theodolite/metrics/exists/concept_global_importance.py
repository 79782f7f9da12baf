"""Metric of whether the model uses each concept for the classes that people assign it to."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field

from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.metrics.base import Additive, Card, Weights, constant, metric, ratio, total
from theodolite.metrics.shared.nulls import SHUFFLED_ANNOTATION

Forms = Annotated[
    Sequence[Literal[1, 2, 3]],
    Field(min_length=1, description="1: weights; 2: mean values; 3: weights times mean values."),
]
Over = Annotated[
    Literal["concepts", "classes"],
    Field(description="Cosines of concepts over classes, or of classes over concepts."),
]


@metric(
    "concept_global_importance",
    paper_names=("CGIM",),
    title="Concept global importance (CGIM)",
    version=2,
    question="exists",
    better="higher",
    bounds=(-1.0, 1.0),
    uses=("values", "class_truth", "weights", "labels", "predicted"),
    sweeps=("form",),
    detail=True,
    per_class=True,
    nulls=SHUFFLED_ANNOTATION,
    threshold=0.7,
    threshold_from="null",
    cite="aysel2025concept",
    card=Card(
        question="Does the model use each concept for the classes it belongs to?",
        interpretation="1 is the annotators' pattern exactly, 0 is unrelated, below 0 is the "
        "opposite. Look at the histogram before the mean: a few concepts used upside down matter "
        "more than it. From 0.7 of the way from the best null to 1 on we would rely on it; a "
        "convention.",
        limitations="The annotation has no negative entries while weights have, so 1 is out of "
        "reach for most heads. Form 2 is high for any offset that all classes share: compare it "
        "with the permuted classes, which keep the offset. No true concept of any sample is used: "
        "a head that repeats the annotation scores 1, whatever the values are.",
        cost="one sum of the concept values per class",
        template="How {noun} are used for classes and how people annotate them agree to {value}, "
        "where 1 is the same pattern ({low}–{high}{best}). {null}{enough}.",
    ),
)
@dataclass(frozen=True)
class ConceptGlobalImportance(Additive):
    r"""Cosine between what the model makes of the concepts and what annotators say (CGIM 1-3).

    .. math:: \rho_j = \cos(M_{j\cdot}, V_{j\cdot}) \qquad \rho_k = \cos(M_{\cdot k}, V_{\cdot k})

    :math:`V` holds how much concept :math:`j` belongs to class :math:`k`. :math:`M` is the head's
    weights :math:`\theta` (form 1), the mean concept values :math:`U^*` of the samples of a class
    that are predicted rightly (form 2), or :math:`\theta \odot U^*` (form 3). A zero vector has no
    direction: NaN. A class without a right prediction has no mean: forms 2 and 3 are NaN for it,
    and it is left out of the cosines over classes. Introduced in :cite:t:`aysel2025concept`,
    eqs. 3 to 8, which define no aggregate; the headline is the plain mean of the defined cosines.

    Example:
        >>> from theodolite.metrics import concept_global_importance
        >>> model = {"weights": [[1.0, 1.0], [0.0, 1.0]], "labels": [0, 1], "predicted": [0, 1]}
        >>> values, class_truth = [[1.0, 0.0], [0.0, 2.0]], [[1.0, 0.0], [0.0, 1.0]]
        >>> concept_global_importance(values, class_truth, **model).round(4)
        array([[0.7071, 1.    ],
               [1.    , 1.    ],
               [1.    , 1.    ]])
    """

    sums: Float[np.ndarray, "*resamples classes concepts"]
    counts: Float[np.ndarray, "*resamples classes"]
    weights: Float[np.ndarray, "concepts classes"] = constant()
    class_truth: Float[np.ndarray, "concepts classes"] = constant()

    @classmethod
    def of(cls, evidence: ConceptEvidence, weights: Weights = None) -> "ConceptGlobalImportance":
        right = np.flatnonzero(evidence.labels == evidence.predicted)
        order = right[np.argsort(np.asarray(evidence.labels)[right], kind="stable")]
        label = np.asarray(evidence.labels)[order]
        edges = np.searchsorted(label, np.arange(len(evidence.classes) + 1))
        lead = () if weights is None else (len(weights),)
        sums = np.zeros((*lead, len(evidence.classes), len(evidence.concepts)))
        counts = np.zeros((*lead, len(evidence.classes)))
        for k in np.unique(label):
            rows = order[edges[k] : edges[k + 1]]
            chosen = None if weights is None else weights[:, rows]
            sums[..., k, :] = total(np.asarray(evidence.values[rows], float), chosen)
            counts[..., k] = total(np.ones(len(rows)), chosen)
        return cls(
            sums=sums,
            counts=counts,
            weights=np.asarray(evidence.weights, float),
            class_truth=np.asarray(evidence.class_truth, float),
        )

    def value(
        self, *, form: Forms = (1, 2, 3), over: Over = "concepts"
    ) -> Float[np.ndarray, "*resamples form items"]:
        means = np.swapaxes(ratio(self.sums, self.counts[..., None]), -1, -2)
        cosines = []
        for number in form:
            if number == 1:  # does not depend on the samples
                single = _cosines(self.weights, self.class_truth, over)
                cosines.append(np.broadcast_to(single, (*means.shape[:-2], len(single))))
            else:
                matrix = means if number == 2 else self.weights * means
                cosines.append(_cosines(matrix, self.class_truth, over))
        return np.stack(cosines, axis=-2)


def _cosines(
    matrix: Float[np.ndarray, "*resamples concepts classes"],
    truth: Float[np.ndarray, "concepts classes"],
    over: Over,
) -> Float[np.ndarray, "*resamples items"]:
    """Cosines of rows or of columns. A class without a mean (a NaN column) is left out of rows."""
    subscript, axis = ("j", -1) if over == "concepts" else ("k", -2)
    undefined = np.isnan(matrix).any(axis=-2)
    if undefined.any():
        matrix = np.where(undefined[..., None, :], 0.0, matrix)
    squares = np.einsum(f"...jk,...jk->...{subscript}", matrix, matrix)
    if not np.all((squares > 1e-200) & (squares < 1e200)):  # squares that overflow or vanish
        largest = np.abs(matrix).max(axis=axis, keepdims=True)
        matrix = matrix / np.where(largest > 0, largest, 1.0)
        squares = np.einsum(f"...jk,...jk->...{subscript}", matrix, matrix)
    products = np.einsum(f"...jk,jk->...{subscript}", matrix, truth)
    if over == "concepts":
        others = np.einsum("...k,jk->...j", (~undefined).astype(float), truth**2)
    else:
        others = np.where(undefined, 0.0, (truth**2).sum(axis=0))
    return np.asarray(np.clip(ratio(products, np.sqrt(squares) * np.sqrt(others)), -1.0, 1.0))

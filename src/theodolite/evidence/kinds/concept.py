"""Evidence about concepts: what a model predicted for each sample, and the true concepts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Classes, Concepts
from theodolite.evidence.base import Evidence, array
from theodolite.questions import Question


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ConceptEvidence(Evidence):
    """What a concept model said about each sample, and what is true.

    Only ``values`` is needed; each score says which of the others it uses.

    Example:
        >>> ConceptEvidence(values=np.zeros((2, 3)), truth=np.ones((2, 2)))
        Traceback (most recent call last):
        theodolite.errors.EvidenceError: truth: got shape (2, 2) for (samples, concepts); \
needed concepts = 3, as in `values`. Check the order of rows and columns, and the number of names.
    """

    kind = "concept"
    version = 1
    marker = "values"
    ways: ClassVar[Mapping[Question, str]] = {
        "exists": "predicted and annotated concepts (`values`, `truth`)",
        "leak_free": "predicted and annotated concepts, and the true class "
        "(`values`, `truth`, `labels`)",
    }

    values: Float[np.ndarray, "samples concepts"] = array("samples", "concepts")
    """The model's value of each concept: an activation, a probability, a projection."""
    truth: Bool[np.ndarray, "samples concepts"] | None = array(
        "samples", "concepts", content="flag", optional=True
    )
    """Whether each concept is there."""
    known: Bool[np.ndarray, "samples concepts"] | None = array(
        "samples", "concepts", content="flag", optional=True
    )
    """Where ``truth`` is known; everywhere if not given."""
    labels: Int[np.ndarray, " samples"] | None = array(
        "samples", content="index", points_to="classes", optional=True
    )
    """The true class."""
    predicted: Int[np.ndarray, " samples"] | None = array(
        "samples", content="index", points_to="classes", optional=True
    )
    """The class that the model chose."""
    weights: Float[np.ndarray, "concepts classes"] | None = array(
        "concepts", "classes", optional=True
    )
    """The linear head: the weight of each concept for each class."""
    class_truth: Float[np.ndarray, "concepts classes"] | None = array(
        "concepts", "classes", optional=True
    )
    """How much each concept belongs to each class, 0 to 1, as annotators said."""
    annotation_error: Float[np.ndarray, " concepts"] | None = array("concepts", optional=True)
    """Share of wrong annotations of each concept, or one number for all; .05 is allowed for if not
    given."""
    concepts: Concepts = Concepts()
    classes: Classes = Classes()

    def __post_init__(self) -> None:
        error = self.annotation_error
        if error is not None and np.ndim(error) == 0 and np.ndim(self.values) == 2:
            each = np.full(np.shape(self.values)[1], error, float)
            object.__setattr__(self, "annotation_error", each)
        super().__post_init__()

    def check(self) -> None:
        error = self.annotation_error
        if error is not None and not (error.min() >= 0 and error.max() < 0.5):
            raise EvidenceError(
                "annotation_error",
                f"{error.min():g} to {error.max():g}",
                "shares from 0 to less than 0.5",
                "From repeated annotation with disagreement d: (1 - sqrt(1 - 2 d)) / 2.",
            )
        class_truth = self.class_truth
        if class_truth is not None and (class_truth.min() < 0 or class_truth.max() > 1):
            raise EvidenceError(
                "class_truth",
                f"values from {class_truth.min():g} to {class_truth.max():g}",
                "0 to 1",
                "Divide percentages by 100.",
            )

    def warnings(self) -> list[str]:
        if self.weights is None or self.predicted is None:
            return []
        agree = float(np.mean((self.values @ self.weights).argmax(axis=1) == self.predicted))
        if agree >= 0.5:
            return []
        return [
            f"Values times weights choose the predicted class in only {100 * agree:.0f} % of the "
            "samples. Unless the head has a strong bias, weights, values and predictions may not "
            "belong together; weights have a row per concept and a column per class."
        ]

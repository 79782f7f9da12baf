"""What a concept model said about each sample, and what is true."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Classes, Concepts
from theodolite.evidence.base import Evidence, array


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

    values: Float[np.ndarray, "samples concepts"] = array("samples", "concepts")
    """The model's value of each concept: an activation, a probability, a projection."""
    truth: Bool[np.ndarray, "samples concepts"] | None = array(
        "samples", "concepts", content="flag", optional=True
    )
    """Whether the concept is there."""
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
    """Weight of each concept in the linear head for each class."""
    class_truth: Float[np.ndarray, "concepts classes"] | None = array(
        "concepts", "classes", optional=True
    )
    """How much each concept belongs to each class, 0 to 1, as annotators said."""
    concepts: Concepts = Concepts()
    classes: Classes = Classes()

    def check(self) -> None:
        class_truth = self.class_truth
        if class_truth is not None and (class_truth.min() < 0 or class_truth.max() > 1):
            raise EvidenceError(
                "class_truth",
                f"values from {class_truth.min():g} to {class_truth.max():g}",
                "0 to 1",
                "Divide percentages by 100.",
            )

"""Evidence on whether concepts and their importances reproduce a model's outputs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Int

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Classes, Concepts
from theodolite.evidence.base import Evidence, array
from theodolite.evidence.foreign_arrays import LabeledArray, to_labeled_array
from theodolite.questions import Question


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SurrogateEvidence(Evidence):
    """Outputs of a model, and the concepts and importances that explain them.

    A concept is a direction among the embeddings, and has an importance for each class that it is
    used to explain. Pass the model as ``embeddings``, ``head`` and ``bias`` (its last, linear
    layer) or by its ``outputs``; pass the concepts as ``vectors`` or by their ``projections``.
    ``per_class`` takes arrays in which each class has its own concepts.
    """

    kind = "surrogate"
    version = 1
    marker = "importances"
    ways: ClassVar[Mapping[Question, str]] = {
        "faithful": "the outputs that are explained, how much of each concept is in each sample, "
        "and how much it counts for each class (`outputs`, `projections`, `importances`)"
    }

    importances: Float[np.ndarray, "concepts classes"] = array(
        "concepts", "classes", may_be_nan=True
    )
    """Importance of each concept for each class; NaN if it does not explain that class."""
    embeddings: Float[np.ndarray, "samples dimensions"] | None = array(
        "samples", "dimensions", optional=True
    )
    """Inputs of the last layer of the model."""
    head: Float[np.ndarray, "classes dimensions"] | None = array(
        "classes", "dimensions", optional=True
    )
    """Weights of the last layer."""
    bias: Float[np.ndarray, " classes"] | None = array("classes", optional=True)
    """Bias of the last layer, added to the sum of concepts and importances. None is 0."""
    outputs: Float[np.ndarray, "samples classes"] | None = array(
        "samples", "classes", optional=True
    )
    """Outputs of the model, before any softmax; from ``embeddings`` and ``head`` if absent."""
    vectors: Float[np.ndarray, "concepts dimensions"] | None = array(
        "concepts", "dimensions", optional=True
    )
    """The direction of each concept."""
    projections: Float[np.ndarray, "samples concepts"] | None = array(
        "samples", "concepts", optional=True
    )
    """How much of each concept is in each sample; the dot product with ``vectors`` if absent."""
    constant: Float[np.ndarray, " classes"] | None = array("classes", optional=True)
    """Constant that a method adds to each output when it reconstructs embeddings."""
    rebuilt: Float[np.ndarray, "samples classes"] | None = array(
        "samples", "classes", optional=True
    )
    """Outputs of the model for embeddings reconstructed from the concepts."""
    learned: Float[np.ndarray, "samples classes"] | None = array(
        "samples", "classes", optional=True
    )
    """Outputs of a trained surrogate with its own parameters."""
    linearized: Float[np.ndarray, "samples classes"] | None = array(
        "samples", "classes", optional=True
    )
    """As ``rebuilt``, by the slope of the network at each sample instead of the network itself."""
    labels: Int[np.ndarray, " samples"] | None = array(
        "samples", content="index", points_to="classes", optional=True
    )
    """The true class."""
    concepts: Concepts = Concepts()
    classes: Classes = Classes()

    @classmethod
    def from_plain(cls, arrays: Mapping[str, Any]) -> "SurrogateEvidence":
        own = any(np.ndim(arrays.get(name, 0)) == 3 for name in ("vectors", "projections"))
        return cls.per_class(**arrays) if own else cls(**arrays)

    @classmethod
    def per_class(
        cls,
        *,
        importances: Float[np.ndarray, "classes k"],
        vectors: Float[np.ndarray, "classes k dimensions"] | None = None,
        projections: Float[np.ndarray, "samples classes k"] | None = None,
        **arrays: Any,
    ) -> "SurrogateEvidence":
        """Build evidence in which each class has its own concepts, equally many per class.

        A class with fewer concepts than others: pad its importances with NaN, the rest with 0.

        >>> SurrogateEvidence.per_class(
        ...     importances=np.ones((2, 1)),
        ...     projections=np.ones((3, 2, 1)),
        ...     outputs=np.ones((3, 2)),
        ... )
        <SurrogateEvidence: 3 samples, 2 concepts, 2 classes; importances, outputs, projections>
        """
        try:
            weighted = to_labeled_array(importances, "importances")
            weights = np.asarray(weighted.values, float)
        except ValueError as error:
            raise EvidenceError(
                "importances", "classes with different numbers of concepts", "(classes, k)",
                "Pad importances with NaN, and vectors and projections with 0.",
            ) from error  # fmt: skip
        if weights.ndim != 2:
            raise EvidenceError("importances", f"shape {weights.shape}", "(classes, k)")
        n_classes, k = weights.shape
        table = np.full((n_classes * k, n_classes), np.nan)
        table[np.arange(n_classes * k), np.arange(n_classes).repeat(k)] = weights.ravel()
        flat: dict[str, Any] = {
            "importances": LabeledArray(table, conversions=weighted.conversions)
        }
        for name, values, at in (("vectors", vectors, 0), ("projections", projections, 1)):
            if values is None:
                continue
            passed = to_labeled_array(values, name)
            values = passed.values
            if values.ndim != 3 or values.shape[at : at + 2] != (n_classes, k):
                axes = "(classes, k, dimensions)" if at == 0 else "(samples, classes, k)"
                needed = f"{axes} with {n_classes} and {k}, as in `importances`"
                raise EvidenceError(name, f"shape {values.shape}", needed)
            shape = list(values.shape)
            shape[at : at + 2] = [n_classes * k]
            flat[name] = LabeledArray(values.reshape(shape), conversions=passed.conversions)
        return cls(**flat, **arrays)

    def check(self) -> None:
        if np.isnan(self.importances).all():
            raise EvidenceError(
                "importances", "only NaN", "a number for some concept and class",
                "NaN says that a concept does not explain a class; 0 that it adds nothing.",
            )  # fmt: skip
        if self.outputs is None and (self.embeddings is None or self.head is None):
            raise EvidenceError("outputs", "none", "`outputs`, or `embeddings` and `head`")
        if self.projections is None and (self.embeddings is None or self.vectors is None):
            raise EvidenceError(
                "projections", "none", "`projections`, or `embeddings` and `vectors`"
            )

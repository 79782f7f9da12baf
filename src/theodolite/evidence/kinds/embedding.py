"""Evidence about concept embeddings: one vector per sample and concept."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from theodolite.evidence.axes import Concepts
from theodolite.evidence.base import Evidence, array, inner
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.questions import Question


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class EmbeddingEvidence(Evidence):
    """A vector for each concept of each sample, as concept embedding models have them."""

    kind = "embedding"
    version = 1
    ways: ClassVar[Mapping[Question, str]] = {
        "leak_free": "a vector for each concept, with the true concepts and classes"
    }

    explained: ConceptEvidence = inner(ConceptEvidence)
    """Concept evidence of the same samples and concepts, with truth and labels."""
    vectors: Float[np.ndarray, "samples concepts dimensions"] = array(
        "samples", "concepts", "dimensions"
    )
    """What the head sees: the positive and negative vector, mixed by the concept's probability."""
    positive: Float[np.ndarray, "samples concepts dimensions"] | None = array(
        "samples", "concepts", "dimensions", optional=True
    )
    """The vector that stands for the concept being there."""
    negative: Float[np.ndarray, "samples concepts dimensions"] | None = array(
        "samples", "concepts", "dimensions", optional=True
    )
    """The vector that stands for the concept not being there."""
    concepts: Concepts = Concepts()

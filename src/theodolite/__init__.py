"""Can you rely on this explanation of a neural network?

Importing this imports nothing heavy: names load what they need when they are first used.
"""

import importlib
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from theodolite._moved import follow

__version__ = version("theodolite")
follow()
__all__ = [
    "ConceptEvidence",
    "EmbeddingEvidence",
    "EvidenceError",
    "InterventionEvidence",
    "LocationEvidence",
    "RatingEvidence",
    "SaliencyEvidence",
    "Samples",
    "Score",
    "SurrogateEvidence",
    "UnitEvidence",
    "audit",
    "dissect",
]

if TYPE_CHECKING:
    from theodolite.auditing.front import audit
    from theodolite.dissection.dissect import dissect
    from theodolite.errors import EvidenceError
    from theodolite.evidence.axes import Samples
    from theodolite.evidence.kinds.concept import ConceptEvidence
    from theodolite.evidence.kinds.embedding import EmbeddingEvidence
    from theodolite.evidence.kinds.intervention import InterventionEvidence
    from theodolite.evidence.kinds.location import LocationEvidence
    from theodolite.evidence.kinds.rating import RatingEvidence
    from theodolite.evidence.kinds.saliency import SaliencyEvidence
    from theodolite.evidence.kinds.surrogate import SurrogateEvidence
    from theodolite.evidence.kinds.unit import UnitEvidence
    from theodolite.results import Score

_HOMES = {
    "ConceptEvidence": "theodolite.evidence.kinds.concept",
    "EmbeddingEvidence": "theodolite.evidence.kinds.embedding",
    "EvidenceError": "theodolite.errors",
    "InterventionEvidence": "theodolite.evidence.kinds.intervention",
    "LocationEvidence": "theodolite.evidence.kinds.location",
    "RatingEvidence": "theodolite.evidence.kinds.rating",
    "Samples": "theodolite.evidence.axes",
    "SaliencyEvidence": "theodolite.evidence.kinds.saliency",
    "Score": "theodolite.results",
    "SurrogateEvidence": "theodolite.evidence.kinds.surrogate",
    "UnitEvidence": "theodolite.evidence.kinds.unit",
    "audit": "theodolite.auditing.front",
    "dissect": "theodolite.dissection.dissect",
}


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        message = f"module 'theodolite' has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(importlib.import_module(_HOMES[name]), name)

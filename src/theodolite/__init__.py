"""Can you rely on this explanation of a neural network?

Importing this imports nothing heavy: names load what they need when they are first used.
"""

import importlib
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

__version__ = version("theodolite")
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
    from theodolite.contracts.axes import Samples
    from theodolite.contracts.evidence import (
        ConceptEvidence,
        EmbeddingEvidence,
        InterventionEvidence,
        LocationEvidence,
        UnitEvidence,
    )
    from theodolite.contracts.rating import RatingEvidence
    from theodolite.contracts.saliency import SaliencyEvidence
    from theodolite.contracts.score import Score
    from theodolite.contracts.surrogate import SurrogateEvidence
    from theodolite.errors import EvidenceError
    from theodolite.explainers.dissection.dissect import dissect

_HOMES = {
    "ConceptEvidence": "theodolite.contracts.evidence",
    "EmbeddingEvidence": "theodolite.contracts.evidence",
    "EvidenceError": "theodolite.errors",
    "InterventionEvidence": "theodolite.contracts.evidence",
    "LocationEvidence": "theodolite.contracts.evidence",
    "RatingEvidence": "theodolite.contracts.rating",
    "Samples": "theodolite.contracts.axes",
    "SaliencyEvidence": "theodolite.contracts.saliency",
    "Score": "theodolite.contracts.score",
    "SurrogateEvidence": "theodolite.contracts.surrogate",
    "UnitEvidence": "theodolite.contracts.evidence",
    "audit": "theodolite.auditing.front",
    "dissect": "theodolite.explainers.dissection.dissect",
}


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        message = f"module 'theodolite' has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(importlib.import_module(_HOMES[name]), name)

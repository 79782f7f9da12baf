"""Tests for packages that bring metrics or kinds of evidence: the laws that ours are held to.

It needs hypothesis: ``pip install 'theodolite[testing]'``.
"""

from typing import TYPE_CHECKING

from theodolite.io.optional import require
from theodolite.lazy import lazy_getattr, lazy_names

__all__ = [
    "LAWS",
    "Law",
    "check_kind",
    "check_law",
    "check_metric",
    "concept_evidence",
    "declared_evidence",
    "embedding_evidence",
    "evidence_of",
    "intervention_evidence",
    "location_evidence",
    "options_of",
    "planted_concepts",
    "planted_embeddings",
    "planted_interventions",
    "planted_leakage",
    "planted_locations",
    "planted_ratings",
    "planted_saliency",
    "planted_surrogates",
    "planted_units",
    "rating_evidence",
    "recording",
    "saliency_evidence",
    "surrogate_evidence",
    "unit_evidence",
]

if TYPE_CHECKING:
    from theodolite.datasets.planted.concepts import (
        planted_concepts,
        planted_locations,
        planted_units,
    )
    from theodolite.datasets.planted.leakage import (
        planted_embeddings,
        planted_interventions,
        planted_leakage,
    )
    from theodolite.datasets.planted.ratings import planted_ratings
    from theodolite.datasets.planted.saliency import planted_saliency
    from theodolite.datasets.planted.surrogates import planted_surrogates
    from theodolite.testing.checks import check_kind, check_law, check_metric
    from theodolite.testing.laws import LAWS, Law
    from theodolite.testing.recorded import recording
    from theodolite.testing.strategies import (
        concept_evidence,
        declared_evidence,
        embedding_evidence,
        evidence_of,
        intervention_evidence,
        location_evidence,
        options_of,
        rating_evidence,
        saliency_evidence,
        surrogate_evidence,
        unit_evidence,
    )
else:
    HOMES = lazy_names(
        "theodolite",
        {
            "datasets.planted.concepts": "planted_concepts planted_locations planted_units",
            "datasets.planted.leakage": (
                "planted_embeddings planted_interventions planted_leakage"
            ),
            "datasets.planted.ratings": "planted_ratings",
            "datasets.planted.saliency": "planted_saliency",
            "datasets.planted.surrogates": "planted_surrogates",
            "testing.checks": "check_kind check_law check_metric",
            "testing.laws": "LAWS Law",
            "testing.recorded": "recording",
            "testing.strategies": (
                "concept_evidence declared_evidence embedding_evidence evidence_of "
                "intervention_evidence location_evidence options_of rating_evidence "
                "saliency_evidence surrogate_evidence unit_evidence"
            ),
        },
    )
    _get = lazy_getattr(__name__, HOMES)

    def __getattr__(name: str) -> object:
        if HOMES.get(name) in ("theodolite.testing.checks", "theodolite.testing.strategies"):
            require("hypothesis", f"theodolite.testing.{name}", "testing")
        return _get(name)


def __dir__() -> list[str]:
    return __all__

"""Test metrics and kinds of evidence of other packages with the laws that ours obey.

It needs hypothesis: ``pip install 'theodolite[testing]'``.
"""

from typing import TYPE_CHECKING

from theodolite._storage.lazy import lazy_getattr, lazy_names
from theodolite._storage.optional import require

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
    "plant_example",
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
    from theodolite._planted.concepts import planted_concepts, planted_locations
    from theodolite._planted.examples import plant_example
    from theodolite._planted.leakage import (
        planted_embeddings,
        planted_interventions,
        planted_leakage,
    )
    from theodolite._planted.ratings import planted_ratings
    from theodolite._planted.saliency import planted_saliency
    from theodolite._planted.surrogates import planted_surrogates
    from theodolite._planted.units import planted_units
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
            "_planted.examples": "plant_example",
            "_planted.concepts": "planted_concepts planted_locations",
            "_planted.leakage": ("planted_embeddings planted_interventions planted_leakage"),
            "_planted.ratings": "planted_ratings",
            "_planted.saliency": "planted_saliency",
            "_planted.surrogates": "planted_surrogates",
            "_planted.units": "planted_units",
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

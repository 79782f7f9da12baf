"""Create evidence with a known result: which metrics must score better or worse than baseline."""

from collections.abc import Callable
from typing import Any

import numpy as np

from theodolite._planted.attributions import planted_attributions
from theodolite._planted.concepts import planted_concepts, planted_locations
from theodolite._planted.edits import planted_edits
from theodolite._planted.judgments import planted_judgments
from theodolite._planted.leakage import (
    planted_embeddings,
    planted_interventions,
    planted_leakage,
)
from theodolite._planted.ratings import planted_ratings
from theodolite._planted.saliency import planted_saliency
from theodolite._planted.surrogates import planted_surrogates
from theodolite._planted.tokens import planted_tokens
from theodolite._planted.units import planted_units
from theodolite.evidence.base import Evidence
from theodolite.evidence.kinds.attribution import AttributionEvidence
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.edit import EditEvidence
from theodolite.evidence.kinds.embedding import EmbeddingEvidence
from theodolite.evidence.kinds.intervention import InterventionEvidence
from theodolite.evidence.kinds.judgment import JudgmentEvidence
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.kinds.unit import UnitEvidence
from theodolite.metrics.base import Metric, NullModel
from theodolite.testing.laws import hold, null_state, scored, state, value

Plant = Callable[[], Any]
PERFECT: dict[type[Evidence], Plant] = {
    ConceptEvidence: planted_concepts,
    LocationEvidence: planted_locations,
    UnitEvidence: planted_units,
    EmbeddingEvidence: planted_embeddings,
    InterventionEvidence: planted_interventions,
    SurrogateEvidence: planted_surrogates,
    RatingEvidence: planted_ratings,
    SaliencyEvidence: planted_saliency,
    EditEvidence: planted_edits,
    JudgmentEvidence: planted_judgments,
    TokenEvidence: planted_tokens,
    AttributionEvidence: planted_attributions,
}
"""Explanations that are right."""
DEFECT: dict[type[Evidence], Plant] = {
    ConceptEvidence: lambda: planted_leakage(leakage=0.9),
    # more, and both kinds of vector know the label: alignment sees no difference any more
    EmbeddingEvidence: lambda: planted_embeddings(leakage=0.2),
    InterventionEvidence: lambda: planted_interventions(leakage=1.0),
    SaliencyEvidence: lambda: planted_saliency(blindness=0.6),
    AttributionEvidence: lambda: planted_attributions(blindness=0.6),
}
"""Explanations with a defect, such as leakage."""
DRAWS = 5
"""Draws of a random baseline whose mean is compared."""


def plant_end(entry: Metric) -> tuple[str, Any]:
    """Return the name of the planted end for a metric, and its evidence; None if there is none.

    A kind of another package plants a good explanation with its class method ``planted(seed)``.
    """
    name, ends = ("defect", DEFECT) if entry.is_defect_metric else ("perfect", PERFECT)
    if entry.needs in ends:
        return name, ends[entry.needs]()
    own = getattr(entry.needs, "planted", None)
    return name, None if own is None or entry.is_defect_metric else own(0)


def check_planted_end(entry: Metric, evidence: Any) -> None:
    """Raise unless perfect evidence beats every baseline, and a defect exceeds its reference."""
    own = float(np.nanmean(scored(entry, evidence, {})))
    for null in entry.nulls:
        gain = excess(entry, evidence, null)
        sign = 1.0 if entry.better == "higher" else -1.0
        numbers = f"{own:.4g} is"
        against = f"{null.name!r} ({own - sign * gain:.4g})"
        if null.is_reference:
            hold(gain < 0, f"{numbers} no worse than the reference {against}")
        else:
            although = f"although {entry.better} is better"
            hold(gain > 0, f"{numbers} not better than the baseline {against}, {although},")


def excess(entry: Metric, evidence: Any, baseline: NullModel) -> float:
    """Return how much better the score is than one baseline, mean over all its values."""
    direction = 1.0 if entry.better == "higher" else -1.0
    own = scored(entry, evidence, {})
    gains = []
    for seed in range(1, DRAWS + 1 if baseline.random else 2):
        if baseline.on == "state":
            null = value(entry, baseline.made(state(entry, evidence, {}), seed), {})
        else:
            baseline_evidence = evidence if baseline.expected else baseline.made(evidence, seed)
            null = value(
                entry, null_state(entry, baseline, baseline_evidence, baseline.options), {}
            )
        gains.append(np.nanmean(direction * (own - null)))
    return float(np.mean(gains))

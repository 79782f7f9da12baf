"""Every law, for every metric in the catalogue, over all its options."""

import os

import numpy as np
import pytest

from theodolite._planted.attributions import planted_attributions
from theodolite._planted.concepts import (
    planted_concepts,
    planted_locations,
    planted_units,
)
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
from theodolite.metrics.base import Metric
from theodolite.metrics.catalogue import catalogue
from theodolite.testing.checks import check_card, check_kind, check_law
from theodolite.testing.laws import LAWS, Law, null_state, scored, state, value

every_metric = pytest.mark.parametrize("entry", catalogue().values(), ids=lambda e: e.name)
PERFECT = {
    ConceptEvidence: planted_concepts(),
    LocationEvidence: planted_locations(),
    UnitEvidence: planted_units(),
    EmbeddingEvidence: planted_embeddings(),
    InterventionEvidence: planted_interventions(),
    SurrogateEvidence: planted_surrogates(),
    RatingEvidence: planted_ratings(),
    SaliencyEvidence: planted_saliency(),
    EditEvidence: planted_edits(),
    JudgmentEvidence: planted_judgments(),
    TokenEvidence: planted_tokens(),
    AttributionEvidence: planted_attributions(),
}
FAULTY = {
    ConceptEvidence: planted_leakage(leakage=0.9),
    # more, and both kinds of vector know the label: alignment sees no difference any more
    EmbeddingEvidence: planted_embeddings(leakage=0.2),
    InterventionEvidence: planted_interventions(leakage=1.0),
    SaliencyEvidence: planted_saliency(blindness=0.6),
    AttributionEvidence: planted_attributions(blindness=0.6),
}
HONEST = PERFECT | {ConceptEvidence: planted_leakage()}
with_clean_null = pytest.mark.parametrize(
    "entry",
    [e for e in catalogue().values() if any(b.is_reference for b in e.nulls)],
    ids=lambda e: e.name,
)


@every_metric
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_law(law: Law, entry: Metric) -> None:
    check_law(law, entry, examples=50 if os.environ.get("THEODOLITE_FULL") else 6)


def excess(entry: Metric, evidence: object, baseline: object) -> float:
    """How much better the score is than one null, mean over all its values."""
    direction = 1.0 if entry.better == "higher" else -1.0
    if baseline.on == "state":
        null = value(entry, baseline.made(state(entry, evidence, {}), 1), {})
    else:
        made = evidence if baseline.expected else baseline.made(evidence, 1)
        null = value(entry, null_state(entry, baseline, made, baseline.options), {})
    return float(np.nanmean(direction * (scored(entry, evidence, {}) - null)))


@every_metric
def test_planted_truth_beats_every_null(entry: Metric) -> None:
    for baseline in entry.nulls:
        if not baseline.is_reference:
            assert excess(entry, PERFECT[entry.needs], baseline) > 0.05, baseline.name


@with_clean_null
def test_planted_fault_exceeds_the_clean_null_and_an_honest_model_does_not(entry: Metric) -> None:
    for baseline in entry.nulls:
        if entry.name not in ("niche_impurity", "oracle_impurity"):  # these do not rise: see docs
            assert excess(entry, FAULTY[entry.needs], baseline) < -0.03, baseline.name
        assert abs(excess(entry, HONEST[entry.needs], baseline)) < 0.03, baseline.name


@every_metric
def test_card_is_complete(entry: Metric) -> None:
    check_card(entry)


@every_metric
def test_a_line_is_a_share_of_what_can_be_reached(entry: Metric) -> None:
    assert entry.threshold is None or 0 < entry.threshold <= 1
    worst = entry.bounds[0] if entry.better == "higher" else entry.bounds[1]
    assert entry.threshold is None or np.isfinite(worst) or entry.threshold_from == "null"


@pytest.mark.parametrize("kind", PERFECT, ids=lambda kind: kind.kind)
def test_a_kind_survives_cutting_saving_and_an_audit(kind: type[Evidence]) -> None:
    check_kind(kind, examples=3)

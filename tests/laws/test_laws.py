"""Every law, for every metric in the catalogue, over all its options."""

import os

import numpy as np
import pytest

from theodolite._planted.leakage import planted_leakage
from theodolite.evidence.base import Evidence
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.metrics.base import Metric
from theodolite.metrics.catalogue import catalogue
from theodolite.testing.checks import check_card, check_kind, check_law
from theodolite.testing.laws import LAWS, Law
from theodolite.testing.planted_ends import DEFECT, PERFECT, excess

every_metric = pytest.mark.parametrize("entry", catalogue().values(), ids=lambda e: e.name)
HONEST = PERFECT | {ConceptEvidence: planted_leakage}
with_clean_null = pytest.mark.parametrize(
    "entry",
    [e for e in catalogue().values() if any(b.is_reference for b in e.nulls)],
    ids=lambda e: e.name,
)


@every_metric
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_law(law: Law, entry: Metric) -> None:
    check_law(law, entry, examples=50 if os.environ.get("THEODOLITE_FULL") else 4)


@every_metric
def test_planted_truth_beats_every_null(entry: Metric) -> None:
    for baseline in entry.nulls:
        if not baseline.is_reference:
            assert excess(entry, PERFECT[entry.needs](), baseline) > 0.05, baseline.name


@with_clean_null
def test_planted_fault_exceeds_the_clean_null_and_an_honest_model_does_not(entry: Metric) -> None:
    for baseline in entry.nulls:
        if entry.name not in ("niche_impurity", "oracle_impurity"):  # these do not rise: see docs
            assert excess(entry, DEFECT[entry.needs](), baseline) < -0.03, baseline.name
        assert abs(excess(entry, HONEST[entry.needs](), baseline)) < 0.03, baseline.name


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

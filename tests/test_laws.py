"""Every law, for every metric in the catalogue, over all its options."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laws import LAWS, Law, scored, state, value
from strategies import FOR, options_of
from theodolite.contracts.evidence import ConceptEvidence, LocationEvidence, UnitEvidence
from theodolite.datasets.synthetic import planted_concepts, planted_locations, planted_units
from theodolite.metrics._base import Entry
from theodolite.metrics._catalogue import catalogue

every_metric = pytest.mark.parametrize("entry", catalogue().values(), ids=lambda e: e.name)
PERFECT = {
    ConceptEvidence: planted_concepts(),
    LocationEvidence: planted_locations(),
    UnitEvidence: planted_units(),
}


@every_metric
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@given(data=st.data())
@settings(max_examples=25)
def test_law(law: Law, entry: Entry, data: st.DataObject) -> None:
    evidence = data.draw(FOR[entry.needs])
    law(entry, evidence, data.draw(options_of(entry)), data.draw(st.integers(0, 2**32 - 1)))


@every_metric
def test_planted_truth_beats_every_null(entry: Entry) -> None:
    perfect = PERFECT[entry.needs]
    direction = 1.0 if entry.better == "higher" else -1.0
    found = scored(entry, perfect, {})
    for baseline in entry.baselines:
        if baseline.on == "state":
            null = value(entry, baseline.make(state(entry, perfect, {}), 1), {})
        else:
            null = scored(entry, baseline.make(perfect, 1), baseline.options)
        assert np.nanmean(direction * (found - null)) > 0.05, baseline.name


@every_metric
def test_card_is_complete(entry: Entry) -> None:
    for text in (entry.card.asks, entry.card.read, entry.card.misleads, entry.card.cost):
        assert len(text) > 10
    assert entry.card.asks.endswith("?")
    assert entry.cite and entry.version >= 1 and entry.title

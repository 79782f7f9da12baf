"""Precision in bands of a latent's own values: worked numbers, loops, and when it falls."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from theodolite._planted.examples import plant_example
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Latents, Predicates, Samples
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.language.activation_bands import precision_by_band, select_band
from theodolite.metrics.catalogue import find_metric
from theodolite.testing.strategies import token_evidence

LATENT = [[[], [0], []], [[], [0], [0], []], [[], [0], []], [[], [], []]]
VALUE = [[[], [2.0], []], [[], [1.5], [0.5], []], [[], [0.4], []], [[], [], []]]
HOLDS = [[[], [0], []], [[], [0], [], []], [[], [], []], [[], [], []]]


def worked() -> TokenEvidence:
    return TokenEvidence(
        tokens=[[0, 1, 2], [3, 1, 4, 5], [0, 6, 2], [7, 8, 9]], latent=LATENT, value=VALUE,
        holds=HOLDS, predicates=["cat"], explained=[0], predicate_of=[0], concept_of=[0],
        truth=[[1], [1], [0], [0]], concepts=["cats"], latents=1,
    )  # fmt: skip


def test_worked_numbers() -> None:
    result = precision_by_band(worked(), bands=2, resamples=20)
    assert result.values == pytest.approx(np.array([[0.0], [1.0]]))
    assert result.fall == pytest.approx(1.0)
    # largest values 2, 1.5 with the concept and 0.4 without, in thirds
    labels = precision_by_band(worked(), "label_precision", bands=3, resamples=20)
    assert labels.values == pytest.approx(np.array([[0.0], [1.0], [1.0]]))
    single = precision_by_band(worked(), bands=1, resamples=20)
    assert single.values == pytest.approx(np.array([[0.795455]]), abs=1e-6)
    top = select_band(worked(), 1, bands=2, of="tokens")
    assert top.value.flat.tolist() == [2.0, 1.5]
    largest = select_band(worked(), 0, bands=1, of="sequences")
    assert largest.value.flat.tolist() == [2.0, 1.5, 0.4]


def by_hand(evidence: TokenEvidence, item: int, band: int, bands: int, score: str) -> float:
    latent, entries = int(evidence.explained[item]), []
    for row in range(len(evidence)):
        own = []
        for t in range(len(evidence.latent[row])):
            active = dict(
                zip(evidence.latent[row][t].tolist(), evidence.value[row][t].tolist(), strict=True)
            )
            if latent in active:
                holds = int(evidence.predicate_of[item]) in evidence.holds[row][t].tolist()
                own.append((active[latent], holds, row))
        entries += own if score == "activation_precision" else sorted(own)[-1:]
    values = [v for v, _, _ in entries]
    chosen = [e for e in entries if sum(v < e[0] for v in values) * bands // len(values) == band]
    if score == "activation_precision":
        whole = sum(v for v, _, _ in chosen)
        return sum(v for v, ok, _ in chosen if ok) / whole if chosen else math.nan
    known = np.ones(evidence.truth.shape) if evidence.known is None else evidence.known
    there = [bool(evidence.truth[r, item]) for _, _, r in chosen if known[r, item]]
    return float(np.mean(there)) if there else math.nan


@settings(max_examples=12)
@given(evidence=token_evidence())
def test_by_hand(evidence: TokenEvidence) -> None:
    for score in ("activation_precision", "label_precision"):
        metric: Any = score
        result = precision_by_band(evidence, metric, bands=3, resamples=5)
        expected = [[by_hand(evidence, e, b, 3, score) for e in range(3)] for b in range(3)]
        np.testing.assert_allclose(result.values, expected, rtol=1e-6)


def named(strongest_only: bool) -> TokenEvidence:
    """A latent at 400 tokens, of which the explanation holds at the strongest, or at most."""
    random = np.random.default_rng(0)
    value = random.random(400) + 0.01
    holds = value > 0.7 if strongest_only else random.random(400) < 0.8
    return TokenEvidence(
        tokens=[[0]] * 400, latent=[[[0]]] * 400, value=[[[v]] for v in value],
        holds=[[[0]] if h else [[]] for h in holds], predicates=Predicates(("word",)),
        explained=[0], predicate_of=[0], latents=Latents(count=1),
        samples=Samples(np.arange(400), clusters=np.arange(400) // 4),
    )  # fmt: skip


def test_a_fall_is_a_finding() -> None:
    falls = precision_by_band(named(strongest_only=True), resamples=200)
    assert falls.warnings()[0].startswith("named after its strongest tenth: activation_precision")
    even = precision_by_band(named(strongest_only=False), resamples=200)
    assert even.warnings() == []
    interval = even.fall_interval
    assert interval is not None
    assert interval.low < 0 < interval.high
    assert replace(even, fall=0.1).warnings() == [], "what the interval does not exclude"
    assert np.isnan(find_metric("activation_precision").state.of(
        find_metric("activation_precision").nulls[0].made(
            select_band(plant_example(TokenEvidence, 0), 0, of="tokens"), 0
        )
    ).value()).all()  # fmt: skip


@pytest.mark.parametrize("options", [{"bands": 0}, {"bands": 101}])
def test_options_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(EvidenceError):
        precision_by_band(worked(), **options)
    with pytest.raises(EvidenceError, match="holds"):
        precision_by_band(TokenEvidence(
            tokens=[[0]], latent=[[[0]]], value=[[[1.0]]], explained=[0], latents=1
        ))  # fmt: skip

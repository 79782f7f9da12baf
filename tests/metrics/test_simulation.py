"""Simulated against real activations: worked numbers, scipy, planted ends, nulls and simulators."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import stats

from theodolite._planted.examples import plant_example
from theodolite._planted.tokens import planted_tokens
from theodolite._runs.auditing.single_score import score
from theodolite._stats.sampling import select_half
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import Ragged
from theodolite.language.judges import simulate
from theodolite.metrics import simulation_correlation
from theodolite.metrics.catalogue import find_metric
from theodolite.testing.strategies import token_evidence

LATENT = [[[], [0], []], [[], [0], [0], []], [[], [0], []], [[], [], []]]
VALUE = [[[], [2.0], []], [[], [1.5], [0.5], []], [[], [0.4], []], [[], [], []]]
GUESS = [[[0], [10], [0]], [[0], [8], [1], [0]], [[0], [2], [0]], [[0], [0], [1]]]
CHOICES = {"random": {0}, "top+random": {0, 1}, "all": {0, 1, 2}}


def test_worked_numbers() -> None:
    arrays: Any = (LATENT, VALUE, [0], GUESS)
    assert simulation_correlation(*arrays) == pytest.approx([0.986731], abs=1e-6)
    squared = simulation_correlation(*arrays, agreement="squared")
    assert squared == pytest.approx([0.973638], abs=1e-6)
    ranks = simulation_correlation(*arrays, agreement="spearman")
    assert ranks == pytest.approx([0.904513], abs=1e-6)


def value(evidence: TokenEvidence, **options: Any) -> np.ndarray:
    return np.asarray(find_metric("simulation_correlation").state.of(evidence, **options).value())


def by_scipy(evidence: TokenEvidence, item: int, which: set[int], of: Any) -> float:
    x, y = [], []
    latent = int(evidence.explained[item])
    for row in range(len(evidence)):
        if int(evidence.picked[row, item]) not in which:
            continue
        codes, values = evidence.latent[row], evidence.value[row]
        for t, guess in enumerate(evidence.simulated[row][:, item].tolist()):
            active = dict(zip(codes[t].tolist(), values[t].tolist(), strict=True))
            if not math.isnan(guess):
                x.append(guess)
                y.append(active.get(latent, 0.0))
    spread = len(x) >= 3 and len(set(x)) > 1 and len(set(y)) > 1
    return float(of(x, y).statistic) if spread else math.nan


@settings(max_examples=12)
@given(evidence=token_evidence())
def test_as_scipy_has_it(evidence: TokenEvidence) -> None:
    flat = evidence.simulated.flat.round(1)
    gaps = np.random.default_rng(len(flat)).random(flat.shape) < 0.2
    rows = Ragged(np.where(gaps, np.nan, flat), evidence.simulated.starts)
    evidence = replace(evidence, simulated=rows)
    for agreement, of in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr)):
        for sequences, which in CHOICES.items():
            expected = [by_scipy(evidence, e, which, of) for e in range(3)]
            result = value(evidence, sequences=sequences, agreement=agreement)
            np.testing.assert_allclose(result, expected, rtol=1e-7, atol=1e-9)


def test_repeats_count_as_weights() -> None:
    evidence = plant_example(TokenEvidence, 3)
    rows = np.array([0, 0, 4, 7, 7, 7, *range(9, 30)])
    weights = np.bincount(rows, minlength=30)[None].astype(float)
    state = find_metric("simulation_correlation").state
    for agreement in ("pearson", "spearman"):
        under = state.of(evidence, weights, agreement=agreement).value()
        np.testing.assert_allclose(under[0], value(evidence[rows], agreement=agreement))


def test_planted_ends_and_constants() -> None:
    evidence = planted_tokens(80)
    np.testing.assert_allclose(value(evidence), 1.0)
    worst = Ragged(-evidence.simulated.flat, evidence.simulated.starts)
    np.testing.assert_allclose(value(replace(evidence, simulated=worst)), -1.0)
    large = Ragged(1e6 + evidence.simulated.flat, evidence.simulated.starts)
    np.testing.assert_allclose(value(replace(evidence, simulated=large)), 1.0)
    same = Ragged(np.full(evidence.simulated.flat.shape, 0.3), evidence.simulated.starts)
    for agreement in ("pearson", "spearman", "squared"):
        assert np.isnan(value(replace(evidence, simulated=same), agreement=agreement)).all()


def test_nulls() -> None:
    evidence = planted_tokens(150)
    by_name = {n.name: n for n in score("simulation_correlation", evidence, resamples=20).nulls}
    assert abs(by_name["another_latent"].value) < 0.4
    assert abs(by_name["token_only"].value) < 0.2
    metric = find_metric("simulation_correlation")
    other = metric.nulls[0]
    sums = {"active": np.array([10.0, 12.0, 30.0])}
    dealt = other.made(evidence, 0, sums).simulated.flat
    np.testing.assert_array_equal(dealt[:, :2], evidence.simulated.flat[:, [1, 0]])
    assert np.isnan(dealt[:, 2]).all(), "no other fires about as often"
    without = replace(evidence, chance_simulated=None)
    assert np.isnan(value(metric.nulls[1].made(without, 0))).all()


def test_simulators_without_a_model() -> None:
    evidence = planted_tokens(120)
    first = select_half(evidence.samples, 2)[evidence.tokens.row]
    formula = simulate("formula", evidence, split_seed=2)
    assert np.isnan(formula.simulated.flat[first]).all()
    topic = np.full(len(first), -1)
    topic[evidence.holds.inner_row] = evidence.holds.flat
    expected = topic[~first, None] == np.arange(3)
    np.testing.assert_array_equal(formula.simulated.flat[~first], expected)
    assert (value(formula) > 0.9).all()
    keyword = simulate("keyword", evidence, split_seed=2)
    np.testing.assert_array_equal(keyword.simulated.flat, formula.chance_simulated.flat)
    at = int(np.flatnonzero(~first & np.isin(evidence.tokens.flat, evidence.tokens.flat[first]))[0])
    same = np.flatnonzero((evidence.tokens.flat == evidence.tokens.flat[at]) & first)
    active = [
        sum(
            float(v)
            for k, v, t in zip(
                evidence.latent.flat, evidence.value.flat, evidence.latent.inner_row, strict=True
            )
            if k == evidence.explained[0] and t in set(same.tolist())
        )
    ]
    assert keyword.simulated.flat[at, 0] == pytest.approx(active[0] / len(same))
    with pytest.raises(EvidenceError, match="holds"):
        simulate("formula", replace(evidence, holds=None))

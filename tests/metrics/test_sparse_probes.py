"""Probes of several latents, perfect scores, and what a choice looks like where it was made."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from theodolite._scoring.evaluate import MetricRequest, Resampling, evaluate
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Chances, Concepts, Latents, Samples
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import Ragged
from theodolite.language.texts.dense_latents import latents_of_both_signs
from theodolite.metrics.catalogue import find_metric
from theodolite.metrics.language._probes import (
    STRENGTHS,
    compute_aurocs,
    fitted_probe,
    logistic_regressions,
    pool_activations,
)
from theodolite.metrics.language.latent_probe import choose_latents, split_folds, split_halves
from theodolite.results import Score


def scored(name: str, evidence: TokenEvidence, **options: Any) -> Score:
    return evaluate(MetricRequest(find_metric(name), options), [evidence], Resampling(60))[0]


def of_values(values: np.ndarray, truth: np.ndarray, **more: Any) -> TokenEvidence:
    """Sequences of one token with these values of latents."""
    n, latents = values.shape
    row, latent = np.nonzero(values)
    starts = np.arange(n + 1)
    inner = np.searchsorted(row, starts)
    return TokenEvidence(
        tokens=Ragged(np.zeros(n, np.int32), starts),
        latent=Ragged(latent.astype(np.int32), starts, inner),
        value=Ragged(values[row, latent], starts, inner),
        truth=truth,
        signed=True,
        latents=Latents.numbered(latents),
        concepts=Concepts.numbered(truth.shape[1]),
        **more,
    )


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000), latents=st.integers(1, 16), strength=st.sampled_from(STRENGTHS))
def test_a_probe_is_that_of_scikit_learn(seed: int, latents: int, strength: float) -> None:
    random = np.random.default_rng(seed)
    values = np.maximum(random.normal(size=(40, latents)), 0)
    there = random.random(40) < 1 / (1 + np.exp(-2 * values[:, 0] + 1))
    if there.all() or not there.any():
        there[0] = not there[0]
    columns = np.concatenate([values, np.ones((40, 1))], axis=1)
    own = logistic_regressions(columns, there, np.ones((1, 40)), np.array([strength]))[0]
    theirs = LogisticRegression(C=strength, tol=1e-10, max_iter=10_000).fit(values, there)
    np.testing.assert_allclose(own[:-1], theirs.coef_[0], atol=2e-4, rtol=1e-3)
    assert own[-1] == pytest.approx(theirs.intercept_[0], abs=2e-3)


def test_the_strength_is_that_with_the_least_loss_in_folds() -> None:
    random = np.random.default_rng(3)
    values = random.normal(size=(60, 4))
    there = values[:, 0] + random.normal(size=60) > 0
    fold = np.arange(60) % 5
    probe = fitted_probe(values, there, fold)
    scaled = values / probe.scale
    losses = []
    for strength in STRENGTHS:
        loss = 0.0
        for number in range(5):
            first, rest = fold != number, fold == number
            model = LogisticRegression(C=strength, tol=1e-10, max_iter=10_000)
            p = model.fit(scaled[first], there[first]).predict_proba(scaled[rest])
            loss -= np.log(p[np.arange(rest.sum()), there[rest].astype(int)]).sum()
        losses.append(loss)
    assert probe.strength == STRENGTHS[int(np.argmin(losses))]
    assert 0 < STRENGTHS.index(probe.strength) < len(STRENGTHS) - 1


def test_several_latents_tell_what_none_does() -> None:
    random = np.random.default_rng(0)
    parts = random.random((240, 6)) < 0.5
    truth = (parts[:, 0] | parts[:, 1] | parts[:, 2])[:, None]
    evidence = of_values(np.where(parts, 1.0, 0.0), truth)
    single, several = (scored("latent_probe", evidence, k=k) for k in (1, 5))
    assert single.value < 0.85
    assert several.value > 0.97
    # by hand: the latents of the first half, fitted to it, scored on the other
    choosing = split_halves(evidence, 0)
    codes = pool_activations(evidence, "max")
    best = choose_latents(codes, truth, np.repeat(choosing[:, None], 1, axis=1), "auroc",
                          "positive", 5)[0]  # fmt: skip
    merit = compute_aurocs(np.where(parts, 1.0, 0.0)[choosing], truth[choosing, 0])
    assert best.tolist() == np.argsort(-merit, kind="stable")[:5].tolist()
    values = np.where(parts, 1.0, 0.0)[:, best]
    probe = fitted_probe(values[choosing], truth[choosing, 0], split_folds(evidence, 0)[choosing])
    rest = ~choosing
    expected = compute_aurocs(probe.scores(values)[rest, None], truth[rest, 0])[0]
    assert several.value == pytest.approx(expected)
    assert several.detail.chosen == pytest.approx(
        compute_aurocs(probe.scores(values)[choosing, None], truth[choosing, 0])
    )


def test_a_perfect_latent_has_an_interval() -> None:
    truth = (np.arange(200) % 2 == 0)[:, None]
    evidence = of_values(np.where(truth, 1.0, 0.0), truth)
    score = scored("latent_probe", evidence)
    rest = ~split_halves(evidence, 0)
    n = min(int(truth[rest].sum()), int((~truth[rest]).sum()))
    assert score.value == 1.0
    assert (score.interval.low, score.interval.high) == pytest.approx((0.025 ** (1 / n), 1.0))
    assert score.detail.low == pytest.approx([0.025 ** (1 / n)])
    assert pytest.approx(0.928878, abs=1e-6) == 0.025 ** (1 / 50)
    # documents, not sequences, are what there is so many of
    pairs = np.arange(200) // 4
    documents = of_values(
        np.where(truth, 1.0, 0.0), truth, samples=Samples(np.arange(200), clusters=pairs)
    )
    rest = ~split_halves(documents, 0)
    fewer = len(np.unique(pairs[rest]))
    assert scored("latent_probe", documents).interval.low == pytest.approx(0.025 ** (1 / fewer))


def test_perfect_attributions_have_an_interval() -> None:
    n = 30
    starts, inner = np.arange(n + 1), np.arange(0, 4 * n + 1, 4)
    claims = Ragged(np.random.default_rng(0).normal(size=4 * n), starts, inner)
    evidence = TokenEvidence(
        tokens=Ragged(np.zeros(n, np.int32), starts), importance=claims, effect=claims,
        latent=Ragged(np.tile(np.arange(4, dtype=np.int32), n), starts, inner),
        value=Ragged(np.ones(4 * n), starts, inner), latents=Latents.numbered(4),
    )  # fmt: skip
    interval = scored("attribution_effect", evidence).interval
    assert interval.low == pytest.approx(1 - 2 * (1 - 0.025 ** (1 / n)))
    assert interval.high == 1.0


def test_a_draw_that_is_beaten_by_a_perfect_latent_is_not_surely_beaten_by_few() -> None:
    """The interval of the difference is as wide as that of the perfect value at least."""
    truth = (np.arange(40) % 2 == 0)[:, None]
    chance = np.repeat(truth[:, None].astype(float), 20, axis=1)
    chance[::8] = 1 - chance[::8]
    evidence = of_values(
        np.where(truth, 1.0, 0.0), truth, chance_pooled=chance, chances=Chances.numbered(20)
    )
    score = scored("latent_probe", evidence)
    reach = 1 - score.interval.low
    assert score.detail.draws.high - score.detail.draws.low >= 2 * reach - 1e-9


@pytest.fixture(scope="module")
def pack(shared_data: Path) -> dict[str, Any]:
    from safetensors.numpy import load_file  # noqa: PLC0415

    folder = shared_data / "lm_features"
    if not folder.exists():
        pytest.skip("no data")
    header = json.loads((folder / "header.json").read_text())
    return {**load_file(folder / "codes.safetensors"), "sets": header["concept_sets"]}


def test_anchors_of_the_pack(pack: dict[str, Any]) -> None:
    """Chosen in sample over all 200 sequences of a set: anchors, not findings."""
    expected = {
        "trained": (0.773695, {"21": (1.0, 868), "96": (0.8545, 383), "161": (0.9218, 922)}),
        "random": (0.743425, {"21": (0.9521, 783), "96": (0.8362, 405), "161": (0.7718, 45)}),
    }
    sets, label = pack["concept_set"], pack["label"].astype(bool)
    for which, (mean, some) in expected.items():
        codes = TokenEvidence(
            tokens=Ragged(pack["tokens"], pack["token_starts"]),
            latent=Ragged(
                pack[f"{which}.latent"].astype(np.int32), pack["token_starts"],
                pack[f"{which}.active_starts"],
            ),
            value=Ragged(
                pack[f"{which}.value"], pack["token_starts"], pack[f"{which}.active_starts"]
            ),
            latents=Latents.numbered(1152),
        )  # fmt: skip
        pooled = pool_activations(codes, "max").block(0, 1152)
        each = [
            compute_aurocs(pooled[sets == n], label[sets == n]) for n in range(len(pack["sets"]))
        ]
        best = {
            name.partition("_")[0]: (float(own.max()), int(own.argmax()))
            for name, own in zip(pack["sets"], each, strict=True)
        }
        assert np.mean([value for value, _ in best.values()]) == pytest.approx(mean, abs=1e-6)
        for name, (value, latent) in some.items():
            assert best[name] == (pytest.approx(value, abs=1e-6), latent)


def test_neurons_enter_once_with_each_sign() -> None:
    random = np.random.default_rng(0)
    truth = random.random((60, 1)) < 0.5
    values = random.normal(size=(60, 2, 3))
    values[:, :, 1] -= 6 * truth  # silent where the concept is, and below 0 there
    neurons = TokenEvidence(
        tokens=[[0, 1]] * 60, dense=values.tolist(), truth=truth, concepts=["a"]
    )
    sparse = latents_of_both_signs(neurons)
    pooled = pool_activations(sparse, "max").block(0, 6)
    by_hand = np.maximum(np.concatenate([values, -values], axis=2), 0).max(axis=1)
    np.testing.assert_allclose(pooled, by_hand)
    choosing = split_halves(sparse, 0)
    best = choose_latents(
        pool_activations(sparse, "max"), truth, choosing[:, None], "auroc", "positive"
    )
    assert best[0].tolist() == [4]
    assert scored("latent_probe", sparse).value == 1.0
    few = latents_of_both_signs(neurons, active=1)
    assert (np.diff(few.latent.inner_starts) <= 1).all()
    largest = np.abs(values).reshape(-1, 3).max(axis=1)
    np.testing.assert_allclose(few.value.flat, largest)
    with pytest.raises(EvidenceError, match="active"):
        latents_of_both_signs(neurons, active=7)
    with pytest.raises(EvidenceError, match="no dense"):
        latents_of_both_signs(sparse)

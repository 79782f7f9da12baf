"""Probes of concepts, absorption and attributions, on a circuit whose directions are known."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import theodolite
from theodolite.evidence.ragged import require_ragged
from theodolite.language.attributions import PAIRS, attribution_arrays
from theodolite.language.concept_probes import fit_concept_probes
from theodolite.language.dictionaries.objects import dictionary
from theodolite.language.models.hooked import HookedModel
from theodolite.language.models.latent_logits import LatentLogits, read_latent_logits
from theodolite.language.models.token_evidence import SequenceLabels, TokenSettings, token_evidence

torch = pytest.importorskip("torch")

from support.networks.circuit import (  # noqa: E402  it needs torch
    CONCEPTS,
    FIRST_ANSWER,
    Circuit,
    CircuitDictionary,
    circuit_texts,
)

IDS, TRUTH = circuit_texts(0)
LABELS = SequenceLabels(truth=TRUTH, concepts=[f"c{n}" for n in range(CONCEPTS)])


@pytest.fixture(scope="module")
def network() -> HookedModel:
    return HookedModel(Circuit(0).eval(), "block", 0)


def test_probes_find_what_the_circuit_writes(network: HookedModel) -> None:
    probes = fit_concept_probes(network.activations(IDS), IDS, LABELS)
    rows = network.model.block.rows.detach().numpy()
    written = (rows[:CONCEPTS] + rows[CONCEPTS : 2 * CONCEPTS]) / np.sqrt(2)
    cosine = (probes.directions * written[:CONCEPTS]).sum(axis=1)
    assert (cosine > 0.6).all(), cosine
    assert (probes.aurocs > 0.97).all() and (probes.difference_aurocs > 0.9).all()
    shuffled = np.random.default_rng(0).permutation(TRUTH)
    others = fit_concept_probes(
        network.activations(IDS), IDS, SequenceLabels(truth=shuffled, concepts=LABELS.concepts)
    )
    assert (np.abs(others.aurocs - 0.5) < 0.2).all(), others.aurocs


def test_absorption_is_of_latents_that_carry_the_probe(network: HookedModel) -> None:
    activations = network.activations(IDS)
    probes = fit_concept_probes(activations, IDS, LABELS)
    own = dictionary(CircuitDictionary(network.model, 0))
    evidence = token_evidence(
        network, IDS, own, LABELS, TokenSettings(random_dictionaries=0, splice=False), activations
    )
    both = {number: number % CONCEPTS for number in range(2 * CONCEPTS)}
    values = []
    for named in (both, {number: number for number in range(CONCEPTS)}):
        arrays = probes.absorption_arrays(activations, IDS, LABELS, named)
        score = theodolite.score("absorption", replace(evidence, **arrays))
        values.append(score.value)
    # with the echo left out, half of what a probe finds is carried by a latent of no name
    assert values[0] < 0.1 < 0.3 < values[1], values


def test_attributions_are_those_of_the_last_layers(network: HookedModel) -> None:
    circuit = dictionary(CircuitDictionary(network.model, 0))
    evidence = token_evidence(
        network, IDS, circuit, LABELS, TokenSettings(random_dictionaries=0, splice=False)
    )
    targets = {concept: [FIRST_ANSWER + concept] for concept in range(CONCEPTS)}
    arrays = attribution_arrays(network, IDS, circuit, evidence, targets, seed=0)
    tried = ~np.isnan(arrays["effect"].flat)
    assert 0.8 * PAIRS <= tried.sum() <= PAIRS
    assert np.array_equal(tried, ~np.isnan(arrays["importance"].flat))
    claim, effect = arrays["importance"].flat[tried], arrays["effect"].flat[tried]
    # the answer is read at the last token, so latents elsewhere do nothing
    assert (effect != 0).any() and np.allclose(effect[claim == 0], 0, atol=1e-6)
    own = require_ragged(evidence.latent).flat[tried] < CONCEPTS
    assert effect[own].max() > 2
    score = theodolite.score("attribution_effect", replace(evidence, **arrays))
    assert score.value > 0.7


def test_logits_are_those_of_the_direct_path() -> None:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=40, n_embd=16, n_layer=2, n_head=2, n_positions=8, bos_token_id=0, eos_token_id=0
    )
    model = transformers.GPT2LMHeadModel(config).eval()
    rows = np.random.default_rng(0).normal(size=(30, 16)).astype(np.float32)
    rows[0] = model.lm_head.weight[7].detach().numpy()
    own = SimpleNamespace(rows=rows, latents=30)
    network = HookedModel(model, "transformer.h.0", 0)
    logits = read_latent_logits(network, own, 38)  # type: ignore[arg-type]
    assert logits is not None and logits.tokens.shape == (30, 20) and logits.tokens.max() < 38
    assert logits.tokens[0, 0] == 7
    matrix = model.lm_head.weight.detach().numpy()[:38]
    by_hand = (rows - rows.mean(axis=1, keepdims=True)) @ matrix.T
    by_hand -= by_hand.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(logits.values[:, 0], by_hand.max(axis=1), atol=1e-6)
    np.testing.assert_allclose(logits.values[:, -1], by_hand.min(axis=1), atol=1e-6)
    again = LatentLogits.of_columns(logits.to_columns())
    assert np.array_equal(again.tokens, logits.tokens)
    elsewhere = HookedModel(model, "transformer.h.0.ln_1", 0)
    assert read_latent_logits(elsewhere, own, 38) is None  # type: ignore[arg-type]

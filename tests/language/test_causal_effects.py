"""Latents that cause are told from latents that detect the same and cause nothing."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from theodolite._stats.sampling import select_half
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Samples
from theodolite.language.causal_effects import (
    CausalEffect,
    causal_effects,
    choose_matched,
    choose_target,
)
from theodolite.language.models.hooked import HookedModel

torch = pytest.importorskip("torch")

from support.networks.circuit import (  # noqa: E402  it needs torch
    CONCEPTS,
    FIRST_ANSWER,
    WORDS,
    Circuit,
    CircuitDictionary,
    circuit_texts,
)

IDS, TRUTH = circuit_texts(0)
TARGETS = {concept: [FIRST_ANSWER + concept] for concept in range(CONCEPTS)}


@pytest.fixture(scope="module")
def effects() -> list[CausalEffect]:
    circuit = Circuit(0).eval()
    named = {number: number % CONCEPTS for number in range(2 * CONCEPTS)}
    return causal_effects(
        HookedModel(circuit, "block", 0), IDS, CircuitDictionary(circuit, 0), TRUTH, named,
        targets=TARGETS,
    )  # fmt: skip


def test_causes_are_told_from_echoes(effects: list[CausalEffect]) -> None:
    assert [effect.latent for effect in effects] == np.repeat(np.arange(8), 2).tolist()
    for effect in effects:
        assert effect.answer == ("yes" if effect.latent < CONCEPTS else "no"), effect
        assert len(effect.matched) == 20
    assert "moves the target by 3" in effects[0].sentence
    steered = [effect for effect in effects if effect.act == "steering"]
    assert all(effect.difference_of_means > 1 for effect in steered)


def log_share(circuit: Circuit, hidden: np.ndarray, concept: int) -> float:
    """The circuit in NumPy, at the last token."""
    logits = hidden @ circuit.read.detach().numpy().astype(float)
    logits[FIRST_ANSWER:] += 3 * np.maximum(hidden @ circuit.basis[:CONCEPTS].T - 0.5, 0)
    logits -= logits.max()
    return float(logits[FIRST_ANSWER + concept] - np.log(np.exp(logits).sum()))


def test_effects_are_those_of_the_circuit_by_hand(effects: list[CausalEffect]) -> None:
    circuit = Circuit(0)

    rows = circuit.block.rows.detach().numpy().astype(float)
    words = circuit.embedding.weight.detach().numpy().astype(float)
    first = select_half(Samples(np.arange(len(IDS))), 0)
    held = np.flatnonzero(TRUTH[:, 1] & ~first)
    each = []
    for row in held:
        own = words[IDS[row][-1]] + 2 * (TRUTH[row] @ (rows[:4] + rows[4:8]))
        code = max(float(own @ rows[1]) - 0.3, 0.0)
        each.append(log_share(circuit, own, 1) - log_share(circuit, own - code * rows[1], 1))
    result = next(e for e in effects if e.latent == 1 and e.act == "ablation")
    assert abs(result.effect - np.mean(each)) < 4 * np.std(each) / np.sqrt(50)
    assert result.texts == min(50, len(held))


def test_targets_are_tokens_of_the_concept() -> None:
    rows = np.ones(len(IDS), bool)
    target = choose_target(IDS, TRUTH[:, 2], rows)
    assert set(target[:WORDS]) == set(range(1 + 2 * WORDS, 1 + 3 * WORDS))


def test_matched_latents_are_active_as_often(effects: list[CausalEffect]) -> None:
    from theodolite.language.causal_effects import CausalTexts  # noqa: PLC0415
    from theodolite.language.dictionaries.objects import dictionary  # noqa: PLC0415
    from theodolite.language.models.dictionaries import compute_sparse_codes  # noqa: PLC0415

    circuit = Circuit(0).eval()
    own = dictionary(CircuitDictionary(circuit, 0))
    network = HookedModel(circuit, "block", 0)
    flat = network.activations(IDS)
    codes = compute_sparse_codes(own, flat)
    texts = CausalTexts(network, IDS, own, flat, codes, np.ones(len(IDS), bool))
    matched, widened = choose_matched(texts, 0, np.random.default_rng(0))
    often = np.bincount(codes.latent, minlength=own.latents)
    ratio = often[matched] / often[0]
    assert 0 not in matched and len(set(matched.tolist())) == 20
    assert widened == bool(((ratio > 2) | (ratio < 0.5)).any())
    assert (np.abs(own.rows[matched] @ own.rows[0]) <= 0.5).all()


def test_nothing_is_said_of_a_latent_that_is_never_active() -> None:
    circuit = Circuit(1).eval()
    own = CircuitDictionary(circuit, 1)
    with torch.no_grad():
        own.W_dec[9] = 0.0
    network = HookedModel(circuit, "block", 0)
    result = causal_effects(network, IDS, own, TRUTH, {9: 0}, targets=TARGETS)
    assert [effect.answer for effect in result] == ["inconclusive"] * 2
    with pytest.raises(EvidenceError, match="target"):
        causal_effects(network, IDS, own, TRUTH, {0: 0}, targets={0: []})
    assert_allclose(result[0].texts, 0)

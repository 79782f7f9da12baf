"""What is held against a dictionary: rows dealt out, concepts planted, neurons, frozen rows."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from theodolite.errors import EvidenceError
from theodolite.evidence.ragged import compute_starts
from theodolite.language.dictionaries.torch_codes import DeviceDictionary, to_host
from theodolite.language.models.altered_codes import PermutedDecoder, plant_concepts
from theodolite.language.models.dictionaries import compute_sparse_codes, random_dictionary
from theodolite.language.models.hooked import HookedModel
from theodolite.language.models.neurons import find_neuron_reader
from theodolite.language.models.trained_dictionaries import train_dictionary

torch = pytest.importorskip("torch")

ACTIVATIONS = np.random.default_rng(0).normal(size=(400, 12))


def test_rows_are_dealt_out_and_codes_stay() -> None:
    plain = DeviceDictionary(random_dictionary(ACTIVATIONS, 20, 3, 0))
    dealt = PermutedDecoder.of(plain, 1)
    hidden = torch.as_tensor(ACTIVATIONS, dtype=torch.float32)
    codes = dealt.largest(hidden)
    for own, other in zip(codes, plain.largest(hidden), strict=True):
        assert_array_equal(to_host(own), to_host(other))
    dense = plain.source.encode(ACTIVATIONS)
    by_hand = dense @ dealt.rows + plain.source.b_dec
    assert_allclose(to_host(dealt.rebuild(hidden, codes)), by_hand, rtol=1e-4, atol=1e-5)
    assert_array_equal(np.sort(dealt.rows, axis=0), np.sort(plain.rows, axis=0))
    assert (dealt.rows != plain.rows).any()


def test_planted_latents_are_active_as_often_as_wanted() -> None:
    plain = random_dictionary(ACTIVATIONS, 20, 3, 0)
    codes, starts = compute_sparse_codes(plain, ACTIVATIONS), compute_starts([1] * 399 + [1])
    truth = np.random.default_rng(1).random((400, 2)) < 0.5
    planted = plant_concepts(codes, starts, truth, hits=0.9, false_alarms=0.05, seed=2)
    token = np.repeat(np.arange(400), np.diff(planted.starts))
    for concept in range(2):
        active = np.zeros(400, bool)
        active[token[planted.latent == concept]] = True
        assert abs(active[truth[:, concept]].mean() - 0.9) < 0.06
        assert abs(active[~truth[:, concept]].mean() - 0.05) < 0.05
    others = planted.latent >= 2
    assert_array_equal(planted.latent[others], codes.latent[codes.latent >= 2])
    assert_array_equal(planted.value[others], codes.value[codes.latent >= 2])
    for row in range(400):
        own = planted.latent[planted.starts[row] : planted.starts[row + 1]]
        assert (np.diff(own) > 0).all()
    with pytest.raises(EvidenceError, match="hits"):
        plant_concepts(codes, starts, truth, hits=0.1, false_alarms=0.5)


def test_planted_latents_are_active_once_a_sequence_and_not_in_empty_ones() -> None:
    plain = random_dictionary(ACTIVATIONS, 20, 3, 0)
    starts = compute_starts([4] * 100 + [0])
    truth = np.ones((101, 1), bool)
    planted = plant_concepts(compute_sparse_codes(plain, ACTIVATIONS), starts, truth, hits=1.0)
    token = np.repeat(np.arange(400), np.diff(planted.starts))[planted.latent == 0]
    assert_array_equal(token // 4, np.arange(100))
    assert len(np.unique(token % 4)) == 4


def test_frozen_rows_stay_and_the_encoder_learns() -> None:
    pytest.importorskip("torch")
    start, frozen, free = (
        train_dictionary(ACTIVATIONS, 16, 2, steps=steps, seed=0, frozen=frozen)
        for steps, frozen in ((1, True), (20, True), (20, False))
    )
    assert_allclose(frozen.rows, start.rows)
    assert np.abs(free.rows - start.rows).max() > 0.01
    assert np.abs(frozen.w_enc - start.w_enc).max() > 0.01


def blocks() -> list[tuple[Any, str, str]]:
    transformers = pytest.importorskip("transformers")
    small = {"vocab_size": 32, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1,
             "num_attention_heads": 2}  # fmt: skip
    bert = transformers.BertModel(transformers.BertConfig(**small))
    llama = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(**small, num_key_value_heads=2, max_position_embeddings=64)
    )
    return [
        (bert, "encoder.layer.0", "encoder.layer.0.output.dense"),
        (llama, "model.layers.0", "model.layers.0.mlp.down_proj"),
    ]


def test_neurons_are_what_the_last_matrix_reads() -> None:
    torch = pytest.importorskip("torch")
    for network, block, reader in blocks():
        assert find_neuron_reader(network, block) == reader
        assert find_neuron_reader(network, "nothing") is None
        seen: list[Any] = []
        handle = network.get_submodule(reader).register_forward_pre_hook(
            lambda _, inputs, seen=seen: seen.append(inputs[0])
        )
        with torch.inference_mode():
            network.eval()(torch.tensor([[0, 5, 9]]))
        handle.remove()
        neurons = HookedModel(network, reader, 0, inputs=True).activations([[5, 9]])
        assert_allclose(neurons, seen[0][0, 1:].numpy(), rtol=1e-5, atol=1e-6)


def test_a_token_at_the_end_is_seen_and_left_out() -> None:
    pytest.importorskip("torch")
    (bert, block, _), _ = blocks()
    ids = [[5, 9, 3], [7]]
    plain, ended = (HookedModel(bert, block, 0, end=end).activations(ids) for end in (None, 2))
    assert plain.shape == ended.shape == (4, 16)
    assert np.abs(plain - ended).max() > 1e-3
    longer = HookedModel(bert, block, 0).activations([[5, 9, 3, 2], [7, 2]])
    assert_allclose(ended, longer[[0, 1, 2, 4]], rtol=1e-5, atol=1e-6)

"""Language models looked into at one place: activations, codes, splices, and nulls of these."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from theodolite.errors import EvidenceError
from theodolite.language.models import hooked
from theodolite.language.models.dictionaries import compute_sparse_codes, random_dictionary
from theodolite.language.models.hooked import HookedModel
from theodolite.language.models.splice import compute_next_token_losses, replace_by_mean
from theodolite.language.models.token_evidence import (
    SequenceLabels,
    TokenSettings,
    compared_evidence,
    token_evidence,
    token_ids,
)

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

IDS = [[5, 9, 3], [7], [1, 2, 3, 4, 8], [11, 12]]
START, WIDE = 0, 16


@pytest.fixture(scope="module")
def network() -> Any:
    """A causal model of two blocks with weights as they were drawn."""
    config = transformers.LlamaConfig(
        vocab_size=32, hidden_size=WIDE, intermediate_size=24, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=64,
    )  # fmt: skip
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(config)


@pytest.fixture
def model(network: Any) -> HookedModel:
    return HookedModel(network, "model.layers.0", START)


class Same:
    """A dictionary that keeps everything: each dimension with each sign is a latent."""

    rows = np.concatenate([np.eye(WIDE), -np.eye(WIDE)])

    def encode(self, activations: np.ndarray) -> np.ndarray:
        return np.maximum(activations @ self.rows.T, 0.0)

    def decode(self, codes: np.ndarray) -> np.ndarray:
        return np.asarray(codes @ self.rows)


def test_activations_are_those_of_transformers(network: Any, model: HookedModel) -> None:
    flat = model.activations(IDS)
    assert flat.shape == (sum(map(len, IDS)), WIDE)
    at = 0
    for own in IDS:
        with torch.inference_mode():
            tokens = torch.tensor([[START, *own]])
            states = network(input_ids=tokens, output_hidden_states=True).hidden_states
        assert_allclose(flat[at : at + len(own)], states[1][0, 1:].numpy(), rtol=1e-5, atol=1e-6)
        at += len(own)


def test_neither_batches_nor_order_matter(
    model: HookedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = model.activations(IDS)
    backwards = model.activations(IDS[::-1])
    monkeypatch.setattr(hooked, "MAX_BATCH_TOKENS", 1)
    alone = model.activations(IDS)
    assert_allclose(alone, together, rtol=1e-5, atol=1e-6)
    assert_allclose(backwards[: len(IDS[3])], together[-len(IDS[3]) :], rtol=1e-5, atol=1e-6)


def test_an_encoder_gives_activations_too() -> None:
    config = transformers.BertConfig(
        vocab_size=32, hidden_size=WIDE, intermediate_size=24, num_hidden_layers=2,
        num_attention_heads=2, max_position_embeddings=64,
    )  # fmt: skip
    network = transformers.BertModel(config)
    model = HookedModel(network, "encoder.layer.1", START)
    assert model.activations(IDS).shape == (11, WIDE)


def test_a_model_is_left_as_it_was(network: Any, model: HookedModel) -> None:
    network.train()
    network.model.layers[1].eval()
    hooks = len(network.model.layers[0]._forward_hooks)
    model.activations(IDS)
    assert network.training and not network.model.layers[1].training
    assert len(network.model.layers[0]._forward_hooks) == hooks
    network.eval()


def test_the_same_put_in_changes_nothing(model: HookedModel) -> None:
    losses = compute_next_token_losses(model, IDS, {"same": lambda activations: activations})
    ends = np.cumsum([len(own) for own in IDS]) - 1
    assert np.isnan(losses["loss"][ends]).all() and np.isnan(losses["loss"]).sum() == len(IDS)
    assert_allclose(losses["loss_same"], losses["loss"], rtol=1e-6)
    assert_allclose(np.nan_to_num(losses["divergence_same"]), 0.0, atol=1e-9)


def test_losses_are_cross_entropies(network: Any, model: HookedModel) -> None:
    loss = compute_next_token_losses(model, IDS[:1], {})["loss"]
    with torch.inference_mode():
        tokens = torch.tensor([[START, *IDS[0]]])
        logits = network(input_ids=tokens).logits[0, 1:-1].double()
    expected = torch.nn.functional.cross_entropy(logits, torch.tensor(IDS[0][1:]), reduction="none")
    assert_allclose(loss[:-1], expected.numpy(), rtol=1e-5)


def test_what_is_put_in_matters_and_the_start_token_is_left(model: HookedModel) -> None:
    seen: list[int] = []

    def zeros(activations: Any) -> Any:
        seen.append(len(activations))
        return torch.zeros_like(activations)

    losses = compute_next_token_losses(
        model, IDS, {"zeroed": zeros, "mean": replace_by_mean(np.ones(WIDE))}
    )
    assert sum(seen) == len(IDS) * (max(map(len, IDS)) + 1)  # padding too, and left out
    assert np.nanmax(losses["divergence_zeroed"]) > 1e-6
    assert np.nanmin(losses["divergence_zeroed"]) >= 0


def test_codes_without_zeros_are_the_codes(model: HookedModel) -> None:
    activations = model.activations(IDS)
    codes, dense = compute_sparse_codes(Same(), activations), Same().encode(activations)
    again = np.zeros_like(dense)
    rows = np.repeat(np.arange(len(dense)), np.diff(codes.starts))
    again[rows, codes.latent] = codes.value
    assert_allclose(again, dense, rtol=1e-6)


def test_random_directions_have_the_sparsity_asked_for() -> None:
    activations = np.random.default_rng(0).normal(3.0, 2.0, (50, WIDE))
    first, again, other = (random_dictionary(activations, 40, 5, seed) for seed in (1, 1, 2))
    assert_array_equal(first.rows, again.rows)
    assert (first.rows != other.rows).any()
    inside = first.rows / activations.std(axis=0)
    lengths = np.linalg.norm(inside, axis=1)
    assert_allclose(lengths, lengths[0], rtol=1e-4)
    codes = first.encode(activations)
    assert ((codes > 0).sum(axis=1) <= 5).all() and (codes >= 0).all()
    dealt = codes[np.random.default_rng(1).permutation(50)]
    apart = [((first.decode(own) - activations) ** 2).sum() for own in (codes, dealt)]
    assert apart[0] < apart[1]


def test_evidence_of_a_dictionary_that_keeps_everything(model: HookedModel) -> None:
    truth = np.array([[True], [False], [True], [False]])
    labels = SequenceLabels(truth=truth, concepts=["long"], documents=np.array([0, 0, 1, 2]))
    settings = TokenSettings(random_dictionaries=4, spliced_draws=2, spliced_sequences=2)
    evidence = token_evidence(model, IDS, Same(), labels, settings)
    assert [row.tolist() for row in (evidence.tokens[n] for n in range(4))] == IDS
    assert evidence.chance_pooled is not None and evidence.chance_pooled.shape == (4, 4, 10)
    spliced, loss = evidence.loss_spliced, evidence.loss
    assert spliced is not None and loss is not None
    assert_allclose(spliced.flat, loss.flat, rtol=1e-5)
    assert np.isnan(loss[2]).all() and not np.isnan([loss[0][0], loss[3][0]]).any()
    chances = evidence.chance_loss_spliced
    assert chances is not None
    assert np.isnan(chances.flat[:, 2:]).all()  # not tried
    assert (
        not np.isnan(chances[0][:-1, :2]).any() and (chances[0][:-1, 0] != chances[0][:-1, 1]).all()
    )


def test_what_the_network_does_by_itself_is_run_once(
    model: HookedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[bool] = []
    compute = HookedModel.run

    def counted(self: HookedModel, *arguments: Any, logits: bool = False) -> Any:
        if logits:
            runs.append(arguments[2] is None)
        return compute(self, *arguments, logits=logits)

    monkeypatch.setattr(HookedModel, "run", counted)
    random = random_dictionary(model.activations(IDS), 8, 2, 0)
    settings = TokenSettings(random_dictionaries=2)
    both = compared_evidence(model, IDS, {"same": Same(), "random": random}, settings=settings)
    assert sum(runs) == 1 and len(runs) == 1 + 2 + 2 + 2  # itself, two ablations, two, two draws
    assert both["random"].chance_loss_spliced is None
    assert both["same"].chance_loss_spliced is not None
    loss, spliced = both["random"].loss, both["random"].loss_spliced
    assert loss is not None and spliced is not None
    assert_array_equal(loss.flat, both["same"].loss.flat)  # type: ignore[union-attr]
    assert np.nanmax(np.abs(spliced.flat - loss.flat)) > 1e-6


def test_refusals(network: Any, model: HookedModel) -> None:
    with pytest.raises(EvidenceError, match=r"model\.layers\.0"):
        HookedModel(network, "model.layers.9", START)
    with pytest.raises(EvidenceError, match="no token"):
        model.activations([[1], []])
    with pytest.raises(EvidenceError, match="activations"):
        HookedModel(network, "model.rotary_emb", START).activations(IDS)
    with pytest.raises(EvidenceError, match="1 or more"):
        random_dictionary(np.ones((3, 4)), 5, 6, 0)
    narrow = Same()
    narrow.rows = np.eye(3)
    with pytest.raises(EvidenceError, match="16 dimensions"):
        token_evidence(model, IDS, narrow)
    with pytest.raises(EvidenceError, match="1 or more"):
        token_ids(None, [], most=0)


def test_long_texts_lose_tokens_on_one_side() -> None:
    def tokenizer(text: str, *, add_special_tokens: bool) -> dict[str, list[int]]:
        assert not add_special_tokens
        return {"input_ids": [ord(c) for c in text]}

    assert token_ids(tokenizer, ["abcd"], most=2) == [[97, 98]]
    assert token_ids(tokenizer, ["abcd"], most=2, cut="left") == [[99, 100]]

"""Bottlenecks as torch modules: every number on the way, against its definition."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch import nn

from support.networks.bottlenecks import untrained
from theodolite._storage.arrays import write_safetensors
from theodolite.errors import EvidenceError
from theodolite_reproductions.bottlenecks.encoders import Dropout, encoder, head
from theodolite_reproductions.bottlenecks.model import (
    ConceptBottleneck,
    ConceptEmbedding,
    build,
    concept_values,
)
from theodolite_reproductions.bottlenecks.settings import BottleneckSettings, published_settings


def noise(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(1))


def layers(network: nn.Module) -> list[tuple[int, ...]]:
    return [tuple(p.shape) for p in network.parameters() if p.ndim > 1]


def test_what_the_head_sees() -> None:
    logits = torch.tensor([[-2.0, 0.0, 0.1, 3.0]])
    assert concept_values(logits, "hard").tolist() == [[0, 0, 1, 1]]
    soft = concept_values(logits, "soft")
    assert_allclose(soft, [[0.119203, 0.5, 0.524979, 0.952574]], atol=1e-6)
    assert concept_values(logits, "logit") is logits


@pytest.mark.parametrize("encoding", ["hard", "soft", "logit"])
def test_classes_come_from_the_values_alone(encoding: str) -> None:
    network = ConceptBottleneck(nn.Linear(5, 3), nn.Linear(3, 2), encoding)  # type: ignore[arg-type]
    seen = []
    network.head.register_forward_hook(lambda _, given, __: seen.append(given[0]))
    x = noise(50, 5)
    spoken = network(x)
    assert torch.equal(spoken.logits, network.encoder(x))
    assert torch.equal(spoken.values, concept_values(spoken.logits, encoding))  # type: ignore[arg-type]
    assert torch.equal(seen[0], spoken.values)
    assert torch.equal(spoken.scores, network.head(spoken.values))
    if encoding == "hard":
        assert set(seen[0].flatten().tolist()) == {0.0, 1.0}


@pytest.mark.parametrize("shared", [True, False])
def test_an_embedding_is_mixed_by_its_probability(shared: bool) -> None:
    network = ConceptEmbedding(
        nn.Identity(), nn.Linear(3 * 2, 4), n_features=6, n_concepts=3, size=2, shared=shared
    ).eval()
    x = noise(7, 6)
    spoken = network(x)
    weight, bias = network.vectors[0].weight, network.vectors[0].bias
    assert len(network.scoring) == len(network.scoring_bias) == (1 if shared else 3)
    scoring = network.scoring.expand(3, -1)
    scoring_bias = network.scoring_bias.expand(3)
    for sample in range(7):
        row = []
        for concept in range(3):
            block = slice(concept * 4, concept * 4 + 4)
            both = nn.functional.leaky_relu(weight[block] @ x[sample] + bias[block], 0.01)
            logit = both @ scoring[concept] + scoring_bias[concept]
            p = 1 / (1 + torch.exp(-logit))
            mixed = p * both[:2] + (1 - p) * both[2:]
            assert_allclose(spoken.logits[sample, concept].item(), logit.item(), atol=1e-5)
            assert_allclose(spoken.positive[sample, concept].tolist(), both[:2].tolist(), atol=1e-5)
            assert_allclose(spoken.negative[sample, concept].tolist(), both[2:].tolist(), atol=1e-5)
            assert_allclose(spoken.weighted[sample, concept].tolist(), mixed.tolist(), atol=1e-5)
            row.append(mixed)
        expected = network.head(torch.cat(row))
        assert_allclose(spoken.scores[sample].tolist(), expected.tolist(), atol=1e-5)


def test_interventions_in_training() -> None:
    def spoken(rate: float, training: bool) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        network = ConceptEmbedding(
            nn.Identity(), nn.Linear(8, 2), n_features=3, n_concepts=4, size=2,
            intervention_rate=rate,
        ).train(training)  # fmt: skip
        truth = (noise(500, 4) > 0).float()
        said = network(noise(500, 3), truth)
        return said.values, truth, torch.sigmoid(said.logits)

    values, truth, _ = spoken(1.0, True)
    assert torch.equal(values, truth)  # nothing but the truth
    values, _, probabilities = spoken(1.0, False)
    assert torch.equal(values, probabilities)  # never outside of training
    values, truth, probabilities = spoken(0.25, True)
    told = values == truth
    assert torch.equal(values[~told], probabilities[~told])
    assert abs(told.float().mean().item() - 0.25) < 0.04
    assert len({tuple(row) for row in told.tolist()}) > 10  # drawn for each sample


def test_the_truth_goes_with_the_vectors() -> None:
    network = ConceptEmbedding(
        nn.Identity(), nn.Linear(8, 2), n_features=3, n_concepts=4, size=2, intervention_rate=1.0
    ).train()
    truth = (noise(20, 4) > 0).float()
    said = network(noise(20, 3), truth)
    expected = torch.where(truth[..., None] > 0, said.positive, said.negative)
    assert torch.equal(said.weighted, expected)


def test_encoders_and_heads_by_name() -> None:
    assert layers(encoder("mlp", (7,), 3)) == [(64, 7), (64, 64), (3, 64)]
    assert layers(encoder("linear", (7,), 3)) == [(3, 7)]
    cnn = encoder("small_cnn", (64, 64), 5)
    assert layers(cnn) == [
        (16, 1, 3, 3), (32, 16, 3, 3), (64, 32, 3, 3), (64, 64, 3, 3), (5, 1024),
    ]  # fmt: skip
    assert layers(head("mlp", 3, 9)) == [(64, 3), (64, 64), (9, 64)]
    assert layers(head("linear", 3, 9)) == [(9, 3)]
    kinds = [type(m).__name__ for m in head("mlp", 3, 9, activation="relu").modules()]
    assert kinds.count("ReLU") == 2
    assert type(head("mlp", 3, 9)[1]).__name__ == "LeakyReLU"
    with pytest.raises(EvidenceError, match="linear, mlp, small_cnn, resnet18"):
        encoder("vgg", (7,), 3)
    with pytest.raises(EvidenceError, match="linear, mlp"):
        head("tree", 3, 2)
    with pytest.raises(EvidenceError, match=re.escape("shape (7,)")):
        encoder("small_cnn", (7,), 3)
    with pytest.raises(EvidenceError, match="a file for 'mlp'"):
        encoder("mlp", (7,), 3, weights=Path("w.safetensors"))


@pytest.mark.parametrize("shape", [(16, 16), (15, 17), (16, 16, 3)])
@pytest.mark.parametrize("name", ["small_cnn", "mlp"])
def test_bytes_are_scaled(name: str, shape: tuple[int, ...]) -> None:
    images = np.random.default_rng(0).integers(0, 256, (4, *shape), dtype=np.uint8)
    network = encoder(name, shape, 2).eval()
    expected = network(torch.from_numpy(images / np.float32(255)))
    assert torch.equal(network(torch.from_numpy(images)), expected)
    black_and_white = encoder(name, shape, 2, brightest=1).eval()
    black_and_white.load_state_dict(network.state_dict() | {"0.brightest": torch.tensor(1.0)})
    bits = torch.from_numpy(images // 128)
    assert torch.equal(black_and_white(bits), network(bits * 255))


def test_channels_come_last_in_a_image() -> None:
    cnn = encoder("small_cnn", (8, 8, 3), 1).eval()
    red = torch.zeros(1, 8, 8, 3)
    red[..., 0] = 1
    first = cnn[1].weight
    expected = nn.functional.conv2d(torch.ones(1, 1, 8, 8), first[:, :1], stride=2, padding=1)
    assert_allclose(cnn[1](cnn[0](red)).tolist(), expected.tolist(), atol=1e-6)


def test_a_resnet_from_weights(tmp_path: Path) -> None:
    given = encoder("resnet18", (32, 32, 3), 10)[1]
    arrays = {n: t.detach().numpy().copy() for n, t in given.state_dict().items()}
    write_safetensors(tmp_path / "w.safetensors", arrays)
    color = encoder("resnet18", (32, 32, 3), 4, weights=tmp_path / "w.safetensors")[1]
    assert torch.equal(color.layer4[1].conv2.weight, given.layer4[1].conv2.weight)
    gray = encoder("resnet18", (32, 32), 4, weights=tmp_path / "w.safetensors")[1]
    assert_allclose(
        gray.conv1.weight.detach().numpy()[:, 0], arrays["conv1.weight"].mean(axis=1), atol=1e-6
    )
    del arrays["bn1.weight"]
    write_safetensors(tmp_path / "w.safetensors", arrays)
    with pytest.raises(EvidenceError, match=r"1 tensors that do not fit \(bn1.weight first\)"):
        encoder("resnet18", (32, 32), 4, weights=tmp_path / "w.safetensors")


def test_dropout_has_its_own_seed() -> None:
    dropout = Dropout(0.4).train()
    dropout.generator = torch.Generator().manual_seed(5)
    state = torch.get_rng_state()
    first = dropout(torch.ones(100, 100))
    assert torch.equal(state, torch.get_rng_state())
    assert_allclose(sorted(first.unique().tolist()), [0, 1 / 0.6], rtol=1e-6)
    assert abs(first.mean().item() - 1) < 0.03
    dropout.generator.manual_seed(5)
    assert torch.equal(dropout(torch.ones(100, 100)), first)
    assert torch.equal(dropout.eval()(first), first)


def test_first_weights_depend_on_the_seed_alone() -> None:
    settings = BottleneckSettings()
    state = torch.get_rng_state()
    one, same, other = (build(settings, (7,), 3, 2, seed=s) for s in (4, 4, 5))
    assert torch.equal(state, torch.get_rng_state())
    for a, b, c in zip(one.parameters(), same.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b) and not torch.equal(a, c)
    deeper = build(BottleneckSettings(encoder="linear"), (7,), 3, 2, seed=4)
    assert torch.equal(deeper.head.weight, one.head.weight)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"encoding": "hard"}, "No gradient"),
        ({"kind": "cem", "training": "sequential"}, "needed 'joint'"),
        ({"dropout": 1.0}, "0 to 0.99"),
        ({"intervention_rate": -0.1}, "0 to 1"),
        ({"epochs": 0}, "epochs: got 0"),
    ],
)
def test_settings_that_make_no_sense(wrong: dict[str, object], why: str) -> None:
    with pytest.raises(EvidenceError, match=why):
        BottleneckSettings(**wrong)  # type: ignore[arg-type]


def test_said_in_rows() -> None:
    _, said, _, _ = untrained(kind="cem")
    part = said.rows(np.array([3, 1]))
    assert np.array_equal(part.weighted, said.weighted[[3, 1]])  # type: ignore[index]
    assert np.array_equal(part.predicted, said.predicted[[3, 1]])
    assert untrained()[1].rows(np.array([0])).weighted is None


def test_the_papers_networks() -> None:
    with torch.device("meta"):
        vit = encoder("vit_b_16", (224, 224, 3), 18)[1]
        resnet = encoder("resnet18", (64, 64), 5)[1]
    assert sum(t.numel() for t in vit.parameters()) == 85_798_656 + 18 * 769, "ViT-B/16"
    assert vit.patch_embed.proj.kernel_size == (16, 16) and len(vit.blocks) == 12
    assert vit.blocks[0].attn.num_heads == 12 and vit.head.out_features == 18
    blocks = [getattr(resnet, f"layer{i}") for i in range(1, 5)]
    assert [len(block) for block in blocks] == [2, 2, 2, 2] and resnet.fc.out_features == 5
    with pytest.raises(EvidenceError, match="multiple of 16"):
        encoder("vit_b_16", (64, 60), 3)
    for name, expected in (("tabular_toy", (64, 7)), ("dsprites", (64, 1, 7, 7))):
        settings = BottleneckSettings(**published_settings(name))
        shape = (7,) if name == "tabular_toy" else (64, 64)
        network = build(settings, shape, 5, 8, seed=0)
        assert next(network.encoder.parameters()).shape == expected
    assert layers(network.head) == [(64, 5), (64, 64), (8, 64)], "k, 64, 64, l"
    assert any(isinstance(module, torch.nn.ReLU) for module in network.head)

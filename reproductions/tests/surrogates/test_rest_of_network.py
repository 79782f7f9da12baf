"""What comes after a layer: exact where the rest is linear, and as finite differences elsewhere."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from theodolite.errors import EvidenceError
from theodolite_reproductions.surrogates.rest_of_network import RestOfNetwork

torch = pytest.importorskip("torch")
nn = torch.nn


def noise(*shape: int, scale: float = 1.0) -> np.ndarray:
    return (scale * np.random.default_rng(shape).normal(size=shape)).astype(np.float32)


IMAGES = noise(5, 3, 8, 8)


def cnn(between: Any) -> Any:
    """Layer 1 gives 4 x 8 x 8; what comes after has ``between`` twice."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), between, nn.Conv2d(4, 6, 3, padding=1),
            between, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Dropout(0.5), nn.Linear(24, 3),
        ).eval()  # fmt: skip
    with torch.no_grad():
        network[3].weight *= 3
        network[-1].weight *= 10
    return network


class Around(nn.Module):  # type: ignore[misc,name-defined]
    """What reaches the output through the layer, and around it."""

    def __init__(self) -> None:
        super().__init__()
        self.through, self.around = nn.Conv2d(3, 4, 1), nn.Conv2d(3, 4, 1)

    def forward(self, x: Any) -> Any:
        return (self.through(x) + self.around(x)).mean(dim=(2, 3))


class NoForwardMode(torch.autograd.Function):  # type: ignore[misc,name-defined]
    """x ** 2, which torch can differentiate backwards only."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, *given: Any) -> Any:
        return 2 * ctx.saved_tensors[0] * given[0]


class Square(nn.Module):  # type: ignore[misc,name-defined]
    def forward(self, x: Any) -> Any:
        return NoForwardMode.apply(x)


def by_differences(rest: RestOfNetwork, h: np.ndarray, step: np.ndarray) -> np.ndarray:
    """The derivative along a step, by central differences."""
    size = 1e-2 / np.abs(step).max()
    up, down = (rest.outputs(IMAGES, (h + s * step).astype(np.float32)) for s in (size, -size))
    return (up.astype(float) - down) / (2 * size)


def test_the_layer_and_its_replacement() -> None:
    network = cnn(nn.ReLU())
    rest = RestOfNetwork(network, "1", batch=2)
    with torch.no_grad():
        h = network[:2](torch.from_numpy(IMAGES))
        other = torch.from_numpy(noise(5, 4, 8, 8))
        expected = network[2:](other)
        whole = network(torch.from_numpy(IMAGES))
    assert_allclose(rest.activations(IMAGES), h, atol=1e-5)
    assert_allclose(rest.outputs(IMAGES), whole, atol=1e-5)
    assert_allclose(rest.outputs(IMAGES, other.numpy()), expected, atol=1e-5)
    assert rest.outputs(IMAGES.astype(float)).dtype == np.float32


def test_where_the_rest_is_linear_the_expansion_is_exact() -> None:
    rest = RestOfNetwork(cnn(nn.Identity()), "1", batch=2)
    other = noise(5, 4, 8, 8, scale=10)
    assert_allclose(
        rest.linearized(IMAGES, other), rest.outputs(IMAGES, other), rtol=1e-4, atol=1e-4
    )


def test_the_last_layer_is_the_head() -> None:
    network = cnn(nn.ReLU())
    weights, bias = (p.detach().numpy() for p in network[-1].parameters())
    rest = RestOfNetwork(network, "6")
    h = rest.activations(IMAGES)
    assert h.shape == (5, 24)
    assert_allclose(rest.outputs(IMAGES), h @ weights.T + bias, atol=1e-5)
    vectors, codes = noise(2, 24), noise(5, 2)
    expected = np.einsum("cd,nk,kd->nck", weights, codes, vectors)
    assert_allclose(rest.contributions(IMAGES, vectors, codes), expected, atol=1e-4)


@pytest.mark.parametrize("between", [nn.GELU(), nn.SiLU(), Square()])
def test_against_differences(between: Any) -> None:
    rest = RestOfNetwork(cnn(between), "1", batch=2)
    h, step = rest.activations(IMAGES), noise(5, 4, 8, 8)
    change = rest.linearized(IMAGES, h + step) - rest.outputs(IMAGES)
    assert np.abs(change).max() > 0.05
    assert_allclose(change, by_differences(rest, h, step), rtol=0.02, atol=2e-3)
    far = rest.outputs(IMAGES, h + step) - rest.outputs(IMAGES)
    assert np.abs(far - change).max() > 0.01, "the rest is not linear"


def test_both_ways_to_differentiate_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    rest = RestOfNetwork(cnn(nn.GELU()), "1")
    other = noise(5, 4, 8, 8)
    forward = rest.linearized(IMAGES, other)

    def refuse(*_: Any) -> None:
        raise NotImplementedError

    monkeypatch.setattr("torch.autograd.forward_ad.make_dual", refuse)
    assert_allclose(rest.linearized(IMAGES, other), forward, atol=1e-5)


@pytest.mark.parametrize("in_place", [False, True])
def test_small_steps_of_a_relu_network_are_exact(in_place: bool) -> None:
    rest = RestOfNetwork(cnn(nn.ReLU(in_place)), "1")
    h = rest.activations(IMAGES)
    assert (h < 0).any(), "as it was before it was written over"
    here = rest.outputs(IMAGES)
    near, far = h + noise(*h.shape, scale=1e-4), h + noise(*h.shape)
    for other, share in ((near, 0.01), (far, 0.1)):
        change, linear = (f(IMAGES, other) - here for f in (rest.outputs, rest.linearized))
        exact = np.abs(change - linear).max() < share * np.abs(change).max()
        assert exact == (other is near)


@pytest.mark.parametrize("in_place", [False, True])
def test_each_concept_adds_its_part(in_place: bool) -> None:
    rest = RestOfNetwork(cnn(nn.SiLU(in_place)), "1", batch=2)
    h, vectors, codes = rest.activations(IMAGES), noise(3, 4), noise(5, 3, 8, 8)
    result = rest.contributions(IMAGES, vectors, codes)
    assert result.shape == (5, 3, 3)
    for k in range(3):
        step = np.einsum("nrc,d->ndrc", codes[:, k], vectors[k])
        assert_allclose(result[:, :, k], by_differences(rest, h, step), rtol=0.02, atol=3e-3)
    together = rest.linearized(IMAGES, h + np.einsum("nkrc,kd->ndrc", codes, vectors))
    assert_allclose(result.sum(axis=2), together - rest.outputs(IMAGES), atol=1e-4)


def test_what_goes_around_the_layer_is_kept() -> None:
    network = Around().eval()
    rest = RestOfNetwork(network, "through")
    none = np.zeros((5, 4, 8, 8), np.float32)
    with torch.no_grad():
        expected = network.around(torch.from_numpy(IMAGES)).mean(dim=(2, 3))
    assert_allclose(rest.outputs(IMAGES, none), expected, atol=1e-5)
    assert_allclose(rest.linearized(IMAGES, none), expected, atol=1e-5)


class Attention(nn.Module):  # type: ignore[misc,name-defined]
    """Patches that attend to each other; ``patches`` gives samples x tokens x channels."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Linear(12, 4)
        self.head = nn.Linear(4, 3)

    def forward(self, x: Any) -> Any:
        tokens = self.patches(nn.functional.unfold(x, 2, stride=2).transpose(1, 2))
        one_head = tokens[:, None]  # with an axis of heads, torch has kernels of its own for it
        mixed = nn.functional.scaled_dot_product_attention(one_head, one_head, one_head)
        return self.head(mixed.mean(dim=(1, 2)))


def test_tokens() -> None:
    rest = RestOfNetwork(Attention(), "patches", channels_axis=-1)
    h, step = rest.activations(IMAGES), noise(5, 4, 16)
    assert h.shape == (5, 4, 16)
    change = rest.linearized(IMAGES, h + step) - rest.outputs(IMAGES)
    assert_allclose(change, by_differences(rest, h, step), rtol=0.02, atol=2e-3)
    vectors, codes = noise(2, 4), noise(5, 2, 16)
    parts = rest.contributions(IMAGES, vectors, codes)
    whole = rest.linearized(IMAGES, h + np.einsum("nkt,kd->ndt", codes, vectors))
    assert_allclose(parts.sum(axis=2), whole - rest.outputs(IMAGES), atol=1e-4)


def test_a_layer_without_a_way_to_the_output_changes_nothing() -> None:
    class Idle(Around):
        def forward(self, x: Any) -> Any:
            self.through(x)
            return self.around(x).mean(dim=(2, 3))

    rest = RestOfNetwork(Idle(), "through")
    other = noise(5, 4, 8, 8)
    assert_allclose(rest.linearized(IMAGES, other), rest.outputs(IMAGES))


def test_the_network_is_left_as_it_was() -> None:
    network = cnn(Square()).train()
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    rest = RestOfNetwork(network, "1")
    h = rest.activations(IMAGES)
    assert (rest.linearized(IMAGES, h + 1) == rest.linearized(IMAGES, h + 1)).all(), "dropout"
    assert network.training and torch.is_grad_enabled()
    assert not network[1]._forward_hooks
    assert all(p.grad is None and p.requires_grad for p in network.parameters())
    assert all(torch.equal(network.state_dict()[name], t) for name, t in before.items())


def test_hooks_are_removed_when_something_fails() -> None:
    network = cnn(nn.ReLU()).train()
    rest = RestOfNetwork(network, "1")
    with pytest.raises(RuntimeError):
        rest.outputs(noise(2, 5, 8, 8))
    with pytest.raises(EvidenceError, match=r"got shape \(5, 4, 8, 7\); needed \(5, 4, 8, 8\)"):
        rest.outputs(IMAGES, noise(5, 4, 8, 7))
    assert network.training and not network[1]._forward_hooks


def test_what_does_not_fit_is_refused() -> None:
    rest = RestOfNetwork(cnn(nn.ReLU()), "1")
    for wrong in ((5, 4, 8, 7), (5, 1, 8, 8)):
        with pytest.raises(EvidenceError, match=r"needed \(5, 4, 8, 8\)"):
            rest.linearized(IMAGES, noise(*wrong))
    with pytest.raises(EvidenceError, match=r"samples: got 5 and 4"):
        rest.outputs(IMAGES, noise(4, 4, 8, 8))
    with pytest.raises(EvidenceError, match=r"samples: got 0"):
        rest.outputs(IMAGES[:0])
    with pytest.raises(EvidenceError, match="2 codes and 3 directions"):
        rest.contributions(IMAGES, noise(3, 4), noise(5, 2, 8, 8))
    with pytest.raises(EvidenceError, match=r"got shape \(5, 3, 8, 8\)"):
        rest.contributions(IMAGES, noise(2, 3), noise(5, 2, 8, 8))
    with pytest.raises(EvidenceError, match="such as"):
        RestOfNetwork(cnn(nn.ReLU()), "layer4")
    with pytest.raises(EvidenceError, match="called 2 times"):
        RestOfNetwork(cnn(nn.ReLU()), "2").activations(IMAGES)
    with pytest.raises(EvidenceError, match="samples x classes"):
        RestOfNetwork(cnn(nn.ReLU())[:4], "1").outputs(IMAGES)


def test_a_layer_that_gives_several_things_is_refused() -> None:
    class Two(Around):
        def __init__(self) -> None:
            super().__init__()
            self.memory = nn.LSTM(3, 4, batch_first=True)

        def forward(self, x: Any) -> Any:
            return self.memory(x.flatten(2).transpose(1, 2))[0].mean(dim=1)

    with pytest.raises(EvidenceError, match="got tuple; needed a layer that gives one tensor"):
        RestOfNetwork(Two(), "memory").activations(IMAGES)

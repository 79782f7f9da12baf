"""The feature extractor on networks whose answers are known."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from PIL import Image

from theodolite.errors import EvidenceError
from theodolite.models.features import FeatureExtractor, Preprocessing

torch = pytest.importorskip("torch")


class Toy(torch.nn.Module):  # type: ignore[misc,name-defined]
    """A channel that doubles red and one that adds green and blue, then pooling."""

    def __init__(self) -> None:
        super().__init__()
        self.mix = torch.nn.Conv2d(3, 2, 1, bias=False)
        self.mix.weight.data = torch.tensor([[2.0, 0, 0], [0, 1, 1]])[:, :, None, None]
        self.drop = torch.nn.Dropout(0.9)
        self.pool = torch.nn.AdaptiveAvgPool2d(1)

    def forward(self, x: Any) -> Any:
        return self.pool(self.drop(self.mix(x))).flatten(1)


class Tokens(torch.nn.Module):  # type: ignore[misc,name-defined]
    """A class token and one token per 2 x 2 patch, row by row."""

    def __init__(self, leading: int = 1) -> None:
        super().__init__()
        self.leading, self.last = leading, torch.nn.Identity()

    def forward(self, x: Any) -> Any:
        patches = torch.nn.functional.avg_pool2d(x, 2).flatten(2).transpose(1, 2)
        extra = torch.full((len(x), self.leading, 3), -99.0)
        return self.last(torch.cat([extra, patches], dim=1))


BATCH = np.random.default_rng(0).random((4, 3, 6, 6)).astype(np.float32)


@pytest.mark.parametrize("by_name", [True, False])
def test_maps_of_a_cnn(by_name: bool) -> None:
    network = Toy()
    maps = FeatureExtractor(network, "mix" if by_name else network.mix)(BATCH)
    assert_allclose(maps[:, 0], 2 * BATCH[:, 0], rtol=1e-6)
    assert_allclose(maps[:, 1], BATCH[:, 1] + BATCH[:, 2], rtol=1e-6)


@pytest.mark.parametrize("leading", [0, 1, 5])
def test_tokens_become_a_grid(leading: int) -> None:
    grid = None if leading < 2 else (3, 3)
    maps = FeatureExtractor(Tokens(leading), "last", grid=grid)(BATCH)
    expected = BATCH.reshape(4, 3, 3, 2, 3, 2).mean(axis=(3, 5))
    assert_allclose(maps, expected, rtol=1e-6)


def test_a_grid_that_is_not_square() -> None:
    wide = np.ascontiguousarray(BATCH[:, :, :4])
    maps = FeatureExtractor(Tokens(), "last", grid=(2, 3))(wide)
    assert maps.shape == (4, 3, 2, 3)
    with pytest.raises(EvidenceError, match="Pass grid"):
        FeatureExtractor(Tokens(), "last", grid=(9, 9))(wide)


class WritesOver(Toy):
    def __init__(self) -> None:
        super().__init__()
        self.clip = torch.nn.ReLU6(inplace=True)

    def forward(self, x: Any) -> Any:
        return self.pool(self.clip(self.mix(x)))


def test_a_layer_is_kept_as_it_was_before_the_next_one_wrote_over_it() -> None:
    maps = FeatureExtractor(WritesOver(), "mix")(BATCH - 0.5)
    assert_allclose(maps[:, 0], 2 * (BATCH[:, 0] - 0.5), rtol=1e-5)


class ChannelsLast(Toy):
    def forward(self, x: Any) -> Any:
        return self.drop(self.mix(x).permute(0, 2, 3, 1))


def test_channels_that_come_last_are_seen() -> None:
    first = FeatureExtractor(Toy(), "mix")(BATCH)
    assert_allclose(FeatureExtractor(ChannelsLast(), "drop")(BATCH), first)
    wide = np.ascontiguousarray(BATCH[:, :, :4])
    result = FeatureExtractor(ChannelsLast(), "drop", channels="last")(wide)
    assert_allclose(result, FeatureExtractor(Toy(), "mix")(wide))
    assert FeatureExtractor(ChannelsLast(), "drop", channels="first")(BATCH).shape == (4, 6, 6, 2)


def test_the_network_is_left_as_it_was() -> None:
    network = Toy().train()
    before = {k: v.clone() for k, v in network.state_dict().items()}
    extract = FeatureExtractor(network, "drop")
    assert (extract(BATCH) == extract(BATCH)).all(), "evaluated without dropout"
    assert network.training
    assert not network.drop._forward_hooks
    assert all((network.state_dict()[k] == v).all() for k, v in before.items())


def test_hooks_are_removed_when_the_network_fails() -> None:
    network = Toy()
    with pytest.raises(RuntimeError):
        FeatureExtractor(network, "mix")(np.zeros((1, 5, 4, 4), np.float32)[:, :3, :0])
    assert not network.mix._forward_hooks


def test_a_layer_that_is_not_there_is_said_with_some_that_are() -> None:
    with pytest.raises(EvidenceError, match="such as mix, drop, pool"):
        FeatureExtractor(Toy(), "layer4")


def test_a_layer_without_places_is_refused() -> None:
    class Flat(Toy):
        def __init__(self) -> None:
            super().__init__()
            self.head = torch.nn.Identity()

        def forward(self, x: Any) -> Any:
            return self.head(super().forward(x))

    with pytest.raises(EvidenceError, match="before the pooling"):
        FeatureExtractor(Flat(), "head")(BATCH)


def test_a_layer_that_is_used_twice_is_refused() -> None:
    class Twice(Toy):
        def forward(self, x: Any) -> Any:
            return self.pool(self.drop(self.drop(self.mix(x))))

    with pytest.raises(EvidenceError, match="called 2 times"):
        FeatureExtractor(Twice(), "drop")(BATCH)


def test_preprocessing() -> None:
    image = Image.new("RGB", (10, 20), (255, 128, 0))
    numbers = Preprocessing((4, 8), (0.5, 0.5, 0.5), (0.5, 0.25, 1.0))(image)
    assert numbers.shape == (3, 4, 8) and numbers.dtype == np.float32
    assert_allclose(numbers[:, 0, 0], [1.0, (128 / 255 - 0.5) / 0.25, -0.5], atol=1e-6)

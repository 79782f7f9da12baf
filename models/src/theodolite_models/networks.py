"""Networks of the shelf: concept bottlenecks that take prepared images. Importing this imports
torch."""

from collections.abc import Callable, Sequence
from typing import Any

import timm
import torch
from torch import Tensor, nn

from theodolite.models.shelf import ModelCard
from theodolite_reproductions.bottlenecks.encoders import Inputs, encoder
from theodolite_reproductions.bottlenecks.model import BottleneckOutput, Network, build
from theodolite_reproductions.bottlenecks.settings import BottleneckSettings

GRAY = ("small_cnn", "resnet18")
"""Architectures for images of one channel with pixels 0 and 1."""


class ShelfBottleneck(nn.Module):
    """A concept bottleneck from prepared images (samples, 3, rows, columns) to class scores.

    Args:
        bottleneck: Concept bottleneck or concept embedding model.
        architecture: Architecture of its encoder.
        n_classes: Number of classes.
    """

    def __init__(self, bottleneck: Network, architecture: str, n_classes: int) -> None:
        super().__init__()
        self.bottleneck, self.architecture, self.num_classes = bottleneck, architecture, n_classes
        self.gradients = getattr(bottleneck, "encoding", "soft") != "hard"
        """A step from 0 to 1 has no gradient."""
        self.base_prefix = "bottleneck.encoder."

    def forward(self, images: Tensor) -> Tensor:
        """Return the class scores."""
        return self.read_concepts(images).scores

    def read_concepts(self, images: Tensor) -> BottleneckOutput:
        """Return concepts and class scores."""
        if self.architecture in GRAY:
            images = images[:, 0]
        elif isinstance(self.bottleneck.encoder, nn.Sequential):
            images = images.permute(0, 2, 3, 1)  # its first layer takes channels last
        output: BottleneckOutput = self.bottleneck(images)
        return output


class FrozenTail(nn.Module):
    """Last stages of EfficientNet-lite, from the maps of the frozen stages to outputs.

    Statistics of batch norm stay those of ImageNet.

    Args:
        network: The whole network; its classifier is replaced.
        n_frozen: Number of stages before the tail.
        n_out: Number of outputs.
    """

    def __init__(self, network: Any, n_frozen: int, n_out: int) -> None:
        super().__init__()
        network.reset_classifier(n_out)
        self.blocks, self.conv_head, self.bn2 = (
            network.blocks[n_frozen:], network.conv_head, network.bn2,
        )  # fmt: skip
        self.classifier = network.classifier
        self._finish: Callable[[Tensor], Tensor] = network.forward_head

    def forward(self, maps: Tensor) -> Tensor:
        """Return the outputs for maps of the frozen stages."""
        maps = maps.contiguous(memory_format=torch.channels_last)
        return self._finish(self.bn2(self.conv_head(self.blocks(maps))))

    def train(self, mode: bool = True) -> "FrozenTail":  # noqa: FBT001, FBT002  as torch has it
        """Stay in evaluation mode."""
        del mode
        return super().train(mode=False)


def make_front(architecture: str, n_out: int, sides: Sequence[int] = (64, 64)) -> nn.Module:
    """Return the encoder of an architecture, untrained, with `n_out` outputs."""
    if architecture == "efficientnet_lite0":
        network: nn.Module = timm.create_model("tf_efficientnet_lite0", num_classes=n_out)
        return network
    if architecture in GRAY:
        return encoder(architecture, tuple(sides), n_out, brightest=1)
    network = nn.Sequential(Inputs(images=True), timm.create_model(architecture, num_classes=n_out))
    return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]


def find_map_layer(architecture: str) -> str:
    """Return the name of the last layer with spatial positions."""
    layer = {"efficientnet_lite0": "bn2", "small_cnn": "12"}
    return f"bottleneck.encoder.{layer.get(architecture, '1.layer4')}"


def build_bottleneck(card: ModelCard) -> ShelfBottleneck:
    """Return the network of a card without its weights."""
    settings = BottleneckSettings(**card.recipe["settings"])
    rows, columns = (int(side) for side in card.preprocessing["size"])
    body = build(
        settings, (rows, columns), len(card.concepts), len(card.classes), seed=0,
        front=lambda n_out: make_front(card.architecture, n_out, (rows, columns)),
    )  # fmt: skip
    return ShelfBottleneck(body, card.architecture, len(card.classes)).eval()

"""Networks for bottlenecks by name: encoders of vectors or images, and heads for classes."""

import math
from pathlib import Path
from typing import Any

import torch
from torch import nn

from theodolite._storage.arrays import read_safetensors
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite_reproductions.bottlenecks.settings import Activation

ENCODERS = ("linear", "mlp", "small_cnn", "resnet18", "vit_b_16")
HEADS = ("linear", "mlp")
HIDDEN, PATCH = 64, 16


def encoder(
    name: str,
    input_shape: tuple[int, ...],
    n_out: int,
    *,
    dropout: float = 0.0,
    brightest: float = 255.0,
    weights: Path | None = None,
) -> nn.Module:
    """A network from inputs to ``n_out`` numbers a sample.

    Args:
        name: ``linear``; ``mlp``, with two hidden layers of 64; ``small_cnn``, four convolutions
            that two cores can train on images of 64 x 64; ``resnet18``; or ``vit_b_16``, for
            square images whose side is a multiple of 16.
        input_shape: Of one sample: (numbers,), (rows, columns) or (rows, columns, channels).
        n_out: How many numbers it gives.
        dropout: How much of a hidden layer is left out in training.
        brightest: The largest byte of an image, 1 or 255; bytes are divided by it.
        weights: For ``resnet18`` and ``vit_b_16``, a .safetensors file to start from; its last
            layer is left out, and its first one averaged where the images have one channel.
    """
    if weights is not None and name not in ("resnet18", "vit_b_16"):
        needed = "one for 'resnet18' or 'vit_b_16'"
        raise EvidenceError("encoder weights", f"a file for {name!r}", needed)
    if name in ("linear", "mlp"):
        n_in, inputs = math.prod(input_shape), Inputs(brightest)
        layers = [nn.Linear(n_in, n_out)] if name == "linear" else _mlp(n_in, n_out, dropout)
        return nn.Sequential(inputs, nn.Flatten(), *layers)
    if name not in ENCODERS:
        raise EvidenceError("encoder", repr(name), f"one of {', '.join(ENCODERS)}")
    if len(input_shape) not in (2, 3):
        raise EvidenceError(
            "encoder", f"{name!r} for inputs of shape {input_shape}", "images",
            "Use 'mlp' for vectors.",
        )  # fmt: skip
    channels = input_shape[2] if len(input_shape) == 3 else 1
    if name == "small_cnn":
        layers = _small_cnn(input_shape, channels, n_out, dropout)
    else:
        layers = [_known_network(name, input_shape[:2], channels, n_out, weights)]
    network = nn.Sequential(Inputs(brightest, images=True), *layers)
    # what bytes of images are already; faster
    return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]


def head(
    name: str, n_in: int, n_classes: int, *, activation: Activation = "leaky_relu"
) -> nn.Module:
    """A network from concepts to class scores: ``linear``, or ``mlp`` with two layers of 64."""
    if name == "linear":
        return nn.Linear(n_in, n_classes)
    if name == "mlp":
        return nn.Sequential(*_mlp(n_in, n_classes, activation=activation))
    raise EvidenceError("head", repr(name), f"one of {', '.join(HEADS)}")


class Inputs(nn.Module):
    """Bytes to numbers from 0 to 1; for images, channels first."""

    def __init__(self, brightest: float = 255.0, *, images: bool = False) -> None:
        super().__init__()
        self.brightest: torch.Tensor
        self.register_buffer("brightest", torch.tensor(float(brightest)))
        self.images = images

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The inputs as the next layer wants them."""
        if not x.is_floating_point():
            x = x.float() / self.brightest
        if not self.images:
            return x
        return x.unsqueeze(1) if x.ndim == 3 else x.permute(0, 3, 1, 2)


class Dropout(nn.Module):
    """Dropout with a generator of its own, so that trainings beside each other keep their seeds."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self.generator: torch.Generator | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Some of it set to 0 in training, and the rest scaled up."""
        if not self.training or self.rate == 0:
            return x
        draws = torch.rand(x.shape, generator=self.generator, device=x.device)
        return x * draws.ge_(self.rate).mul_(1 / (1 - self.rate))


def _mlp(
    n_in: int, n_out: int, dropout: float = 0.0, activation: Activation = "leaky_relu"
) -> list[nn.Module]:
    bend: Any = nn.LeakyReLU if activation == "leaky_relu" else nn.ReLU
    layers: list[nn.Module] = []
    for width in (n_in, HIDDEN):
        layers += [nn.Linear(width, HIDDEN), bend()]
        layers += [Dropout(dropout)] if dropout else []
    return [*layers, nn.Linear(HIDDEN, n_out)]


def _small_cnn(
    input_shape: tuple[int, ...], channels: int, n_out: int, dropout: float
) -> list[nn.Module]:
    rows, columns, *_ = input_shape
    layers: list[nn.Module] = []
    for width in (16, 32, 64, 64):
        layers += [
            nn.Conv2d(channels, width, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.LeakyReLU(),
        ]
        channels, rows, columns = width, math.ceil(rows / 2), math.ceil(columns / 2)
    return [*layers, nn.Flatten(), Dropout(dropout), nn.Linear(channels * rows * columns, n_out)]


def _known_network(
    name: str, sides: tuple[int, ...], channels: int, n_out: int, weights: Path | None
) -> nn.Module:
    """A network of the literature, from scratch or from a file."""
    import timm  # noqa: PLC0415  slow to import

    last, first_layer = ("fc.", "conv1.weight")
    if name == "resnet18":
        network: nn.Module = timm.create_model(name, in_chans=channels, num_classes=n_out)
    else:
        rows, columns = sides
        if rows != columns or rows % PATCH:
            needed = f"a square whose side is a multiple of {PATCH}"
            raise EvidenceError("images for 'vit_b_16'", f"{rows} x {columns}", needed)
        network = timm.create_model(
            "vit_base_patch16_224", img_size=rows, in_chans=channels, num_classes=n_out
        )
        last, first_layer = ("head.", "patch_embed.proj.weight")
    if weights is not None:
        _start_from(network, weights, last, first_layer, channels)
    return network


def _start_from(
    network: nn.Module, weights: Path, last: str, first_layer: str, channels: int
) -> None:
    """All tensors of a file but those of the last layer."""
    state = {n: t for n, t in network.state_dict().items() if not n.startswith(last)}
    tensors = {n: torch.from_numpy(a.copy()) for n, a in read_safetensors(weights).items()}
    first = tensors.get(first_layer)
    if channels == 1 and first is not None and first.shape[1] == 3:
        tensors[first_layer] = first.mean(dim=1, keepdim=True)
    wrong = [n for n, t in state.items() if n not in tensors or tensors[n].shape != t.shape]
    if wrong:
        raise UnsafeInputError(
            f"weights {weights.name!r}", f"{len(wrong)} tensors that do not fit "
            f"({wrong[0]} first)", "the tensors of this network",
        )  # fmt: skip
    network.load_state_dict({n: tensors[n] for n in state}, strict=False)

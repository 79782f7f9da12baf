"""Load backbones by name: architecture from timm, weights from a file or from the user's hub."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from theodolite._storage.checkpoints import read_weights
from theodolite._storage.optional import require
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.models.features import Preprocessing

if TYPE_CHECKING:
    import torch

CIFAR_BLOCKS = {"cifar_resnet20": 3, "cifar_resnet56": 9}
LITE_SIZES = {"efficientnet_lite0": 224, "efficientnet_lite1": 240, "efficientnet_lite2": 260}
"""Image sides of the original EfficientNet-lite release, which prepares images as (x / 255 - 0.498)
/ 0.502.
"""


@dataclass(frozen=True, eq=False)
class Backbone:
    """A network, its preprocessing, and its last layer with spatial positions ("" if unknown)."""

    name: str
    network: "torch.nn.Module"
    preprocessing: Preprocessing
    layer: str
    weights: Path | None = None
    """File of the weights; None if they come from the hub."""


def load_backbone(name: str, weights: Path | None = None) -> Backbone:
    """Load a network of timm, such as ``resnet50`` or ``vit_base_patch16_224``.

    With ``weights``, a .safetensors file (or a .pt or .pth file of nothing but tensors), nothing is
    fetched; without, timm fetches the weights it knows from the hub. ``efficientnet_lite0``, ``1``
    and ``2`` also take weights of the original release.
    ``cifar_resnet20`` and ``cifar_resnet56`` are not of timm and need their weights.
    """
    network = _built(name, pretrained=weights is None)
    if weights is not None:
        _load(network, read_weights(weights), weights.name)
    config = network.pretrained_cfg
    preprocessing = Preprocessing(
        size=tuple(config["input_size"][1:]), mean=config["mean"], spread=config["std"]
    )
    if name in LITE_SIZES:
        preprocessing = Preprocessing((LITE_SIZES[name],) * 2, (0.498,) * 3, (0.502,) * 3)
    return Backbone(name, _fast(network), preprocessing, _last_layer(network), weights)


def wrap_backbone(
    network: "torch.nn.Module", preprocessing: Preprocessing | None = None
) -> Backbone:
    """Wrap a network that the caller already has; it is not modified.

    How it wants its images is what timm knows of it; of a network that timm did not make, the
    usual 224 pixels with the statistics of ImageNet, unless ``preprocessing`` says otherwise.
    """
    config: Any = getattr(network, "pretrained_cfg", None)
    if preprocessing is None and has_timm_config(network):
        preprocessing = Preprocessing(
            size=tuple(config["input_size"][1:]), mean=config["mean"], spread=config["std"]
        )
    name = type(network).__name__
    return Backbone(name, network, preprocessing or Preprocessing(), _last_layer(network))


def has_timm_config(network: Any) -> bool:
    """Return whether timm has the preprocessing of a network."""
    config = getattr(network, "pretrained_cfg", None)
    return isinstance(network, str) or (isinstance(config, dict) and "input_size" in config)


def _built(name: str, *, pretrained: bool) -> Any:
    if name in CIFAR_BLOCKS:
        if pretrained:
            raise EvidenceError("weights", f"none for {name!r}", "a .safetensors file")
        from theodolite.models.cifar_resnet import CifarResNet  # noqa: PLC0415

        return CifarResNet(CIFAR_BLOCKS[name]).eval()
    timm = require("timm", "backbone", "torch")
    architecture = f"tf_{name}" if name in LITE_SIZES else name
    if architecture not in timm.list_models():
        close = timm.list_models(f"*{name[:4]}*")[:5] or ["resnet18", "vit_base_patch16_224"]
        raise EvidenceError("backbone", repr(name), f"a model of timm, such as {close}")
    return timm.create_model(architecture, pretrained=pretrained).eval()


def _load(network: "torch.nn.Module", arrays: dict[str, np.ndarray], file: str) -> None:
    import torch  # noqa: PLC0415

    if "_conv_stem.weight" in arrays:
        arrays = _renamed(arrays, [len(stage) for stage in network.blocks])  # type: ignore[union-attr]
    state = network.state_dict()
    # counters of training steps: no network that is evaluated looks at them, some files lack them
    counters = (name for name in state if name.endswith(".num_batches_tracked"))
    arrays = {name: np.zeros((), np.int64) for name in counters} | arrays
    wrong = sorted(
        name
        for name in state.keys() | arrays.keys()
        if name not in arrays or name not in state or state[name].shape != arrays[name].shape
    )
    if wrong:
        raise UnsafeInputError(
            f"weights {file!r}", f"{len(wrong)} tensors that do not fit ({wrong[0]} first)",
            f"the {len(state)} tensors of this network",
        )  # fmt: skip
    network.load_state_dict(
        {name: torch.from_numpy(a.copy()).to(state[name].dtype) for name, a in arrays.items()}
    )


def _renamed(arrays: dict[str, np.ndarray], stages: list[int]) -> dict[str, np.ndarray]:
    """Rename arrays of the original EfficientNet-lite release to timm's names."""
    places = [f"blocks.{stage}.{i}" for stage, n in enumerate(stages) for i in range(n)]
    outer = {"_conv_stem": "conv_stem", "_bn0": "bn1", "_conv_head": "conv_head", "_bn1": "bn2",
             "_fc": "classifier"}  # fmt: skip
    wide = {"_expand_conv": "conv_pw", "_bn0": "bn1", "_depthwise_conv": "conv_dw", "_bn1": "bn2",
            "_project_conv": "conv_pwl", "_bn2": "bn3"}  # fmt: skip
    narrow = {"_depthwise_conv": "conv_dw", "_bn1": "bn1", "_project_conv": "conv_pw",
              "_bn2": "bn2"}  # fmt: skip
    renamed = {}
    for name, array in arrays.items():
        head, _, rest = name.partition(".")
        if head == "_blocks":
            number, kind, rest = rest.split(".", 2)
            inner = wide if f"_blocks.{number}._expand_conv.weight" in arrays else narrow
            # blocks of a larger network have no place here, and are refused by name
            place = places[int(number)] if int(number) < len(places) else f"_blocks.{number}"
            head = f"{place}.{inner.get(kind, kind)}"
        else:
            head = outer.get(head, head)
        renamed[f"{head}.{rest}"] = array
    return renamed


def _fast(network: "torch.nn.Module") -> "torch.nn.Module":
    import torch  # noqa: PLC0415

    return network.to(memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]


def _last_layer(network: "torch.nn.Module") -> str:
    """Return the last layer with spatial positions: before pooling and the class token."""
    names = [name for name, _ in network.named_children()]
    for name in ("bn2", "norm", "blocks", "layer4", "layer3", "features", "stages"):
        if name in names:
            return name
    return ""

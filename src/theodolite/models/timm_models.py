"""Build networks of timm by name, and fill them with weights from a file or from the hub."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

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


def build_timm(
    name: str, arrays: Mapping[str, np.ndarray] | None, file: str
) -> "tuple[torch.nn.Module, Preprocessing]":
    """Return a network such as ``resnet50``, and how it wants its images.

    With arrays nothing is fetched, and the network has as many outputs as they have; without, timm
    fetches the weights it knows from the hub. ``efficientnet_lite0``, ``1`` and ``2`` also take
    weights of the original release. ``cifar_resnet20`` and ``cifar_resnet56`` are not of timm and
    need their weights.
    """
    import torch  # noqa: PLC0415

    network = _build(name, pretrained=arrays is None)
    if arrays is not None:
        head = network.pretrained_cfg.get("classifier")
        weight = arrays.get(f"{head}.weight")
        if weight is not None and len(weight) != network.num_classes:
            network.reset_classifier(len(weight))
        fill(network, arrays, file)
    preprocessing = get_timm_preprocessing(network) or Preprocessing()
    if name in LITE_SIZES:
        preprocessing = Preprocessing((LITE_SIZES[name],) * 2, (0.498,) * 3, (0.502,) * 3)
    return network.to(memory_format=torch.channels_last), preprocessing


def get_timm_preprocessing(network: Any) -> Preprocessing | None:
    """Return how timm says that a network wants its images, or None."""
    config = getattr(network, "pretrained_cfg", None)
    if not isinstance(config, dict) or "input_size" not in config:
        return None
    return Preprocessing(tuple(config["input_size"][1:]), config["mean"], config["std"])


def _build(name: str, *, pretrained: bool) -> Any:
    if name in CIFAR_BLOCKS:
        if pretrained:
            raise EvidenceError("weights", f"none for {name!r}", "a .safetensors file")
        from theodolite.models.cifar_resnet import CifarResNet  # noqa: PLC0415

        return CifarResNet(CIFAR_BLOCKS[name]).eval()
    timm = require("timm", "model", "torch")
    architecture = f"tf_{name}" if name in LITE_SIZES else name
    if architecture not in timm.list_models():
        close = timm.list_models(f"*{name[:4]}*")[:5] or ["resnet18", "vit_base_patch16_224"]
        raise EvidenceError("model", repr(name), f"a model of timm, such as {close}")
    return timm.create_model(architecture, pretrained=pretrained).eval()


def fill(network: "torch.nn.Module", arrays: Mapping[str, np.ndarray], file: str) -> None:
    """Set all tensors of a network; refuse a file that lacks one or has another."""
    import torch  # noqa: PLC0415

    if "_conv_stem.weight" in arrays:
        arrays = _renamed(arrays, [len(stage) for stage in network.blocks])  # type: ignore[union-attr]
    state = network.state_dict()
    # counters of training steps: no network that is evaluated looks at them, some files lack them
    counters = (name for name in state if name.endswith(".num_batches_tracked"))
    arrays = {name: np.zeros((), np.int64) for name in counters} | dict(arrays)
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


def _renamed(arrays: Mapping[str, np.ndarray], stages: list[int]) -> dict[str, np.ndarray]:
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


def last_layer(network: "torch.nn.Module") -> str:
    """Return the last layer with spatial positions: before pooling and the class token."""
    names = [name for name, _ in network.named_children()]
    for name in ("bn2", "norm", "blocks", "layer4", "layer3", "features", "stages"):
        if name in names:
            return name
    return ""

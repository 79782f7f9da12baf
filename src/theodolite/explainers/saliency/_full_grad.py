"""FullGrad by grad-cam: contributions of the input and of every bias, summed over layers."""

from typing import TYPE_CHECKING, Any

import numpy as np

from theodolite._storage.optional import require
from theodolite.errors import EvidenceError
from theodolite.explainers.saliency._work import (
    ExplanationRequest,
    Maps,
    check_network,
    hide_progress_bars,
)

if TYPE_CHECKING:
    import torch


def full_grad(request: ExplanationRequest) -> Maps:
    """Return one map per image, from 0 to 1: the library stretches each part and the sum."""
    import torch  # noqa: PLC0415

    library = require("pytorch_grad_cam", "full_grad", "explain")
    check_network(request)
    _plain_norms(request)
    order = _order(request)
    step, parts = request.options["batch"], []
    target = library.utils.model_targets.ClassifierOutputTarget
    for start in range(0, len(request.images), step):
        explainer = library.FullGrad(request.network, [])
        # the library pairs biases in the order of definition with gradients in that of use
        explainer.bias_data = [explainer.bias_data[number] for number in order]
        class_targets = [
            target(class_index) for class_index in request.targets[start : start + step]
        ]
        try:
            with torch.enable_grad(), hide_progress_bars():
                maps = explainer(request.images[start : start + step], class_targets)
        finally:
            explainer.activations_and_grads.release()
        parts.append(np.asarray(maps, np.float32))
    return np.concatenate(parts)


def _biased(network: "torch.nn.Module") -> list["torch.nn.Module"]:
    """Return the layers of the two types whose biases the library uses."""
    import torch  # noqa: PLC0415

    kinds = {torch.nn.Conv2d, torch.nn.BatchNorm2d}
    return [m for m in network.modules() if type(m) in kinds and m.bias is not None]


def _order(request: ExplanationRequest) -> list[int]:
    """Return the numbers of layers with a bias, in the order of use."""
    import torch  # noqa: PLC0415

    layers = _biased(request.network)
    everything = [m for m in request.network.modules() if torch.is_tensor(getattr(m, "bias", None))]
    if not layers or len(layers) < len(everything) / 2:
        raise EvidenceError(
            "full_grad", f"{len(layers)} convolutions and batch norms among {len(everything)} "
            "layers with a bias",
            "a CNN: the library adds up what their biases do, and leaves out the others",
            "Take another method for a transformer.",
        )  # fmt: skip
    used: list[int] = []
    numbers = {id(layer): number for number, layer in enumerate(layers)}
    hooks = [
        layer.register_forward_hook(lambda module, *_: used.append(numbers[id(module)]))
        for layer in layers
    ]
    try:
        with torch.no_grad():
            request.network(request.images[:1])
    finally:
        for hook in hooks:
            hook.remove()
    if sorted(used) != list(range(len(layers))):
        raise EvidenceError(
            "full_grad", "a layer with a bias that is used twice or never", "each used once"
        )
    return used


def _plain_norms(request: ExplanationRequest) -> None:
    """Split timm's fused norm-activation layers, which the library would miss."""
    import torch  # noqa: PLC0415

    with torch.no_grad():
        before = request.network(request.images[:1])
        for module in list(request.network.modules()):
            for name, child in list(module.named_children()):
                if isinstance(child, torch.nn.BatchNorm2d) and hasattr(child, "act"):
                    setattr(module, name, _apart(child))
        if not torch.allclose(request.network(request.images[:1]), before, rtol=1e-4, atol=1e-5):
            raise EvidenceError(
                "full_grad", "batch norms that do more than a norm and an activation", "plain ones"
            )


def _apart(norm: Any) -> "torch.nn.Module":
    import torch  # noqa: PLC0415

    plain = torch.nn.BatchNorm2d(norm.num_features, norm.eps, norm.momentum, norm.affine)
    plain.load_state_dict({k: v for k, v in norm.state_dict().items() if "." not in k})
    plain.to(norm.running_mean.device).requires_grad_(requires_grad=False)
    after = [getattr(norm, name) for name in ("drop", "act") if hasattr(norm, name)]
    return torch.nn.Sequential(plain, *after).eval()

"""Class activation maps by grad-cam, with their original sign and scale.

The library rectifies every map and stretches it to 0..1. We take the maps of ``get_cam_image``
before that step."""

from typing import TYPE_CHECKING, Any

import numpy as np

from theodolite._storage.optional import require
from theodolite.errors import EvidenceError
from theodolite.explainers.saliency._ablation import make_ablation_layer, restore_layer
from theodolite.explainers.saliency._places import Place, find_place
from theodolite.explainers.saliency._work import (
    ExplanationRequest,
    Maps,
    enlarge_maps,
    hide_progress_bars,
)

if TYPE_CHECKING:
    import torch

CLASSES = {
    "grad_cam": "GradCAM",
    "hires_cam": "HiResCAM",
    "grad_cam_elementwise": "GradCAMElementWise",
    "grad_cam_plus_plus": "GradCAMPlusPlus",
    "x_grad_cam": "XGradCAM",
    "ablation_cam": "AblationCAM",
    "score_cam": "ScoreCAM",
    "eigen_cam": "EigenCAM",
    "eigen_grad_cam": "EigenGradCAM",
    "layer_cam": "LayerCAM",
}


def cam(method: str, request: ExplanationRequest) -> Maps:
    """Return one map per image by the grad-cam class of a method's name."""
    place = find_place(request)
    step = request.options["batch"] if method not in {"ablation_cam", "score_cam"} else 1
    parts = []
    for start in range(0, len(request.images), step):
        images = request.images[start : start + step]
        parts.append(_maps(method, request, place, images, request.targets[start : start + step]))
    return np.concatenate(parts)


def _maps(
    method: str,
    request: ExplanationRequest,
    place: Place,
    images: "torch.Tensor",
    targets: tuple[int, ...],
) -> Maps:
    import torch  # noqa: PLC0415

    library = require("pytorch_grad_cam", method, "explain")
    class_targets = [
        library.utils.model_targets.ClassifierOutputTarget(target) for target in targets
    ]
    more: dict[str, Any] = {}
    if method == "ablation_cam":
        layer = make_ablation_layer(library, place, zero=request.options["ablated"] == "zero")
        more = {"ablation_layer": layer, "batch_size": request.options["batch"]}
    kind = getattr(library, CLASSES[method])
    explainer = kind(request.network, [place.module], reshape_transform=place.maps, **more)
    explainer.batch_size = request.options["batch"]
    inputs = images.clone().requires_grad_()
    try:
        with torch.enable_grad(), hide_progress_bars():
            if request.options["values"] == "library":
                return np.asarray(explainer(inputs, class_targets), np.float32)
            raw = _raw(
                explainer, place, inputs, class_targets, by_sum=request.options.get("side") == "sum"
            )
    finally:
        explainer.activations_and_grads.release()
        if more:  # a pass that was cut off has left the ablating layer in its place
            restore_layer(request.network, more["ablation_layer"], place.module)
    if method == "ablation_cam":
        # the library divides by the logit, which turns the map over where the logit is below 0
        raw = raw * np.float32(np.sign(explainer.outputs[0, targets[0]].item()))
    if request.options["values"] == "rectified":
        raw = np.maximum(raw, 0)
    return enlarge_maps(torch.from_numpy(raw), *images.shape[2:])


def _raw(
    explainer: Any, place: Place, inputs: "torch.Tensor", class_targets: list[Any], *, by_sum: bool
) -> np.ndarray:
    """Return the map as the method defines it, at the size of the layer.

    A principal direction has no side of its own; ``by_sum`` takes the one on which the sum over
    channels of what was decomposed is larger.
    """
    explainer.outputs = explainer.activations_and_grads(inputs)
    gradients = None
    if explainer.uses_gradients:
        sum(
            target(row) for target, row in zip(class_targets, explainer.outputs, strict=True)
        ).backward()
        gradients = explainer.activations_and_grads.gradients[0].numpy()
        if place.leading and not gradients.any():
            raise EvidenceError(
                "layer", f"{place.name!r}, whose patches the answer does not depend on",
                "a layer before the last attention", "Name it, such as layer='blocks.11.norm1'.",
            )  # fmt: skip
    activations = explainer.activations_and_grads.activations[0].numpy()
    smooth = False
    seen = inputs.detach()
    maps = explainer.get_cam_image(
        seen, place.module, class_targets, activations, gradients, smooth
    )
    if by_sum:
        parts = activations if gradients is None else gradients * activations
        total = parts.sum(axis=1)
        total -= total.mean(axis=(1, 2), keepdims=True)
        maps = np.where((maps * total).sum(axis=(1, 2), keepdims=True) < 0, -maps, maps)
    return np.asarray(maps, np.float32)

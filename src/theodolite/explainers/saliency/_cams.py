"""Class activation maps, by grad-cam: a layer's maps, weighted by what each is worth.

The library rectifies every map and stretches it to 0..1. What it computes before is what its
``get_cam_image`` gives, and that is what is taken here, with its signs and its scale.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from theodolite.errors import EvidenceError
from theodolite.explainers.saliency._ablation import ablating, put_back
from theodolite.explainers.saliency._places import Place, find_place
from theodolite.explainers.saliency._work import (
    ExplanationRequest,
    Maps,
    brought,
    quietly,
    stretched,
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


def cam(method: str, work: ExplanationRequest) -> Maps:
    """One map per picture by the class of grad-cam that a method's name stands for."""
    place = find_place(work)
    step = work.options["batch"] if method not in {"ablation_cam", "score_cam"} else 1
    parts = []
    for start in range(0, len(work.pictures), step):
        pictures = work.pictures[start : start + step]
        parts.append(_maps(method, work, place, pictures, work.targets[start : start + step]))
    return np.concatenate(parts)


def _maps(
    method: str,
    work: ExplanationRequest,
    place: Place,
    pictures: "torch.Tensor",
    targets: tuple[int, ...],
) -> Maps:
    import torch  # noqa: PLC0415

    library = brought("pytorch_grad_cam", method)
    wanted = [library.utils.model_targets.ClassifierOutputTarget(target) for target in targets]
    more: dict[str, Any] = {}
    if method == "ablation_cam":
        layer = ablating(library, place, zero=work.options["ablated"] == "zero")
        more = {"ablation_layer": layer, "batch_size": work.options["batch"]}
    kind = getattr(library, CLASSES[method])
    made = kind(work.network, [place.module], reshape_transform=place.maps, **more)
    made.batch_size = work.options["batch"]
    given = pictures.clone().requires_grad_()
    try:
        with torch.enable_grad(), quietly():
            if work.options["values"] == "library":
                return np.asarray(made(given, wanted), np.float32)
            raw = _raw(made, place, given, wanted, by_sum=work.options.get("side") == "sum")
    finally:
        made.activations_and_grads.release()
        if more:  # a pass that was cut off has left the ablating layer in its place
            put_back(work.network, more["ablation_layer"], place.module)
    if method == "ablation_cam":
        # the library divides by the logit, which turns the map over where the logit is below 0
        raw = raw * np.float32(np.sign(made.outputs[0, targets[0]].item()))
    if work.options["values"] == "rectified":
        raw = np.maximum(raw, 0)
    return stretched(torch.from_numpy(raw), *pictures.shape[2:])


def _raw(
    made: Any, place: Place, given: "torch.Tensor", wanted: list[Any], *, by_sum: bool
) -> np.ndarray:
    """The map as the method defines it, at the size of the layer.

    A principal direction has no side of its own; ``by_sum`` takes the one on which the sum over
    channels of what was decomposed is larger.
    """
    made.outputs = made.activations_and_grads(given)
    gradients = None
    if made.uses_gradients:
        sum(target(row) for target, row in zip(wanted, made.outputs, strict=True)).backward()
        gradients = made.activations_and_grads.gradients[0].numpy()
        if place.leading and not gradients.any():
            raise EvidenceError(
                "layer", f"{place.name!r}, whose patches the answer does not depend on",
                "a layer before the last attention", "Name it, such as layer='blocks.11.norm1'.",
            )  # fmt: skip
    activations = made.activations_and_grads.activations[0].numpy()
    smooth = False
    seen = given.detach()
    found = made.get_cam_image(seen, place.module, wanted, activations, gradients, smooth)
    if by_sum:
        parts = activations if gradients is None else gradients * activations
        total = parts.sum(axis=1)
        total -= total.mean(axis=(1, 2), keepdims=True)
        found = np.where((found * total).sum(axis=(1, 2), keepdims=True) < 0, -found, found)
    return np.asarray(found, np.float32)

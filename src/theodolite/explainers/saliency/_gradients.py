"""Pixel attribution by captum: gradients, integrated gradients, occlusion and Kernel SHAP."""

from typing import TYPE_CHECKING

import numpy as np

from theodolite._storage.optional import require
from theodolite.errors import EvidenceError
from theodolite.explainers.saliency._work import (
    ExplanationRequest,
    Maps,
    check_network,
    make_scorer,
    number_cells,
    seed_libraries,
)

if TYPE_CHECKING:
    import torch


def saliency(request: ExplanationRequest) -> Maps:
    """Return the largest absolute gradient of the logit over channels."""
    import torch  # noqa: PLC0415

    check_network(request)
    method = require("captum.attr", "saliency", "explain").Saliency(request.network)
    step, parts = request.options["batch"], []
    for start in range(0, len(request.images), step):
        images = request.images[start : start + step].clone().requires_grad_()
        with torch.enable_grad():
            attributions = method.attribute(
                images, target=list(request.targets[start : start + step])
            )
        parts.append(_joined(attributions, request))
    return np.concatenate(parts)


def integrated_gradients(request: ExplanationRequest) -> Maps:
    """Return the mean gradient from baseline to image, times their difference."""
    import torch  # noqa: PLC0415

    check_network(request)
    method = require("captum.attr", "integrated_gradients", "explain").IntegratedGradients(
        request.network
    )
    parts = []
    for image, target in _one_by_one(request):
        with torch.enable_grad():
            attributions = method.attribute(
                image, baselines=float(request.options["baseline"]), target=target,
                n_steps=request.options["steps"], internal_batch_size=request.options["batch"],
            )  # fmt: skip
        parts.append(_joined(attributions, request))
    return np.concatenate(parts)


def gradient_shap(request: ExplanationRequest) -> Maps:
    """Return integrated gradients at random points, from a noisy image."""
    import torch  # noqa: PLC0415

    check_network(request)
    method = require("captum.attr", "gradient_shap", "explain").GradientShap(request.network)
    parts = []
    for image, target in _one_by_one(request):
        baseline = torch.full_like(image, float(request.options["baseline"]))
        with torch.enable_grad(), seed_libraries(request.seed):
            attributions = method.attribute(
                image, baselines=baseline, target=target, n_samples=request.options["samples"],
                stdevs=float(request.options["noise"]),
            )  # fmt: skip
        parts.append(_joined(attributions, request))
    return np.concatenate(parts)


def occlusion(request: ExplanationRequest) -> Maps:
    """Return the mean score drop over the covering windows of each pixel."""
    import torch  # noqa: PLC0415

    check_network(request)
    method = require("captum.attr", "occlusion", "explain").Occlusion(make_scorer(request))
    window, stride = _windows(request)
    parts = []
    for image, target in _one_by_one(request):
        with torch.no_grad():
            attributions = method.attribute(
                image, sliding_window_shapes=(3, window, window), strides=(3, stride, stride),
                baselines=float(request.options["baseline"]), target=target,
                perturbations_per_eval=request.options["batch"],
            )  # fmt: skip
        # the channels are covered together, all with one value
        parts.append(attributions[:, 0].cpu().numpy())
    return np.concatenate(parts).astype(np.float32)


def _windows(request: ExplanationRequest) -> tuple[int, int]:
    """Return the window size and step: by default a seventh of a side, and half of that."""
    shorter = min(request.images.shape[2:])
    window = request.options["window"] or max(shorter // 7, 1)
    stride = request.options["stride"] or max(window // 2, 1)
    if not stride <= window <= shorter:
        raise EvidenceError(
            "occlusion", f"a window of {window} and a stride of {stride}",
            f"a window of at most {shorter}, and a stride that leaves nothing uncovered",
        )  # fmt: skip
    return window, stride


def kernel_shap(request: ExplanationRequest) -> Maps:
    """Return Shapley values of grid cells, estimated by a weighted linear fit."""
    import torch  # noqa: PLC0415

    check_network(request)
    method = require("captum.attr", "kernel_shap", "explain").KernelShap(make_scorer(request))
    rows, columns = request.images.shape[2:]
    grid = torch.from_numpy(number_cells(rows, columns, request.options["cells"]))
    parts = []
    for image, target in _one_by_one(request):
        with torch.no_grad(), seed_libraries(request.seed):
            attributions = method.attribute(
                image, baselines=float(request.options["baseline"]), target=target,
                feature_mask=grid[None, None].to(image.device),
                n_samples=request.options["samples"],
                perturbations_per_eval=request.options["batch"],
            )  # fmt: skip
        parts.append(attributions[:, 0].cpu().numpy())
    return np.concatenate(parts).astype(np.float32)


def _one_by_one(request: ExplanationRequest) -> "list[tuple[torch.Tensor, int]]":
    """Return each image alone, so that its map does not depend on others."""
    return [(request.images[i : i + 1], target) for i, target in enumerate(request.targets)]


def _joined(attributions: "torch.Tensor", request: ExplanationRequest) -> Maps:
    """Return one number per pixel: the sum over channels or the largest in size."""
    values = attributions.detach().cpu().numpy()
    if request.options["channels"] == "sum":
        return np.asarray(values.sum(axis=1, dtype=np.float64), np.float32)
    largest = np.abs(values).argmax(axis=1)[:, None]
    return np.asarray(np.take_along_axis(values, largest, axis=1)[:, 0], np.float32)

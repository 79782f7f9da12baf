"""Attribution to pixels, by captum: gradients, integrated gradients, occlusion, Kernel SHAP."""

from typing import TYPE_CHECKING

import numpy as np

from theodolite.errors import EvidenceError
from theodolite.explainers.saliency._work import (
    ExplanationRequest,
    Maps,
    brought,
    cells,
    checked,
    scorer,
    seeded,
)

if TYPE_CHECKING:
    import torch


def saliency(work: ExplanationRequest) -> Maps:
    """How steep the logit is: the absolute gradient, its largest channel."""
    import torch  # noqa: PLC0415

    checked(work)
    method = brought("captum.attr", "saliency").Saliency(work.network)
    step, parts = work.options["batch"], []
    for start in range(0, len(work.pictures), step):
        given = work.pictures[start : start + step].clone().requires_grad_()
        with torch.enable_grad():
            found = method.attribute(given, target=list(work.targets[start : start + step]))
        parts.append(_joined(found, work))
    return np.concatenate(parts)


def integrated_gradients(work: ExplanationRequest) -> Maps:
    """The gradient along the line from the baseline, times how far the picture is from it."""
    import torch  # noqa: PLC0415

    checked(work)
    method = brought("captum.attr", "integrated_gradients").IntegratedGradients(work.network)
    parts = []
    for picture, target in _one_by_one(work):
        with torch.enable_grad():
            found = method.attribute(
                picture, baselines=float(work.options["baseline"]), target=target,
                n_steps=work.options["steps"], internal_batch_size=work.options["batch"],
            )  # fmt: skip
        parts.append(_joined(found, work))
    return np.concatenate(parts)


def gradient_shap(work: ExplanationRequest) -> Maps:
    """Integrated gradients at random points of the line, from a picture with noise."""
    import torch  # noqa: PLC0415

    checked(work)
    method = brought("captum.attr", "gradient_shap").GradientShap(work.network)
    parts = []
    for picture, target in _one_by_one(work):
        baseline = torch.full_like(picture, float(work.options["baseline"]))
        with torch.enable_grad(), seeded(work.seed):
            found = method.attribute(
                picture, baselines=baseline, target=target, n_samples=work.options["samples"],
                stdevs=float(work.options["noise"]),
            )  # fmt: skip
        parts.append(_joined(found, work))
    return np.concatenate(parts)


def occlusion(work: ExplanationRequest) -> Maps:
    """By how much the score drops when a window is covered; the mean over windows at a pixel."""
    import torch  # noqa: PLC0415

    checked(work)
    method = brought("captum.attr", "occlusion").Occlusion(scorer(work))
    window, stride = _windows(work)
    parts = []
    for picture, target in _one_by_one(work):
        with torch.no_grad():
            found = method.attribute(
                picture, sliding_window_shapes=(3, window, window), strides=(3, stride, stride),
                baselines=float(work.options["baseline"]), target=target,
                perturbations_per_eval=work.options["batch"],
            )  # fmt: skip
        parts.append(found[:, 0].cpu().numpy())  # the channels are covered together: all alike
    return np.concatenate(parts).astype(np.float32)


def _windows(work: ExplanationRequest) -> tuple[int, int]:
    """How large a window is, and how far it moves: by default a seventh of a side, and half."""
    shorter = min(work.pictures.shape[2:])
    window = work.options["window"] or max(shorter // 7, 1)
    stride = work.options["stride"] or max(window // 2, 1)
    if not stride <= window <= shorter:
        raise EvidenceError(
            "occlusion", f"a window of {window} and a stride of {stride}",
            f"a window of at most {shorter}, and a stride that leaves nothing uncovered",
        )  # fmt: skip
    return window, stride


def kernel_shap(work: ExplanationRequest) -> Maps:
    """Shapley values of the cells of a grid, estimated by a weighted linear fit."""
    import torch  # noqa: PLC0415

    checked(work)
    method = brought("captum.attr", "kernel_shap").KernelShap(scorer(work))
    rows, columns = work.pictures.shape[2:]
    grid = torch.from_numpy(cells(rows, columns, work.options["cells"]))
    parts = []
    for picture, target in _one_by_one(work):
        with torch.no_grad(), seeded(work.seed):
            found = method.attribute(
                picture, baselines=float(work.options["baseline"]), target=target,
                feature_mask=grid[None, None].to(picture.device),
                n_samples=work.options["samples"], perturbations_per_eval=work.options["batch"],
            )  # fmt: skip
        parts.append(found[:, 0].cpu().numpy())
    return np.concatenate(parts).astype(np.float32)


def _one_by_one(work: ExplanationRequest) -> "list[tuple[torch.Tensor, int]]":
    """Each picture alone, so that its map does not depend on the others."""
    return [(work.pictures[i : i + 1], target) for i, target in enumerate(work.targets)]


def _joined(found: "torch.Tensor", work: ExplanationRequest) -> Maps:
    """One number per pixel: the sum of its channels, or the one that is largest in size."""
    values = found.detach().cpu().numpy()
    if work.options["channels"] == "sum":
        return np.asarray(values.sum(axis=1, dtype=np.float64), np.float32)
    largest = np.abs(values).argmax(axis=1)[:, None]
    return np.asarray(np.take_along_axis(values, largest, axis=1)[:, 0], np.float32)

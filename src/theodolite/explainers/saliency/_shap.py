"""SHAP by the library shap: Owen values over a hierarchical partition of the image."""

from typing import Any

import numpy as np

from theodolite._storage.optional import require
from theodolite.explainers.saliency._work import (
    ExplanationRequest,
    Maps,
    check_network,
    hide_progress_bars,
    make_scorer,
    seed_libraries,
)


def shap(request: ExplanationRequest) -> Maps:
    """Return each region's contribution to the score, divided among its pixels and channels."""
    check_network(request)
    maps = [
        _explain_image(request, image.cpu().numpy().transpose(1, 2, 0), target)
        for image, target in zip(request.images, request.targets, strict=True)
    ]
    return np.stack(maps).astype(np.float32)


def _explain_image(request: ExplanationRequest, image: np.ndarray, target: int) -> np.ndarray:
    library = require("shap", "shap", "explain")
    # one masker an image: the library keeps a blurred image under a number that is used again
    rows, columns, _ = image.shape
    blur = f"blur({max(columns // 2, 1)},{max(rows // 2, 1)})"
    hidden = blur if request.options["background"] == "blur" else np.zeros_like(image)
    masker = library.maskers.Image(hidden, image.shape)
    explainer = library.PartitionExplainer(_score(request, target), masker)
    with seed_libraries(request.seed), hide_progress_bars():
        explanation = explainer(
            image[None], max_evals=request.options["max_evals"],
            batch_size=request.options["batch"], silent=True,
        )  # fmt: skip
    values = np.asarray(explanation.values, np.float64).reshape(rows, columns, -1)
    return np.asarray(values.sum(axis=2))


def _score(request: ExplanationRequest, target: int) -> Any:
    import torch  # noqa: PLC0415

    scores = make_scorer(request)

    def of(images: np.ndarray) -> np.ndarray:
        batch = np.ascontiguousarray(np.asarray(images).transpose(0, 3, 1, 2), np.float32)
        with torch.no_grad():
            class_scores = scores(torch.from_numpy(batch).to(request.images.device))
        return np.asarray(class_scores[:, target].cpu().numpy(), np.float64)

    return of

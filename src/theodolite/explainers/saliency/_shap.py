"""SHAP, by the library shap: Owen values of halves of halves of the picture."""

from typing import Any

import numpy as np

from theodolite._storage.optional import require
from theodolite.explainers.saliency._work import (
    ExplanationRequest,
    Maps,
    check_network,
    quietly,
    scorer,
    seeded,
)


def shap(request: ExplanationRequest) -> Maps:
    """What a pixel's region adds to the score, shared evenly among its pixels and channels."""
    check_network(request)
    maps = [
        _explain_picture(request, picture.cpu().numpy().transpose(1, 2, 0), target)
        for picture, target in zip(request.pictures, request.targets, strict=True)
    ]
    return np.stack(maps).astype(np.float32)


def _explain_picture(request: ExplanationRequest, picture: np.ndarray, target: int) -> np.ndarray:
    library = require("shap", "shap", "explain")
    # one masker a picture: the library keeps a blurred picture under a number that is used again
    rows, columns, _ = picture.shape
    blur = f"blur({max(columns // 2, 1)},{max(rows // 2, 1)})"
    hidden = blur if request.options["background"] == "blur" else np.zeros_like(picture)
    masker = library.maskers.Image(hidden, picture.shape)
    explainer = library.PartitionExplainer(_score(request, target), masker)
    with seeded(request.seed), quietly():
        explanation = explainer(
            picture[None], max_evals=request.options["max_evals"],
            batch_size=request.options["batch"], silent=True,
        )  # fmt: skip
    values = np.asarray(explanation.values, np.float64).reshape(rows, columns, -1)
    return np.asarray(values.sum(axis=2))


def _score(request: ExplanationRequest, target: int) -> Any:
    import torch  # noqa: PLC0415

    scores = scorer(request)

    def of(pictures: np.ndarray) -> np.ndarray:
        batch = np.ascontiguousarray(np.asarray(pictures).transpose(0, 3, 1, 2), np.float32)
        with torch.no_grad():
            class_scores = scores(torch.from_numpy(batch).to(request.pictures.device))
        return np.asarray(class_scores[:, target].cpu().numpy(), np.float64)

    return of

"""SHAP, by the library shap: Owen values of halves of halves of the picture."""

from typing import Any

import numpy as np

from theodolite.explainers.saliency._work import (
    ExplanationRequest,
    Maps,
    brought,
    checked,
    quietly,
    scorer,
    seeded,
)


def shap(work: ExplanationRequest) -> Maps:
    """What a pixel's region adds to the score, shared evenly among its pixels and channels."""
    checked(work)
    maps = [
        _one(work, picture.cpu().numpy().transpose(1, 2, 0), target)
        for picture, target in zip(work.pictures, work.targets, strict=True)
    ]
    return np.stack(maps).astype(np.float32)


def _one(work: ExplanationRequest, picture: np.ndarray, target: int) -> np.ndarray:
    library = brought("shap", "shap")
    # one masker a picture: the library keeps a blurred picture under a number that is used again
    rows, columns, _ = picture.shape
    blur = f"blur({max(columns // 2, 1)},{max(rows // 2, 1)})"
    hidden = blur if work.options["background"] == "blur" else np.zeros_like(picture)
    masker = library.maskers.Image(hidden, picture.shape)
    explainer = library.PartitionExplainer(_score(work, target), masker)
    with seeded(work.seed), quietly():
        found = explainer(
            picture[None], max_evals=work.options["max_evals"], batch_size=work.options["batch"],
            silent=True,
        )  # fmt: skip
    values = np.asarray(found.values, np.float64).reshape(rows, columns, -1)
    return np.asarray(values.sum(axis=2))


def _score(work: ExplanationRequest, target: int) -> Any:
    import torch  # noqa: PLC0415

    scores = scorer(work)

    def of(pictures: np.ndarray) -> np.ndarray:
        given = np.ascontiguousarray(np.asarray(pictures).transpose(0, 3, 1, 2), np.float32)
        with torch.no_grad():
            found = scores(torch.from_numpy(given).to(work.pictures.device))
        return np.asarray(found[:, target].cpu().numpy(), np.float64)

    return of

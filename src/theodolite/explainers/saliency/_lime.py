"""LIME by the library lime: a local linear model over image segments."""

from typing import Any

import numpy as np

from theodolite._storage.optional import require
from theodolite.explainers.saliency._work import (
    ExplanationRequest,
    Maps,
    check_network,
    hide_progress_bars,
    make_scorer,
    number_cells,
    seed_libraries,
)

SETTINGS: dict[str, dict[str, Any]] = {
    "quickshift": {"kernel_size": 4, "max_dist": 200, "ratio": 0.2},  # the library's own
    "slic": {"n_segments": 50, "compactness": 10, "sigma": 1, "start_label": 0},
    "felzenszwalb": {"scale": 100, "sigma": 0.5, "min_size": 50},
}


def lime(request: ExplanationRequest) -> Maps:
    """Return the weight of each pixel's segment, or marks of the strongest segments."""
    check_network(request)
    maps = [
        _explain_image(request, image.cpu().numpy().transpose(1, 2, 0), target)
        for image, target in zip(request.images, request.targets, strict=True)
    ]
    return np.stack(maps).astype(np.float32)


def _explain_image(request: ExplanationRequest, image: np.ndarray, target: int) -> np.ndarray:
    library = require("lime.lime_image", "lime", "explain")
    options = request.options
    explainer = library.LimeImageExplainer(
        kernel_width=options["kernel_width"], random_state=request.seed
    )
    with seed_libraries(request.seed), hide_progress_bars():
        explanation = explainer.explain_instance(
            image.astype(np.float64),  # segments are filled with means: not of whole numbers
            _classifier(request), labels=(target,), top_labels=None,
            num_features=options["num_features"], num_samples=options["num_samples"],
            batch_size=options["batch"], random_seed=request.seed,
            hide_color=None if options["hidden"] == "mean" else 0,
            segmentation_fn=lambda _: _segments(image, options),
        )  # fmt: skip
    if options["top"] is not None:
        _, marks = explanation.get_image_and_mask(
            target, positive_only=False, num_features=options["top"]
        )
        return np.asarray(marks)
    weights = np.zeros(int(explanation.segments.max()) + 1)
    for segment, weight in explanation.local_exp[target]:
        weights[segment] = weight
    return np.asarray(weights[explanation.segments])


def _classifier(request: ExplanationRequest) -> Any:
    import torch  # noqa: PLC0415

    scores = make_scorer(request)

    def classify(images: np.ndarray) -> np.ndarray:
        batch = torch.from_numpy(np.ascontiguousarray(images.transpose(0, 3, 1, 2), np.float32))
        with torch.no_grad():
            return np.asarray(scores(batch.to(request.images.device)).cpu().numpy())

    return classify


def _segments(image: np.ndarray, options: Any) -> np.ndarray:
    """Return the segment number of each pixel, from 0 without gaps."""
    name = options["segments"]
    if name == "grid":
        return number_cells(image.shape[0], image.shape[1], options["cells"])
    # these look at colors, from 0 to 1; the network's own numbers may be anything
    low, high = image.min(), image.max()
    colors = (image - low) / (high - low if high > low else 1)
    algorithm = getattr(require("skimage.segmentation", "lime", "explain"), name)
    labels = np.asarray(algorithm(colors.astype(np.float64), **SETTINGS[name]))
    _, numbers = np.unique(labels, return_inverse=True)
    return np.asarray(numbers.reshape(image.shape[:2]))

"""Maps that somebody made with grad-cam (``pytorch_grad_cam``).

The library cuts maps off below zero, stretches each to 0 … 1 and to the size of the picture. Lost
before they come here: what speaks against the class, how strong one map is beside another, and the
layer's own resolution. Scores that use only the order of pixels are as they would be; a mass of
relevance is one of stretched values.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from theodolite.bridges._tensors import flags, numbers, whole
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Classes, Samples
from theodolite.evidence.kinds.saliency import SaliencyEvidence

BEYOND = 1e-6


def saliency_evidence(
    cams: Any,
    *,
    objects: Any = None,
    predicted: Any = None,
    classes: Sequence[str] = (),
    samples: Samples | None = None,
) -> SaliencyEvidence:
    """One map for each picture, from what ``cam(input_tensor=..., targets=...)`` gave.

    Args:
        cams: (samples, rows, columns), from 0 to 1.
        objects: Masks of the same size.
        predicted: The class that each map is of: that of ``ClassifierOutputTarget``.
        classes: Names of the classes.
        samples: Ids and clusters.
    """
    maps = numbers(cams, "cams")
    if maps.ndim != 3:
        raise EvidenceError("cams", f"shape {maps.shape}", "(samples, rows, columns)")
    if maps.size and not (maps.min() >= -BEYOND and maps.max() <= 1 + BEYOND):
        raise EvidenceError(
            "cams", f"values from {np.nanmin(maps):g} to {np.nanmax(maps):g}", "0 to 1",
            "Pass what cam(...) gave, not a drawing of it; other maps are SaliencyEvidence as they "
            "are.",
        )  # fmt: skip
    return SaliencyEvidence(
        maps=maps,
        objects=None if objects is None else flags(objects, "objects"),
        predicted=None if predicted is None else whole(predicted, "predicted"),
        classes=Classes(tuple(classes)),
        samples=samples or Samples(),
    )

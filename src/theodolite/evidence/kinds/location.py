"""Evidence about where a concept model looks in images and where the concepts are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Concepts, Parts
from theodolite.evidence.base import Evidence, array, inner
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.questions import Question

MAX_IMAGE_SIDE = 50_000


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class LocationEvidence(Evidence):
    """Where a concept model looked in each image, and where the concepts are.

    A concept is tied to a part (or to none); a part can be in an image at several places, such
    as a left and a right wing. Places are given as points, boxes or masks, in pixels of the
    image, row first; NaN pads what is not there or not visible.
    """

    kind = "location"
    version = 1
    ways: ClassVar[Mapping[Question, str]] = {
        "located": "maps of where each concept is active and the concepts' places"
    }

    explained: ConceptEvidence = inner(ConceptEvidence)
    """Concept evidence of the same images and concepts: it ranks the concepts."""
    maps: Float[np.ndarray, "samples concepts height width"] = array(
        "samples", "concepts", "height", "width"
    )
    """Where each concept is active, at any resolution; never upsampled here."""
    sizes: Int[np.ndarray, "samples 2"] = array("samples", "2", content="index")
    """Rows and columns of each image."""
    part_of: Int[np.ndarray, " concepts"] = array(
        "concepts", content="index", points_to="parts", none_is=-1
    )
    """The part that each concept is tied to; -1 for none."""
    points: Float[np.ndarray, "samples parts places 2"] | None = array(
        "samples", "parts", "places", "2", optional=True, may_be_nan=True
    )
    """Where the concepts are: row and column of each place."""
    boxes: Float[np.ndarray, "samples parts boxes 4"] | None = array(
        "samples", "parts", "boxes", "4", optional=True, may_be_nan=True
    )
    """First row, first column, last row, last column."""
    masks: Bool[np.ndarray, "samples parts mask_rows mask_columns"] | None = array(
        "samples", "parts", "mask_rows", "mask_columns", content="flag", optional=True
    )
    """One grid for all images, stretched over each."""
    concepts: Concepts = Concepts()
    parts: Parts = Parts()

    def rankable(self) -> int:
        return int((self.part_of >= 0).sum())  # a concept without a place cannot be located

    def check(self) -> None:
        if self.points is None and self.boxes is None and self.masks is None:
            raise EvidenceError("places", "none", "`points`, `boxes` or `masks`")
        if self.sizes.min() < 1 or self.sizes.max() > MAX_IMAGE_SIDE:
            side = self.sizes.min() if self.sizes.min() < 1 else self.sizes.max()
            raise EvidenceError(
                "sizes", f"{side}", f"rows and columns of images, 1 to {MAX_IMAGE_SIDE}"
            )
        for name, places in (("points", self.points), ("boxes", self.boxes)):
            if places is None:
                continue
            corners = places.reshape(len(self), -1, 2)
            coordinates = corners[~np.isnan(corners)]
            if len(coordinates) and coordinates.max() <= 1 and self.sizes.min() >= 8:
                raise EvidenceError(
                    name, "shares of the image (0 to 1)", "pixels", "Multiply by `sizes`."
                )
            inside = (corners >= 0) & (corners <= self.sizes[:, None, :])
            wrong = ~(inside | np.isnan(corners)).all(axis=(1, 2))
            if wrong.any():
                sample = self.samples.name(int(wrong.argmax()))
                raise EvidenceError(
                    name,
                    f"a place outside the image in sample {sample}",
                    "rows and columns within `sizes`",
                    "Scale the places to the images; row first, then column.",
                )
        boxes = self.boxes
        if boxes is not None and (boxes[..., 2:] < boxes[..., :2]).any():
            raise EvidenceError(
                "boxes", "a box that ends before it begins", "first row, first column, last row, "
                "last column",
            )  # fmt: skip

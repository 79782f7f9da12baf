"""Evidence about what units detect: overlaps of their activation masks with concept masks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Int

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Units
from theodolite.evidence.base import Evidence, array
from theodolite.questions import Question


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class UnitEvidence(Evidence):
    """What units mark in each image, and where what they are named after is.

    A unit's formula is a concept or a combination of concepts (``horn OR tusk``); masks are
    counted in places: pixels of one grid, or tokens of a sequence.
    """

    kind = "unit"
    version = 1
    marker = "unit_pixels"
    ways: ClassVar[Mapping[Question, str]] = {
        "detects": "what units mark and where concepts are; `theodolite.dissect` makes it from "
        "activations and masks"
    }

    unit_pixels: Int[np.ndarray, "samples units"] = array("samples", "units", content="index")
    """Pixels that the unit marks."""
    formula_pixels: Int[np.ndarray, "samples units"] = array("samples", "units", content="index")
    """Pixels at which the unit's formula holds."""
    shared_pixels: Int[np.ndarray, "samples units"] = array("samples", "units", content="index")
    """Pixels in both."""
    chance_unit_pixels: Int[np.ndarray, "samples units"] | None = array(
        "samples", "units", content="index", optional=True
    )
    """Pixels that the unit's masks mark when dealt out over other images: with the two below,
    what a search finds where there is nothing to find."""
    chance_formula_pixels: Int[np.ndarray, "samples units"] | None = array(
        "samples", "units", content="index", optional=True
    )
    """Pixels at which the formula holds that fits those masks best."""
    chance_shared_pixels: Int[np.ndarray, "samples units"] | None = array(
        "samples", "units", content="index", optional=True
    )
    """Pixels in both of these."""
    fires: Bool[np.ndarray, "samples units"] | None = array(
        "samples", "units", content="flag", optional=True
    )
    """Whether the unit exceeds its threshold before upsampling; after it, if not given."""
    annotated: Bool[np.ndarray, "samples units"] | None = array(
        "samples", "units", content="flag", optional=True
    )
    """Whether the image is annotated with the formula's category."""
    chance_annotated: Bool[np.ndarray, "samples units"] | None = array(
        "samples", "units", content="flag", optional=True
    )
    """Whether the image is annotated with the category of the formula of permuted masks."""
    right: Bool[np.ndarray, " samples"] | None = array("samples", content="flag", optional=True)
    """Whether the model classifies the image correctly."""
    units: Units = Units()

    def check(self) -> None:
        for before in ("", "chance_"):
            unit, formula, shared = (
                getattr(self, f"{before}{name}_pixels") for name in ("unit", "formula", "shared")
            )
            parts = [part for part in (unit, formula, shared) if part is not None]
            if len(parts) not in (0, 3):
                raise EvidenceError(
                    f"{before}unit_pixels", f"{len(parts)} of three arrays",
                    f"{before}unit_pixels, {before}formula_pixels and {before}shared_pixels",
                )  # fmt: skip
            if parts and (shared > np.minimum(unit, formula)).any():
                raise EvidenceError(
                    f"{before}shared_pixels",
                    "more pixels than in either mask",
                    "the pixels in both",
                )
            if parts and min(int(part.min(initial=0)) for part in parts) < 0:
                raise EvidenceError(f"{before}pixels", "a negative number", "counts of pixels")

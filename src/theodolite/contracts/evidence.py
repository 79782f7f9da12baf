"""The kinds of evidence that scores are made from."""

from dataclasses import dataclass
from typing import no_type_check

import numpy as np
from jaxtyping import Bool, Float, Int

from theodolite.contracts.axes import Classes, Concepts, Parts, Policies, Units
from theodolite.contracts.bundle import Evidence, array, inner
from theodolite.errors import EvidenceError

LONGEST_SIDE = 50_000


@no_type_check  # the door takes what can be converted; its own checks say what cannot
@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class ConceptEvidence(Evidence):
    """What a concept model said about each sample, and what is true.

    Only ``values`` is needed; each score says which of the others it uses.

    Example:
        >>> ConceptEvidence(values=np.zeros((2, 3)), truth=np.ones((2, 2)))
        Traceback (most recent call last):
        theodolite.errors.EvidenceError: truth: got shape (2, 2) for (samples, concepts); \
needed concepts = 3, as in `values`. Check the order of rows and columns, and the number of names.
    """

    kind = "concept"
    version = 1

    values: Float[np.ndarray, "samples concepts"] = array("samples", "concepts")
    """The model's value of each concept: an activation, a probability, a projection."""
    truth: Bool[np.ndarray, "samples concepts"] | None = array(
        "samples", "concepts", content="flag", optional=True
    )
    """Whether the concept is there."""
    known: Bool[np.ndarray, "samples concepts"] | None = array(
        "samples", "concepts", content="flag", optional=True
    )
    """Where ``truth`` is known; everywhere if not given."""
    labels: Int[np.ndarray, " samples"] | None = array(
        "samples", content="index", points_to="classes", optional=True
    )
    """The true class."""
    predicted: Int[np.ndarray, " samples"] | None = array(
        "samples", content="index", points_to="classes", optional=True
    )
    """The class that the model chose."""
    weights: Float[np.ndarray, "concepts classes"] | None = array(
        "concepts", "classes", optional=True
    )
    """Weight of each concept in the linear head for each class."""
    class_truth: Float[np.ndarray, "concepts classes"] | None = array(
        "concepts", "classes", optional=True
    )
    """How much each concept belongs to each class, 0 to 1, as annotators said."""
    concepts: Concepts = Concepts()
    classes: Classes = Classes()

    def check(self) -> None:
        given = self.class_truth
        if given is not None and (given.min() < 0 or given.max() > 1):
            raise EvidenceError(
                "class_truth",
                f"values from {given.min():g} to {given.max():g}",
                "0 to 1",
                "Divide percentages by 100.",
            )


@no_type_check  # the door takes what can be converted; its own checks say what cannot
@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class LocationEvidence(Evidence):
    """Where a concept model looked in each picture, and where the concepts are.

    A concept is tied to a part (or to none); a part can be in a picture at several places, such
    as a left and a right wing. Places are given as points, boxes or masks, in pixels of the
    picture, row first; NaN pads what is not there or not visible.
    """

    kind = "location"
    version = 1

    explained: ConceptEvidence = inner(ConceptEvidence)
    """The same pictures and concepts as concept evidence: it ranks the concepts."""
    maps: Float[np.ndarray, "samples concepts height width"] = array(
        "samples", "concepts", "height", "width"
    )
    """Where each concept is active, at any resolution; never upsampled here."""
    sizes: Int[np.ndarray, "samples 2"] = array("samples", "2", content="index")
    """Rows and columns of each picture."""
    part_of: Int[np.ndarray, " concepts"] = array(
        "concepts", content="index", points_to="parts", none_is=-1
    )
    """The part that each concept is tied to; -1 for none."""
    points: Float[np.ndarray, "samples parts places 2"] | None = array(
        "samples", "parts", "places", "2", optional=True, may_be_nan=True
    )
    """Row and column of each place."""
    boxes: Float[np.ndarray, "samples parts boxes 4"] | None = array(
        "samples", "parts", "boxes", "4", optional=True, may_be_nan=True
    )
    """First row, first column, last row, last column."""
    masks: Bool[np.ndarray, "samples parts mask_rows mask_columns"] | None = array(
        "samples", "parts", "mask_rows", "mask_columns", content="flag", optional=True
    )
    """One grid for all pictures, stretched over each."""
    concepts: Concepts = Concepts()
    parts: Parts = Parts()

    def check(self) -> None:
        if self.points is None and self.boxes is None and self.masks is None:
            raise EvidenceError("places", "none", "`points`, `boxes` or `masks`")
        if self.sizes.min() < 1 or self.sizes.max() > LONGEST_SIDE:
            came = self.sizes.min() if self.sizes.min() < 1 else self.sizes.max()
            raise EvidenceError(
                "sizes", f"{came}", f"rows and columns of pictures, 1 to {LONGEST_SIDE}"
            )
        for name, places in (("points", self.points), ("boxes", self.boxes)):
            if places is None:
                continue
            corners = places.reshape(len(self), -1, 2)
            given = corners[~np.isnan(corners)]
            if len(given) and given.max() <= 1 and self.sizes.min() >= 8:
                raise EvidenceError(
                    name, "shares of the picture (0 to 1)", "pixels", "Multiply by `sizes`."
                )
            inside = (corners >= 0) & (corners <= self.sizes[:, None, :])
            wrong = ~(inside | np.isnan(corners)).all(axis=(1, 2))
            if wrong.any():
                sample = self.samples.name(int(wrong.argmax()))
                raise EvidenceError(
                    name,
                    f"a place outside the picture in sample {sample}",
                    "rows and columns within `sizes`",
                    "Scale the places to the pictures; row first, then column.",
                )
        boxes = self.boxes
        if boxes is not None and (boxes[..., 2:] < boxes[..., :2]).any():
            raise EvidenceError(
                "boxes", "a box that ends before it begins", "first row, first column, last row, "
                "last column",
            )  # fmt: skip


@no_type_check  # the door takes what can be converted; its own checks say what cannot
@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class UnitEvidence(Evidence):
    """What units mark in each picture, and where what they are named after is.

    A unit's formula is a concept or a combination of concepts (``horn OR tusk``); masks are
    counted in pixels of one grid.
    """

    kind = "unit"
    version = 1

    unit_pixels: Int[np.ndarray, "samples units"] = array("samples", "units", content="index")
    """Pixels that the unit marks."""
    formula_pixels: Int[np.ndarray, "samples units"] = array("samples", "units", content="index")
    """Pixels at which the unit's formula holds."""
    shared_pixels: Int[np.ndarray, "samples units"] = array("samples", "units", content="index")
    """Pixels in both."""
    chance_unit_pixels: Int[np.ndarray, "samples units"] | None = array(
        "samples", "units", content="index", optional=True
    )
    """Pixels that the unit's masks mark when dealt out over other pictures: with the two below,
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
    """Whether the picture is annotated with the formula's category."""
    chance_annotated: Bool[np.ndarray, "samples units"] | None = array(
        "samples", "units", content="flag", optional=True
    )
    """The same for the formula of the masks that were dealt out."""
    right: Bool[np.ndarray, " samples"] | None = array("samples", content="flag", optional=True)
    """Whether the model classifies the picture rightly."""
    units: Units = Units()

    def check(self) -> None:
        for before in ("", "chance_"):
            unit, formula, shared = (
                getattr(self, f"{before}{name}_pixels") for name in ("unit", "formula", "shared")
            )
            given = [part for part in (unit, formula, shared) if part is not None]
            if len(given) not in (0, 3):
                raise EvidenceError(
                    f"{before}unit_pixels", f"{len(given)} of three arrays",
                    f"{before}unit_pixels, {before}formula_pixels and {before}shared_pixels",
                )  # fmt: skip
            if given and (shared > np.minimum(unit, formula)).any():
                raise EvidenceError(
                    f"{before}shared_pixels",
                    "more pixels than in either mask",
                    "the pixels in both",
                )
            if given and min(int(part.min(initial=0)) for part in given) < 0:
                raise EvidenceError(f"{before}pixels", "a negative number", "counts of pixels")


@no_type_check  # the door takes what can be converted; its own checks say what cannot
@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class EmbeddingEvidence(Evidence):
    """A vector for each concept of each sample, as concept embedding models have them."""

    kind = "embedding"
    version = 1

    explained: ConceptEvidence = inner(ConceptEvidence)
    """The same samples and concepts as concept evidence, with truth and labels."""
    vectors: Float[np.ndarray, "samples concepts dimensions"] = array(
        "samples", "concepts", "dimensions"
    )
    """What the head sees: the positive and negative vector, mixed by the concept's probability."""
    positive: Float[np.ndarray, "samples concepts dimensions"] | None = array(
        "samples", "concepts", "dimensions", optional=True
    )
    """The vector that stands for the concept being there."""
    negative: Float[np.ndarray, "samples concepts dimensions"] | None = array(
        "samples", "concepts", "dimensions", optional=True
    )
    """The vector that stands for the concept not being there."""
    concepts: Concepts = Concepts()


@no_type_check  # the door takes what can be converted; its own checks say what cannot
@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class InterventionEvidence(Evidence):
    """Whether the model's answer is right while its concepts are corrected one after the other."""

    kind = "intervention"
    version = 1

    right_after: Bool[np.ndarray, "samples policies steps"] = array(
        "samples", "policies", "steps", content="flag"
    )
    """Right after 0, 1, 2, … concepts were replaced by the truth, in the order of each policy."""
    right_reference: Bool[np.ndarray, " samples"] | None = array(
        "samples", content="flag", optional=True
    )
    """Whether a head of the same kind, trained on the true concepts, is right."""
    policies: Policies = Policies()

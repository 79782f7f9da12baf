"""Evidence about saliency maps, and the model's output after removal, noise and randomization."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Chances, Classes, Fills, Noises, Removals
from theodolite.evidence.base import Evidence, array
from theodolite.questions import Question

FILLS = ("mean", "blur", "other")
"""What removed patches are filled with: the mean color of all images, a blurred image, another."""
CURVES = ("most_first", "least_first", "chance_most_first", "chance_least_first")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SaliencyEvidence(Evidence):
    """One saliency map for each image, by one method.

    Only ``maps`` is needed; each score says which of the others it uses. What is called chance is
    the same made with a map that knows nothing, drawn beside it.
    """

    kind = "saliency"
    version = 1
    marker = "maps"
    ways: ClassVar[Mapping[Question, str]] = {
        "located": "saliency maps and the pixels of the object (`maps`, `objects`)",
        "faithful": "what is answered without patches of the image; "
        "`theodolite.audit_saliency` makes it from your model",
    }

    maps: Float[np.ndarray, "samples height width"] = array("samples", "height", "width")
    """How much each pixel is said to matter; below 0 what speaks against the class."""
    objects: Bool[np.ndarray, "samples height width"] | None = array(
        "samples", "height", "width", content="flag", optional=True
    )
    """The pixels of the object: what the class is about."""
    saturation: Float[np.ndarray, "samples height width"] | None = array(
        "samples", "height", "width", optional=True
    )
    """Color saturation of each image: the largest channel minus the smallest."""
    edges: Float[np.ndarray, "samples height width"] | None = array(
        "samples", "height", "width", optional=True
    )
    """Strength of edges in each image: maps that no model was needed for."""
    removed: Bool[np.ndarray, "samples subsets patch_rows patch_columns"] | None = array(
        "samples", "subsets", "patch_rows", "patch_columns", content="flag", optional=True
    )
    """Patches that were removed together, half of them each time."""
    drop: Float[np.ndarray, "samples fills subsets"] | None = array(
        "samples", "fills", "subsets", optional=True
    )
    """How much the log-odds of the explained class fall without these patches."""
    best_fit: Float[np.ndarray, "samples fills"] | None = array(
        "samples", "fills", optional=True, may_be_nan=True
    )
    """Correlation with these drops that the best sum over patches reaches; NaN if not
    measured."""
    clean: Float[np.ndarray, " samples"] | None = array("samples", optional=True)
    """Probability of the explained class for the original image."""
    most_first: Float[np.ndarray, "samples removals steps"] | None = array(
        "samples", "removals", "steps", optional=True, may_be_nan=True
    )
    """Probability after removal of the most relevant pixels, for each percentage and way of
    removal."""
    least_first: Float[np.ndarray, "samples removals steps"] | None = array(
        "samples", "removals", "steps", optional=True, may_be_nan=True
    )
    """Probability after removal of the least relevant pixels."""
    chance_most_first: Float[np.ndarray, "samples chances removals steps"] | None = array(
        "samples", "chances", "removals", "steps", optional=True
    )
    """As ``most_first``, in the pixel order of uninformative maps. Some ways of removal fill in
    scattered pixels and favor noise: include a smooth map and a map of the center."""
    chance_least_first: Float[np.ndarray, "samples chances removals steps"] | None = array(
        "samples", "chances", "removals", "steps", optional=True
    )
    """As ``least_first``, with pixels in the opposite order of those maps."""
    percents: Float[np.ndarray, " steps"] | None = array("steps", optional=True)
    """Percentage of pixels removed in each step, increasing."""
    norms: Float[np.ndarray, " samples"] | None = array("samples", optional=True)
    """Length of each map as a vector of pixels."""
    changes: Float[np.ndarray, "samples noises draws"] | None = array(
        "samples", "noises", "draws", optional=True, may_be_nan=True
    )
    """Distance between the map and that of the image with noise, for each draw of the noise; NaN
    where it was not tried."""
    chance_changes: Float[np.ndarray, " samples"] | None = array(
        "samples", optional=True, may_be_nan=True
    )
    """Distance between the map and that of another image."""
    randomized_similarity: Float[np.ndarray, " samples"] | None = array(
        "samples", optional=True, may_be_nan=True
    )
    """Rank correlation of the map with that of the same network with random weights; NaN where one
    of them is the same everywhere, or where it was not tried."""
    randomized: Bool[np.ndarray, " samples"] | None = array(
        "samples", content="flag", optional=True
    )
    """Where that was tried; everywhere if not given."""
    predicted: Int[np.ndarray, " samples"] | None = array(
        "samples", content="index", points_to="classes", optional=True
    )
    """The class that is explained."""
    fills: Fills = Fills()
    removals: Removals = Removals()
    chances: Chances = Chances()
    noises: Noises = Noises()
    classes: Classes = Classes()

    def check(self) -> None:
        self._check_removal()
        self._check_patches()
        for name in ("norms", "changes", "chance_changes"):
            values = getattr(self, name)
            if values is not None and (values < 0).any():
                raise EvidenceError(name, f"{np.nanmin(values):g}", "lengths, from 0 on")
        alike = self.randomized_similarity
        if alike is not None and (np.abs(alike) > 1 + 1e-6).any():
            raise EvidenceError(
                "randomized_similarity", "values beyond 1", "correlations, from -1 to 1"
            )

    def _check_patches(self) -> None:
        if 0 < len(self.fills) <= len(FILLS) and self.fills == Fills.numbered(len(self.fills)):
            object.__setattr__(self, "fills", Fills(FILLS[: len(self.fills)]))
        sides = () if self.removed is None else self.removed.shape[2:]
        if any(n > side for n, side in zip(sides, self.maps.shape[1:], strict=False)):
            got = " by ".join(map(str, sides))
            raise EvidenceError("removed", f"{got} patches", "at most one for each pixel of a map")
        if self.best_fit is not None and (np.abs(self.best_fit) > 1 + 1e-6).any():
            raise EvidenceError("best_fit", "values beyond 1", "correlations, from -1 to 1")

    def _check_removal(self) -> None:
        curves = [name for name in CURVES if getattr(self, name) is not None]
        if curves and (self.clean is None or self.percents is None):
            lacks = "clean" if self.clean is None else "percents"
            raise EvidenceError(lacks, f"none, but `{curves[0]}`", f"`{lacks}` as well")
        for name in ("clean", *curves):
            values = getattr(self, name)
            if values is not None and ((values < -1e-6) | (values > 1 + 1e-6)).any():
                raise EvidenceError(
                    name, f"values from {np.nanmin(values):g} to {np.nanmax(values):g}",
                    "probabilities",
                    "Give the softmax of the outputs.",
                )  # fmt: skip
        percents = self.percents
        if percents is not None and (
            (np.diff(percents) <= 0).any() or percents[0] <= 0 or percents[-1] > 100
        ):
            raise EvidenceError("percents", f"{percents.tolist()[:8]}", "rising, from 0 to 100")

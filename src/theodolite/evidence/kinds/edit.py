"""Evidence about concepts and predictions before and after a counterfactual edit of a text."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Classes, Concepts
from theodolite.evidence.base import Evidence, array
from theodolite.questions import Question

PROBABILITIES = ("output_before", "output_after", "surrogate_before", "surrogate_after")
MAX_ROUNDING_ERROR = 1e-4
"""Largest deviation from 1 of a sum of half-precision probabilities."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class EditEvidence(Evidence):
    """What concepts and answers were before and after an input was edited in one concept.

    A row is a pair of inputs: an original and its counterfactual edit. Edits of one original are
    not independent: give the originals as ``Samples(clusters=...)``. A concept that may be
    praised, criticized or not mentioned enters as one value, p(praised) - p(criticized).
    """

    kind = "edit"
    version = 1
    marker = "edited"
    samples_are = "edits"
    ways: ClassVar[Mapping[Question, str]] = {
        "exists": "concepts' values `before` and `after` edits of one concept (`edited`)",
        "leak_free": "concepts' values `before` and `after` edits of one concept (`edited`)",
        "faithful": "outputs and what concepts make of them, before and after edits "
        "(`output_before`, `output_after`, `surrogate_before`, `surrogate_after`)",
    }

    edited: Int[np.ndarray, " samples"] = array("samples", content="index", points_to="concepts")
    """Which concept was edited."""
    direction: Float[np.ndarray, " samples"] = array("samples")
    """Where the edit was meant to move its value: -1 or 1."""
    before: Float[np.ndarray, "samples concepts"] | None = array(
        "samples", "concepts", optional=True
    )
    """The concepts' values for the original."""
    after: Float[np.ndarray, "samples concepts"] | None = array(
        "samples", "concepts", optional=True
    )
    """The concepts' values for the edited input."""
    output_before: Float[np.ndarray, "samples classes"] | None = array(
        "samples", "classes", optional=True
    )
    """The explained model's probabilities for the original."""
    output_after: Float[np.ndarray, "samples classes"] | None = array(
        "samples", "classes", optional=True
    )
    """The explained model's probabilities for the edited input."""
    surrogate_before: Float[np.ndarray, "samples classes"] | None = array(
        "samples", "classes", optional=True
    )
    """What the explanation makes of the concepts of the original."""
    surrogate_after: Float[np.ndarray, "samples classes"] | None = array(
        "samples", "classes", optional=True
    )
    """What the explanation makes of the concepts of the edited input."""
    concepts: Concepts = Concepts()
    classes: Classes = Classes()

    def check(self) -> None:
        strange = ~np.isin(np.asarray(self.direction), (-1.0, 1.0))
        if strange.any():
            row = int(np.flatnonzero(strange)[0])
            raise EvidenceError(
                "direction", f"{self.direction[row]} in row {row}", "-1 or 1",
                "An edit to the state that the input already has is no edit: leave it out.",
            )  # fmt: skip
        for name in PROBABILITIES:
            values = getattr(self, name)
            if values is None or not values.size:
                continue
            off = np.abs(values.sum(axis=1, dtype=float) - 1) > MAX_ROUNDING_ERROR
            if off.any() or values.min() < 0:
                raise EvidenceError(name, "rows that do not add up to 1", "probabilities")

    def moved(self) -> np.ndarray:
        """Return the change of each concept's value under each edit."""
        return np.asarray(np.asarray(self.after, float) - np.asarray(self.before, float))

    def warnings(self) -> list[str]:
        if not (self.has("before") and self.has("after")):
            return []
        unmoved = int((~self.moved().any(axis=1)).sum())
        if not unmoved:
            return []
        return [f"{unmoved} of {len(self)} edits moved no concept at all; they count as misses"]

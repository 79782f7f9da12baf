"""Evidence about ratings of explanations by people, and scores that predict them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Groups, Measures, Raters, Techniques
from theodolite.evidence.base import Evidence, array
from theodolite.questions import Question


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class RatingEvidence(Evidence):
    """Answers to one question: a row for each explanation, a column for each rater.

    ``Samples.clusters`` says which explanations are of the same image: they are resampled
    together.
    """

    kind = "rating"
    version = 1
    marker = "ratings"
    ways: ClassVar[Mapping[Question, str]] = {
        "accepted": "ratings of the explanations (`ratings`, `scale`), or an exported study"
    }
    samples_are = "explanations"

    ratings: Float[np.ndarray, "samples raters"] = array("samples", "raters", may_be_nan=True)
    """What each rater said; NaN where they were not asked or did not answer."""
    scale: Float[np.ndarray, " levels"] = array("levels")
    """All answers that raters could give, rising, also those that nobody gave: 1, 2, 3, 4, 5."""
    predicted: Float[np.ndarray, " samples"] | None = array(
        "samples", optional=True, may_be_nan=True
    )
    """What a learned score expects, on the same scale; NaN where it learned from the very item."""
    measured: Float[np.ndarray, "samples measures"] | None = array(
        "samples", "measures", optional=True, may_be_nan=True
    )
    """Properties of each explanation that need no raters: scores, its length."""
    technique: Int[np.ndarray, " samples"] | None = array(
        "samples", content="index", points_to="techniques", optional=True
    )
    """The technique that made the explanation."""
    group: Int[np.ndarray, " raters"] | None = array(
        "raters", content="index", points_to="groups", optional=True
    )
    """The group that each rater belongs to, such as an age band."""
    raters: Raters = Raters()
    measures: Measures = Measures()
    techniques: Techniques = Techniques()
    groups: Groups = Groups()

    def check(self) -> None:
        scale = self.scale
        if len(scale) < 2 or (np.diff(scale) <= 0).any():
            raise EvidenceError("scale", f"{scale.tolist()[:8]}", "two or more rising answers")
        answers = self.ratings[~np.isnan(self.ratings)]
        odd = answers[~np.isin(answers, scale)]
        if len(odd):
            raise EvidenceError(
                "ratings", f"the answer {odd[0]:g}", f"answers of the scale {scale.tolist()}",
                "Give all possible answers as `scale`.",
            )  # fmt: skip
        if not len(answers):
            raise EvidenceError("ratings", "no answer at all", "at least one")

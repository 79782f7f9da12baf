"""A metric of another package, in one file: it imports nothing of ours but ``theodolite.ext``."""

from typing import Literal

import numpy as np

from theodolite.ext import (
    MOST_COMMON,
    Card,
    ConceptEvidence,
    NullModel,
    PerSample,
    SampleMean,
    metric,
)


def _half(evidence: ConceptEvidence, **options: object) -> PerSample:
    """What always saying one half scores."""
    n = evidence.values.shape[1]
    distance = 0.25 if options.get("of", "square") == "square" else 0.5
    ones = np.ones(len(evidence))
    return PerSample(n * distance * ones, n * ones, ones > 0)


@metric(
    "outside_brier",
    title="Brier score of another package",
    version=1,
    question="exists",
    better="lower",
    bounds=(0.0, 1.0),
    uses=("values", "truth"),
    nulls=(
        NullModel("one half", "always saying one half", expected=_half, random=False),
        MOST_COMMON,
    ),
    decides=False,
    cite="brier1950verification",
    card=Card(
        question="Are the values of the concepts honest probabilities?",
        interpretation="0 is certain and right, 0.25 is what always saying one half scores.",
        limitations="Values that are no probabilities are cut off at 0 and 1.",
        cost="one pass over the samples",
    ),
)
class OutsideBrier(SampleMean):
    """Sums of squared, or absolute, distances."""

    @staticmethod
    def each(
        evidence: ConceptEvidence, *, of: Literal["square", "distance"] = "square"
    ) -> PerSample:
        """What each sample adds."""
        away = np.abs(np.clip(evidence.values, 0, 1) - np.asarray(evidence.truth, float))
        away = away**2 if of == "square" else away
        whole = np.full(len(evidence), float(away.shape[1]))
        return PerSample(away.sum(axis=1), whole, np.ones(len(evidence), bool))

"""Rank the concepts of an explanation and select the ones that it names.

Used by the metrics of existence and location.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Bool, Float, Int
from pydantic import Field

from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.concept import ConceptEvidence

RankBy = Annotated[
    Literal["contribution", "weight", "value"],
    Field(description="What ranks the concepts: weight times value, the weight, or the value."),
]
Order = Annotated[
    Literal["signed", "absolute"],
    Field(description="Whether what speaks against the prediction ranks last or by its size."),
]
Eligible = Annotated[
    Literal["any", "positive"],
    Field(description="Concepts that can be named: any, or those with a value above 0."),
]
Population = Annotated[
    Literal["all", "correct"],
    Field(description="Samples that are asked: all, or those that are predicted rightly."),
]

USES_IF = {
    "rank_by": {"contribution": ("weights", "predicted"), "weight": ("weights", "predicted")},
    "population": {"correct": ("labels", "predicted")},
}
"""Arrays of concept evidence that the choices below need."""


def compute_importance(
    evidence: ConceptEvidence, rank_by: RankBy, order: Order
) -> Float[np.ndarray, "samples concepts"]:
    r"""Compute how much each concept matters for the predicted class :math:`k`.

    ``contribution`` is :math:`\theta_{jk}\hat u_{ij}`, ``weight`` is :math:`\theta_{jk}` and
    ``value`` is :math:`\hat u_{ij}`. The paper orders by "magnitude"; read as signed, because a
    concept that speaks against the prediction does not explain it. ``absolute`` is the other
    reading.
    """
    if rank_by == "value":
        scores = evidence.values
    else:
        if evidence.weights is None or evidence.predicted is None:
            raise EvidenceError(
                f"rank_by={rank_by!r}",
                "no `weights` or no `predicted`",
                "both",
                "Pass them, or rank by 'value'.",
            )
        scores = evidence.weights.T[evidence.predicted]
        if rank_by == "contribution":
            scores = scores * evidence.values
    return np.abs(scores) if order == "absolute" else scores


def select_top_concepts(
    scores: Float[np.ndarray, "samples concepts"], n: int
) -> Int[np.ndarray, "samples n"]:
    """Return the ``n`` concepts with the largest scores; ties go to the lower index."""
    return np.argsort(-scores, axis=1, kind="stable")[:, :n]


def find_eligible(
    evidence: ConceptEvidence, named: Eligible
) -> Bool[np.ndarray, "samples concepts"] | None:
    """Return which concepts can be named in each sample; None if all can."""
    if named == "any":
        return None
    if named != "positive":
        raise EvidenceError("named", repr(named), "'any' or 'positive'")
    return np.asarray(evidence.values) > 0


def select_top_eligible(
    scores: Float[np.ndarray, "samples concepts"],
    among: Bool[np.ndarray, "samples concepts"] | None,
    n: int,
) -> tuple[Int[np.ndarray, "samples n"], Bool[np.ndarray, "samples n"]]:
    """Return the top ``n`` of the concepts that can be named, and whether each can be."""
    if among is None:
        first = select_top_concepts(scores, n)
        return first, np.ones(first.shape, bool)
    first = select_top_concepts(np.where(among, scores, -np.inf), n)
    return first, np.take_along_axis(among, first, axis=1)


def get_population_mask(
    evidence: ConceptEvidence, population: Population
) -> Bool[np.ndarray, " samples"]:
    """Return which samples enter the metric."""
    if population == "all":
        return np.ones(len(evidence), bool)
    if evidence.labels is None or evidence.predicted is None:
        raise EvidenceError(
            "population='correct'", "no `labels` or no `predicted`", "both", "Pass them."
        )
    return np.asarray(evidence.labels == evidence.predicted)


def validate_top_k(top: Sequence[int], n_concepts: int) -> tuple[int, ...]:
    """Check the numbers of top concepts and return them as a tuple."""
    if not top or min(top) < 1 or max(top) > n_concepts:
        raise EvidenceError(
            "top", f"{list(top)}", f"numbers from 1 to {n_concepts}, the concepts that can be named"
        )
    return tuple(top)


def choose_top_k(n_concepts: int) -> tuple[int, ...]:
    """Return numbers of top concepts that leave at least half of the concepts unnamed.

    >>> choose_top_k(40), choose_top_k(8), choose_top_k(3), choose_top_k(0)
    ((1, 3, 5), (4, 3, 1), (1,), ())
    """
    longest = max(min(5, n_concepts // 2), 1)
    if longest == 5:
        return 1, 3, 5
    return tuple(dict.fromkeys(n for n in (longest, 3, 1) if n <= min(longest, n_concepts)))

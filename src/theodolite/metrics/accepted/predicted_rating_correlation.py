"""Do predicted votes order explanations as people do?"""

from typing import Annotated, Literal, cast

import numpy as np
from jaxtyping import Bool, Float
from pydantic import Field

from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.metrics.accepted._bundle import nearest, target
from theodolite.metrics.accepted._nulls import OTHER_PREDICTION, of_all
from theodolite.metrics.accepted._ranks import spearman
from theodolite.metrics.base import Card, Pooled, metric
from theodolite.metrics.option_types import Against

Rounded = Annotated[
    Literal["no", "yes"],
    Field(description="Whether predictions and votes are rounded to the nearest answer first."),
]


@metric(
    "predicted_rating_correlation",
    title="Correlation of predicted votes (Spearman)",
    version=1,
    question="accepted",
    better="higher",
    bounds=(-1.0, 1.0),
    uses=("ratings", "scale", "predicted"),
    decides=False,
    nulls=(of_all(OTHER_PREDICTION),),
    cite="kazmierczak2024benchmarking",
    card=Card(
        asks="Do predicted votes order explanations as people do?",
        read="1 is the same order, 0 an unrelated one. Compare with rater_correlation, which one "
        "person reaches against the others. It tells about the learned score, not about the "
        "explanations.",
        misleads="The order of pictures counts as well as that of explanations: a score that only "
        "sees which picture is easy correlates, too.",
        cost="one sort of predictions and votes",
    ),
)
class PredictedRatingCorrelation(Pooled):
    r"""Spearman's correlation of predictions and votes.

    .. math:: \rho = \mathrm{corr}\bigl(\mathrm{rank}(\hat r), \mathrm{rank}(r)\bigr)

    ``rounded="yes"`` takes the nearest answers instead, halves going up, as the code of
    :cite:t:`kazmierczak2024benchmarking` does. Their tables print the mean of the correlation
    and its p-value, about half of it. Undefined if all predictions, or all votes, are the same.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import predicted_rating_correlation
        >>> correlation = predicted_rating_correlation(
        ...     np.array([[1.0], [2], [3], [4], [5], [5], [3], [2]]),
        ...     np.arange(1.0, 6),
        ...     np.array([1.2, 2.6, 2.4, 4.49, 3.5, 5, 3, 1.5]),
        ...     rounded="yes",
        ... )
        >>> round(correlation, 6)
        0.882716
    """

    def counted(self) -> tuple[np.ndarray, np.ndarray]:
        """Explanations that entered, and those without a prediction or a vote."""
        whole, weights = self._whole()
        evidence = cast(RatingEvidence, whole)
        known = _known(evidence)
        return weights[:, known].sum(axis=1), weights[:, ~known].sum(axis=1)

    @staticmethod
    def measure(
        evidence: RatingEvidence,
        weights: Float[np.ndarray, "rows samples"],
        *,
        against: Against = "mode",
        rounded: Rounded = "no",
    ) -> Float[np.ndarray, " rows"]:
        """The correlation for each row of weights."""
        predicted, voted = np.asarray(evidence.predicted, np.float64), target(evidence, against)
        rows = np.flatnonzero(_known(evidence))
        predicted, voted = predicted[rows], voted[rows].round(9)
        if rounded == "yes":
            predicted, voted = (
                nearest(side, evidence.scale).astype(float) for side in (predicted, voted)
            )
        return spearman(predicted, voted, weights[:, rows])


def _known(evidence: RatingEvidence) -> Bool[np.ndarray, " samples"]:
    """Whether somebody voted and something is predicted."""
    voted = ~np.isnan(evidence.ratings).all(axis=1)
    return np.asarray(voted & ~np.isnan(np.asarray(evidence.predicted, np.float64)))

"""How well do people like the explanations?"""

from typing import Any

import numpy as np
from jaxtyping import Float

from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.rating_summary import aggregated
from theodolite.metrics.accepted._bundle import Ratings, Scale, bundle
from theodolite.metrics.accepted._nulls import RANDOM_VOTES
from theodolite.metrics.base import Card, PerSample, SampleMean, metric


def acceptance(ratings: Ratings, scale: Scale, **arrays: Any) -> Float[np.ndarray, ""]:
    r"""Mean vote, with the lowest answer of the scale as 0 and the highest as 1.

    .. math:: \frac{1}{n} \sum_i \frac{\bar r_i - s_1}{s_k - s_1}

    Each explanation counts once, however many people rated it. One that nobody rated is left out
    and counted as undefined.

    Example:
        >>> acceptance(np.array([[5.0, 4.0], [3.0, np.nan]]), np.arange(1.0, 6))
        array(0.6875)
    """
    state: Acceptance = Acceptance.of(bundle(ratings, scale, **arrays))
    return state.value()


@metric(
    "acceptance",
    title="Acceptance",
    version=2,
    question="accepted",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("ratings", "scale"),
    baselines=(RANDOM_VOTES,),
    enough=0.75,
    cite="kazmierczak2024benchmarking",
    card=Card(
        asks="Do people accept the explanations?",
        read="0 is the lowest answer from everybody, 1 the highest; 0.75 is four of five stars. "
        "From 0.75 on we would say that they are accepted; that line is a convention.",
        misleads="Raters who like everything make every explanation accepted, and liking is not "
        "understanding. Read it beside the agreement of the raters, and beside the acceptance of "
        "a poor explanation by the same people.",
        cost="one mean per explanation",
    ),
)
class Acceptance(SampleMean):
    """Sums of mean votes."""

    @staticmethod
    def each(evidence: RatingEvidence) -> PerSample:
        """The mean vote of each explanation."""
        low, high = evidence.scale[0], evidence.scale[-1]
        means = (aggregated(evidence.ratings, evidence.scale, "mean") - low) / (high - low)
        rated = ~np.isnan(means)
        return PerSample(
            np.clip(np.where(rated, means, 0.0), 0.0, 1.0),
            rated.astype(float),
            np.ones(len(means), bool),
        )

"""How well do people like the explanations?"""

import numpy as np

from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.rating_summary import aggregated
from theodolite.metrics.accepted._nulls import RANDOM_VOTES
from theodolite.metrics.base import Card, PerSample, SampleMean, metric


@metric(
    "acceptance",
    title="Acceptance",
    version=2,
    question="accepted",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("ratings", "scale"),
    nulls=(RANDOM_VOTES,),
    threshold=0.75,
    cite="kazmierczak2024benchmarking",
    card=Card(
        question="Do people accept the explanations?",
        interpretation="0 is the lowest answer from everybody, 1 the highest; 0.75 is four of five "
        "stars. From 0.75 on we would say that they are accepted; that line is a convention.",
        limitations="Raters who like everything make every explanation accepted, and liking is not "
        "understanding. Read it beside the agreement of the raters, and beside the acceptance of "
        "a poor explanation by the same people.",
        cost="one mean per explanation",
        template="Votes reach {value} of the way from the lowest answer to the highest "
        "({low}–{high}{best}). {null}{enough}.",
    ),
)
class Acceptance(SampleMean):
    r"""Mean vote, with the lowest answer of the scale as 0 and the highest as 1.

    .. math:: \frac{1}{n} \sum_i \frac{\bar r_i - s_1}{s_k - s_1}

    Each explanation counts once, however many people rated it. One that nobody rated is left out
    and counted as undefined.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import acceptance
        >>> acceptance(np.array([[5.0, 4.0], [3.0, np.nan]]), np.arange(1.0, 6))
        0.6875
    """

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

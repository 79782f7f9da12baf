"""Votes from the quality of explanations, habits of raters and noise."""

import numpy as np
from scipy.special import ndtr

from theodolite._planted.conditions import Condition
from theodolite._planted.draws import PlantedRows
from theodolite._planted.generators import Generator
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.rating_summary import aggregated

SCALE = np.arange(1.0, 6.0)
HABITS = 0.3
MISSING = 0.2
AGREEMENT = 0.6
"""Of raters whose mode is to be predicted."""


def _answers(latent: np.ndarray) -> np.ndarray:
    """Numbers from 0 to 1 as answers of the scale, each as often."""
    levels = np.minimum((latent * len(SCALE)).astype(int), len(SCALE) - 1)
    return np.asarray(SCALE[levels])


def _votes(condition: Condition, layout: PlantedRows, agreement: float) -> np.ndarray:
    """Quality that all see, to the extent of the agreement; habits that balance over raters."""
    k = condition.concepts
    habits = HABITS * (1 - agreement) * np.linspace(-1, 1, k)
    seen = np.sqrt(agreement) * layout.normal(1) + np.sqrt(1 - agreement) * layout.normal(k)
    votes = _answers(ndtr((seen + habits) / np.sqrt(1 + (habits**2).mean())))
    votes[layout.happens(MISSING, k)] = np.nan
    return votes


def accepting_votes(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> RatingEvidence:
    """The highest answer with the probability of the dial; else on average the middle."""
    del metric, models
    votes = _votes(condition, layout, 0.3)
    accepts = layout.happens(condition.dial, condition.concepts)
    votes = np.where(accepts & ~np.isnan(votes), SCALE[-1], votes)
    return RatingEvidence(ratings=votes, scale=SCALE, samples=layout.samples(condition))


def _accepted(metric: str, condition: Condition, models: np.random.Generator) -> float:
    del metric, models
    return (1 + condition.dial) / 2


def agreeing_votes(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> RatingEvidence:
    """Votes whose agreement is the dial."""
    del metric, models
    votes = _votes(condition, layout, condition.dial)
    return RatingEvidence(ratings=votes, scale=SCALE, samples=layout.samples(condition))


def predicted_votes(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> RatingEvidence:
    """The votes' mode with the probability of the dial, else that of another explanation."""
    del metric, models
    votes = _votes(condition, layout, AGREEMENT)
    other = aggregated(_votes(condition, layout, AGREEMENT), SCALE)
    predicted = np.where(layout.happens(condition.dial), aggregated(votes, SCALE), other)
    return RatingEvidence(
        ratings=votes, scale=SCALE, predicted=predicted, samples=layout.samples(condition)
    )


RATERS = Condition(concepts=5)
ACCEPTING_VOTES = Generator(
    name="accepting votes",
    says="a vote is the highest answer with the probability of the dial, else it comes from "
    "quality, the rater's habit and noise, on average the middle of the scale",
    serves=("acceptance",),
    make=accepting_votes,
    usual=RATERS,
    exact=_accepted,
    varies=("concepts",),
    reference=0.5,
)
AGREEING_VOTES = Generator(
    name="agreeing votes",
    says="of what moves votes the share of the dial is the explanation's quality, the rest habit "
    "and noise; a fifth of the votes is missing",
    serves=(
        "intraclass_correlation", "krippendorff_alpha", "pairwise_agreement", "rater_agreement",
        "rater_correlation",
    ),
    make=agreeing_votes,
    usual=RATERS,
    varies=("concepts",),
    reference=0.5,
)  # fmt: skip
PREDICTED_VOTES = Generator(
    name="predicted votes",
    says="what is predicted is the votes' mode with the probability of the dial, else that of "
    "another explanation",
    serves=(
        "predicted_rating_agreement", "predicted_rating_correlation", "predicted_rating_error",
        "judge_agreement",
    ),
    make=predicted_votes,
    usual=RATERS,
    reference=0.5,
    no_ends=("judge_agreement",),
)  # fmt: skip

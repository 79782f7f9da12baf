"""Votes from the quality of explanations, habits of raters and noise."""

import numpy as np
from scipy.special import ndtr

from theodolite._planted.conditions import Condition
from theodolite._planted.draws import Draw
from theodolite._planted.generators import Arrays, generator
from theodolite.evidence.axes import Samples
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.rating_summary import aggregate_ratings

SCALE = np.arange(1.0, 6.0)
HABITS = 0.3
MISSING = 0.2
AGREEMENT = 0.6
"""Of raters whose mode is to be predicted."""
RATERS = Condition(concepts=5)


def planted_ratings(
    n_samples: int = 240,
    n_raters: int = 5,
    *,
    agreement: float = 1.0,
    missing: float = 0.25,
    seed: int = 0,
) -> RatingEvidence:
    """Votes from 1 to 5 on explanations that are mostly good, four of each image.

    A vote is the explanation's quality with probability ``agreement``, else an answer at random.
    What is predicted is the quality, less exactly the smaller the agreement. The share
    ``missing`` of all votes but the first rater's was never given.

    >>> planted_ratings(8)
    <RatingEvidence: 8 samples, 5 raters, 2 techniques, 2 groups; ratings, scale, predicted, technique, group>
    """  # noqa: E501
    random = np.random.default_rng(seed)
    quality = random.choice(SCALE, size=n_samples, p=[0.05, 0.05, 0.1, 0.2, 0.6])
    others = random.integers(1, 6, size=(n_samples, n_raters)).astype(float)
    agrees = random.random((n_samples, n_raters)) < agreement
    votes = np.where(agrees, quality[:, None], others)
    votes[:, 1:][random.random((n_samples, n_raters - 1)) < missing] = np.nan
    noise = random.normal(scale=2 * (1 - agreement) + 1e-3, size=n_samples)
    return RatingEvidence(
        ratings=votes,
        scale=SCALE,
        predicted=quality + noise,
        technique=np.arange(n_samples) % 2,
        group=np.arange(n_raters) % 2,
        samples=Samples(clusters=np.arange(n_samples) // 4),
    )


def _votes(draw: Draw, agreement: float) -> np.ndarray:
    """Quality that all see, to the extent of the agreement; habits that balance over raters."""
    k = draw.condition.concepts
    habits = HABITS * (1 - agreement) * np.linspace(-1, 1, k)
    seen = np.sqrt(agreement) * draw.normal(1) + np.sqrt(1 - agreement) * draw.normal(k)
    level = ndtr((seen + habits) / np.sqrt(1 + (habits**2).mean()))
    votes = SCALE[np.minimum((level * len(SCALE)).astype(int), len(SCALE) - 1)]
    votes[draw.happens(MISSING, k)] = np.nan
    return np.asarray(votes)


@generator(
    "accepting votes", RatingEvidence, serves=("acceptance",),
    says="a vote is the highest answer with the probability of the dial, else it comes from "
    "quality, the rater's habit and noise, on average the middle of the scale",
    usual=RATERS, exact=lambda draw: (1 + draw.dial) / 2, varies=("concepts",),
)  # fmt: skip
def accepting_votes(draw: Draw) -> Arrays:
    votes = _votes(draw, 0.3)
    accepts = draw.happens(draw.dial, draw.condition.concepts)
    return {"ratings": np.where(accepts & ~np.isnan(votes), SCALE[-1], votes), "scale": SCALE}


@generator(
    "agreeing votes", RatingEvidence,
    serves=(
        "intraclass_correlation", "krippendorff_alpha", "pairwise_agreement", "rater_agreement",
        "rater_correlation",
    ),
    says="of what moves votes the share of the dial is the explanation's quality, the rest habit "
    "and noise; a fifth of the votes is missing",
    usual=RATERS, varies=("concepts",),
)  # fmt: skip
def agreeing_votes(draw: Draw) -> Arrays:
    return {"ratings": _votes(draw, draw.dial), "scale": SCALE}


@generator(
    "predicted votes", RatingEvidence,
    serves=(
        "predicted_rating_agreement", "predicted_rating_correlation", "predicted_rating_error",
        "judge_agreement",
    ),
    says="what is predicted is the votes' mode with the probability of the dial, else that of "
    "another explanation",
    usual=RATERS, no_ends=("judge_agreement",),
)  # fmt: skip
def predicted_votes(draw: Draw) -> Arrays:
    votes, other = (_votes(draw, AGREEMENT) for _ in range(2))
    right = draw.happens(draw.dial)
    predicted = np.where(right, aggregate_ratings(votes, SCALE), aggregate_ratings(other, SCALE))
    return {"ratings": votes, "scale": SCALE, "predicted": predicted}

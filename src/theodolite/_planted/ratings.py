"""Planted votes: explanations of known quality, raters with a dial from chance to agreement."""

import numpy as np

from theodolite.evidence.axes import Samples
from theodolite.evidence.kinds.rating import RatingEvidence


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
    quality = random.choice(np.arange(1.0, 6), size=n_samples, p=[0.05, 0.05, 0.1, 0.2, 0.6])
    others = random.integers(1, 6, size=(n_samples, n_raters)).astype(float)
    agrees = random.random((n_samples, n_raters)) < agreement
    votes = np.where(agrees, quality[:, None], others)
    votes[:, 1:][random.random((n_samples, n_raters - 1)) < missing] = np.nan
    noise = random.normal(scale=2 * (1 - agreement) + 1e-3, size=n_samples)
    return RatingEvidence(
        ratings=votes,
        scale=np.arange(1.0, 6),
        predicted=quality + noise,
        technique=np.arange(n_samples) % 2,
        group=np.arange(n_raters) % 2,
        samples=Samples(clusters=np.arange(n_samples) // 4),
    )

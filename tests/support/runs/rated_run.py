"""A run with several sets of ratings, and helpers to read its page."""

from dataclasses import replace

import numpy as np

from theodolite._planted.ratings import planted_ratings
from theodolite.evidence.axes import Measures
from theodolite.evidence.kinds.rating import RatingEvidence

HOSTILE = "<script>alert(1)</script>{{ 7*7 }}"
METRICS = [
    {"name": "acceptance"},
    {"name": "predicted_rating_correlation", "options": {"against": "mean"}},
    {"name": "predicted_rating_agreement"},
    {"name": "rater_correlation"},
    {"name": "rater_agreement", "options": {"own": ["left out", "included"]}},
    {"name": "krippendorff_alpha"},
]


def with_numbers(agreement: float = 0.7) -> RatingEvidence:
    rated = planted_ratings(agreement=agreement)
    mean = np.nanmean(rated.ratings, axis=1)
    noise = np.random.default_rng(0).normal(size=len(rated))
    return replace(
        rated, measured=np.stack([mean + noise, noise], axis=1), measures=Measures(("near", "far"))
    )

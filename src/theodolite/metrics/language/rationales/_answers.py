"""What is answered without the most relevant tokens, or with only these."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.metrics.base import NullModel, PerSample

Form = Annotated[
    Literal["mean", "as_published"],
    Field(description="Over steps: their mean, or as published with the empty step as 0."),
]


def falls(evidence: TokenEvidence, answers: np.ndarray, form: Form) -> PerSample:
    """How far the answer falls from that of the whole text, mean over ways and steps."""
    far = np.asarray(evidence.clean, float)[:, None, None] - np.asarray(answers, float)
    known = ~np.isnan(far)
    n = known.sum(axis=(1, 2))
    mean = np.where(known, far, 0.0).sum(axis=(1, 2)) / np.maximum(n, 1)
    if form == "as_published":
        steps = far.shape[2]
        mean = mean * steps / (steps + 1)
    return PerSample(mean, (n > 0).astype(float), np.ones(len(mean), bool))


def random_tokens(chance: str) -> NullModel:
    """The same with equally many tokens at random."""

    def expected(evidence: TokenEvidence, *, form: Form) -> PerSample:
        answers = getattr(evidence, chance)
        if answers is None:
            nothing = np.zeros(len(evidence))
            return PerSample(nothing, nothing, np.ones(len(evidence), bool))
        shape = (len(answers), answers.shape[1] * answers.shape[2], answers.shape[3])
        return falls(evidence, answers.reshape(shape), form)

    return NullModel(
        "random tokens",
        "equally many tokens at random, in runs of the same lengths; undefined where these were "
        "not tried",
        expected=expected,
        random=False,
    )

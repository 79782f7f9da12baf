"""Does a judge who reads the explanation know on which tokens the latent is active?"""

from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field

from theodolite.evidence.kinds.judgement import JudgementEvidence
from theodolite.metrics.base import Card, Pooled, metric
from theodolite.metrics.language._judge_nulls import (
    ALWAYS_NO,
    ALWAYS_YES,
    DEALT_OUT,
    OTHER_EXPLANATION_OF_MARKS,
)
from theodolite.metrics.language._judgements import USES_IF, Over, Scores, judged_tables

Form = Annotated[
    Literal["within", "across"],
    Field(description="Wrong marks in a sequence in which the latent is active, or is not."),
]
TASK = {"within": "fuzzing", "across": "fuzzing across"}


@metric(
    "judge_fuzzing",
    title="Detection of marked tokens by a judge",
    version=1,
    question="detects",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("latent", "sequence", "active", "answer", "task"),
    may_use=("explanation",),
    uses_if=USES_IF,
    sweeps=("by",),
    headline={"by": "balanced"},
    detail=True,
    decides=False,
    nulls=(OTHER_EXPLANATION_OF_MARKS, DEALT_OUT, ALWAYS_NO, ALWAYS_YES),
    reliable_from=0.5,
    share_from="null",
    cite="paulo2025automatically",
    asked_as="Does the explanation tell on which tokens the latent is active?",
    card=Card(
        asks="Does a judge who reads the explanation know whether the right tokens are marked?",
        read="As detection by a judge, of tokens instead of texts: 0.5 is a judge who always "
        "answers the same.",
        misleads="With `across`, the published way, wrong marks are in texts in which the latent "
        "is not active: the text alone then answers the question.",
        cost="one answer of a judge per latent and text; counting them costs nothing",
    ),
)
class JudgeFuzzing(Pooled):
    r"""Balanced accuracy of a judge who says whether the marked tokens are the active ones.

    .. math:: \frac12 \left( \frac{TP}{TP + FN} + \frac{TN}{TN + FP} \right)

    of each latent, read as :func:`judge_detection`. Wrong marks are as many inactive tokens of a
    sequence in which the latent is active (``form="within"``), or of one in which it is not
    (``form="across"``, the default of the published code, :cite:p:`paulo2025automatically`).

    Example:
        >>> from theodolite.metrics import judge_fuzzing
        >>> marks = {"latent": [0, 0, 0, 0], "sequence": [0, 1, 0, 1], "active": [1, 1, 0, 0]}
        >>> judge_fuzzing(**marks, answer=[1.0, 0.0, 0.0, 0.0], task=["fuzzing"] * 4, by=["f1"])
        array([[0.66666667]])
    """

    @staticmethod
    def measure(
        evidence: JudgementEvidence,
        weights: Float[np.ndarray, "rows samples"],
        *,
        by: Scores = ("balanced", "accuracy", "f1"),
        form: Form = "within",
        over: Over = "latents",
    ) -> Float[np.ndarray, "rows by items"]:
        """The scores of each latent, or each judge."""
        return judged_tables(evidence, weights, TASK[form], by, over)

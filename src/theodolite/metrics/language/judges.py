"""Metrics of whether a judge can tell from an explanation where its latent is active."""

from functools import partial
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field

from theodolite.evidence.kinds.judgment import JudgmentEvidence
from theodolite.metrics.base import Card, Pooled, metric
from theodolite.metrics.language._judgments import (
    ALWAYS_NO,
    ALWAYS_YES,
    ANY_TEXT,
    DEALT_OUT,
    OTHER_EXPLANATION,
    OTHER_EXPLANATION_OF_MARKS,
    Over,
    Scores,
    compute_mean_answers,
    score_tables,
)

judge_metric = partial(
    metric,
    question="detects",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("latent", "sequence", "active", "answer", "task"),
    may_use=("explanation",),
    uses_if={"over": {"judges": ("judge",)}},
    detail=True,
    threshold=0.5,
    threshold_from="null",
    cite="paulo2025automatically",
)


@judge_metric(
    "judge_detection",
    title="Detection by a judge",
    uses=("latent", "sequence", "active", "answer"),
    may_use=("task", "explanation"),
    sweeps=("by",),
    headline={"by": "balanced"},
    nulls=(OTHER_EXPLANATION, DEALT_OUT, ALWAYS_NO, ALWAYS_YES),
    asked_as="Does the explanation tell where the latent is active?",
    card=Card(
        question="Does a judge who reads the explanation know in which texts the latent is active?",
        interpretation="0.5 is a judge who always answers the same. Accuracy and F1 are as "
        "published, and start higher: read them beside the judges who always say no or yes. From "
        "half of the way from the best null to 1 on we would rely on the explanation; a "
        "convention.",
        limitations="Texts in which the latent is active may differ from the others in more than "
        "that: where they are longer, or about another thing, a judge needs no explanation. "
        "Match their lengths, and ask with the explanation of another latent too.",
        cost="one answer of a judge per latent and text; counting them costs nothing",
        template="A judge who reads what a latent is said to mean tells {value} of the texts it is "
        "active in from others ({low}–{high}{best}). {null}{enough}.",
    ),
)
class JudgeDetection(Pooled):
    r"""Balanced accuracy of a judge who says in which sequences a latent is active.

    .. math:: \frac12 \left( \frac{TP}{TP + FN} + \frac{TN}{TN + FP} \right)

    of each latent; the headline is the mean over latents. An answer above a half is a yes. ``by``
    adds accuracy and F1, or the area under the ROC curve of the answers as they are. A latent
    without sequences of both kinds is undefined (of accuracy: without any answer; of F1: neither
    active nor called so anywhere). Answers that could not be read are left out, and counted.

    Published code :cite:p:`paulo2025automatically` pools the answers about all latents in one
    table, which ``over="judges"`` does, calls the balanced accuracy accuracy, and has 0 for what
    is undefined. The accuracy over 14 windows of which 4 are active starts at 10/14 for a judge
    who says no to all.

    Example:
        >>> from theodolite.metrics import judge_detection
        >>> texts = {"latent": [0, 0, 0, 0], "sequence": [0, 1, 2, 3], "active": [1, 1, 1, 0]}
        >>> judge_detection(**texts, answer=[1.0, 1.0, 0.0, 0.0]).round(6)
        array([[0.833333],
               [0.75    ],
               [0.8     ]])
    """

    @staticmethod
    def measure(
        evidence: JudgmentEvidence,
        weights: Float[np.ndarray, "rows samples"],
        *,
        by: Scores = ("balanced", "accuracy", "f1"),
        over: Over = "latents",
    ) -> Float[np.ndarray, "rows by items"]:
        return score_tables(evidence, weights, "detection", by, over)


Form = Annotated[
    Literal["within", "across"],
    Field(description="Wrong marks in a sequence in which the latent is active, or is not."),
]
TASK = {"within": "fuzzing", "across": "fuzzing across"}


@judge_metric(
    "judge_fuzzing",
    title="Detection of marked tokens by a judge",
    sweeps=("by",),
    headline={"by": "balanced"},
    decides=False,
    nulls=(OTHER_EXPLANATION_OF_MARKS, DEALT_OUT, ALWAYS_NO, ALWAYS_YES),
    asked_as="Does the explanation tell on which tokens the latent is active?",
    card=Card(
        question="Does a judge who reads the explanation know whether the right tokens are marked?",
        interpretation="As detection by a judge, of tokens instead of texts: 0.5 is a judge who "
        "always answers the same.",
        limitations="With `across`, the published way, wrong marks are in texts in which the "
        "latent is not active: the text alone then answers the question.",
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
        evidence: JudgmentEvidence,
        weights: Float[np.ndarray, "rows samples"],
        *,
        by: Scores = ("balanced", "accuracy", "f1"),
        form: Form = "within",
        over: Over = "latents",
    ) -> Float[np.ndarray, "rows by items"]:
        return score_tables(evidence, weights, TASK[form], by, over)


@judge_metric(
    "judge_intruder",
    title="Intruders named by a judge",
    decides=False,
    nulls=(ANY_TEXT,),
    asked_as="Do the texts in which the latent is active have something in common?",
    card=Card(
        question="Does a judge see which of several texts is the one without the latent?",
        interpretation="0.2 is any of five. It needs no explanation, so it can be had of a "
        "dictionary without labels.",
        limitations="A latent that is active on one word is seen at once, and so is a random "
        "direction that is: compare with a random SAE.",
        cost="one answer of a judge per round; counting them costs nothing",
    ),
)
class JudgeIntruder(Pooled):
    r"""Share of rounds in which a judge names the sequence in which the latent is not active.

    .. math:: \frac1R \sum_r 1[\text{named}_r = \text{intruder}_r]

    of each latent; the headline is the mean over latents. A judge who names several gets a share.
    A latent without a round that was answered is undefined. After
    :cite:t:`paulo2025automatically`.

    Example:
        >>> from theodolite.metrics import judge_intruder
        >>> rounds = {"latent": [0, 0, 1], "sequence": [0, 1, 2], "active": [0, 0, 0]}
        >>> judge_intruder(**rounds, answer=[1.0, 0.0, 0.5], task=["intruder"] * 3)
        array([0.5, 0.5])
    """

    @staticmethod
    def measure(
        evidence: JudgmentEvidence,
        weights: Float[np.ndarray, "rows samples"],
        *,
        over: Over = "latents",
    ) -> Float[np.ndarray, "rows items"]:
        return compute_mean_answers(evidence, weights, "intruder", over)

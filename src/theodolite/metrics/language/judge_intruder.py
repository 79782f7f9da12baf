"""Does a judge see which sequence does not belong to a latent's others?"""

import numpy as np
from jaxtyping import Float

from theodolite.evidence.kinds.judgement import JudgementEvidence
from theodolite.metrics.base import Card, Pooled, metric
from theodolite.metrics.language._judge_nulls import ANY_TEXT
from theodolite.metrics.language._judgements import USES_IF, Over, mean_answers


@metric(
    "judge_intruder",
    title="Intruders named by a judge",
    version=1,
    question="detects",
    better="higher",
    bounds=(0.0, 1.0),
    uses=("latent", "sequence", "active", "answer", "task"),
    may_use=("explanation",),
    uses_if=USES_IF,
    detail=True,
    decides=False,
    nulls=(ANY_TEXT,),
    reliable_from=0.5,
    share_from="null",
    cite="paulo2025automatically",
    asked_as="Do the texts in which the latent is active have something in common?",
    card=Card(
        asks="Does a judge see which of several texts is the one without the latent?",
        read="0.2 is any of five. It needs no explanation, so it can be had of a dictionary "
        "without labels.",
        misleads="A latent that is active on one word is seen at once, and so is a random "
        "direction that is: compare with a random dictionary.",
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
        evidence: JudgementEvidence,
        weights: Float[np.ndarray, "rows samples"],
        *,
        over: Over = "latents",
    ) -> Float[np.ndarray, "rows items"]:
        """The share of each latent, or each judge."""
        return mean_answers(evidence, weights, "intruder", over)

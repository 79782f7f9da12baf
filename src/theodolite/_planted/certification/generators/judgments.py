"""Judges who know the answer with a known probability, else guess."""

import numpy as np

from theodolite._planted.certification.conditions import Condition
from theodolite._planted.certification.generators.base import Generator
from theodolite._planted.certification.layout import PlantedRows
from theodolite.evidence.axes import Latents, Tasks
from theodolite.evidence.kinds.judgment import TEXTS, JudgmentEvidence

OF_METRIC = {
    "judge_detection": "detection", "judge_fuzzing": "fuzzing", "judge_intruder": "intruder",
}  # fmt: skip


def judgments(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> JudgmentEvidence:
    """The right answer with the probability of the dial, else any."""
    del models
    facts, n, task = layout.facts, len(layout), OF_METRIC[metric]
    latent = np.arange(n) % condition.concepts
    active = (facts.random(n) < condition.prevalence) & (task != "intruder")
    knows = layout.happens(condition.dial)
    guess = layout.happens(1 / TEXTS if task == "intruder" else 0.5)
    right = np.ones(n, bool) if task == "intruder" else active
    return JudgmentEvidence(
        latent=latent, sequence=np.arange(n), active=active,
        answer=np.where(knows, right, guess).astype(float),
        task=np.zeros(n, int), tasks=Tasks((task,)), written_from=np.zeros(n, bool),
        samples=layout.samples(condition),
        latents=Latents.numbered(condition.concepts),
    )  # fmt: skip


def _share(metric: str, condition: Condition, models: np.random.Generator) -> float:
    del models
    chance = 1 / TEXTS if metric == "judge_intruder" else 0.5
    return condition.dial + (1 - condition.dial) * chance


JUDGMENTS = Generator(
    name="judgments",
    says="a judge knows the answer with the probability of the dial, else guesses",
    serves=tuple(OF_METRIC),
    make=judgments,
    exact=_share,
    varies=("concepts",),
    reference=0.5,
)

"""Judges who know the answer with a known probability, else guess."""

import numpy as np

from theodolite._planted.draws import Draw
from theodolite._planted.generators import Arrays, generator
from theodolite.evidence.axes import Judges, Latents, Tasks
from theodolite.evidence.kinds.judgment import DEFAULT_INTRUDER_TEXTS, TASKS, JudgmentEvidence


def planted_judgments(
    sequences: int = 60, latents: int = 4, right: float = 1.0, seed: int = 0
) -> JudgmentEvidence:
    """Every task is asked of every latent and sequence, and once more with another explanation.

    A latent is active in half of the sequences, in which of them has nothing to do with others.

    >>> planted_judgments(2)
    <JudgmentEvidence: 56 samples, 4 latents, 4 tasks, 1 judges; latent, sequence, active, \
answer, task, judge, explanation, written_from>
    """
    random = np.random.default_rng(seed)
    truth = random.random((latents, sequences)) < 0.5
    task, latent, sequence, other = np.indices((len(TASKS), latents, sequences, 2)).reshape(4, -1)
    intruder = task == TASKS.index("intruder")
    rows = (other == 0) | ~intruder  # a round of intruders shows no explanation
    task, latent, sequence, other = (column[rows] for column in (task, latent, sequence, other))
    intruder = intruder[rows]
    explained = (latent + other) % latents
    active = truth[latent, sequence] & ~intruder
    goal = intruder | truth[explained, sequence]
    correct = random.random(len(task)) < right
    return JudgmentEvidence(
        latent=latent, sequence=sequence, active=active,
        answer=np.where(correct, goal, ~goal).astype(float), task=task, tasks=Tasks(TASKS),
        judge=np.zeros(len(task), int), judges=Judges(("planted",)), explanation=explained,
        written_from=np.zeros(len(task), bool),
    )  # fmt: skip


@generator(
    "judgments", JudgmentEvidence, serves=("judge_detection", "judge_fuzzing", "judge_intruder"),
    says="a judge knows the answer with the probability of the dial, else guesses",
    exact=lambda draw: draw.dial + (1 - draw.dial) * _guessed(draw), varies=("concepts",),
)  # fmt: skip
def judgments(draw: Draw) -> Arrays:
    n, task = len(draw), draw.metric.removeprefix("judge_")
    intruder = task == "intruder"
    active = (draw.facts.random(n) < draw.condition.prevalence) & (not intruder)
    knows, guess = draw.happens(draw.dial), draw.happens(_guessed(draw))
    return {
        "latent": np.arange(n) % draw.condition.concepts, "sequence": np.arange(n),
        "active": active, "answer": np.where(knows, active | intruder, guess).astype(float),
        "task": np.zeros(n, int), "tasks": Tasks((task,)), "written_from": np.zeros(n, bool),
        "latents": Latents.numbered(draw.condition.concepts),
    }  # fmt: skip


def _guessed(draw: Draw) -> float:
    return 1 / DEFAULT_INTRUDER_TEXTS if draw.metric == "judge_intruder" else 0.5

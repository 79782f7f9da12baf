"""Concepts and labels that are predicted rightly with a known probability."""

import numpy as np

from theodolite._planted.conditions import Condition, encoded
from theodolite._planted.draws import PlantedRows
from theodolite._planted.generators import Generator
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.intervention import InterventionEvidence

HONEST = 0.95
BEFORE = 0.6
STEPS = 5


def predictions(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> ConceptEvidence:
    """Known with the probability of the dial, else guessed."""
    del metric, models
    facts, k = layout.facts, condition.concepts
    truth = layout.shared(facts.random((layout.n_clusters, k)) < condition.prevalence)
    labels = layout.shared(facts.integers(0, condition.labels, layout.n_clusters))
    known = facts.random(truth.shape) >= condition.unknown if condition.unknown else None
    guess = layout.happens(condition.prevalence, k)
    says = np.where(layout.happens(condition.dial, k), truth, guess)
    values = 0.25 + 0.5 * says + 0.2 * layout.uniform(k)
    other = (layout.uniform() * condition.labels).astype(int)
    predicted = np.where(layout.happens(condition.dial), labels, other)
    return ConceptEvidence(
        values=encoded(values, condition), truth=truth, labels=labels, predicted=predicted,
        known=known, samples=layout.samples(condition),
    )  # fmt: skip


def _accuracy(metric: str, condition: Condition, models: np.random.Generator) -> float:
    del models
    p, dial = condition.prevalence, condition.dial
    guessed = 1 / condition.labels if metric == "task_accuracy" else p**2 + (1 - p) ** 2
    return dial + (1 - dial) * guessed


def interventions(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> InterventionEvidence:
    """Right before, while and after concepts are corrected; and a head of the true concepts."""
    del models
    luck = layout.uniform(1, 1)
    own = layout.uniform(1, 1)
    share = np.linspace(0.0, 1.0, STEPS)
    if metric == "intervention_score":
        chance = HONEST * (1 - condition.dial * share)
    else:
        chance = BEFORE + (1 - BEFORE) * condition.dial * share
    # in half of the samples both heads are right for the same reason
    alike = layout.happens(0.5, 1, 1)
    after = np.where(alike, luck, own) < chance
    before = luck < BEFORE
    if metric != "intervention_score":
        after[:, :, :1] = before
    return InterventionEvidence(
        right_after=after, right_reference=luck[:, 0, 0] < HONEST, samples=layout.samples(condition)
    )


def _right(metric: str, condition: Condition, models: np.random.Generator) -> float:
    del models
    if metric == "intervention_score":
        return HONEST * condition.dial
    return BEFORE + (1 - BEFORE) * condition.dial


PREDICTIONS = Generator(
    name="predictions",
    says="a concept, or the label, is known with the probability of the dial, else guessed",
    serves=("concept_prediction", "task_accuracy"),
    make=predictions,
    exact=_accuracy,
    varies=("concepts", "labels", "prevalence", "unknown"),
    reference=0.5,
)
INTERVENTIONS = Generator(
    name="interventions",
    says="with all concepts corrected the head is right less often (score) or more often "
    "(accuracy) by a share, the dial, of what there is to lose or gain",
    serves=("intervention_score", "intervention_accuracy"),
    make=interventions,
    exact=_right,
    dials=(0.0, 0.05, 0.2, 0.5, 1.0),
    reference=0.2,
    dial_at=lambda metric, fault: fault / HONEST,
)

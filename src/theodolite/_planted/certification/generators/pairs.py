"""Concepts whose values depend on each other beyond what the true concepts say."""

from functools import cache

import numpy as np
from scipy.special import digamma

from theodolite._planted.certification.conditions import Condition, encoded
from theodolite._planted.certification.generators.base import Generator
from theodolite._planted.certification.generators.information import shifted
from theodolite._planted.certification.layout import PlantedRows
from theodolite.evidence.kinds.concept import ConceptEvidence

STEP = 0.05
NEIGHBORS = 3
GRID = np.linspace(-8.0, 8.0, 1601)
WIDE = np.linspace(-12.0, 40.0, 5201)
FULL = 0.999
"""Two normal numbers that are the same tell without end about each other: the dial stops here."""


def leaking_pairs(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> ConceptEvidence:
    """Deviations with a common part; or the second a square of the first, and noise."""
    del metric, models
    k = condition.concepts
    truth = layout.shared(layout.facts.random((layout.n_clusters, k)) < condition.prevalence)
    labels = layout.shared(layout.facts.integers(0, condition.labels, layout.n_clusters))
    known = layout.facts.random(truth.shape) >= condition.unknown if condition.unknown else None
    common, own = layout.normal(1), layout.normal(k)
    strength = min(condition.dial, FULL)
    if condition.form == "square":
        bent = (own[:, :1] ** 2 - 1) / np.sqrt(2)
        deviation = np.sqrt(strength) * bent + np.sqrt(1 - strength) * own
        deviation[:, 0] = own[:, 0]
    else:
        correlation = np.sqrt(strength)
        deviation = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
    return ConceptEvidence(
        values=encoded(0.25 + 0.5 * truth + STEP * deviation, condition), truth=truth,
        labels=labels, known=known, samples=layout.samples(condition),
    )  # fmt: skip


def impure_values(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> ConceptEvidence:
    """Deviations that are moved by the next concept."""
    del metric, models
    k = condition.concepts
    truth = layout.shared(layout.facts.random((layout.n_clusters, k)) < condition.prevalence)
    deviation = layout.normal(k)
    for j in range(k):
        other = truth[:, (j + 1) % k].astype(int)
        deviation[:, j] = shifted(deviation[:, j], other, condition.dial, 2)
    return ConceptEvidence(
        values=0.25 + 0.5 * truth + STEP * deviation, truth=truth,
        samples=layout.samples(condition),
    )  # fmt: skip


def true_dependence(metric: str, condition: Condition, models: np.random.Generator) -> float:
    """Squared correlation of two deviations; of a square what normals with its information have.

    The published score divides information by psi(N) - psi(4) instead, and so does its truth.

    >>> random = np.random.default_rng(0)
    >>> true_dependence("", Condition(dial=0.25), random)
    0.25
    >>> round(true_dependence("", Condition(dial=0.25, form="square", concepts=2), random), 3)
    0.234
    """
    del models
    strength = min(condition.dial, FULL)
    nats = (
        _square_information(strength)
        if condition.form == "square"
        else (-0.5 * np.log(1 - strength))
    )
    if metric == "interconcept_leakage":
        n = condition.clusters * condition.rows
        return float(min(nats / (digamma(n) - digamma(NEIGHBORS + 1)), 1.0))
    return float(round(1 - np.exp(-2 * nats), 12))


@cache
def _square_information(strength: float) -> float:
    """Of x about √s (x² − 1)/√2 + √(1 − s) e, both normal, by integration."""
    if strength == 0:
        return 0.0
    spread = np.sqrt(1 - strength)
    weights = np.exp(-(GRID**2) / 2)
    weights /= weights.sum()
    middles = np.sqrt(strength / 2) * (GRID**2 - 1)
    density = np.zeros(len(WIDE))
    for weight, middle in zip(weights, middles, strict=True):
        density += weight * np.exp(-(((WIDE - middle) / spread) ** 2) / 2)
    density /= spread * np.sqrt(2 * np.pi)
    inside = density > 0
    step = WIDE[1] - WIDE[0]
    entropy = -float((density[inside] * np.log(density[inside])).sum() * step)
    return float(entropy - 0.5 * np.log(2 * np.pi * np.e) - np.log(spread))


LEAKING_PAIRS = Generator(
    name="leaking pairs",
    says="values of two concepts have normal deviations whose squared correlation is the dial, "
    "whatever the concepts; or the second is a square of the first, and noise",
    serves=(
        "interconcept_leakage_given_concepts", "interconcept_leakage",
        "predictive_interconcept_leakage",
    ),
    make=leaking_pairs,
    exact=true_dependence,
    varies=("concepts", "values", "prevalence", "unknown", "form"),
    dials=(0.0, 0.05, 0.2, 0.5, 0.9),
    reference=0.2,
)  # fmt: skip
IMPURE_VALUES = Generator(
    name="impure values",
    says="a concept's value is moved by the next concept so that it tells a share (the dial) of it",
    serves=("niche_impurity", "oracle_impurity"),
    make=impure_values,
    usual=Condition(clusters=100, prevalence=0.5),
    chunks=1,
    dials=(0.0, 0.2, 0.5, 1.0),
    reference=0.5,
)

"""Concepts whose values tell a known share of the label, or of each other, beyond the truth."""

from functools import cache

import numpy as np
from jaxtyping import Float
from scipy.special import digamma, ndtr

from theodolite._planted.conditions import LEVELS, Condition
from theodolite._planted.draws import Draw
from theodolite._planted.generators import FAULT_DIALS, Arrays, generator
from theodolite._planted.information import (
    FINEST,
    compute_information,
    find_by_bisection,
    find_distance,
    make_grid,
    shift_by_label,
)
from theodolite.evidence.kinds.concept import ConceptEvidence

SATURATED = 0.95
"""The share of values that lie on a bound where values are saturated."""
STEP = 0.05
"""How far a standard deviation of the deviation moves a value."""
NEIGHBORS = 3
GRID = np.linspace(-8.0, 8.0, 1601)
WIDE = np.linspace(-12.0, 40.0, 5201)
FULL = 0.999
"""Two normal numbers that are the same tell without end about each other: the dial stops here."""


@generator(
    "leaking values", ConceptEvidence,
    serves=("predictive_task_leakage", "task_leakage_given_concept", "concept_task_leakage"),
    says="a value is ¼ + ½ c + 0.05 (z + d t), c the concept, z noise and t the label, moved by d "
    "so that the value tells a share (the dial) of what the concept leaves open about it",
    exact=lambda draw: compute_true_share(draw.condition),
    varies=("concepts", "labels", "values", "prevalence", "unknown", "seeds", "mixed"),
    dials=FAULT_DIALS, reference=0.2,
)  # fmt: skip
def leaking_values(draw: Draw) -> Arrays:
    condition = draw.condition
    truth, labels = draw.truth(), draw.labels()
    if condition.mixed:
        labels = draw.facts.integers(0, condition.labels, len(draw))
    known = draw.known()
    deviation = shift_by_label(draw.normal(condition.concepts), labels, draw.dial, condition.labels)
    values = 0.25 + 0.5 * truth + STEP * _store_deviation(deviation, condition)
    return {"values": draw.stored(values), "truth": truth, "labels": labels, "known": known}


def _store_deviation(deviation: np.ndarray, condition: Condition) -> np.ndarray:
    if condition.values == "constant":
        return np.zeros(deviation.shape)
    if condition.values == "binary":
        return np.where(deviation > 0, 1.0, -1.0)
    if condition.values == "saturated":
        reach = _compute_reach(condition.dial, condition.labels)
        return np.asarray(np.clip(deviation, -reach, reach))
    return deviation


def compute_true_share(condition: Condition) -> float:
    """Return what the values tell as they are stored, of what the true concept leaves open.

    >>> round(compute_true_share(Condition(dial=0.2)), 4)
    0.2
    >>> round(compute_true_share(Condition(dial=0.2, values="binary")), 3)
    0.137
    """
    if condition.values == "constant" or condition.dial in (0.0, 1.0):
        return condition.dial if condition.values != "constant" else 0.0
    distance = find_distance(condition.dial, condition.labels)
    there = [
        compute_information(_compute_edges(condition, float(truth)), distance, condition.labels)
        for truth in (False, True)
    ]
    mean = (1 - condition.prevalence) * there[0] + condition.prevalence * there[1]
    return float(mean / np.log(condition.labels))


def _compute_edges(condition: Condition, truth: float) -> Float[np.ndarray, " edges"]:
    """Between which deviations all values are stored as one."""
    kind = condition.values
    if kind == "binary":
        return np.zeros(1)
    widest = 9 + 3 * find_distance(condition.dial, condition.labels)
    if kind == "saturated":
        reach = _compute_reach(condition.dial, condition.labels)
        return np.linspace(-reach, reach, FINEST)
    if kind in LEVELS:
        middle = LEVELS[kind] * (0.25 + 0.5 * truth)
        wide = LEVELS[kind] * STEP * widest
        if wide < FINEST:
            numbers = np.arange(np.floor(middle - wide), np.ceil(middle + wide)) + 0.5
            return np.asarray((numbers - middle) / (LEVELS[kind] * STEP))
    return np.linspace(-widest, widest, FINEST)


@cache
def _compute_reach(share: float, labels: int) -> float:
    """Between which deviations the values lie that are not saturated."""
    moved = find_distance(share, labels) * make_grid(labels) if share < 1 else make_grid(labels)

    def is_below(reach: float) -> bool:
        return bool((ndtr(reach - moved) - ndtr(-reach - moved)).mean() < 1 - SATURATED)

    return find_by_bisection(is_below)


@generator(
    "leaking pairs", ConceptEvidence,
    serves=(
        "interconcept_leakage_given_concepts", "interconcept_leakage",
        "predictive_interconcept_leakage",
    ),
    says="values of two concepts have normal deviations whose squared correlation is the dial, "
    "whatever the concepts; or the second is a square of the first, and noise",
    exact=lambda draw: compute_true_dependence(draw.condition, draw.metric),
    varies=("concepts", "values", "prevalence", "unknown", "form"),
    dials=(0.0, 0.05, 0.2, 0.5, 0.9), reference=0.2,
)  # fmt: skip
def leaking_pairs(draw: Draw) -> Arrays:
    truth, labels, known = draw.truth(), draw.labels(), draw.known()
    common, own = draw.normal(1), draw.normal(draw.condition.concepts)
    strength = min(draw.dial, FULL)
    if draw.condition.form == "square":
        bent = (own[:, :1] ** 2 - 1) / np.sqrt(2)
        deviation = np.sqrt(strength) * bent + np.sqrt(1 - strength) * own
        deviation[:, 0] = own[:, 0]
    else:
        correlation = np.sqrt(strength)
        deviation = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
    values = draw.stored(0.25 + 0.5 * truth + STEP * deviation)
    return {"values": values, "truth": truth, "labels": labels, "known": known}


def compute_true_dependence(condition: Condition, metric: str = "") -> float:
    """Squared correlation of two deviations; of a square what normals with its information have.

    The published score divides information by psi(N) - psi(4) instead, and so does its truth.

    >>> compute_true_dependence(Condition(dial=0.25))
    0.25
    >>> round(compute_true_dependence(Condition(dial=0.25, form="square", concepts=2)), 3)
    0.234
    """
    strength = min(condition.dial, FULL)
    squared = condition.form == "square"
    nats = _compute_square_information(strength) if squared else -0.5 * np.log(1 - strength)
    if metric == "interconcept_leakage":
        n = condition.clusters * condition.rows
        return float(min(nats / (digamma(n) - digamma(NEIGHBORS + 1)), 1.0))
    return float(round(1 - np.exp(-2 * nats), 12))


@cache
def _compute_square_information(strength: float) -> float:
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


@generator(
    "impure values", ConceptEvidence, serves=("niche_impurity", "oracle_impurity"),
    says="a concept's value is moved by the next concept so that it tells a share (the dial) of it",
    usual=Condition(clusters=100, prevalence=0.5), chunks=1, dials=(0.0, 0.2, 0.5, 1.0),
)  # fmt: skip
def impure_values(draw: Draw) -> Arrays:
    truth, deviation = draw.truth(), draw.normal(draw.condition.concepts)
    for j, other in enumerate(np.roll(truth, -1, axis=1).T.astype(int)):
        deviation[:, j] = shift_by_label(deviation[:, j], other, draw.dial, 2)
    return {"values": 0.25 + 0.5 * truth + STEP * deviation, "truth": truth}

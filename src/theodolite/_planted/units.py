"""Units that mark their formula with probabilities of their own, and units of chance."""

import numpy as np

from theodolite._planted.conditions import Condition
from theodolite._planted.draws import Draw
from theodolite._planted.generators import Arrays, generator
from theodolite.evidence.kinds.unit import UnitEvidence

CHANCE = 0.3
SPREAD = 0.15
SHOWS = 0.5
"""The share of images that show a unit's formula."""
LEAST, MOST = 50, 500


def planted_units(
    n_samples: int = 200, n_units: int = 12, *, alignment: float = 1.0, seed: int = 0
) -> UnitEvidence:
    """Units that mark their concept exactly, in some of the images that show it.

    Every image shows one unit's concept. Unit j of n marks it in a share ``alignment`` times
    0.6 to 1.0, rising with j, and elsewhere as many pixels beside it. The model is right the more
    often the more reliable the unit is.
    """
    random = np.random.default_rng(seed)
    unit = np.arange(n_samples) % n_units
    rank = np.arange(n_units) / max(n_units - 1, 1)
    shows = unit[:, None] == np.arange(n_units)
    formula = np.where(shows, random.integers(50, 500, (n_samples, n_units)), 0)
    marks = random.random((n_samples, n_units)) < alignment * (0.6 + 0.4 * rank)
    other = random.permutation(n_samples)
    return UnitEvidence(
        unit_pixels=formula,
        formula_pixels=formula,
        shared_pixels=np.where(marks, formula, 0),
        chance_unit_pixels=formula[other],
        chance_formula_pixels=formula,
        chance_shared_pixels=np.minimum(formula[other], formula) // 8,
        right=random.random(n_samples) < 0.1 + 0.9 * rank[unit],
    )


def _probabilities(dial: float, n: int, random: np.random.Generator) -> np.ndarray:
    middle = CHANCE + dial * (1 - CHANCE)
    return np.clip(random.normal(middle, SPREAD * (1 - dial), n), 0.01, 1.0)


@generator(
    "marking units", UnitEvidence, serves=("detection_accuracy", "pixel_recall", "unit_iou"),
    says="each unit marks its formula with a probability of its own, normal around a mean that "
    "the dial takes from 0.3 to 1; units of chance are drawn alike around 0.3",
    usual=Condition(concepts=8), exact=lambda draw: _mean_overlap(draw, draw.condition.concepts),
    population=lambda draw: _mean_overlap(draw, 400_000), per_model=True, varies=("concepts",),
)  # fmt: skip
def marking_units(draw: Draw) -> Arrays:
    n = draw.condition.concepts
    own, by_chance = (_probabilities(dial, n, draw.models) for dial in (draw.dial, 0.0))
    formula, shared = _marks(draw, own)
    chance_formula, chance_shared = _marks(draw, by_chance)
    return {
        "unit_pixels": formula, "formula_pixels": formula, "shared_pixels": shared,
        "chance_unit_pixels": chance_formula, "chance_formula_pixels": chance_formula,
        "chance_shared_pixels": chance_shared,
    }  # fmt: skip


def _marks(draw: Draw, chance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    n = len(chance)
    sizes = (LEAST + (MOST - LEAST) * draw.uniform(n)).astype(int)
    formula = np.where(draw.happens(SHOWS, n), sizes, 0)
    return formula, np.where(draw.happens(chance, n), formula, 0)


def _mean_overlap(draw: Draw, units: int) -> float:
    probability = _probabilities(draw.dial, units, draw.models)
    if draw.metric == "unit_iou":
        probability = probability / (2 - probability)
    return float(probability.mean())


@generator(
    "accurate units", UnitEvidence, serves=("detection_and_accuracy",),
    says="how well units mark and how often the network is right where they do have the "
    "correlation of the dial",
    usual=Condition(concepts=12, clusters=600),
    exact=lambda draw: float(np.corrcoef(*_related(draw))[0, 1]), per_model=True,
    varies=("concepts",), reference=0.9, no_ends=("detection_and_accuracy",),
)  # fmt: skip
def accurate_units(draw: Draw) -> Arrays:
    n = draw.condition.concepts
    chance, accuracy = _related(draw)
    unit = (draw.uniform() * n).astype(int)
    formula = np.where(unit[:, None] == np.arange(n), 100, 0)
    return {
        "unit_pixels": formula, "formula_pixels": formula,
        "shared_pixels": np.where(draw.happens(chance, n), formula, 0),
        "right": draw.happens(accuracy[unit]),
    }  # fmt: skip


def _related(draw: Draw) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities to mark and to be right, with the correlation of the dial in expectation."""
    first, noise = draw.models.normal(size=(2, draw.condition.concepts))
    second = draw.dial * first + np.sqrt(1 - draw.dial**2) * noise
    return np.clip(0.6 + 0.15 * first, 0.1, 0.95), np.clip(0.6 + 0.15 * second, 0.1, 0.95)

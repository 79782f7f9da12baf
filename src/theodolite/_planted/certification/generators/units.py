"""Units that mark their formula with probabilities of their own, and units of chance."""

import numpy as np

from theodolite._planted.certification.conditions import Condition
from theodolite._planted.certification.generators.base import Generator
from theodolite._planted.certification.layout import PlantedRows
from theodolite.evidence.kinds.unit import UnitEvidence

CHANCE = 0.3
SPREAD = 0.15
SHOWS = 0.5
"""The share of images that show a unit's formula."""
LEAST, MOST = 50, 500


def _probabilities(dial: float, n: int, random: np.random.Generator) -> np.ndarray:
    middle = CHANCE + dial * (1 - CHANCE)
    return np.clip(random.normal(middle, SPREAD * (1 - dial), n), 0.01, 1.0)


def marking_units(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> UnitEvidence:
    """A unit marks its formula exactly, or as many pixels beside it."""
    n = condition.concepts
    own = _probabilities(condition.dial, n, models)
    by_chance = _probabilities(0.0, n, models)
    formula, shared = _marks(layout, own)
    chance_formula, chance_shared = _marks(layout, by_chance)
    return UnitEvidence(
        unit_pixels=formula, formula_pixels=formula, shared_pixels=shared,
        chance_unit_pixels=chance_formula, chance_formula_pixels=chance_formula,
        chance_shared_pixels=chance_shared, samples=layout.samples(condition),
    )  # fmt: skip


def _marks(layout: PlantedRows, chance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    n = len(chance)
    sizes = (LEAST + (MOST - LEAST) * layout.uniform(n)).astype(int)
    formula = np.where(layout.happens(SHOWS, n), sizes, 0)
    return formula, np.where(layout.happens(chance, n), formula, 0)


def _overlap(metric: str, probability: np.ndarray) -> np.ndarray:
    if metric == "unit_iou":
        return np.asarray(probability / (2 - probability))
    return probability


def _these_units(metric: str, condition: Condition, models: np.random.Generator) -> float:
    own = _probabilities(condition.dial, condition.concepts, models)
    return float(_overlap(metric, own).mean())


def _all_units(metric: str, condition: Condition, models: np.random.Generator) -> float:
    return float(_overlap(metric, _probabilities(condition.dial, 400_000, models)).mean())


def accurate_units(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> UnitEvidence:
    """Each image shows the formula of one unit, whose accuracy goes with how well it marks."""
    del metric
    n = condition.concepts
    chance, accuracy = _related(condition, models)
    unit = (layout.uniform() * n).astype(int)
    shows = unit[:, None] == np.arange(n)
    formula = np.where(shows, 100, 0)
    return UnitEvidence(
        unit_pixels=formula, formula_pixels=formula,
        shared_pixels=np.where(layout.happens(chance, n), formula, 0),
        right=layout.happens(accuracy[unit]), samples=layout.samples(condition),
    )  # fmt: skip


def _related(condition: Condition, models: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities to mark and to be right, with the correlation of the dial in expectation."""
    first, noise = models.normal(size=(2, condition.concepts))
    second = condition.dial * first + np.sqrt(1 - condition.dial**2) * noise
    return np.clip(0.6 + 0.15 * first, 0.1, 0.95), np.clip(0.6 + 0.15 * second, 0.1, 0.95)


def _correlation(metric: str, condition: Condition, models: np.random.Generator) -> float:
    del metric
    chance, accuracy = _related(condition, models)
    return float(np.corrcoef(chance, accuracy)[0, 1])


MARKING_UNITS = Generator(
    name="marking units",
    says="each unit marks its formula with a probability of its own, normal around a mean that the "
    "dial takes from 0.3 to 1; units of chance are drawn alike around 0.3",
    serves=("detection_accuracy", "pixel_recall", "unit_iou"),
    make=marking_units,
    usual=Condition(concepts=8),
    exact=_these_units,
    population=_all_units,
    per_model=True,
    varies=("concepts",),
    reference=0.5,
)
ACCURATE_UNITS = Generator(
    name="accurate units",
    says="how well units mark and how often the network is right where they do have the "
    "correlation of the dial",
    serves=("detection_and_accuracy",),
    make=accurate_units,
    usual=Condition(concepts=12, clusters=600),
    exact=_correlation,
    per_model=True,
    varies=("concepts",),
    reference=0.9,
    no_ends=("detection_and_accuracy",),
)

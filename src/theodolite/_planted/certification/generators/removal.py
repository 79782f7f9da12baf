"""Answers while pixels are removed in the order of a map that is partly right; noise; likeness."""

import numpy as np

from theodolite._planted.certification.conditions import Condition
from theodolite._planted.certification.generators.base import Generator
from theodolite._planted.certification.layout import PlantedRows
from theodolite.evidence.axes import Chances, Noises, Removals
from theodolite.evidence.kinds.saliency import SaliencyEvidence

PERCENTS = np.arange(2.0, 50.0, 4.0)
OBJECT = 0.1
"""The share of the image that the answer depends on."""
SPREAD = 0.15
WAYS = ("road", "black", "uniform")
CHANCES = ("random", "smooth", "center")
HALF_WIDTH = 0.1


def removed_pixels(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> SaliencyEvidence:
    """Curves of maps that have the right order to the extent of the dial, and of chance's."""
    del metric, models
    clean = 0.7 + 0.3 * layout.uniform()
    most, least = _curves(layout, clean, condition.dial)
    chances = [_curves(layout, clean, 0.0) for _ in CHANCES]
    ways = len(WAYS)
    return SaliencyEvidence(
        maps=np.ones((len(layout), 1, 1)),
        clean=clean,
        percents=PERCENTS,
        most_first=np.repeat(most[:, None], ways, axis=1),
        least_first=np.repeat(least[:, None], ways, axis=1),
        chance_most_first=np.repeat(np.stack([c[0] for c in chances], 1)[:, :, None], ways, 2),
        chance_least_first=np.repeat(np.stack([c[1] for c in chances], 1)[:, :, None], ways, 2),
        removals=Removals(WAYS),
        chances=Chances(CHANCES),
        samples=layout.samples(condition),
    )


def _curves(layout: PlantedRows, clean: np.ndarray, dial: float) -> tuple[np.ndarray, np.ndarray]:
    """What is left of the answer, most relevant first and least relevant first.

    A map orders pixels rightly in a part of the image that varies from one to the next; the rest
    is in any order. At the end of the dial the answer is gone with the first pixels.
    """
    part = np.clip(dial + SPREAD * min(1.0, 4 * (1 - dial)) * layout.normal(), 0.0, 1.0)[:, None]
    share = PERCENTS / 100
    gone_at_once = np.minimum(share / (OBJECT * (1 - dial) + 1e-9), 1.0)
    lost = part * gone_at_once + (1 - part) * share
    most = clean[:, None] * (1 - lost)
    least = clean[:, None] * (1 - (1 - part) * share)
    return np.clip(most, 0.0, 1.0), np.clip(least, 0.0, 1.0)


def moved_maps(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> SaliencyEvidence:
    """How far maps move under noise, beside how far they are from another image's."""
    del metric, models
    norms = 1 + layout.uniform()
    # the largest of three draws is what counts, and what chance has too
    moved = norms[:, None] * (1 - condition.dial) * (0.8 + 0.4 * layout.uniform(3))
    other = norms * (0.8 + 0.4 * layout.uniform(3).max(axis=1))
    return SaliencyEvidence(
        maps=np.ones((len(layout), 1, 1)), norms=norms, changes=moved[:, None, :],
        chance_changes=other, noises=Noises(("uniform",)), samples=layout.samples(condition),
    )  # fmt: skip


def blind_maps(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> SaliencyEvidence:
    """How alike maps are to those of a network with random weights."""
    del metric, models
    half = min(HALF_WIDTH, 1 - condition.dial)
    alike = condition.dial + half * (2 * layout.uniform() - 1)
    return SaliencyEvidence(
        maps=np.ones((len(layout), 1, 1)), randomized_similarity=alike,
        samples=layout.samples(condition),
    )  # fmt: skip


def _likeness(metric: str, condition: Condition, models: np.random.Generator) -> float:
    del metric, models
    return condition.dial


REMOVED_PIXELS = Generator(
    name="removed pixels",
    says="a part of the image (the dial, varied from one to the next) is ordered rightly, the "
    "rest and the maps that know nothing in any order",
    serves=("removal_faithfulness", "removal_necessity", "removal_sufficiency"),
    make=removed_pixels,
    reference=0.5,
    no_ends=("removal_faithfulness", "removal_necessity"),
)
MOVED_MAPS = Generator(
    name="moved maps",
    says="maps move under noise as far as another image's map is away, the less the higher the "
    "dial",
    serves=("max_sensitivity",),
    make=moved_maps,
    reference=0.25,
)
BLIND_MAPS = Generator(
    name="blind maps",
    says="the likeness of maps to those of a network with random weights is the dial on average",
    serves=("randomization_similarity",),
    make=blind_maps,
    exact=_likeness,
    reference=0.5,
)

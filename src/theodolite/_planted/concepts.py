"""Planted truth: evidence whose scores are known, with a dial from meaningless to perfect."""

import numpy as np

from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.evidence.kinds.unit import UnitEvidence


def planted_concepts(
    n_samples: int = 200,
    n_concepts: int = 12,
    n_classes: int = 4,
    *,
    alignment: float = 1.0,
    seed: int = 0,
) -> ConceptEvidence:
    """A concept model that is right about a share ``alignment`` of the samples.

    Each class has its own concepts, and its samples show exactly these. On an aligned sample the
    values point at the concepts that are there, on the others at those that are not. So with the
    default options concept existence is ``alignment`` up to chance, exactly at 0 and 1.

    >>> planted_concepts(alignment=1.0).truth.mean(axis=1).tolist()[:2]
    [0.5, 0.5]
    """
    random = np.random.default_rng(seed)
    half = n_concepts // 2
    order = np.stack([random.permutation(n_concepts) for _ in range(n_classes)])
    class_truth = np.zeros((n_concepts, n_classes))
    for k in range(n_classes):
        class_truth[order[k, :half], k] = 1.0
    labels = np.arange(n_samples) % n_classes
    truth = class_truth.T[labels] > 0
    aligned = random.random(n_samples) < alignment
    sign = np.where(truth == aligned[:, None], 1.0, -1.0)
    values = sign * random.uniform(0.5, 1.5, size=truth.shape)
    return ConceptEvidence(
        values=values,
        truth=truth,
        labels=labels,
        predicted=labels,
        weights=np.ones((n_concepts, n_classes)),
        class_truth=class_truth,
    )


def planted_locations(
    n_samples: int = 100,
    n_concepts: int = 12,
    *,
    alignment: float = 1.0,
    size: tuple[int, int] = (48, 36),
    seed: int = 0,
) -> LocationEvidence:
    """Maps that peak at their concept in a share ``alignment`` of the images.

    Every concept has a place of its own in every image. In the other images its map peaks as
    far away from there as it can, and is lowest at the place itself.
    """
    random = np.random.default_rng(seed)
    side = 9
    cells = random.integers(0, side, size=(n_samples, n_concepts, 2))
    points = (cells + 0.5) / side * np.asarray(size)
    grid = np.indices((side, side)).transpose(1, 2, 0)
    away = np.sqrt(((grid - cells[:, :, None, None, :]) ** 2).sum(axis=-1))
    aligned = random.random(n_samples) < alignment
    maps = np.where(aligned[:, None, None, None], -away, away)
    return LocationEvidence(
        explained=planted_concepts(n_samples, n_concepts, seed=seed),
        maps=maps,
        sizes=np.tile(np.asarray(size), (n_samples, 1)),
        part_of=np.arange(n_concepts),
        points=points[:, :, None, :],
    )


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

"""Planted maps of relevance: on the object and decisive, or not, with a dial in between."""

import numpy as np

from theodolite.evidence.axes import Chances, Noises, Removals
from theodolite.evidence.kinds.saliency import SaliencyEvidence

SIDE, BLOCK = 16, 4


def planted_saliency(
    n_samples: int = 80, *, alignment: float = 1.0, blindness: float = 0.0, seed: int = 0
) -> SaliencyEvidence:
    """Maps that mark their object in a share ``alignment`` of the images.

    The object decides the answer: without its pixels nothing is left of it. On the other images
    a map marks a place of the same size elsewhere. ``blindness`` is the likeness of the maps to
    those of a network with random weights.

    >>> planted = planted_saliency(4)
    >>> int(planted.objects.sum())
    64
    """
    random = np.random.default_rng(seed)
    aligned = random.random(n_samples) < alignment
    corner = random.integers(0, SIDE - BLOCK + 1, (n_samples, 2))
    objects = _blocks(corner)
    elsewhere = _blocks((corner + SIDE // 2) % (SIDE - BLOCK + 1))
    marked = np.where(aligned[:, None, None], objects, elsewhere & ~objects)
    percents = np.arange(1.0, 50.0, 2.0)
    clean = random.uniform(0.8, 1.0, n_samples)
    gone = np.minimum(percents / (100 * BLOCK**2 / SIDE**2), 1.0)  # of the object, most first
    at_random = np.minimum(4 * percents / 100, 1.0)
    right = aligned[:, None]
    lost, kept_lost = np.where(right, gone, at_random), np.where(right, 0.0, at_random)
    chance = clean[:, None] * (1 - at_random)
    norms = np.full(n_samples, float(BLOCK))
    similar = random.normal(0.0, 0.05, n_samples)
    return SaliencyEvidence(
        maps=marked + 0.01 * random.random(marked.shape),
        objects=objects,
        clean=clean,
        percents=percents,
        most_first=_ways(clean[:, None] * (1 - lost)),
        least_first=_ways(clean[:, None] * (1 - kept_lost)),
        chance_most_first=_chances(chance),
        chance_least_first=_chances(chance),
        chances=Chances(("random", "smooth", "center")),
        removals=Removals(("road", "black", "uniform", "gaussian")),
        norms=norms,
        changes=random.uniform(0.05, 0.2, (n_samples, 2, 3)) * norms[:, None, None],
        chance_changes=1.4 * norms,
        noises=Noises(("uniform", "gaussian")),
        randomized_similarity=np.clip(similar + blindness, -1, 1),
    )


def _blocks(corners: np.ndarray) -> np.ndarray:
    place = np.arange(SIDE)
    inside = (place >= corners[..., None]) & (place < corners[..., None] + BLOCK)
    return np.asarray(inside[:, 0, :, None] & inside[:, 1, None, :])


def _chances(curve: np.ndarray) -> np.ndarray:
    """The same curve for each of three maps that know nothing."""
    return np.repeat(_ways(curve)[:, None], 3, axis=1)


def _ways(curve: np.ndarray) -> np.ndarray:
    """The same curve for each of four ways of removal."""
    return np.repeat(curve[:, None, :], 4, axis=1)

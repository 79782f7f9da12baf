"""Maps of relevance that mark their object and decide the answer, with a known probability."""

import numpy as np

from theodolite._planted.conditions import Condition
from theodolite._planted.draws import Draw, start_draw
from theodolite._planted.generators import Arrays, generator
from theodolite.evidence.axes import Chances, Fills, Noises, Removals
from theodolite.evidence.kinds.saliency import SaliencyEvidence

SIDE, BLOCK = 12, 4
PATCHES, SUBSETS, MEASURED = 4, 32, 12
"""Sides of the grid of patches, subsets of each image, and images whose best fit is measured."""
ADDITIVE = 0.9
"""Fit of the best sums over patches."""
OVERLAP = BLOCK**2 / SIDE**2
BACKGROUND = 0.1
PERCENTS = np.arange(2.0, 50.0, 4.0)
OBJECT = 0.1
"""The share of the image that the answer depends on."""
SPREAD = 0.15
WAYS = ("road", "black", "uniform")
CHANCES = ("random", "smooth", "center")
HALF_WIDTH = 0.1


def planted_saliency(
    n_samples: int = 80, *, alignment: float = 1.0, blindness: float = 0.0, seed: int = 0
) -> SaliencyEvidence:
    """Maps that mark their object in a share ``alignment`` of the images.

    On the other images a map marks a place of the same size anywhere. The answer goes with the
    pixels that are removed, the sooner the larger the alignment, and maps move under noise the
    less. ``blindness`` is the likeness of the maps to those of a network with random weights.

    >>> planted = planted_saliency(4)
    >>> int(planted.objects.sum())
    64
    """
    draw, blind = (
        start_draw("", Condition(clusters=n_samples, dial=dial), row_seed=(seed, number))
        for number, dial in enumerate((alignment, blindness))
    )
    parts = (moved_maps, fitted_maps, marked_objects)
    arrays = _removed(draw, rate=4.0) | blind_maps.make(blind)
    for part in parts:
        arrays |= part.make(draw)
    falls = _fall_with(arrays["maps"], arrays["removed"], draw, alignment)
    return SaliencyEvidence(**(arrays | falls))


@generator(
    "marked objects", SaliencyEvidence,
    serves=("relevance_mass", "relevance_rank", "relevance_peak"),
    says="a map marks its object with the probability of the dial, else a place of the same size "
    "anywhere; the rest is noise that fades with the dial",
    chunks=5, varies=("values",),
)  # fmt: skip
def marked_objects(draw: Draw) -> Arrays:
    own, elsewhere = ((draw.uniform(2) * SIDE).astype(int) for _ in range(2))
    marked = _blocks(np.where(draw.happens(draw.dial, 1), own, elsewhere))
    maps = marked * (0.5 + draw.uniform(SIDE, SIDE))
    maps += BACKGROUND * (1 - draw.dial) * draw.uniform(SIDE, SIDE)
    return {"maps": draw.stored(maps / 2), "objects": _blocks(own)}


def _blocks(corners: np.ndarray) -> np.ndarray:
    """Pixels of blocks that go on at the opposite edge, so that no place is special."""
    inside = (np.arange(SIDE) - corners[..., None]) % SIDE < BLOCK
    return np.asarray(inside[:, 0, :, None] & inside[:, 1, None, :])


@generator(
    "colored objects", SaliencyEvidence, serves=("relevance_top",),
    says="a map marks its object with the probability of the dial, else a place of the same size "
    "anywhere; the rest is noise that fades with the dial; objects are as colorful as the rest",
    exact=lambda draw: draw.dial + (1 - draw.dial) * OVERLAP, chunks=5, varies=("values",),
)  # fmt: skip
def colored_objects(draw: Draw) -> Arrays:
    return marked_objects.make(draw) | {"saturation": draw.uniform(SIDE, SIDE)}


@generator(
    "fitted maps", SaliencyEvidence, serves=("map_fit",),
    says="the fall without patches goes with the map as far as the dial says, of what sums over "
    "patches can explain; maps, edges and saturation are noise",
    chunks=5, no_ends=("map_fit",),
)  # fmt: skip
def fitted_maps(draw: Draw) -> Arrays:
    maps = draw.normal(SIDE, SIDE)
    order = draw.uniform(SUBSETS, PATCHES**2).argsort(axis=2)
    removed = (order < PATCHES**2 // 2).reshape(-1, SUBSETS, PATCHES, PATCHES)
    arrays = {
        "maps": maps, "removed": removed,
        "edges": draw.uniform(SIDE, SIDE), "saturation": draw.uniform(SIDE, SIDE),
    }  # fmt: skip
    return arrays | _fall_with(maps, removed, draw, draw.dial)


def _fall_with(maps: np.ndarray, removed: np.ndarray, draw: Draw, dial: float) -> Arrays:
    """Falls of the output of which a map explains a part; the best sums explain ``ADDITIVE``."""
    n, side = len(maps), SIDE // PATCHES
    patches = maps.reshape(n, PATCHES, side, PATCHES, side).sum(axis=(2, 4)).reshape(n, -1, 1)
    flat = removed.reshape(n, SUBSETS, -1)
    named = (flat @ patches)[:, :, 0]
    hidden = (flat @ draw.normal(PATCHES**2)[:, :, None])[:, :, 0]
    known = draw.normal(SUBSETS)
    parts = [
        (part - part.mean(axis=1, keepdims=True)) / part.std(axis=1, keepdims=True)
        for part in (named, hidden, known)
    ]
    fit = ADDITIVE * dial
    drop = fit * parts[0] + np.sqrt(ADDITIVE**2 - fit**2) * parts[1]
    drop += np.sqrt(1 - ADDITIVE**2) * parts[2]
    best = np.where(np.arange(n) < MEASURED, ADDITIVE, np.nan)
    return {"drop": drop[:, None], "best_fit": best[:, None], "fills": Fills(("mean",))}


@generator(
    "few pixels", SaliencyEvidence, serves=("sparseness",),
    says="noise to a power that rises with the dial; at its end one pixel alone is left",
    chunks=5, varies=("values",), no_ends=("sparseness",),
)  # fmt: skip
def few_pixels(draw: Draw) -> Arrays:
    noise = draw.uniform(SIDE, SIDE)
    if draw.dial < 1:
        maps = noise ** ((1 + draw.dial) / (1 - draw.dial))
    else:
        maps = (noise == noise.max(axis=(1, 2), keepdims=True)).astype(float)
    return {"maps": draw.stored(maps / 2)}


@generator(
    "removed pixels", SaliencyEvidence,
    serves=("removal_faithfulness", "removal_necessity", "removal_sufficiency"),
    says="a part of the image (the dial, varied from one to the next) is ordered rightly, the "
    "rest and the maps that know nothing in any order",
    no_ends=("removal_faithfulness", "removal_necessity"),
)  # fmt: skip
def removed_pixels(draw: Draw) -> Arrays:
    return _removed(draw, rate=1.0)


def _removed(draw: Draw, rate: float) -> Arrays:
    """Answers without pixels; the share of pixels removed at random costs ``rate`` times itself."""
    clean, ways = 0.7 + 0.3 * draw.uniform(), len(WAYS)
    share = np.minimum(rate * PERCENTS / 100, 1.0)
    most, least = _curves(draw, clean, draw.dial, share)
    chances = [_curves(draw, clean, 0.0, share) for _ in CHANCES]
    chance_most, chance_least = (np.stack(curves, axis=1) for curves in zip(*chances, strict=True))
    return {
        "maps": np.ones((len(draw), 1, 1)), "clean": clean, "percents": PERCENTS,
        "most_first": np.repeat(most[:, None], ways, axis=1),
        "least_first": np.repeat(least[:, None], ways, axis=1),
        "chance_most_first": np.repeat(chance_most[:, :, None], ways, axis=2),
        "chance_least_first": np.repeat(chance_least[:, :, None], ways, axis=2),
        "removals": Removals(WAYS), "chances": Chances(CHANCES),
    }  # fmt: skip


def _curves(
    draw: Draw, clean: np.ndarray, dial: float, share: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What is left of the answer, most relevant first and least relevant first.

    A map orders pixels rightly in a part of the image that varies from one to the next; the rest
    is in any order. At the end of the dial the answer is gone with the first pixels.
    """
    part = np.clip(dial + SPREAD * min(1.0, 4 * (1 - dial)) * draw.normal(), 0.0, 1.0)[:, None]
    gone_at_once = np.minimum(share / (OBJECT * (1 - dial) + 1e-9), 1.0)
    lost = part * gone_at_once + (1 - part) * share
    most = clean[:, None] * (1 - lost)
    least = clean[:, None] * (1 - (1 - part) * share)
    return np.clip(most, 0.0, 1.0), np.clip(least, 0.0, 1.0)


@generator(
    "moved maps", SaliencyEvidence, serves=("max_sensitivity",),
    says="maps move under noise as far as another image's map is away, the less the higher the "
    "dial",
    reference=0.25,
)  # fmt: skip
def moved_maps(draw: Draw) -> Arrays:
    norms = 1 + draw.uniform()
    # the largest of three draws is what counts, and what chance has too
    moved = norms[:, None] * (1 - draw.dial) * (0.8 + 0.4 * draw.uniform(3))
    other = norms * (0.8 + 0.4 * draw.uniform(3).max(axis=1))
    return {
        "maps": np.ones((len(draw), 1, 1)), "norms": norms, "changes": moved[:, None, :],
        "chance_changes": other, "noises": Noises(("uniform",)),
    }  # fmt: skip


@generator(
    "blind maps", SaliencyEvidence, serves=("randomization_similarity",),
    says="the likeness of maps to those of a network with random weights is the dial on average",
    exact=lambda draw: draw.dial,
)  # fmt: skip
def blind_maps(draw: Draw) -> Arrays:
    half = min(HALF_WIDTH, 1 - draw.dial)
    alike = draw.dial + half * (2 * draw.uniform() - 1)
    return {"maps": np.ones((len(draw), 1, 1)), "randomized_similarity": alike}

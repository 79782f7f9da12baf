"""Maps that mark their object, or a place anywhere, with a known probability."""

import numpy as np

from theodolite._planted.conditions import CODES, Condition
from theodolite._planted.draws import PlantedRows
from theodolite._planted.generators import Generator
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.evidence.kinds.saliency import SaliencyEvidence

SIDE, BLOCK = 12, 4
BACKGROUND = 0.1
CELLS, PIXELS = 9, 5
"""A map of concepts has so many cells a side, of so many pixels."""


def marked_objects(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> SaliencyEvidence:
    """A block at the object or anywhere; it goes round the edges, so that no place is special."""
    del metric, models
    own, elsewhere = (_corners(layout, SIDE) for _ in range(2))
    right = layout.happens(condition.dial, 1)
    marked = _blocks(np.where(right, own, elsewhere))
    maps = marked * (0.5 + layout.uniform(SIDE, SIDE))
    maps += BACKGROUND * (1 - condition.dial) * layout.uniform(SIDE, SIDE)
    return SaliencyEvidence(
        maps=_stored(maps, condition), objects=_blocks(own), samples=layout.samples(condition)
    )


def few_pixels(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> SaliencyEvidence:
    """Noise to a power that rises with the dial; at its end the highest pixel alone is left."""
    del metric, models
    noise = layout.uniform(SIDE, SIDE)
    if condition.dial < 1:
        maps = noise ** ((1 + condition.dial) / (1 - condition.dial))
    else:
        maps = (noise == noise.max(axis=(1, 2), keepdims=True)).astype(float)
    return SaliencyEvidence(maps=_stored(maps, condition), samples=layout.samples(condition))


def _stored(maps: np.ndarray, condition: Condition) -> np.ndarray:
    return CODES.get(condition.values, CODES["float64"])(maps / 2)


def _corners(layout: PlantedRows, side: int) -> np.ndarray:
    return np.asarray((layout.uniform(2) * side).astype(int))


def _blocks(corners: np.ndarray) -> np.ndarray:
    """Pixels of blocks that go on at the opposite edge."""
    inside = (np.arange(SIDE) - corners[..., None]) % SIDE < BLOCK
    return np.asarray(inside[:, 0, :, None] & inside[:, 1, None, :])


def concept_places(
    metric: str, condition: Condition, models: np.random.Generator, layout: PlantedRows
) -> LocationEvidence:
    """Each concept is in a cell of its own; its map peaks there or in any cell."""
    del metric, models
    n, k = len(layout), condition.concepts
    own, other = ((layout.uniform(k) * CELLS**2).astype(int) for _ in range(2))
    peak = np.where(layout.happens(condition.dial, k), own, other)
    maps = BACKGROUND * layout.uniform(k, CELLS**2)
    np.put_along_axis(maps, peak[..., None], 1.0, axis=2)
    cell = np.stack(np.divmod(own, CELLS), axis=-1)
    masks = own[..., None] == np.arange(CELLS**2)
    nobody = np.zeros(n, int)
    samples = layout.samples(condition)
    explained = ConceptEvidence(
        values=layout.uniform(k), truth=np.ones((n, k), bool), labels=nobody, predicted=nobody,
        weights=np.ones((k, 2)), samples=samples,
    )  # fmt: skip
    return LocationEvidence(
        explained=explained,
        maps=_stored(maps.reshape(n, k, CELLS, CELLS), condition),
        sizes=np.full((n, 2), CELLS * PIXELS),
        part_of=np.arange(k),
        points=(cell[:, :, None, :] + 0.5) * PIXELS,
        masks=masks.reshape(n, k, CELLS, CELLS),
        samples=samples,
    )


MARKED_OBJECTS = Generator(
    name="marked objects",
    says="a map marks its object with the probability of the dial, else a place of the same size "
    "anywhere; the rest is noise that fades with the dial",
    serves=("relevance_mass", "relevance_rank", "relevance_peak"),
    make=marked_objects,
    chunks=5,
    varies=("values",),
    reference=0.5,
)
FEW_PIXELS = Generator(
    name="few pixels",
    says="noise to a power that rises with the dial; at its end one pixel alone is left",
    serves=("sparseness",),
    make=few_pixels,
    chunks=5,
    varies=("values",),
    reference=0.5,
    no_ends=("sparseness",),
)
CONCEPT_PLACES = Generator(
    name="places of concepts",
    says="a concept's map peaks where the concept is with the probability of the dial, else "
    "anywhere",
    serves=("pointing_game", "concept_location"),
    make=concept_places,
    chunks=2,
    usual=Condition(concepts=6),
    varies=("values",),
    reference=0.5,
)

"""Regions of the parts of a concept data set, as masks for dissection."""

from collections import Counter
from functools import partial

import numpy as np
from jaxtyping import Int

from theodolite.datasets.concept_data import ConceptData
from theodolite.datasets.masks.mask_data import Grid, Layers, MaskData, layers_of_masks

NOTES = {
    "mask": "Regions of {n} annotations are masks.",
    "box": "Regions of {n} annotations are boxes, with what is behind the part.",
    "disc": "Regions of {n} annotations are discs around points.",
}


def make_concept_masks(data: ConceptData, rows: Int[np.ndarray, " rows"]) -> MaskData | None:
    """Return the images with a region of some part, and the regions of all parts as masks.

    None if no image has a region.
    """
    parts = range(len(data.parts))
    kinds = [[data.region_kind(int(row), part) for part in parts] for row in rows]
    rows = rows[np.array([any(own) for own in kinds], bool)]
    if not len(rows):
        return None
    counts = Counter(kind for own in kinds for kind in own)
    return MaskData(
        name=data.name,
        folder=data.folder,
        images=tuple(data.images[row] for row in rows),
        concepts=data.parts.names,
        categories=("part",) * len(data.parts),
        scenes=((),) * len(rows),
        read_layers=partial(_read_layers, data, rows),
        labels=data.labels[rows],
        classes=data.classes.names,
        groups=None if data.groups is None else data.groups[rows],
        tables=data.tables,
        notes=tuple(
            note.format(n=f"{counts[kind]:,}") for kind, note in NOTES.items() if counts[kind]
        ),
    )


def _read_layers(data: ConceptData, rows: np.ndarray, row: int, grid: Grid) -> Layers:
    regions = data.regions(int(rows[row]), grid)
    return layers_of_masks([(p, mask) for p, mask in enumerate(regions) if mask.any()], grid)

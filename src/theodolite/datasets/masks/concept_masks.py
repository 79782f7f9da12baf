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


def make_concept_masks(data: ConceptData, rows: Int[np.ndarray, " rows"]) -> MaskData:
    """Return some images of a concept data set, with the regions of its parts as masks."""
    kinds = Counter(
        data.region_kind(int(row), part) for row in rows for part in range(len(data.parts))
    )
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
            note.format(n=f"{kinds[kind]:,}") for kind, note in NOTES.items() if kinds[kind]
        ),
    )


def find_rows_with_regions(
    data: ConceptData, rows: Int[np.ndarray, " rows"]
) -> Int[np.ndarray, " some"]:
    """Return the rows in which some part has a region."""
    parts = range(len(data.parts))
    return rows[[any(data.region_kind(int(row), part) for part in parts) for row in rows]]


def _read_layers(data: ConceptData, rows: np.ndarray, row: int, grid: Grid) -> Layers:
    regions = data.regions(int(rows[row]), grid)
    return layers_of_masks([(p, mask) for p, mask in enumerate(regions) if mask.any()], grid)

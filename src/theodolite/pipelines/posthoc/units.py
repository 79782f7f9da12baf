"""Dissect the units of the explained layer, if the data set has concept masks.

A step of the pipeline for post-hoc bottlenecks.
"""

from dataclasses import replace

import numpy as np

from theodolite.datasets.concept_data import ConceptData
from theodolite.dissection.dissect import dissect
from theodolite.evidence.axes import Samples
from theodolite.evidence.kinds.unit import UnitEvidence
from theodolite.pipelines.features import FeatureMaps

GRID = 112
"""Rows and columns of masks."""
MIN_IMAGES = 2
"""Smallest number of images, since the null permutes masks over images."""


def make_unit_evidence(
    data: ConceptData, maps: FeatureMaps, seed: int
) -> tuple[UnitEvidence, dict[str, list[str]]] | None:
    """Return each unit with its best formula of parts, and the formulas in words.

    None if fewer than two images have masks. A unit is a channel of the layer. Parts are concepts
    with masks, which a unit can be named after.
    """
    masked = sorted({row for row, _ in data.mask_files} & {int(row) for row in maps.rows})
    if len(masked) < MIN_IMAGES:
        return None
    rows = np.array(masked)
    at = np.flatnonzero(np.isin(maps.rows, rows))
    masks = data.masks(rows, GRID)
    assert masks is not None  # noqa: S101  there are files
    layers = masks * np.arange(1, len(data.parts) + 1, dtype=np.uint16)[:, None, None]
    activations = np.concatenate([maps.part(int(row), int(row) + 1) for row in at])
    dissection = dissect(activations, list(layers), data.parts.names, seed=seed)
    names = np.array([data.images[row] for row in rows])
    clusters = None if data.groups is None else data.groups[rows]
    evidence = replace(
        dissection.evidence, samples=Samples(index=rows, ids=names, clusters=clusters)
    )
    return evidence, {"unit": list(evidence.units.names), "formula": dissection.formulas()}

"""MonuMAI for network dissection: the boxes of architectural elements as masks."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.datasets.masks.mask_data import Grid, Layers, MaskData, box_mask, layers_of_masks
from theodolite.datasets.monumai import ENGLISH, read_records


def monumai_masks(root: Path) -> MaskData:
    """Read a folder with ``annotations.json`` and ``images/``, as ``monumai`` does."""
    path = root / "annotations.json"
    records = read_records(path)
    styles = sorted({record["style"] for record in records})
    elements = sorted({box[0] for record in records for box in record["objects"]})
    labels = np.array([styles.index(record["style"]) for record in records])
    return MaskData(
        name="MonuMAI",
        folder=root / "images",
        images=tuple(record["file"] for record in records),
        concepts=(*(ENGLISH.get(element, element) for element in elements), *styles),
        categories=(*("part" for _ in elements), *("scene" for _ in styles)),
        scenes=tuple((len(elements) + int(label),) for label in labels),
        read_layers=partial(_layers, tuple(records), tuple(elements)),
        labels=labels,
        classes=tuple(styles),
        tables=(path,),
        notes=(
            "A mask is all of a box, with what is behind the element.",
            "A style covers the whole image.",
        ),
    )


def _layers(
    records: tuple[dict[str, Any], ...], elements: tuple[str, ...], row: int, grid: Grid
) -> Layers:
    what = f"box of {records[row]['file']!r}"
    masks = [
        (elements.index(element), box_mask((y0, x0, y1, x1), grid, what))
        for element, x0, y0, x1, y1 in records[row]["objects"]
    ]
    return layers_of_masks(masks, grid)

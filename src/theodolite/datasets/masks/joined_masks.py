"""Join several mask data sets into one, as in Broden; equal names become one concept."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from theodolite._storage.paths import find_in_data
from theodolite.datasets.masks.ade20k import ade20k
from theodolite.datasets.masks.broden import broden
from theodolite.datasets.masks.camvid import camvid
from theodolite.datasets.masks.mask_data import Grid, Layers, MaskData
from theodolite.datasets.masks.mask_folder import mask_folder
from theodolite.datasets.masks.monumai_masks import monumai_masks
from theodolite.datasets.pets import pets

READERS = {
    "ade20k": ade20k,
    "broden": broden,
    "camvid": camvid,
    "mask_folder": mask_folder,
    "monumai_masks": monumai_masks,
    "pets": pets,
}
Reader = Literal["ade20k", "broden", "camvid", "mask_folder", "monumai_masks", "pets"]


def joined_masks(root: Path, *, parts: Sequence[tuple[Reader, str]]) -> MaskData:
    """Read several data sets below one folder.

    Args:
        root: The folder that they are in.
        parts: For each its reader and its own folder, such as ``[camvid, camvid]``.

    The images of a data set without classes are one class, under the data set's name.
    """
    read = [READERS[reader](find_in_data(root, folder)) for reader, folder in parts]
    number: dict[str, int] = {}
    categories: list[str] = []
    for data in read:
        for name, category in zip(data.concepts, data.categories, strict=True):
            if name not in number:
                number[name] = len(number)
                categories.append(category)
    renumber = [np.array([0, *(number[name] + 1 for name in d.concepts)], np.uint16) for d in read]
    classes: list[str] = []
    labels = []
    for data in read:
        own = data.labels if data.labels is not None else np.zeros(len(data), np.int64)
        labels.append(own + len(classes))
        classes += data.classes or (data.name,)
    sources = tuple((part, row) for part, data in enumerate(read) for row in range(len(data)))
    return MaskData(
        name=", ".join(data.name for data in read),
        folder=root,
        images=tuple(
            data.path(row).relative_to(root.resolve()).as_posix()
            for data in read
            for row in range(len(data))
        ),
        concepts=tuple(number),
        categories=tuple(categories),
        scenes=tuple(
            tuple(number[data.concepts[c]] for c in row) for data in read for row in data.scenes
        ),
        read_layers=partial(_layers, tuple(read), tuple(renumber), sources),
        labels=np.concatenate(labels),
        classes=tuple(classes),
        tables=tuple(table for data in read for table in data.tables),
        notes=tuple(f"{data.name}: {note}" for data in read for note in data.notes),
    )


def _layers(
    read: tuple[MaskData, ...],
    renumber: tuple[np.ndarray, ...],
    sources: tuple[tuple[int, int], ...],
    row: int,
    grid: Grid,
) -> Layers:
    part, own_row = sources[row]
    return np.asarray(renumber[part][read[part].layers(own_row, grid)])

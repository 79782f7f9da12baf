"""Oxford-IIIT Pet: cats and dogs of 37 breeds with their outline and a box around the head."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._storage.paths import confined
from theodolite._storage.text import read_json
from theodolite.datasets.masks.mask_data import (
    Grid,
    Layers,
    MaskData,
    as_layer,
    box_mask,
    gray_numbers,
    layers_of_masks,
)
from theodolite.errors import UnsafeInputError

SPECIES = ("cat", "dog")
HEAD = len(SPECIES)
# Of the trimap: 1 pet, 2 background, 3 the border between them.
ENTRY = {1: 1, 2: 0, 3: 0}


def pets(root: Path) -> MaskData:
    """Read a folder with ``images/``, ``trimaps/`` and ``annotations.json``.

    The last is a list of records with ``name``, ``breed``, ``species`` (cat or dog) and
    ``head_box`` [x0, y0, x1, y1] as shares of the image.
    """
    path = root / "annotations.json"
    content = read_json(path, "annotations")
    if not isinstance(content, list) or not content:
        got = type(content).__name__
        raise UnsafeInputError(f"annotations {path.name!r}", got, "a list of images")
    records = tuple(_checked(record, path) for record in content)
    breeds = sorted({record["breed"] for record in records})
    labels = np.array([breeds.index(record["breed"]) for record in records])
    return MaskData(
        name="Oxford-IIIT Pet",
        folder=root / "images",
        images=tuple(f"{record['name']}.jpg" for record in records),
        concepts=(*SPECIES, "head", *breeds),
        categories=("object", "object", "part", *("breed" for _ in breeds)),
        scenes=tuple((HEAD + 1 + int(label),) for label in labels),
        read_layers=partial(_layers, root / "trimaps", records),
        labels=labels,
        classes=tuple(breeds),
        tables=(path,),
        notes=(
            "Cat and dog are the pixels inside the pet; the border of the trimap counts as "
            "unlabeled, like the background.",
            "A head is all of its box, with what is behind it.",
            "A breed covers the whole image.",
        ),
    )


def _checked(record: Any, path: Path) -> dict[str, Any]:
    try:
        x0, y0, x1, y1 = (float(number) for number in record["head_box"])
        if record["species"] not in SPECIES or not (0 <= x0 < x1 <= 1 and 0 <= y0 < y1 <= 1):
            raise ValueError
        return {
            "name": str(record["name"]),
            "breed": str(record["breed"]).replace("_", " "),
            "species": SPECIES.index(record["species"]),
            "head": (y0, x0, y1, x1),
        }
    except (KeyError, TypeError, ValueError) as error:
        raise UnsafeInputError(
            f"annotations {path.name!r}",
            f"{str(record)[:80]!r}",
            "name, breed, species (cat or dog) and head_box [x0, y0, x1, y1] from 0 to 1",
        ) from error


def _layers(trimaps: Path, records: tuple[dict[str, Any], ...], row: int, grid: Grid) -> Layers:
    record = records[row]
    file = f"{record['name']}.png"
    trimap = as_layer(gray_numbers(confined(trimaps, file), grid), ENTRY, f"trimap {file!r}")
    masks = [(record["species"], trimap == 1), (HEAD, box_mask(record["head"], grid))]
    return layers_of_masks(masks, grid)

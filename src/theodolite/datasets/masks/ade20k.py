"""ADE20K with full annotation: objects, their parts, the parts of those, and the scene."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._storage.images import read_image, sample_grid
from theodolite._storage.paths import confined
from theodolite._storage.text import read_json
from theodolite.datasets.masks.mask_data import (
    Grid,
    Layer,
    Layers,
    MaskData,
    as_classes,
    as_layer,
    distinct,
)
from theodolite.errors import UnsafeInputError

SCENE = " (scene)"


def ade20k(root: Path) -> MaskData:
    """Read the images below a folder: each a ``.jpg`` with ``.json``, ``_seg.png`` and perhaps
    ``_parts_1.png``, ``_parts_2.png`` ..., as in the release of 2021.

    A concept has the first of its names there. One that is an object anywhere is an object, else a
    part. The scene is the last word of the scene's path.
    """
    files = sorted(path.relative_to(root).as_posix() for path in root.rglob("*_seg.png"))
    stems = tuple(name.removesuffix("_seg.png") for name in files)
    if not stems:
        raise UnsafeInputError(f"ADE20K {root.name!r}", "no *_seg.png", "images with annotation")
    tables = tuple(confined(root, f"{stem}.json") for stem in stems)
    names: dict[int, str] = {}
    objects: set[int] = set()
    places = []
    for path in tables:
        scene, listed = _read(path)
        places.append(scene)
        names |= {number: name for number, name, _ in listed}
        objects |= {number for number, _, level in listed if level == 0}
    numbers = sorted(names)
    kinds = sorted(set(places) - {""})
    concepts = (
        *distinct([names[number].partition(",")[0] for number in numbers], numbers),
        *(kind + SCENE for kind in kinds),
    )
    scenes = tuple((len(numbers) + kinds.index(place),) if place else () for place in places)
    labels, classes = as_classes(scenes, concepts)
    entry = {0: 0} | {number: i + 1 for i, number in enumerate(numbers)}
    categories = ["object" if number in objects else "part" for number in numbers]
    return MaskData(
        name="ADE20K",
        folder=root,
        images=tuple(f"{stem}.jpg" for stem in stems),
        concepts=concepts,
        categories=(*categories, *("scene" for _ in kinds)),
        scenes=scenes,
        read_layers=partial(_layers, root, stems, entry),
        labels=labels,
        classes=tuple(name.removesuffix(SCENE) for name in classes),
        tables=tables,
        notes=("A concept that is an object here and a part there is one concept, an object.",),
    )


def _read(path: Path) -> tuple[str, list[tuple[int, str, int]]]:
    """The scene, and for each object its number, its name and its level (0: not a part)."""
    content: Any = read_json(path, "annotation")
    try:
        annotation = content["annotation"]
        words = [str(word) for word in annotation["scene"] if word]
        listed = [
            (int(thing["name_ndx"]), str(thing["name"]), int(thing["parts"]["part_level"]))
            for thing in annotation["object"]
        ]
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise UnsafeInputError(
            f"annotation {path.name!r}",
            f"{str(content)[:80]!r}",
            "annotation with scene, and object with name, name_ndx and parts",
        ) from error
    return words[-1] if words else "", [thing for thing in listed if thing[0] > 0]


def _layers(
    root: Path, stems: tuple[str, ...], entry: dict[int, int], row: int, grid: Grid
) -> Layers:
    """Objects, then parts level by level. Red has the number's hundreds (x 256) times ten."""
    layers: list[Layer] = []
    name = f"{stems[row]}_seg.png"
    while not layers or confined(root, name).is_file():
        pixels = np.asarray(read_image(confined(root, name)))
        red, green = np.moveaxis(sample_grid(pixels, grid)[..., :2].astype(np.int64), -1, 0)
        layers.append(as_layer(red // 10 * 256 + green, entry, f"label map {name!r}"))
        name = f"{stems[row]}_parts_{len(layers)}.png"
    return np.stack(layers)

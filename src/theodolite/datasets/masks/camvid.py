"""CamVid: frames of a drive with a label for each pixel, eleven classes."""

from functools import partial
from pathlib import Path

from theodolite._storage.paths import confined
from theodolite.datasets.masks.mask_data import Grid, Layers, MaskData, as_layer, grey_numbers
from theodolite.errors import RefusedInput

CONCEPTS = (
    "sky", "building", "pole", "road", "pavement", "tree", "sign symbol", "fence", "car",
    "pedestrian", "bicyclist",
)  # fmt: skip
UNLABELLED = 11
ENTRY = {number: number + 1 for number in range(len(CONCEPTS))} | {UNLABELLED: 0}


def camvid(root: Path) -> MaskData:
    """Read a folder with ``images/`` and ``labels/`` in the form of the SegNet tutorial.

    Each picture, at any depth, has a grey label map of the same name (``.png``) in ``labels/``:
    numbers 0 to 10 as in ``CONCEPTS``, 11 where nobody said.
    """
    images, maps = root / "images", root / "labels"
    paths = (path for path in images.rglob("*") if path.suffix in (".jpg", ".png"))
    pictures = sorted(path.relative_to(images).as_posix() for path in paths)
    if not pictures:
        raise RefusedInput(f"CamVid {root.name!r}", "no pictures", "some in images/")
    files = tuple(str(Path(name).with_suffix(".png").as_posix()) for name in pictures)
    missing = next((name for name in files if not confined(maps, name).is_file()), None)
    if missing:
        raise RefusedInput(f"CamVid {root.name!r}", f"no labels/{missing}", "a map per picture")
    return MaskData(
        name="CamVid",
        folder=images,
        pictures=tuple(pictures),
        concepts=CONCEPTS,
        categories=("object",) * len(CONCEPTS),
        scenes=((),) * len(pictures),
        read_layers=partial(_layers, maps, files),
        notes=("Pixels that nobody labelled count as showing none of the concepts.",),
    )


def _layers(maps: Path, files: tuple[str, ...], row: int, grid: Grid) -> Layers:
    numbers = grey_numbers(confined(maps, files[row]), grid)
    return as_layer(numbers, ENTRY, f"label map {files[row]!r}")[None]

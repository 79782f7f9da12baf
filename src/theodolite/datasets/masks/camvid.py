"""CamVid: frames of a drive with a label for each pixel, eleven classes."""

from functools import partial
from pathlib import Path

from theodolite._storage.paths import confined
from theodolite.datasets.masks.mask_data import Grid, Layers, MaskData, as_layer, gray_numbers
from theodolite.errors import UnsafeInputError

CONCEPTS = (
    "sky", "building", "pole", "road", "pavement", "tree", "sign symbol", "fence", "car",
    "pedestrian", "bicyclist",
)  # fmt: skip
UNLABELED = 11
ENTRY = {number: number + 1 for number in range(len(CONCEPTS))} | {UNLABELED: 0}


def camvid(root: Path) -> MaskData:
    """Read a folder with ``images/`` and ``labels/`` in the form of the SegNet tutorial.

    Each image, at any depth, has a gray label map of the same name (``.png``) in ``labels/``:
    numbers 0 to 10 as in ``CONCEPTS``, 11 where nobody said.
    """
    folder, maps = root / "images", root / "labels"
    paths = (path for path in folder.rglob("*") if path.suffix in (".jpg", ".png"))
    images = sorted(path.relative_to(folder).as_posix() for path in paths)
    if not images:
        raise UnsafeInputError(f"CamVid {root.name!r}", "no images", "some in images/")
    files = tuple(str(Path(name).with_suffix(".png").as_posix()) for name in images)
    missing = next((name for name in files if not confined(maps, name).is_file()), None)
    if missing:
        raise UnsafeInputError(f"CamVid {root.name!r}", f"no labels/{missing}", "a map per image")
    return MaskData(
        name="CamVid",
        folder=folder,
        images=tuple(images),
        concepts=CONCEPTS,
        categories=("object",) * len(CONCEPTS),
        scenes=((),) * len(images),
        read_layers=partial(_layers, maps, files),
        notes=("Unlabeled pixels count as showing no concept.",),
    )


def _layers(maps: Path, files: tuple[str, ...], row: int, grid: Grid) -> Layers:
    numbers = gray_numbers(confined(maps, files[row]), grid)
    return as_layer(numbers, ENTRY, f"label map {files[row]!r}")[None]

"""Derive the small copy of MonuMAI that `monumai` reads from the published photographs."""

import re
from pathlib import Path
from typing import Any

from PIL import Image

from theodolite._storage.images import read_image
from theodolite._storage.text import read_text, write_json
from theodolite.errors import UnsafeInputError

ANNOTATIONS = "annotations.json"
SHORT_SIDE, QUALITY = 224, 82
SIZE = re.compile(r"<width>\s*(\d+)\s*</width>\s*<height>\s*(\d+)\s*</height>")
BOX = re.compile(
    r"<name>\s*([\w-]{1,40})\s*</name>.*?<xmin>\s*(\d+)\s*</xmin>\s*<ymin>\s*(\d+)\s*</ymin>"
    r"\s*<xmax>\s*(\d+)\s*</xmax>\s*<ymax>\s*(\d+)\s*</ymax>",
    re.DOTALL,
)


def derive_monumai(original: Path, folder: Path) -> None:
    """Write ``images/``, with a short side of 224 pixels, and then ``annotations.json``.

    Args:
        original: Folder with a folder for each style: photographs, and boxes in ``xml/``.
        folder: Folder of the copy.
    """
    records = []
    (folder / "images").mkdir(parents=True, exist_ok=True)
    photographs = (path for path in original.glob("*/*") if path.suffix.lower() == ".jpg")
    for number, path in enumerate(sorted(photographs, key=lambda p: (p.parent.name, p.stem))):
        boxes = _read_boxes(path.parent / "xml" / f"{path.stem}.xml")
        name = f"{number:04d}.jpg"
        _shrink(path).save(folder / "images" / name, quality=QUALITY, optimize=True)
        records.append({"file": name, "source_name": path.stem, "style": path.parent.name,
                        "objects": boxes})  # fmt: skip
    if not records:
        raise UnsafeInputError(
            f"folder {original.name!r}", "no STYLE/*.jpg", "MonuMAI as published"
        )
    write_json(folder / ANNOTATIONS, records)


def _read_boxes(path: Path) -> list[list[Any]]:
    """Return elements with their corners as shares of the size that the file states."""
    text = read_text(path, "boxes")
    stated = SIZE.search(text)
    width, height = map(int, stated.groups()) if stated else (0, 0)
    if not width or not height:
        needed = "width and height of the photograph"
        raise UnsafeInputError(f"boxes {path.name!r}", "no size", needed)
    sides = (width, height, width, height)
    return [
        [name, *(round(int(c) / side, 4) for c, side in zip(corners, sides, strict=True))]
        for name, *corners in BOX.findall(text)
    ]


def _shrink(path: Path) -> Image.Image:
    image = read_image(path)
    scale = SHORT_SIDE / min(image.size)
    width, height = (max(SHORT_SIDE, round(side * scale)) for side in image.size)
    return image.resize((width, height), Image.Resampling.LANCZOS)

"""Load the twelve bundled drawings of the demo study and the locations of their parts."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float
from PIL import Image, ImageOps

from theodolite.errors import UnsafeInputError
from theodolite.ext.studies import read_image, read_json

FOLDER = Path(__file__).parent / "scenes"
STORED_SIZE = (520, 390)
WIDTH, HEIGHT = 480, 360
"""Size of the window through which a stored image is seen."""
CELL_PIXELS = 4
"""Pixels along the side of a cell: maps are computed in cells and stretched to the image."""


@dataclass(frozen=True, eq=False)
class Scene:
    """Drawn image with its label and the locations of its parts."""

    label: str
    image: Image.Image
    object_pixels: Bool[np.ndarray, "rows columns"]
    """Mask of the object that gives the image its label."""
    parts: dict[str, Float[np.ndarray, "down across"]]
    """For each part of the object, the fraction of each cell that it covers."""
    beside: dict[str, Float[np.ndarray, "down across"]]
    """For each named thing besides the object, the fraction of each cell that it covers."""


def load_scenes(*, seed: int) -> dict[str, Scene]:
    """Load all scenes by label; the seed moves the windows, and an odd seed mirrors them."""
    names = read_json(FOLDER / "scenes.json", "scenes of the demonstration")
    return {
        label: _load_scene(label, greys, i, seed) for i, (label, greys) in enumerate(names.items())
    }


def _load_scene(
    label: str, greys: Mapping[str, Mapping[str, int]], number: int, seed: int
) -> Scene:
    """Load an image and its mask image, in which each part has its own gray level."""
    file = FOLDER / label.replace(" ", "_")
    image = read_image(file.with_suffix(".png"))
    gray = read_image(file.with_name(f"{file.name}_parts.png"), "L")
    if not image.size == gray.size == STORED_SIZE:
        raise UnsafeInputError(
            f"scene {label!r}", f"{image.size} and {gray.size}", f"{STORED_SIZE}"
        )
    named = {0, *greys["object"].values(), *greys["beside"].values()}
    if set(np.unique(np.asarray(gray)).tolist()) != named:
        raise UnsafeInputError(f"parts of the scene {label!r}", "other greys", f"{sorted(named)}")
    random = np.random.default_rng([seed, number])
    left, top = (
        int(random.integers(s - w + 1)) for s, w in zip(STORED_SIZE, (WIDTH, HEIGHT), strict=True)
    )
    window = (left, top, left + WIDTH, top + HEIGHT)
    seen, parts = (
        ImageOps.mirror(image.crop(window)) if seed % 2 else image.crop(window)
        for image in (image, gray)
    )
    pixels = np.asarray(parts)

    def covered(value: int) -> Float[np.ndarray, "down across"]:
        cells = (pixels == value).reshape(
            HEIGHT // CELL_PIXELS, CELL_PIXELS, WIDTH // CELL_PIXELS, CELL_PIXELS
        )
        return np.asarray(cells.mean(axis=(1, 3)))

    return Scene(
        label,
        seen,
        np.isin(pixels, list(greys["object"].values())),
        {part: covered(value) for part, value in greys["object"].items()},
        {part: covered(value) for part, value in greys["beside"].items()},
    )

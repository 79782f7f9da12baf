"""Images with concepts: what every reader of a data set returns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float, Int
from PIL import Image

from theodolite._storage.images import image_size, read_image, read_mask
from theodolite._storage.paths import confined, sha256_of
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Classes, Concepts, Parts


@dataclass(frozen=True, eq=False, kw_only=True)
class ConceptData:
    """A concept data set: images, classes, concepts and where they are.

    Rows are images in the data set's own order. Places are in pixels of the image, row first.
    """

    name: str
    folder: Path
    """Where the images are; names in ``images`` are relative to it."""
    images: tuple[str, ...]
    labels: Int[np.ndarray, " images"]
    is_test: Bool[np.ndarray, " images"]
    presence: Bool[np.ndarray, "images concepts"]
    known: Bool[np.ndarray, "images concepts"] | None = None
    class_truth: Float[np.ndarray, "concepts classes"]
    classes: Classes
    concepts: Concepts
    parts: Parts = Parts()
    part_of: Int[np.ndarray, " concepts"]
    points: Float[np.ndarray, "images parts places 2"] | None = None
    boxes: Float[np.ndarray, "images parts boxes 4"] | None = None
    objects: Float[np.ndarray, "images 4"] | None = None
    """The box of the whole object in each image: top, left, bottom, right."""
    groups: Int[np.ndarray, " images"] | None = None
    """Images that belong together (one patient, one street): intervals keep them together."""
    mask_files: Mapping[tuple[int, int], tuple[str, ...]] = field(default_factory=dict)
    """(image, part) -> files with its masks"""
    nouns: tuple[str, str, str] = ("class", "classes", "concepts")
    """What the data set calls one class, several, and its concepts."""
    tables: tuple[Path, ...] = ()
    """The annotation files that this was read from."""
    notes: tuple[str, ...] = ()
    """What a reader of the scores must know about these labels."""

    def __len__(self) -> int:
        return len(self.images)

    def path(self, row: int) -> Path:
        """The file of an image."""
        return confined(self.folder, self.images[row])

    def at_hand(self, rows: Int[np.ndarray, " n"]) -> Int[np.ndarray, " m"]:
        """Those rows whose image is in the folder; copies of data sets are often partial."""
        there = [self.path(int(row)).is_file() for row in rows]
        return np.asarray(rows[np.asarray(there, bool)])

    def image(self, row: int) -> Image.Image:
        """An image, decoded."""
        return read_image(self.path(row))

    def sizes(self, rows: Int[np.ndarray, " n"]) -> Int[np.ndarray, "n 2"]:
        """Rows and columns of the images."""
        return np.array([image_size(self.path(int(r))) for r in rows], np.int64).reshape(-1, 2)

    def masks(
        self, rows: Int[np.ndarray, " n"], grid: int = 112
    ) -> Bool[np.ndarray, "n parts g g"] | None:
        """Masks of the parts on a square grid that is stretched over each image."""
        if not self.mask_files:
            return None
        masks = np.zeros((len(rows), len(self.parts), grid, grid), bool)
        for position, row in enumerate(rows):
            for part in range(len(self.parts)):
                for name in self.mask_files.get((int(row), part), ()):
                    mask = read_mask(confined(self.folder, name))
                    down = (np.arange(grid) + 0.5) / grid * mask.shape[0]
                    across = (np.arange(grid) + 0.5) / grid * mask.shape[1]
                    masks[position, part] |= mask[np.ix_(down.astype(int), across.astype(int))]
        return masks

    def has_place(self) -> Bool[np.ndarray, " concepts"]:
        """Which concepts have a place in some image."""
        part_has_place = np.zeros(len(self.parts), bool)
        for places in (self.points, self.boxes):
            if places is not None:
                part_has_place |= ~np.isnan(places).any(axis=-1).all(axis=(0, 2))
        part_has_place[[part for _, part in self.mask_files]] = True
        return np.array([part >= 0 and bool(part_has_place[part]) for part in self.part_of])

    def places(
        self, rows: Int[np.ndarray, " n"], sizes: Int[np.ndarray, "n 2"]
    ) -> dict[str, np.ndarray]:
        """Points and boxes of the images. What rounding put a pixel outside is moved in."""
        arrays = {}
        for name, all_places in (("points", self.points), ("boxes", self.boxes)):
            if all_places is None:
                continue
            limit = np.tile(sizes, all_places.shape[-1] // 2)[:, None, None, :]
            places = all_places[rows]
            outside = ((places < -1) | (places > limit + 1)).any(axis=(1, 2, 3))
            self._refuse(outside, rows, name, "a place outside the image")
            arrays[name] = np.clip(places, 0, limit)
        if "boxes" in arrays:
            backwards = (arrays["boxes"][..., 2:] < arrays["boxes"][..., :2]).any(axis=(1, 2, 3))
            self._refuse(backwards, rows, "boxes", "a box that ends before it begins")
        return arrays

    def _refuse(self, wrong: np.ndarray, rows: np.ndarray, name: str, got: str) -> None:
        if wrong.any():
            raise EvidenceError(
                f"{name} of {self.images[rows[wrong.argmax()]]!r}",
                got,
                "pixels of the image as it is on disk, row first",
            )

    def check_images(self, rows: Int[np.ndarray, " n"]) -> None:
        """Decode every image and mask, and see that places lie inside."""
        sizes = [self.image(int(row)).size[::-1] for row in rows]
        self.places(rows, np.array(sizes, np.int64).reshape(-1, 2))
        self.masks(np.unique([row for row, _ in self.mask_files]).astype(np.int64), grid=1)

    def summary(self) -> list[tuple[str, str]]:
        """What is in it, in a few lines."""
        kinds = [kind for kind in ("points", "boxes") if getattr(self, kind) is not None]
        kinds += ["masks"] if self.mask_files else []
        return [
            ("train / test", f"{int((~self.is_test).sum()):,} / {int(self.is_test.sum()):,}"),
            ("classes", f"{len(self.classes)}"),
            ("concepts", f"{len(self.concepts)}, {100 * self.presence.mean():.1f} % present"),
            (
                "with a place",
                f"{int(self.has_place().sum())} concepts ({', '.join(kinds) or 'none'})",
            ),
        ]

    def digests(self) -> dict[str, str]:
        """Digests of the annotation files, by name."""
        return {path.name: sha256_of(path) for path in self.tables}


def split_rows(labels: Int[np.ndarray, " n"], share: float, seed: int) -> Bool[np.ndarray, " n"]:
    """A seeded split that takes the same share of every class (rounded, at least one of two)."""
    if not 0 < share < 1:
        raise EvidenceError("test share", f"{share}", "a number between 0 and 1")
    random = np.random.default_rng(seed)
    chosen = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        rows = random.permutation(np.flatnonzero(labels == label))
        n = min(max(round(share * len(rows)), 1), max(len(rows) - 1, 0))
        chosen[rows[:n]] = True
    return chosen

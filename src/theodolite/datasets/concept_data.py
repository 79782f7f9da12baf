"""Concept data set: what every reader of images with concepts returns to the pipelines."""

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

DISC = 1 / 12
"""Size of the disc around a point: share of the object's box, or of the image's longer side."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ConceptData:
    """A concept data set: images, classes, concepts and where they are.

    Rows are images in the data set's own order. Places are in pixels of the image, row first.
    """

    name: str
    folder: Path
    """Folder of the images; names in ``images`` are relative to it."""
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
    """Box of the whole object in each image: top, left, bottom, right."""
    groups: Int[np.ndarray, " images"] | None = None
    """Groups of dependent images (one patient, one street), used as clusters."""
    mask_files: Mapping[tuple[int, int], tuple[str, ...]] = field(default_factory=dict)
    """Mask files by (image, part)."""
    nouns: tuple[str, str, str] = ("class", "classes", "concepts")
    """Words for one class, several classes, and concepts in this data set."""
    tables: tuple[Path, ...] = ()
    """Annotation files that were read."""
    notes: tuple[str, ...] = ()
    """Notes on the labels for readers of the scores."""

    def __len__(self) -> int:
        return len(self.images)

    def path(self, row: int) -> Path:
        """Return the file of an image."""
        return confined(self.folder, self.images[row])

    def at_hand(self, rows: Int[np.ndarray, " n"]) -> Int[np.ndarray, " m"]:
        """Return the rows whose image file exists."""
        there = [self.path(int(row)).is_file() for row in rows]
        return np.asarray(rows[np.asarray(there, bool)])

    def image(self, row: int) -> Image.Image:
        """Return the decoded image of a row."""
        return read_image(self.path(row))

    def sizes(self, rows: Int[np.ndarray, " n"]) -> Int[np.ndarray, "n 2"]:
        """Return the rows and columns of the images."""
        return np.array([image_size(self.path(int(r))) for r in rows], np.int64).reshape(-1, 2)

    def masks(
        self, rows: Int[np.ndarray, " n"], grid: int = 112
    ) -> Bool[np.ndarray, "n parts g g"] | None:
        """Return masks of the parts on a square grid stretched over each image."""
        if not self.mask_files:
            return None
        masks = np.zeros((len(rows), len(self.parts), grid, grid), bool)
        for position, row in enumerate(rows):
            for part in range(len(self.parts)):
                masks[position, part] = self._mask(int(row), part, (grid, grid))
        return masks

    def _mask(self, row: int, part: int, grid: tuple[int, int]) -> Bool[np.ndarray, "rows columns"]:
        """Return the union of the mask files of a part on a grid."""
        union = np.zeros(grid, bool)
        for name in self.mask_files.get((row, part), ()):
            mask = read_mask(confined(self.folder, name))
            at = ((np.arange(n) + 0.5) / n * m for n, m in zip(grid, mask.shape, strict=True))
            union |= mask[np.ix_(*(where.astype(int) for where in at))]
        return union

    def regions(self, row: int, grid: tuple[int, int]) -> Bool[np.ndarray, "parts rows columns"]:
        """Return where each part is, on a grid stretched over the image.

        It is the union of mask files and boxes. A part that has neither is a disc around each of
        its points: with 1/12 of the area of the object's box, or, if no object is known, with a
        radius of 1/12 of the image's longer side.
        """
        size = self.sizes(np.array([row]))[0]
        places = {name: p[0] for name, p in self.places(np.array([row]), size[None]).items()}
        down, across = ((np.arange(n) + 0.5) / n * side for n, side in zip(grid, size, strict=True))
        regions = np.stack([self._mask(row, part, grid) for part in range(len(self.parts))])
        for part, region in enumerate(regions):
            for top, left, bottom, right in _given(places.get("boxes"), part):
                rows, columns = (top <= down) & (down < bottom), (left <= across) & (across < right)
                region |= np.outer(rows, columns)
            if self.region_kind(row, part) != "disc":
                continue
            for y, x in _given(places["points"], part):
                distance = (down[:, None] - y) ** 2 + (across[None] - x) ** 2
                region |= distance <= self._disc_radius(row, size) ** 2
        return regions

    def _disc_radius(self, row: int, size: Int[np.ndarray, "2"]) -> float:
        box = None if self.objects is None else self.objects[row]
        if box is None or np.isnan(box).any():
            return float(size.max() * DISC)
        return float(np.sqrt(DISC * np.prod(box[2:] - box[:2]) / np.pi))

    def region_kind(self, row: int, part: int) -> str:
        """Return what says where a part is in an image: mask, box, disc, or nothing ("")."""
        if self.mask_files.get((row, part)):
            return "mask"
        for kind, places in (("box", self.boxes), ("disc", self.points)):
            if places is not None and len(_given(places[row], part)):
                return kind
        return ""

    def has_place(self) -> Bool[np.ndarray, " concepts"]:
        """Return which concepts are located in some image."""
        part_has_place = np.zeros(len(self.parts), bool)
        for places in (self.points, self.boxes):
            if places is not None:
                part_has_place |= ~np.isnan(places).any(axis=-1).all(axis=(0, 2))
        part_has_place[[part for _, part in self.mask_files]] = True
        return np.array([part >= 0 and bool(part_has_place[part]) for part in self.part_of])

    def places(
        self, rows: Int[np.ndarray, " n"], sizes: Int[np.ndarray, "n 2"]
    ) -> dict[str, np.ndarray]:
        """Return points and boxes of the images, clipped to the image."""
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
        """Decode every image and mask, and check that places lie inside."""
        sizes = [self.image(int(row)).size[::-1] for row in rows]
        self.places(rows, np.array(sizes, np.int64).reshape(-1, 2))
        self.masks(np.unique([row for row, _ in self.mask_files]).astype(np.int64), grid=1)

    def summary(self) -> list[tuple[str, str]]:
        """Return a short description of the content."""
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
        """Return digests of the annotation files, by name."""
        return {path.name: sha256_of(path) for path in self.tables}


def _given(
    places: Float[np.ndarray, "parts places numbers"] | None, part: int
) -> Float[np.ndarray, "given numbers"]:
    """Return the places of a part that are not NaN."""
    if places is None:
        return np.zeros((0, 0))
    return np.asarray(places[part][~np.isnan(places[part]).any(axis=-1)])


def split_rows(labels: Int[np.ndarray, " n"], share: float, seed: int) -> Bool[np.ndarray, " n"]:
    """Return a seeded test split, stratified by class."""
    if not 0 < share < 1:
        raise EvidenceError("test share", f"{share}", "a number between 0 and 1")
    random = np.random.default_rng(seed)
    chosen = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        rows = random.permutation(np.flatnonzero(labels == label))
        n = min(max(round(share * len(rows)), 1), max(len(rows) - 1, 0))
        chosen[rows[:n]] = True
    return chosen

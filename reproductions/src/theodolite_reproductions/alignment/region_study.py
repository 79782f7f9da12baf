"""How the region of a concept's map may be cut, and what lies in it: a row an image.

Asked of the first concept that an explanation names among those with a place.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from PIL import Image

from theodolite.datasets.concept_data import ConceptData
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite_reproductions.alignment.named import contributions

SHARES = {1: 1 / 12, 6: 1 / 2}
"""Sizes of regions, as shares of the image, by the paper's alpha."""
UPSAMPLED = {
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "nearest": Image.Resampling.NEAREST,
}
STEPS = 2000
"""Thresholds that are tried, over a map's own range."""
PART = 1 / 12
"""How much of the object's box a part is taken to fill: the paper's rough size of a part."""


def region_table(data: ConceptData, evidence: LocationEvidence, seed: int) -> dict[str, list[Any]]:
    """Return whether the first named concept is in its region, for each way to cut it."""
    cuts = [_MapOverImage(evidence, i, j) for i, j in enumerate(first_with_a_place(evidence))]
    positive = first_with_a_place(evidence, positive=True)
    thresholds = {alpha: threshold_of(cuts, share) for alpha, share in SHARES.items()}
    boxes = object_boxes(data, evidence)
    table: dict[str, list[Any]] = {
        "image": np.asarray(evidence.explained.samples.ids).tolist(),
        "class": np.asarray(evidence.explained.labels).tolist(),
        "seed": [seed] * len(evidence),
        "visible": [bool(len(cut.points)) for cut in cuts],
    }
    for i, cut in enumerate(cuts):
        columns = dict(_hits(cut, thresholds))
        other = None if positive[i] < 0 else _MapOverImage(evidence, i, positive[i])
        columns |= {f"positive_{alpha}": _hit(other, share) for alpha, share in SHARES.items()}
        on_part = part_and_box(cut, None if boxes is None else boxes[i])
        for name, value in (columns | on_part).items():
            table.setdefault(name, []).append(value)
    return table


def first_with_a_place(evidence: LocationEvidence, *, positive: bool = False) -> list[int]:
    """The concept that contributes most among those tied to a part, or among those of them with a
    value above 0; -1 where there is none."""
    among = np.broadcast_to(evidence.part_of >= 0, evidence.explained.values.shape)
    if positive:
        among = among & (np.asarray(evidence.explained.values) > 0)
    scores = contributions(evidence.explained)
    first = np.where(among, scores, -np.inf).argmax(axis=1)
    return [int(j) for j in np.where(among.any(axis=1), first, -1)]


class _MapOverImage:
    """A map of one concept over one image, and where the concept is in it."""

    def __init__(self, evidence: LocationEvidence, i: int, j: int) -> None:
        self.map = np.asarray(evidence.maps[i, j], np.float32)
        self.size = int(evidence.sizes[i, 0]), int(evidence.sizes[i, 1])
        points = np.asarray(evidence.points)[i, evidence.part_of[j]]
        self.exact = points[~np.isnan(points).any(axis=1)]
        limits = np.array(self.size) - 1
        self.points = np.clip(np.floor(self.exact).astype(int), 0, limits)

    def upsampled(self, how: str = "bilinear") -> Float[np.ndarray, "rows columns"]:
        """As large as the image."""
        image = Image.fromarray(self.map).resize(self.size[::-1], UPSAMPLED[how])
        return np.asarray(image)

    def stretched(self) -> Float[np.ndarray, "rows columns"]:
        """From 0, its lowest, to 1, its highest; a uniform map is 0."""
        pixels = self.upsampled().astype(float)
        spread = float(np.ptp(pixels))
        return np.asarray((pixels - pixels.min()) / (spread if spread > 0 else 1.0))


def _hits(cut: _MapOverImage, thresholds: dict[int, float]) -> Iterator[tuple[str, float]]:
    """By name: how the map is cut, of which size, and for several places either or all of them."""
    seen = len(cut.points) > 0
    for how in UPSAMPLED:
        pixels = cut.upsampled(how)
        for alpha, share in SHARES.items():
            inside = [in_top_share(pixels, (r, c), share) for r, c in cut.points]
            yield f"{how}_{alpha}", float(any(inside)) if seen else np.nan
            if how == "bilinear":
                yield f"all_places_{alpha}", float(all(inside)) if seen else np.nan
    stretched = cut.stretched()
    for alpha, threshold in thresholds.items():
        above = [bool(stretched[r, c] >= threshold) for r, c in cut.points]
        yield f"threshold_{alpha}", float(any(above)) if seen else np.nan


def _hit(cut: _MapOverImage | None, share: float) -> float:
    if cut is None or not len(cut.points):
        return np.nan
    pixels = cut.upsampled()
    return float(any(in_top_share(pixels, (r, c), share) for r, c in cut.points))


def in_top_share(
    pixels: Float[np.ndarray, "rows columns"], place: tuple[int, int], share: float
) -> bool:
    """Whether a pixel is among so many highest; of equal ones the first in reading order are.

    >>> pixels = np.array([[4.0, 3.0], [3.0, 1.0]])
    >>> in_top_share(pixels, (0, 1), 0.5), in_top_share(pixels, (1, 0), 0.5)
    (True, False)
    """
    own = pixels[place]
    before = pixels.ravel()[: place[0] * pixels.shape[1] + place[1]]
    rank = int((pixels > own).sum()) + int((before == own).sum())
    return rank < int(np.floor(share * pixels.size + 0.5))


def threshold_of(cuts: list[_MapOverImage], share: float) -> float:
    """The threshold, over each map's own range, above which maps have this share of their pixels
    on average: then the two ways to cut differ in the shape of regions and not in their size."""
    above = np.zeros(STEPS)
    for cut in cuts:
        values = (cut.stretched() * (STEPS - 1)).astype(int).ravel()
        counts = np.bincount(values, minlength=STEPS)
        above += counts[::-1].cumsum()[::-1] / values.size
    # the lowest that is not above the share, so that the area is never larger
    enough = np.flatnonzero(above / len(cuts) <= share)
    return float(enough[0] / (STEPS - 1)) if len(enough) else 1.0


def object_boxes(
    data: ConceptData, evidence: LocationEvidence
) -> Float[np.ndarray, "images 4"] | None:
    """The box of the whole object in each image: top, left, bottom, right."""
    if data.objects is None:
        return None
    limits = np.tile(evidence.sizes, 2)
    boxes = data.objects[np.asarray(evidence.explained.samples.index)]
    return np.asarray(np.clip(boxes, 0, limits))


def part_and_box(cut: _MapOverImage, box: Float[np.ndarray, " 4"] | None) -> dict[str, float]:
    """How much of the map's positive relevance in the box lies on the part, and how much of the
    box the part is: a disc around its place, of a twelfth of the box."""
    nothing = dict.fromkeys(("on_part", "part_of_box", "in_box", "box_of_image"), np.nan)
    if box is None or not len(cut.exact):
        return nothing
    relevance = np.maximum(cut.upsampled().astype(float), 0.0)
    inside = _box_mask(cut.size, box)
    radius = np.sqrt(PART * max(float(np.prod(box[2:] - box[:2])), 0.0) / np.pi)
    rows, columns = np.ogrid[: cut.size[0], : cut.size[1]]
    near = np.zeros(cut.size, bool)
    for row, column in cut.exact:
        near |= (rows + 0.5 - row) ** 2 + (columns + 0.5 - column) ** 2 <= radius**2
    in_box, whole = relevance[inside].sum(), relevance.sum()
    if not in_box > 0:
        return nothing
    return {
        "on_part": float(relevance[inside & near].sum() / in_box),
        "part_of_box": float((inside & near).sum() / inside.sum()),
        "in_box": float(in_box / whole),
        "box_of_image": float(inside.mean()),
    }


def _box_mask(size: tuple[int, int], box: np.ndarray) -> Bool[np.ndarray, "rows columns"]:
    top, left, bottom, right = box
    rows, columns = np.ogrid[: size[0], : size[1]]
    mid_row, mid_column = rows + 0.5, columns + 0.5
    within = (mid_row >= top) & (mid_row <= bottom) & (mid_column >= left) & (mid_column <= right)
    return np.asarray(within)

"""Draw on images: the region that a map marks, annotations and relevance."""

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from markupsafe import Markup, escape
from PIL import Image, ImageDraw

from theodolite._runs.thumbnails import MAX_LOSSLESS
from theodolite._storage.images import encode_jpeg, encode_png
from theodolite.explainers.rendering import enlarge_map
from theodolite.report.contours import MOST_RINGS, Ring, contour_rings, ring_area, thinned

LONGEST = 300
"""The longer side of an image on the page, in units of its drawing."""
QUALITY = 62
MOST_ENLARGED = 12
"""Times that small images are enlarged."""
FOR, AGAINST = (0.91, 0.35, 0.05), (0.13, 0.36, 0.75)
RELEVANT_SHARE = 0.15
PATCHES = 24
"""Cells of a saliency map along a side, for the line around its highest part."""
TIED = 1.05
"""A region is called tied if equal values make it larger than it should be by more than this."""
CROSS = 6


@dataclass(frozen=True)
class EmbeddedImage:
    """An image that the page holds once; drawings refer to it."""

    name: str
    width: int
    height: int
    address: str

    @classmethod
    def of(cls, image: Image.Image, name: str) -> "EmbeddedImage":
        """Made as small as drawings need it; of a small one the pixels are enlarged, unsmoothed."""
        longest, rgb = max(image.size), image.convert("RGB")
        if longest <= MAX_LOSSLESS:
            scale = min(MOST_ENLARGED, LONGEST // longest)
            size = (image.width * scale, image.height * scale)
            return cls(name, *size, _png_address(rgb.resize(size, Image.Resampling.NEAREST)))
        width, height = (max(round(side * LONGEST / longest), 1) for side in image.size)
        if longest > LONGEST:
            rgb = rgb.resize((width, height), Image.Resampling.LANCZOS)
        return cls(name, width, height, data_address(rgb, QUALITY))


@dataclass(frozen=True)
class ImageDrawing:
    """An image with what is drawn on it, and its name in the page."""

    name: str
    svg: Markup

    def __html__(self) -> str:
        """As templates show it."""
        return str(self.svg)


@dataclass(frozen=True)
class Region:
    """Where a map is highest, as the path of its outline."""

    path: str
    where: str
    """In words: upper left."""
    tied: bool
    """Equal values make it larger than the share that was asked for."""


@dataclass(frozen=True)
class Annotation:
    """What people annotated, in units of the drawing."""

    boxes: Sequence[tuple[float, float, float, float]] = ()
    """Left, top, right, bottom."""
    points: Sequence[tuple[float, float]] = ()
    masks: Sequence[str] = ()
    """Outlines, as paths."""

    def words(self) -> str:
        """Return how many of each there are."""
        kinds = {"box": self.boxes, "outline": self.masks, "point": self.points}
        counts = [(len(places), kind) for kind, places in kinds.items() if places]
        return " and ".join(
            f"{n} annotated {kind}{'' if n == 1 else 'es' if kind == 'box' else 's'}"
            for n, kind in counts
        )


UNANNOTATED = Annotation()


def region_of(
    concept_map: Float[np.ndarray, "height width"], share: float, size: tuple[int, int]
) -> Region:
    """The highest part of a map, enlarged to a width and a height as the score enlarges it.

    Where equal values leave open which pixels belong to it, all of them do.
    """
    values = _steps(enlarge_map(concept_map, size[::-1]))
    n = max(int(np.floor(share * values.size + 0.5)), 1)
    lowest = float(np.partition(values, values.size - n, axis=None)[values.size - n])
    below = values[values < lowest]
    # between the last value inside and the first outside: the line runs between their pixels
    level = (lowest + float(below.max())) / 2 if below.size else lowest
    inside = values >= lowest
    return Region(
        region_path(values, level), _where(inside), bool(inside.sum() > max(TIED * n, n + 1))
    )


def region_path(values: Float[np.ndarray, "rows columns"], level: float) -> str:
    """The outline of where a grid of pixels is at least at a level, as a path of SVG.

    At most 70 points a ring, with one decimal. Fill it by the rule ``evenodd``: holes are rings.
    """
    return _path_of(contour_rings(values, level))


def mask_path(mask: Bool[np.ndarray, "rows columns"], size: tuple[int, int]) -> str:
    """Return the outline of a mask that is stretched to a width and a height."""
    scale = np.array(size) / np.array(mask.shape[::-1])
    return _path_of([ring * scale for ring in contour_rings(np.asarray(mask, float), 0.5)])


def _path_of(rings: Sequence[Ring]) -> str:
    largest = sorted(rings, key=ring_area, reverse=True)[:MOST_RINGS]
    return "".join(_closed(thinned(ring)) for ring in largest)


def box_path(box: tuple[float, float, float, float]) -> str:
    """A rectangle.

    >>> box_path((1, 31, 300, 136))
    'M1 31H300V136H1z'
    """
    left, top, right, bottom = (f"{round(float(side), 1):g}" for side in box)
    return f"M{left} {top}H{right}V{bottom}H{left}z"


def cross_path(point: tuple[float, float]) -> str:
    """A cross at a place.

    >>> cross_path((150, 83))
    'M144 83h12m-6-6v12'
    """
    x, y = point
    return f"M{round(x - CROSS, 1):g} {round(y, 1):g}h{2 * CROSS}m-{CROSS}-{CROSS}v{2 * CROSS}"


def tile(
    image: EmbeddedImage,
    name: str,
    alternative: str,
    *,
    regions: Sequence[Region] = (),
    annotation: Annotation = UNANNOTATED,
) -> ImageDrawing:
    """The image with a region left clear, a thin line around a larger one, and annotations."""
    parts = [f'<use href="#{escape(image.name)}"/>']
    if regions:
        clear = regions[0].path
        frame = box_path((0, 0, image.width, image.height))
        parts.append(f'<path class="veil" fill-rule="evenodd" d="{frame}{clear}"/>')
        parts += [f'<path class="wider" d="{region.path}"/>' for region in regions[1:]]
        parts += [f'<path class="{css}" d="{clear}"/>' for css in ("region-casing", "region")]
    areas = "".join([*map(box_path, annotation.boxes), *annotation.masks])
    crosses = "".join(map(cross_path, annotation.points))
    if areas or crosses:
        parts.append(f'<path class="truth-casing" d="{areas}{crosses}"/>')
    lines = {"truth": areas, "cross": crosses}
    parts += [f'<path class="{css}" d="{d}"/>' for css, d in lines.items() if d]
    small = ' class="small"' if max(image.width, image.height) < LONGEST // 2 else ""
    svg = (
        f'<svg id="{escape(name)}"{small} viewBox="0 0 {image.width} {image.height}" '
        f'role="img" aria-label="{escape(alternative)}">{"".join(parts)}</svg>'
    )
    return ImageDrawing(name, Markup(svg))  # noqa: S704  numbers and escaped names only


def definitions(images: Iterable[EmbeddedImage]) -> Markup:
    """The images themselves, unseen, each once."""
    elements = "".join(
        f'<image id="{escape(p.name)}" width="{p.width}" height="{p.height}" href="{p.address}"/>'
        for p in images
    )
    return Markup(  # noqa: S704  numbers, escaped names and base64 only
        '<svg class="definitions" width="0" height="0" aria-hidden="true">'
        f"<defs>{elements}</defs></svg>"
    )


def relevance_overlay(
    image: Image.Image,
    relevance: Float[np.ndarray, "height width"],
    *,
    width: int = 136,
    outlined: bool = True,
) -> Image.Image:
    """A map over the pale image: orange for the class, blue against it, clear where neither.

    It is scaled by its own largest values, all but the highest 0.5 %, so that one pixel
    does not hide the others; a map that has nothing against the class, from its lowest values. A
    line surrounds the highest 15 %, of averages over patches: single pixels are no region. Images
    of few pixels are enlarged unsmoothed.
    """
    size = (width, max(round(width * image.height / image.width), 1))
    few = max(image.size) <= MAX_LOSSLESS
    way = Image.Resampling.NEAREST if few else Image.Resampling.LANCZOS
    gray = np.asarray(image.convert("L").resize(size, way), float) / 255
    base = np.repeat((0.45 + 0.5 * gray)[..., None], 3, axis=2)
    whole = Image.fromarray(relevance.astype(np.float32))
    reduced = np.asarray(whole.resize(size, Image.Resampling.BOX), float)
    if reduced.min() >= 0:  # nothing against: only what stands out is worth seeing
        reduced = np.maximum(reduced - np.quantile(reduced, 0.05), 0.0)
    top = float(np.quantile(np.abs(reduced), 0.995)) or float(np.abs(reduced).max()) or 1.0
    strength = np.clip(reduced / top, -1.0, 1.0)[..., None]
    color = np.where(strength > 0, np.array(FOR), np.array(AGAINST))
    mixed = base + np.abs(strength) * (color - base)
    image = Image.fromarray((np.clip(mixed, 0, 1) * 255).round().astype(np.uint8))
    if not outlined:
        return image
    patches = whole.resize([min(PATCHES, side) for side in whole.size], Image.Resampling.BOX)
    _draw_outline(image, np.asarray(patches, float))
    return image


def _draw_outline(image: Image.Image, patches: Float[np.ndarray, "height width"]) -> None:
    values = _steps(enlarge_map(patches, image.size[::-1]))
    if not np.ptp(values):
        return
    rings = contour_rings(values, float(np.quantile(values, 1 - RELEVANT_SHARE)))
    pen = ImageDraw.Draw(image)
    for color, thickness in (((255, 255, 255), 3), ((27, 34, 48), 1)):
        for ring in rings:
            closed = np.concatenate([ring, ring[:1]])
            pen.line([(float(x), float(y)) for x, y in closed], fill=color, width=thickness)


def data_address(image: Image.Image, quality: int = 80, longest: int | None = None) -> str:
    """The image as an address that carries it, so that the page needs no other file."""
    content = encode_jpeg(image, longest=longest or max(image.size), quality=quality)
    return "data:image/jpeg;base64," + base64.b64encode(content).decode()


def _png_address(image: Image.Image) -> str:
    content = encode_png(image, optimize=True)
    return "data:image/png;base64," + base64.b64encode(content).decode()


def _steps(values: Float[np.ndarray, "rows columns"]) -> Float[np.ndarray, "rows columns"]:
    """In a million steps from lowest to highest: enlarging makes equal values almost equal."""
    spread = float(np.ptp(values))
    if spread <= 1e-6 * float(np.abs(values).max(initial=0.0)):
        return np.zeros_like(values)
    return np.asarray(np.rint((values - values.min()) / spread * 1e6))


def _closed(ring: Ring) -> str:
    """A ring as a path; further points as steps from the last one, which are short to write."""
    tenths = np.rint(10 * ring).astype(np.int64)
    steps = np.diff(tenths, axis=0)
    steps = steps[(steps != 0).any(axis=1)]
    x, y = tenths[0] / 10
    return f"M{x:g} {y:g}l" + " ".join(f"{dx / 10:g} {dy / 10:g}" for dx, dy in steps) + "z"


def _where(inside: Bool[np.ndarray, "rows columns"]) -> str:
    rows, columns = np.nonzero(inside)
    row = ("upper ", "", "lower ")[int(3 * (rows.mean() + 0.5) / inside.shape[0])]
    return row + ("left", "middle", "right")[int(3 * (columns.mean() + 0.5) / inside.shape[1])]

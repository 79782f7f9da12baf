"""The marks that all drawings are made of, as SVG: lines, boxes, dots, outlines, text.

Coordinates have one digit after the point, names are escaped, and what a mark says when it is
pointed at is its title. Colors are classes of the page's style.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape

Number = float | np.floating
Spot = tuple[Number, Number]
MARKS = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "M-3.6-3.6h7.2v7.2h-7.2z",
    "M0-4.8L4.6 3.4h-9.2z",
    "M0-5.2L5.2 0L0 5.2L-5.2 0z",
    "M0 4.8L4.6-3.4h-9.2z",
    "M-1.5-4.6h3v3.1h3.1v3h-3.1v3.1h-3v-3.1h-3.1v-3h3.1z",
)
"""Outlines around 0: circle, square, triangle, diamond, triangle on its tip, cross."""
STYLES = len(MARKS)
"""How many lines or groups are told apart: by outline or hatching, and by color too."""
REST = -1
"""Style of samples that belong to no group."""


@dataclass(frozen=True)
class Figure:
    """A drawing of the page, with what is written above and below it."""

    svg: Markup
    title: str = ""
    caption: str = ""


def px(number: Number) -> str:
    """Format a coordinate for SVG."""
    return f"{float(number):.1f}"


def _element(tag: str, css: str, geometry: str, title: str) -> str:
    opening = f'<{tag} class="{css}" {geometry}'
    return f"{opening}><title>{escape(title)}</title></{tag}>" if title else f"{opening}/>"


def text(content: str, x: Number, y: Number, anchor: str = "middle", css: str = "label") -> str:
    """Draw a text and escape its content."""
    place = f'x="{px(x)}" y="{px(y)}" text-anchor="{anchor}"'
    return f'<text class="{css}" {place}>{escape(content)}</text>'


def line(css: str, start: Spot, end: Spot, title: str = "") -> str:
    """Draw a straight line between two points."""
    ends = f'x1="{px(start[0])}" y1="{px(start[1])}" x2="{px(end[0])}" y2="{px(end[1])}"'
    return _element("line", css, ends, title)


def box(
    css: str, corner: Spot, size: Spot, title: str = "", *, opacity: str = "", rounded: int = 0
) -> str:
    """Draw a rectangle from its upper left corner."""
    geometry = (
        f'x="{px(corner[0])}" y="{px(corner[1])}" width="{px(size[0])}" height="{px(size[1])}"'
    )
    if rounded:
        geometry += f' rx="{rounded}"'
    if opacity:
        geometry += f' fill-opacity="{opacity}"'
    return _element("rect", css, geometry, title)


def dot(x: Number, y: Number, radius: float = 4.5, title: str = "", css: str = "dot") -> str:
    """Draw a dot with an optional tooltip."""
    return _element("circle", css, f'cx="{px(x)}" cy="{px(y)}" r="{radius:g}"', title)


def outline(css: str, d: str, title: str = "", *, opacity: str = "") -> str:
    """A shape by its path."""
    filled = f'fill-opacity="{opacity}" ' if opacity else ""
    return _element("path", css, f'{filled}d="{d}"', title)


def polyline(css: str, points: Iterable[Spot], *, closed: bool = False) -> str:
    """Points joined by straight lines; closed, an area."""
    joined = " ".join(f"{px(x)},{px(y)}" for x, y in points)
    return f'<{"polygon" if closed else "polyline"} class="{css}" points="{joined}"/>'


def band(css: str, upper: Sequence[Spot], lower: Sequence[Spot]) -> str:
    """The area between two lines over the same positions."""
    return polyline(css, [*upper, *reversed(lower)], closed=True)


def points(css: str, places: Iterable[Spot], shape: str) -> str:
    """Many equal small shapes as one path; empty without any."""
    d = "".join(f"M{px(x)} {px(y)}{shape}" for x, y in places)
    return outline(css, d) if d else ""


def mark(style: int, x: Number, y: Number, title: str = "") -> str:
    """The mark of a line or group, which tells its meaning when pointed at."""
    tooltip = f"<title>{escape(title)}</title>" if title else ""
    return (
        f'<path class="mark c{style % STYLES}" transform="translate({px(x)} {px(y)})" '
        f'd="{MARKS[style % STYLES]}">{tooltip}</path>'
    )


def drawing(
    css: str, size: Spot, caption: str, parts: Iterable[str], *, fixed: bool = False
) -> Markup:
    """The whole drawing; its parts are numbers and escaped names only.

    Without a caption it only repeats the text next to it, and is hidden from screen readers.
    ``fixed`` keeps its size in pixels; else it is as wide as there is room.
    """
    width, height = (math.ceil(float(side)) for side in size)
    role = f'role="img" aria-label="{escape(caption)}"' if caption else 'aria-hidden="true"'
    measures = f' width="{width}" height="{height}"' if fixed else ""
    return Markup(  # noqa: S704  numbers and escaped names only
        f'<svg class="{css}" {role}{measures} viewBox="0 0 {width} {height}">{"".join(parts)}</svg>'
    )


def filling(style: int) -> str:
    """Return the class that fills a bar."""
    return "rest" if style == REST else f"f{style % STYLES}"


def swatch(style: int, *, filled: bool = False) -> Markup:
    """A line's mark, or a group's filling, for a key."""
    if filled:
        inside = box(filling(style), (1, 1), (14, 12))
    else:
        inside = mark(style, 8, 7)
    return drawing("swatch", (16, 14), "", [inside], fixed=True)

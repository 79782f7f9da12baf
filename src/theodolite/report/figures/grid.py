"""Draw values of pairs as a grid of shaded cells."""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from markupsafe import Markup

from theodolite.report.figures.scales import tick_text, truncate_middle
from theodolite.report.figures.svg import box, drawing, outline, px, text


def triangle(
    values: Float[np.ndarray, " pairs"],
    names: Sequence[str],
    high: float,
    bounds: tuple[float, float],
    caption: str,
) -> Markup:
    """Every pair of concepts: a darker square for a higher value; each name on the diagonal."""
    k = len(names)
    named = k <= 40
    size = min(46.0, max(420.0 / k, 12.5 if named else 3.0))
    square = np.full((k, k), np.nan)
    square[np.triu_indices(k, 1)[::-1]] = values
    if not named:
        return _small_triangle(square, size, high, caption)
    parts, width = [], k * size + 150
    for i in range(k):
        for j in range(i):
            value = float(square[i, j])
            number = "undefined" if math.isnan(value) else f"{value:.3f}"
            title = f"{names[i]} × {names[j]}: {number}"
            corner, side = (j * size, i * size), (size, size)
            share = 0.0 if math.isnan(value) or not high else min(value / high, 1.0)
            parts.append(box("cell", corner, side))
            parts.append(box("heat", corner, side, title, opacity=f"{share:.2f}"))
            if size >= 42:
                css = "label end over" if share > 0.65 else "label end strong"
                label = "–" if math.isnan(value) else tick_text(round(value, 3), bounds)
                parts.append(text(label, (j + 0.5) * size, (i + 0.5) * size + 4, css=css))
        label = truncate_middle(names[i], int((width - i * size - 5) / 6.9))
        css = "label end" if size < 15 else "label"
        parts.append(text(label, i * size + 5, (i + 0.5) * size + 4, "start", css))
    return drawing("triangle", (width, k * size + 2), caption, parts)


def _small_triangle(
    square: Float[np.ndarray, "k k"], size: float, high: float, caption: str
) -> Markup:
    """Too many for names: eight shades, equal neighbors drawn as one."""
    k = len(square)
    shades = np.ceil(8 * np.clip(np.nan_to_num(square) / (high or 1.0), 0.0, 1.0)).astype(int)
    paths: dict[int, list[str]] = {}
    for i in range(1, k):
        starts = np.flatnonzero(np.diff(shades[i, :i], prepend=-1))
        for a, b in zip(starts, [*starts[1:], i], strict=True):
            if shades[i, a]:
                wide = f"h{px((b - a) * size)}v{px(size)}h-{px((b - a) * size)}z"
                paths.setdefault(int(shades[i, a]), []).append(
                    f"M{px(a * size)} {px(i * size)}{wide}"
                )
    edge = f"M0 {px(size)}L0 {px(k * size)}L{px((k - 1) * size)} {px(k * size)}z"
    parts = [outline("cell", edge)]
    for shade, squares in sorted(paths.items()):
        parts.append(outline("heat", "".join(squares), opacity=f"{shade / 8:.3f}"))
    return drawing("triangle", (k * size + 2, k * size + 2), caption, parts)


def shades(high: float, bounds: tuple[float, float]) -> Markup:
    """The legend of a triangle."""
    parts = []
    for i in range(5):
        parts.append(box("cell", (1 + i * 26, 1), (26, 12)))
        parts.append(box("heat", (1 + i * 26, 1), (26, 12), opacity=f"{i / 4}"))
    parts.append(text("0", 1, 27, "start"))
    parts.append(text(tick_text(high, bounds), 131, 27, "end"))
    caption = f"from 0 to {tick_text(high, bounds)}"
    return drawing("legend", (134, 32), caption, parts, fixed=True)

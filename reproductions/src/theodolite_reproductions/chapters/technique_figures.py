"""Figures of techniques under votes: lists of favorites, and correlations as shaded squares."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from theodolite.report.figures.scales import truncate_middle
from theodolite.report.figures.svg import box, drawing, line, text

ROW, LEFT, WIDE = 18, 250, 130
LONGEST = 34
"""Letters of a name."""
CELL = 46


def counts(rows: Sequence[tuple[str, float, float, float]], most: int, caption: str) -> Markup:
    """Names with a count and its interval, as bars of a scale that ends at ``most``."""
    height = 8 + ROW * len(rows)
    parts = [line("axis", (LEFT, 2), (LEFT, height - 4))]
    for i, (name, value, low, high) in enumerate(rows):
        y, step = 4 + i * ROW, WIDE / max(most, 1)
        title = f"{name}: {value:.0f} of {most}, {low:.1f} to {high:.1f}"
        parts += [
            text(truncate_middle(name, LONGEST), LEFT - 6, y + 11, "end"),
            box("bar", (LEFT, y + 2), (max(step * value, 1), 11), title),
            line("whisker", (LEFT + step * low, y + 7.5), (LEFT + step * high, y + 7.5)),
            text(f"{value:.0f}", LEFT + WIDE + 28, y + 11, "end"),
        ]
    return drawing("counts", (LEFT + WIDE + 32, height), caption, parts)


def squares(
    rows: Sequence[str],
    columns: Sequence[str],
    values: Mapping[tuple[str, str], float],
    caption: str,
) -> Markup:
    """Correlations by row and column: the stronger, the darker; the number stands in it."""
    left, top = LEFT - 50, 22
    parts = [
        text(name, left + (j + 0.5) * CELL, top - 7) for j, name in enumerate(columns)
    ]  # fmt: skip
    for i, row in enumerate(rows):
        y = top + i * (CELL / 2)
        parts.append(text(truncate_middle(row, LONGEST), left - 6, y + 15, "end"))
        for j, column in enumerate(columns):
            value = values.get((row, column))
            corner, size = (left + j * CELL + 1, y + 1), (CELL - 2, CELL / 2 - 2)
            if value is None:
                parts.append(box("none", corner, size, f"{row}, {column}: undefined", opacity="0"))
                continue
            title = f"{row}, {column}: {value:+.2f}"
            parts.append(box("heat", corner, size, title, opacity=f"{0.6 * abs(value):.2f}"))
            parts.append(text(f"{value:+.2f}", corner[0] + CELL / 2 - 1, y + 15))
    size = (left + CELL * len(columns) + 4, top + CELL / 2 * len(rows) + 6)
    return drawing("squares", size, caption, parts)

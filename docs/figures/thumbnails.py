"""Thumbnails of the gallery, drawn for their size from what the examples give.

    python docs/figures/thumbnails.py

Runs every example and writes docs/_static/thumbnails: 400 x 280, one figure, no text below 14 px.
"""

import os
import runpy
from html import escape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from theodolite.report.palette import palette

os.environ["MPLBACKEND"] = "agg"
DOCS = Path(__file__).parents[1]
OUT = DOCS / "_static" / "thumbnails"
WIDTH, HEIGHT, LEFT, RIGHT = 400, 280, 24, 376
STYLED = ("paper", "ink", "score", "null", "line")


def style() -> str:
    """The colors of reports, in light and in dark surroundings."""
    light, dark = (
        {name: palette(dark=is_dark)[name] for name in STYLED} for is_dark in (False, True)
    )
    rules = "".join(f".{name}{{fill:{color}}}" for name, color in light.items())
    night = "".join(f".{name}{{fill:{color}}}" for name, color in dark.items())
    dark_rules = f"@media (prefers-color-scheme:dark){{{night}}}"
    return f"<style>text{{font-family:sans-serif}}{rules}{dark_rules}</style>"


def text(x: float, y: float, size: int, words: str, kind: str = "ink") -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" font-size="{size}">{escape(words)}</text>'


def bar(kind: str, x: float, y: float, width: float, height: float) -> str:
    return f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:g}"/>'


def strips(title: str, scores: dict[str, Any], low: float, high: float) -> str:
    """A band for each score: a triangle above it, its interval in it, its null through it."""

    def place(value: float) -> float:
        return LEFT + (RIGHT - LEFT) * min(max((value - low) / (high - low), 0), 1)

    parts = [text(LEFT, 40, 20, title)]
    step = 208 / len(scores)
    for number, (name, score) in enumerate(scores.items()):
        y = 64 + step * number
        parts += [text(LEFT, y + 14, 16, name), bar("line", LEFT, y + 32, RIGHT - LEFT, 10)]
        start, end = sorted(map(place, (score.interval.low, score.interval.high)))
        parts.append(bar("score", start, y + 32, max(end - start, 4), 10))
        x = place(score.value)
        parts.append(f'<path class="score" d="M{x:.1f} {y + 31:.1f}l-6 -10h12z"/>')
        parts.append(bar("null", place(score.null.value) - 1.5, y + 28, 3, 22))
    return image(parts)


def map_of(title: str, values: Any, ink: Any) -> str:
    """Draw a saliency map as squares, with a frame around those of the ink."""
    parts, side = [text(LEFT, 40, 20, title)], 25
    for row in range(8):
        for column in range(8):
            x, y = 100 + side * column, 60 + side * row
            strength = float(values[row, column] / values.max())
            parts.append(
                f'<rect class="score" x="{x}" y="{y}" width="{side - 2}" height="{side - 2}" '
                f'opacity="{max(strength, 0.06):.2f}"/>'
            )
            if ink[row, column]:
                parts.append(bar("null", x, y + side - 5, side - 2, 3))
    return image(parts)


def image(parts: list[str]) -> str:
    """All of it, on paper."""
    ground = bar("paper", 0, 0, WIDTH, HEIGHT)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">'
    return "\n".join([head, style(), ground, *parts, "</svg>", ""])


def best_units(gave: dict[str, Any]) -> dict[str, Any]:
    """Of the example of units, the three that overlap most with their formula."""
    detail, null = gave["overlap"].detail, gave["overlap"].null
    formulas = gave["result"].formulas()
    return {
        f"{unit}: {formulas[unit]}": SimpleNamespace(
            value=detail.values[unit],
            interval=SimpleNamespace(low=detail.low[unit], high=detail.high[unit]),
            null=null,
        )
        for unit in sorted(range(len(formulas)), key=lambda unit: -detail.values[unit])[:3]
    }


def main() -> None:
    """One after the other."""
    gave = {
        path.stem.split("_", 2)[2]: runpy.run_path(str(path))
        for path in sorted((DOCS / "gallery").glob("plot_*.py"))
    }
    tumors, units, raters = (
        gave[name] for name in ("which_is_faithful", "units_of_a_network", "do_raters_agree")
    )
    leaking, wine = (gave[name]["scores"] for name in ("leaking_strokes", "good_enough"))
    leakage = {name: row["task_leakage_given_concept"] for name, row in wine.items()}
    agreement = {name.replace("_", " "): raters["scores"][name] for name in raters["shown"][:3]}
    images = {
        "leaking_strokes": strips("What strokes give away", leaking, 0.4, 0),
        "which_is_faithful": strips("Distance to the network", tumors["scores"], 0.6, 0),
        "units_of_a_network": strips("Units overlap with strokes", best_units(units), 0, 0.2),
        "do_raters_agree": strips("Do five raters agree?", agreement, 0, 1),
        "is_the_ink_marked": map_of(
            "Is the ink marked?",
            gave["is_the_ink_marked"]["maps"]["weight x pixel"][7].reshape(8, 8),
            gave["is_the_ink_marked"]["objects"][7],
        ),
        "good_enough": strips("Leakage, before and after", leakage, 0.5, 0),
    }
    OUT.mkdir(parents=True, exist_ok=True)
    for name, content in images.items():
        (OUT / f"{name}.svg").write_text(content, "utf-8")
        print(name)


main()

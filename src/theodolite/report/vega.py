"""Figures that a reader can point at: Vega-Lite, drawn by the browser where the extra is installed.

Only numbers go into a figure, under names of fields that are fixed here. Names of concepts, units
and samples never do: the page looks them up by row and shows them as text.
"""

import functools
import json
from typing import Any

HIGH = 230


@functools.cache
def vega_bundle() -> str | None:
    """Vega as one script; None where the extra that brings it is not installed.

    A page's policy names the script by its digest. It compiles no code in the browser: the bundle
    brings an interpreter of Vega's expressions, so that the policy needs no ``'unsafe-eval'``,
    which would let data become code.
    """
    try:
        import vl_convert  # noqa: PLC0415  an extra
    except ImportError:
        return None
    bundle = str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))
    if "</script" in bundle.lower() or "<!--" in bundle:  # would end the script early
        return None
    # the bundle is written as a module: inside a function its names stay its own
    return f'(() => {{"use strict";{bundle}\n}})();'


def histogram_spec() -> dict[str, Any]:
    """Counts of all items, in bins that the page computes."""
    return {
        **_frame(),
        "data": {"name": "bins"},
        "mark": {"type": "rect", "fill": "--bar", "stroke": "--panel", "strokeWidth": 1},
        "encoding": {
            "x": _axis("start", "@x"),
            "x2": {"field": "end"},
            "y": {**_axis("count", "@y"), "scale": {"zero": True}},
            "y2": {"datum": 0},
        },
    }


def scatter_spec() -> dict[str, Any]:
    """Two scores of each item: shading counts all, points are some of them."""
    shading = {
        "data": {"name": "cells"},
        "mark": {"type": "rect", "fill": "--bar", "stroke": None},
        "encoding": {
            "x": _axis("left", "@x"),
            "x2": {"field": "right"},
            "y": _axis("bottom", "@y"),
            "y2": {"field": "top"},
            "opacity": {"field": "depth", "type": "quantitative", "scale": None},
        },
    }
    points = {
        "data": {"name": "points"},
        "mark": {"type": "circle", "size": 10, "color": "--score", "opacity": 0.55},
        "encoding": {"x": _axis("x", "@x"), "y": _axis("y", "@y")},
    }
    return {**_frame(), "height": 320, "layer": [shading, points]}


def compiled(spec: dict[str, Any]) -> str:
    """The figure as Vega in JSON, so that the page needs no compiler.

    Texts that begin with ``--`` are colours of the page's own style, those that begin with ``@``
    are titles and formats: the page puts them in when it draws.
    """
    import vl_convert  # noqa: PLC0415

    return json.dumps(vl_convert.vegalite_to_vega(spec), sort_keys=True, separators=(",", ":"))


def _axis(field: str, title: str) -> dict[str, Any]:
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"zero": False, "nice": True},
        "axis": {"format": f"{title}format", "tickCount": 5},
    }


def _frame() -> dict[str, Any]:
    words = {"labelColor": "--soft", "titleColor": "--soft", "titleFontWeight": "normal"}
    lines = {"gridColor": "--line", "domainColor": "--line", "tickColor": "--line"}
    sizes = {"labelFontSize": 12, "titleFontSize": 12, "titleLimit": 420}
    return {
        "width": 480,
        "height": HIGH,
        "background": None,
        "padding": 4,
        "autosize": {"type": "fit", "contains": "padding"},
        "config": {
            "aria": False,  # the page says it in words
            "font": "sans-serif",
            "view": {"stroke": None},
            "axis": {**words, **lines, **sizes},
        },
    }

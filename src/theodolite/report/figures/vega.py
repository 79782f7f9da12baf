"""Figures that a reader can point at: Vega-Lite, drawn by the browser where the extra is installed.

Only numbers go into a figure, under names of fields that are fixed here. Names of concepts, units
and samples never do: the page looks them up by row and shows them as text.
"""

import json
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from theodolite._storage.atomic import kept_text

HIGH = 230


@dataclass(frozen=True)
class Vega:
    """What a page needs to draw figures."""

    script: str
    """Vega itself."""
    figures: dict[str, str]
    """The figures by name, compiled to Vega in JSON."""


def vega() -> Vega | None:
    """Vega and our figures; None where the extra that brings it is not installed.

    Always the same for a version of the extra, and seconds of work: kept on the machine.

    A page's policy names the script by its digest. It compiles no code in the browser: the bundle
    brings an interpreter of Vega's expressions, so that the policy needs no ``'unsafe-eval'``,
    which would let data become code.
    """
    if find_spec("vl_convert") is None:
        return None
    specs = {"histogram": histogram_spec(), "scatter": scatter_spec()}
    digest = sha256(json.dumps(specs, sort_keys=True).encode()).hexdigest()[:16]
    name = f"vega-{version('vl-convert-python')}-{digest}.json"
    content = json.loads(kept_text(name, lambda: json.dumps(_bundle(specs))))
    if "</script" in content["script"].lower() or "<!--" in content["script"]:
        return None  # it would end the script early
    return Vega(content["script"], content["figures"])


def _bundle(specs: dict[str, dict[str, Any]]) -> dict[str, Any]:
    import vl_convert  # noqa: PLC0415  an extra

    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return {
        # the bundle is written as a module: inside a function its names stay its own
        "script": f'(() => {{"use strict";{bundle}\n}})();',
        "figures": {name: compiled(spec) for name, spec in specs.items()},
    }


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

    Texts that begin with ``--`` are colors of the page's own style, those that begin with ``@``
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

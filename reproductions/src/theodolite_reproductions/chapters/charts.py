"""Charts of scores over what tells the models of a run apart."""

import math
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from theodolite._runs.folder.spec import ChartSpec, RunSpec
from theodolite._verdicts.scores_file import ComparedRecord, matches, score_named, score_of
from theodolite._verdicts.words import percent
from theodolite.report.chapters.compared import Attribute, attribute_text
from theodolite.report.figures.lines import PlotLine, Point, chart
from theodolite.report.figures.svg import swatch
from theodolite.report.tables import mean_over_seeds
from theodolite.report.words import title, value_text
from theodolite.results import Score


def model_charts(spec: RunSpec, models: Sequence[ComparedRecord]) -> dict[str, Any] | None:
    """Return the charts that the spec names; None if no model fits."""
    level = spec.resampling.level
    panels = [_chart(chart_spec, models, level) for chart_spec in spec.report.charts]
    drawn = [panel for panel in panels if panel["figures"]]
    return (
        {"charts": drawn, "interval": f"{100 * level:g} % interval over seeds"} if drawn else None
    )


def _chart(spec: ChartSpec, models: Sequence[ComparedRecord], level: float) -> dict[str, Any]:
    chosen = [m for m in models if matches(m, spec.where) and spec.across in m.about]
    if spec.lines:
        chosen = [m for m in chosen if spec.lines in m.about]
    across = _sorted(m.about[spec.across] for m in chosen)
    names = _sorted(m.about[spec.lines] for m in chosen) if spec.lines else [""]
    figures = []
    for metric in spec.metrics:
        lines, scores = [], []
        for style, name in enumerate(names):
            own = [m for m in chosen if not spec.lines or m.about[spec.lines] == name]
            pairs = [(m, s) for m in own for s in [_score(m, metric)] if s is not None]
            pairs.sort(key=lambda pair: across.index(pair[0].about[spec.across]))
            points = [_point(m, s, across.index(m.about[spec.across]), level) for m, s in pairs]
            lines.append(PlotLine(attribute_text(name), style, tuple(points)))
            scores += [s for _, s in pairs]
        if scores:
            places = [attribute_text(a) for a in across]
            svg = chart(lines, places, scores[0].bounds, title(scores[0]))
            figures.append({"svg": svg, "title": title(scores[0]), "caption": _caption(scores)})
    key: list[tuple[Markup, str]] = []
    if spec.lines:
        key = [(swatch(style), attribute_text(name)) for style, name in enumerate(names)]
    return {
        "title": spec.title,
        "note": spec.note,
        "across": spec.across.replace("_", " "),
        "lines": spec.lines.replace("_", " "),
        "key": key,
        "figures": figures,
    }


def _score(model: ComparedRecord, metric: str) -> Score | None:
    record = score_named(model, metric)
    return None if record is None else score_of(record)


def _point(model: ComparedRecord, score: Score, x: int, level: float) -> Point:
    value, low, high = mean_over_seeds(score, level)
    null = math.nan if score.null is None else score.null.value
    says = f"{model.name}: {percent(value, score)}"
    if not math.isnan(low):
        says += f" [{value_text(low, score)}, {value_text(high, score)}]"
    if score.null is not None:
        says += f"; {score.null.label}: {percent(null, score)}"
    return Point(x, value, low, high, null, says)


def _caption(scores: Sequence[Score]) -> str:
    nulls = dict.fromkeys(s.null.label for s in scores if s.null is not None)
    tick = f"; tick: {' or '.join(nulls)}" if nulls else ""
    return f"{scores[0].better} is better{tick}"


def _sorted(values: Any) -> list[Attribute]:
    """Sort numbers by size, then words by letter."""
    return sorted(set(values), key=lambda v: (isinstance(v, str), v))

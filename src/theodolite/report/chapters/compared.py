"""The part of a report that compares models: charts over what tells them apart, and a table."""

import math
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from theodolite._runs.folder.spec import ChartSpec, RunSpec
from theodolite._verdicts.scores_file import ComparedRecord, matches, score_named, score_of
from theodolite._verdicts.words import percent
from theodolite.report.figures.lines import PlotLine, Point, chart
from theodolite.report.figures.svg import swatch
from theodolite.report.tables import Row, Table, mean_over_seeds, score_cell
from theodolite.report.words import full_title, title, value_text
from theodolite.results import Score

Attribute = float | int | str


def compared_chapter(models: Sequence[ComparedRecord], spec: RunSpec) -> dict[str, Any] | None:
    """All that the page shows of several models; None if there is one."""
    if not models:
        return None
    level = spec.resampling.level
    panels = [_chart(chart_spec, models, level) for chart_spec in spec.report.charts]
    return {
        "charts": [panel for panel in panels if panel["figures"]],
        "interval": f"{100 * level:g} % interval over seeds",
        "table": _table(models, level),
        "n": len(models),
    }


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
            lines.append(PlotLine(_attribute_text(name), style, tuple(points)))
            scores += [s for _, s in pairs]
        if scores:
            svg = chart(
                lines, [_attribute_text(a) for a in across], scores[0].bounds, title(scores[0])
            )
            figures.append({"svg": svg, "title": title(scores[0]), "caption": _caption(scores)})
    key: list[tuple[Markup, str]] = []
    if spec.lines:
        key = [(swatch(style), _attribute_text(name)) for style, name in enumerate(names)]
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
    """Numbers by size, then words by letter."""
    return sorted(set(values), key=lambda v: (isinstance(v, str), v))


def _attribute_text(value: Attribute) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _table(models: Sequence[ComparedRecord], level: float) -> Table:
    """Every score of every model, for those who want the numbers."""
    scores_by_model = [{_score_key(s): s for s in map(score_of, m.scores)} for m in models]
    columns = list(dict.fromkeys(key for model_scores in scores_by_model for key in model_scores))
    firsts = [
        next(model_scores[key] for model_scores in scores_by_model if key in model_scores)
        for key in columns
    ]
    heads = [full_title(s) + (" (%)" if s.bounds == (0.0, 1.0) else "") for s in firsts]
    rows = []
    for model, what, scores in zip(models, _descriptions(models), scores_by_model, strict=True):
        cells = (score_cell(scores.get(key), level, half=True) for key in columns)
        rows.append(Row((model.name, what), tuple(cells)))
    several = any(len(s.per_seed) > 1 for own in scores_by_model for s in own.values())
    of = "Mean over seeds" if several else "The score"
    interval = f"{of} ± half the {100 * level:g} % interval"
    note = f"{interval}; then the score's null, with ✗ where the score is no better."
    return Table(("model", "what it is"), tuple(heads), tuple(rows), note=note)


def _score_key(score: Score) -> tuple[str, str]:
    return score.metric, str(sorted(score.options.items()))


def _descriptions(models: Sequence[ComparedRecord]) -> list[str]:
    """Of each model what is not the same in all."""
    names = dict.fromkeys(name for model in models for name in model.about if name != "name")
    differ = [name for name in names if len({model.about.get(name) for model in models}) > 1]
    return [
        ", ".join(
            _attribute_text(model.about[name])
            if name == "what"  # a sentence by itself
            else f"{name.replace('_', ' ')} {_attribute_text(model.about[name])}"
            for name in differ
            if name in model.about
        )
        for model in models
    ]

"""Tables of faithfulness: methods side by side."""

import math
from collections.abc import Sequence
from typing import Any

from theodolite._runs.folder.spec import RunSpec
from theodolite._verdicts.scores_file import ComparedRecord, score_of
from theodolite.metrics.catalogue import catalogue
from theodolite.report.tables import Row, Table, mean_over_seeds, score_cell
from theodolite.report.words import method_text
from theodolite.results import Score

COLUMNS = {
    "surrogate_error": "SURF error",
    "surrogate_distance": "SURF distance (%)",
    "surrogate_agreement": "agreement (%)",
    "surrogate_rank_correlation": "rank correlation",
    "surrogate_relative_error": "relative error",
}
"""In the order in which a spec lists the paper's figures."""
SORTED_BY = "surrogate_distance"


def linear_score(model: ComparedRecord, metric: str) -> Score | None:
    """A model's score by a metric with concepts times importances, as the method projects."""
    usual = {"surrogate": "linear", "projection": "given"}
    for record in model.scores:
        if record.metric == metric and all(record.options.get(k, v) == v for k, v in usual.items()):
            return score_of(record)
    return None


def benchmark_models(models: Sequence[ComparedRecord], spec: RunSpec) -> list[ComparedRecord]:
    """One explanation a method, the best by distance first: with as many concepts as the spec says,
    or else the first of each."""
    methods = [m for m in models if m.about.get("kind") == "method" and "method" in m.about]
    benchmark_spec = spec.report.benchmark
    if benchmark_spec is not None:
        methods = [m for m in methods if m.about.get("concepts") == benchmark_spec.concepts]
    first: dict[Any, ComparedRecord] = {}
    for model in methods:
        first.setdefault(model.about["method"], model)

    def distance(model: ComparedRecord) -> float:
        score = linear_score(model, SORTED_BY)
        value = math.nan if score is None else mean_over_seeds(score, spec.resampling.level)[0]
        return math.inf if math.isnan(value) else value

    return sorted(first.values(), key=distance)


def _directions(model: ComparedRecord) -> str:
    """Return how many directions there are to read, where these are not the concepts themselves."""
    number = model.about.get("directions")
    return "" if number in (None, model.about.get("concepts")) else f"{number} directions per class"


def benchmark(
    chosen: Sequence[ComparedRecord], main: ComparedRecord, spec: RunSpec
) -> dict[str, Any] | None:
    """Methods by what each measure says, beside the best null and the paper's figure."""
    if not chosen:
        return None
    benchmark_spec = spec.report.benchmark
    printed = {} if benchmark_spec is None else benchmark_spec.paper
    scores_by_model = [{name: linear_score(model, name) for name in COLUMNS} for model in chosen]
    columns = [name for name in COLUMNS if any(s[name] is not None for s in scores_by_model)]
    rows = []
    for model, scores in zip(chosen, scores_by_model, strict=True):
        method = str(model.about["method"])
        paper = dict(zip(COLUMNS, printed.get(method, []), strict=False))
        cells = [
            score_cell(scores[name], spec.resampling.level, half=True, printed=paper.get(name))
            for name in columns
        ]
        is_main = "this one decides the verdict" if model is main else ""
        notes = tuple(filter(None, (is_main, _directions(model))))
        rows.append(Row((method_text(method),), tuple(cells), "own" if is_main else "", notes))
    concepts = {model.about.get("concepts") for model in chosen}
    return {
        "table": Table(
            ("method",), tuple(COLUMNS[name] for name in columns), tuple(rows), css="methods",
            better=tuple(f"{catalogue()[name].better} is better" for name in columns),
        ),
        "concepts": concepts.pop() if len(concepts) == 1 else None,
        "level": f"{100 * spec.resampling.level:g} %",
    }  # fmt: skip

"""Part of a report on one question: its tables, the spread of items, and all its scores."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from theodolite._runs.folder.spec import HistogramSpec, RunSpec
from theodolite._verdicts.from_scores import stand_in_verdict
from theodolite._verdicts.rules import question_text
from theodolite._verdicts.words import percent
from theodolite.evidence.subject import Subject
from theodolite.metrics.catalogue import catalogue
from theodolite.questions import Question
from theodolite.report.chapters.clean import is_defect_metric
from theodolite.report.figures.bars import Bar, bar_rows, histogram
from theodolite.report.figures.scales import Scale, round_scale
from theodolite.report.figures.svg import Figure
from theodolite.report.sentences import better_by, sentence
from theodolite.report.words import (
    ANSWER_WORDS,
    full_title,
    interval_words,
    option_text,
    options_text,
    source_words,
    title,
    value_text,
)
from theodolite.results import Detail, Score

PER = {
    "concepts": "Per concept",
    "pairs": "Per pair of concepts",
    "classes": "Per class",
    "units": "Per unit",
}
ANNOTATED = "concept_global_importance"
"""The score whose items are cosines with what annotators say."""
MANY = 20
"""Up to this many items bars tell more than a histogram."""


def chapter(
    question: Question, spec: RunSpec, scores: Sequence[Score], apart: dict[str, str] | None = None
) -> dict[str, Any]:
    """What the page shows of one question; ``apart`` where something else answered in place of the
    network."""
    own = [score for score in scores if score.question == question]
    metrics = {score.metric for score in own}
    histograms = [h for h in spec.report.histograms if h.metric in metrics]
    return {
        "question": question,
        "asks": question_text(own[0]) if apart is None else apart["title"],
        "apart": apart,
        "histograms": _joined([_histograms(h, own) for h in histograms or _usual_histograms(own)]),
        "has_paper": any(h.paper for h in histograms),
        "about_histograms": _about_histograms(own),
        "extremes": _extremes(own),
        "rows": [_row(score, spec) for score in own],
    }


def stand_in_chapter(scores: Sequence[Score], subject: Subject) -> dict[str, str] | None:
    """The title and the result of scores against a stand-in, which decide nothing."""
    if subject.decides:
        return None
    is_probe = subject.outputs == "probe_only"
    apart = {
        "title": "Faithful to the linear probe" if is_probe else "Scores apart",
        "who": subject.not_evaluated.partition(" That result")[0],
        "word": "",
    }
    result = stand_in_verdict(scores, subject)
    if result is None or result.score is None:
        return apart
    return apart | {"word": ANSWER_WORDS[result.answer], "says": sentence(result)}


def _about_histograms(scores: Sequence[Score]) -> str:
    over = {score.detail.over for score in scores if score.detail}
    if {score.metric for score in scores if score.detail} == {ANNOTATED}:
        return "Do weights and values agree with the annotations? Cosines from −1 to 1"
    kind = over.pop() if len(over) == 1 and over <= {"units", "classes"} else "concepts"
    return f"Distribution of {kind}"


def _joined(groups: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Figures under the same heading side by side."""
    joined: dict[str, dict[str, Any]] = {}
    for group in groups:
        if group["title"] in joined and not group["note"]:
            joined[group["title"]]["figures"] += group["figures"]
        else:
            joined[group["title"]] = group
    return list(joined.values())


def _usual_histograms(scores: Sequence[Score]) -> list[HistogramSpec]:
    """Return where the spec asks for none, one row per axis that scores have detail on.

    Few items of leakage or faithfulness are drawn one by one: a histogram would only repeat them.
    """
    axes = dict.fromkeys((s.metric, s.detail.over) for s in scores if s.detail and _spread(s))
    return [
        HistogramSpec(title=PER.get(over, f"Per {over.removesuffix('s')}"),
                      metric=metric, over=over, sweep=(*catalogue()[metric].sweeps, "")[0])
        for metric, over in axes
    ]  # fmt: skip


def _spread(score: Score) -> bool:
    if score.question not in ("leak_free", "faithful"):
        return True
    many = score.detail is not None and len(score.detail.names) > MANY
    return many and (score.question == "faithful" or is_defect_metric(score))


def _histograms(spec: HistogramSpec, scores: Sequence[Score]) -> dict[str, Any]:
    figures = []
    for score in scores:
        if score.metric == spec.metric and score.detail and score.detail.over == spec.over:
            choice = str(score.options.get(spec.sweep))
            named = option_text(spec.sweep, choice) if spec.sweep else full_title(score)
            caption = f"{named}: mean {percent(score.value, score)}"
            paper = spec.paper.get(choice, [])
            if paper:
                middles = np.linspace(-0.95, 0.95, len(paper))
                paper_mean = np.average(middles, weights=paper)
                caption += f" (paper {paper_mean:+.2f}, from the middles of its bins)"
            if score.n_undefined:
                caption += f", {score.n_undefined} undefined"
            bounds = score.bounds
            unlimited = not np.isfinite(bounds).all()
            if (unlimited or is_defect_metric(score)) and not paper:  # else mostly empty
                scale = round_scale(score.detail.values, score.bounds)
                bounds = (scale.low, scale.high)
            svg = histogram(score.detail.values, spec.over, bounds, caption, paper)
            figures.append(Figure(svg, caption=caption))
    return {"title": spec.title, "figures": figures, "note": spec.note}


def _extremes(scores: Sequence[Score], n: int = 8) -> list[dict[str, Any]]:
    """The concepts that the model uses most against and most as the annotators say."""
    cosines = (s for s in scores if s.metric == ANNOTATED)
    first = next((s for s in cosines if s.detail and s.detail.over == "concepts"), None)
    if first is None or first.detail is None:
        return []
    values = first.detail.values
    defined = np.flatnonzero(~np.isnan(values))
    order = defined[np.argsort(values[defined], kind="stable")]
    n = min(n, len(order) // 2)
    low, high = order[:n], order[::-1][:n]
    titles = {"Lowest agreement with annotations": low, "Highest agreement with annotations": high}
    return [
        {"title": title, "svg": _signed_bars(first.detail, rows, title)}
        for title, rows in titles.items()
        if len(rows)
    ]


def _signed_bars(detail: Detail, rows: np.ndarray, caption: str) -> Markup:
    bars = [
        (detail.names[j], [Bar("bar down" if v < 0 else "bar", v, number=f"{v:+.2f}")])
        for j, v in ((j, float(detail.values[j])) for j in rows)
    ]
    return bar_rows(bars, Scale(-1.0, 1.0, ()), caption)


def _row(score: Score, spec: RunSpec) -> dict[str, Any]:
    null = score.null
    against, css = _against(score)
    return {
        "title": title(score),
        "options": options_text(score),
        "value": percent(score.value, score),
        "intervals": [
            f"{interval_words(i, score)} over {source_words(i, spec)}" for i in score.intervals
        ],
        "better": "↑ higher" if score.better == "higher" else "↓ lower",
        "null": "" if null is None else f"{null.label} {value_text(null.value, score)}",
        "against": against,
        "against_css": css,
        "best": "" if score.best in score.bounds else percent(score.best, score),
        "n": f"{score.n:,}",
        "undefined": f"{score.n_undefined:,}",
    }


def _against(score: Score) -> tuple[str, str]:
    """Return how a score stands to the strongest baseline, and whether that is good."""
    null = score.null
    away = None if null is None else better_by(score, null)
    if away is None:
        return "", ""
    if is_defect_metric(score):
        accepted = catalogue()[score.metric].tolerance or 0.0
        if -away[1] > accepted:
            return "too much", "bad"
        return ("accepted", "good") if -away[0] <= accepted else ("unsure", "mid")
    if away[0] > 0:
        return "beats it", "good"
    return ("worse", "bad") if away[1] < 0 else ("no better", "mid")

"""The report: one HTML file that needs nothing beside it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
from markupsafe import Markup

from theodolite.contracts.score import Interval, Question, Score
from theodolite.execution.audit import verdicts
from theodolite.execution.record import read_scores
from theodolite.execution.run import headline_scores
from theodolite.execution.run_record import MadeRecord, RunRecord, read_record
from theodolite.execution.spec import HistogramSpec, RunSpec
from theodolite.execution.verdict import QUESTIONS, Verdict, percent
from theodolite.io.paths import all_or_nothing
from theodolite.metrics._catalogue import catalogue
from theodolite.report.examples import examples
from theodolite.report.figures import bars, histogram, strip
from theodolite.report.tables import grid_table, score_table
from theodolite.report.units import units_chapter
from theodolite.report.words import (
    interval_words,
    option_text,
    options_text,
    title,
    value_text,
)

TEMPLATES = Path(__file__).parent / "templates"
PER = {"concepts": "Per concept", "classes": "Per class", "units": "Per unit"}
WORDS = {"yes": "Yes", "partly": "Partly", "no": "No", "cannot tell": "Cannot tell"}
ADVICE = {
    "yes": "In this respect the explanation can be relied upon.",
    "partly": "Better than chance, but not enough to rely on alone.",
    "no": "Do not rely on the explanation in this respect.",
    "cannot tell": "This evidence cannot answer the question.",
}


def write_report(folder: Path) -> Path:
    """Build ``report.html`` from what a run folder holds."""
    record = read_record(folder / "run.json", RunRecord)
    spec = record.spec
    made = read_record(folder / "made.json", MadeRecord)
    scores, unanswered = read_scores(folder / "scores.json")
    found = verdicts(scores, headline_scores(spec, scores))
    asked = [v for v in found if v.answer != "not asked"]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined
    )
    page = environment.get_template("report.html.j2").render(
        title=spec.title or spec.name,
        subtitle=_subtitle(record, made),
        css=Markup((TEMPLATES / "report.css").read_text("utf-8")),  # noqa: S704  our own file
        bottom_line=_bottom_line(asked),
        verdicts=[_card(v) for v in asked],
        interval_key=_interval_key(asked, spec),
        not_asked=[QUESTIONS[q] for q in _silent(found) if q in _answerable()],
        not_yet=[QUESTIONS[q] for q in _silent(found) if q not in _answerable()],
        facts=[(name, _fact(name, value)) for name, value in made.facts],
        examples=examples(folder, made.examples, spec.seeds[0]),
        chapters=[
            _chapter(question, spec, scores)
            for question in QUESTIONS
            if any(score.question == question for score in scores)
        ],
        units=units_chapter(folder, made.cards, scores),
        grids=[t for t in (grid_table(g, folder) for g in spec.report.grids) if t is not None],
        differs=spec.report.differs,
        notes=made.notes,
        misleads=_misleads(scores),
        unanswered=[(u.metric.replace("_", " "), ", ".join(u.needs)) for u in unanswered],
        provenance=_provenance(record, made, spec),
        inputs=sorted(made.inputs.items()),
        version=record.packages.get("theodolite", ""),
    )
    path = folder / "report.html"
    with all_or_nothing(path) as stream:
        stream.write(page.encode())
    return path


def _silent(found: Sequence[Verdict]) -> list[Question]:
    return [v.question for v in found if v.answer == "not asked"]


def _answerable() -> set[str]:
    """Questions that this version has scores for."""
    return {entry.question for entry in catalogue().values()}


def _subtitle(record: RunRecord, made: MadeRecord) -> str:
    day = record.started.partition("T")[0]
    n = dict(made.facts).get("test samples")
    return f"{day}" + (f" · {n:,} test samples" if isinstance(n, int) else "")


def _bottom_line(asked: Sequence[Verdict]) -> str:
    answers = [v.answer for v in asked]
    if not answers:
        return "No question could be asked."
    if set(answers) == {"yes"}:
        return "This explanation passes every question asked."
    if set(answers) == {"no"}:
        return "Do not rely on this explanation: it fails every question asked."
    if len(answers) == 1:
        return f"The one question asked is answered: {answers[0]}."
    counts = [f"{answers.count(a)} {a}" for a in WORDS if a in answers]
    return f"{len(answers)} questions asked: {', '.join(counts)}."


def _card(verdict: Verdict) -> dict[str, Any]:
    score = verdict.score
    assert score is not None  # noqa: S101  asked, so there is one
    return {
        "css": verdict.answer.replace(" ", "-"),
        "asks": verdict.asks,
        "word": WORDS[verdict.answer],
        "because": f"{title(score)}, {options_text(score)}: {verdict.because}".replace(
            " %", "\u00a0%"
        ),
        "what": ADVICE[verdict.answer],
        "strip": strip(score, width=300, labels=True),
    }


def _interval_key(asked: Sequence[Verdict], spec: RunSpec) -> str:
    intervals = [v.score.interval for v in asked if v.score is not None]
    over = dict.fromkeys(_source(i, spec) for i in intervals if i is not None)
    return f"{100 * spec.resampling.level:g} % interval over {' or '.join(over) or 'samples'}"


def _source(interval: Interval, spec: RunSpec) -> str:
    """What was drawn anew, in the reader's words."""
    if interval.over != "clusters":
        return interval.over
    return "classes" if spec.resampling.clusters == "classes" else "groups"


def _fact(name: str, value: Any) -> str:
    if isinstance(value, float) and "accuracy" in name:
        return f"{100 * value:.1f} %"
    return (
        f"{value:,}"
        if isinstance(value, int)
        else f"{value:g}"
        if isinstance(value, float)
        else value
    )


def _chapter(question: Question, spec: RunSpec, scores: Sequence[Score]) -> dict[str, Any]:
    own = [score for score in scores if score.question == question]
    metrics = {score.metric for score in own}
    tables = [score_table(t, own) for t in spec.report.tables if t.metric in metrics]
    wanted = [h for h in spec.report.histograms if h.metric in metrics]
    return {
        "asks": QUESTIONS[question],
        "tables": [table for table in tables if table is not None],
        "histograms": _joined([_histograms(h, own) for h in wanted or _usual_histograms(own)]),
        "has_paper": any(h.paper for h in wanted),
        "about_histograms": _about_histograms(own),
        "extremes": _extremes(own),
        "rows": [_row(score, spec) for score in own],
    }


def _about_histograms(scores: Sequence[Score]) -> str:
    over = {score.detail.over for score in scores if score.detail}
    if over == {"units"}:
        return "How the units are spread"
    return "Do weights and values follow what annotators say? Cosines from −1 to 1"


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
    """Where the spec asks for none, one row per axis that scores have detail on."""
    found = dict.fromkeys((s.metric, s.detail.over) for s in scores if s.detail)
    return [
        HistogramSpec(title=PER[over],
                      metric=metric, over=over, sweep=(*catalogue()[metric].sweeps, "")[0])
        for metric, over in found
    ]  # fmt: skip


def _histograms(spec: HistogramSpec, scores: Sequence[Score]) -> dict[str, Any]:
    figures = []
    for score in scores:
        if score.metric == spec.metric and score.detail and score.detail.over == spec.over:
            choice = str(score.options.get(spec.sweep))
            named = option_text(spec.sweep, choice) if spec.sweep else _named(score)
            caption = f"{named}: mean {percent(score.value, score)}"
            paper = spec.paper.get(choice, [])
            if paper:
                middles = np.linspace(-0.95, 0.95, len(paper))
                about = np.average(middles, weights=paper)
                caption += f" (paper {about:+.2f}, from the middles of its bins)"
            if score.n_undefined:
                caption += f", {score.n_undefined} undefined"
            svg = histogram(score.detail, score.bounds, caption, paper)
            figures.append({"svg": svg, "caption": caption})
    return {"title": spec.title, "figures": figures, "note": spec.note}


def _named(score: Score) -> str:
    options = options_text(score).removesuffix("per unit").rstrip(", ")
    return f"{title(score)}, {options}" if options else title(score)


def _extremes(scores: Sequence[Score], n: int = 8) -> list[dict[str, Any]]:
    """The concepts that the model uses most against and most as the annotators say."""
    first = next((s for s in scores if s.detail and s.detail.over == "concepts"), None)
    if first is None or first.detail is None:
        return []
    values = first.detail.values
    defined = np.flatnonzero(~np.isnan(values))
    order = defined[np.argsort(values[defined], kind="stable")]
    n = min(n, len(order) // 2)
    low, high = order[:n], order[::-1][:n]
    return [
        {"title": name, "svg": bars([first.detail.names[j] for j in rows], values[rows])}
        for name, rows in (("Least as annotated", low), ("Most as annotated", high))
        if len(rows)
    ]


def _row(score: Score, spec: RunSpec) -> dict[str, Any]:
    null = score.null
    sign = 1.0 if score.better == "higher" else -1.0
    return {
        "title": title(score),
        "options": options_text(score),
        "value": percent(score.value, score),
        "intervals": [
            f"{interval_words(i, score)} over {_source(i, spec)}" for i in score.intervals
        ],
        "strip": strip(score, width=180),
        "null": "" if null is None else f"{null.name} {value_text(null.value, score)}",
        "lost": null is not None and sign * (score.value - null.value) <= 0,
        "best": "" if score.best in score.bounds else percent(score.best, score),
        "n": f"{score.n:,}",
        "undefined": f"{score.n_undefined:,}",
    }


def _misleads(scores: Sequence[Score]) -> list[tuple[str, str]]:
    names = dict.fromkeys(score.metric for score in scores)
    return [(catalogue()[n].title, catalogue()[n].card.misleads) for n in names if n in catalogue()]


def _provenance(record: RunRecord, made: MadeRecord, spec: RunSpec) -> list[tuple[str, str]]:
    packages = ", ".join(f"{name} {version}" for name, version in record.packages.items())
    resampling = spec.resampling
    return [
        ("Run", spec.name),
        ("Started", record.started),
        ("Command", record.command or "from Python"),
        ("Seeds", ", ".join(map(str, spec.seeds))),
        ("Intervals", f"{resampling.resamples} resamples, seed {resampling.seed}"),
        ("Software", f"Python {record.python}, {packages}"),
        ("Machine", record.machine),
        ("Scoring took", f"{made.seconds_scoring} s"),
    ]

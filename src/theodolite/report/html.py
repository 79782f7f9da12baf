"""The report: one HTML file that needs nothing beside it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from theodolite.contracts.saliency import SaliencyEvidence
from theodolite.contracts.score import Question, Score
from theodolite.execution._scored import headline_scores
from theodolite.execution.audit import verdicts
from theodolite.execution.record import read_scores
from theodolite.execution.run_record import MadeRecord, RunRecord, read_record
from theodolite.execution.spec import RunSpec
from theodolite.execution.verdict import QUESTIONS, Verdict, enough_line
from theodolite.io.paths import all_or_nothing
from theodolite.metrics._catalogue import catalogue
from theodolite.report.acceptance import acceptance_chapter
from theodolite.report.chapters import chapter
from theodolite.report.clean import accepted_line, looks_for_a_fault
from theodolite.report.compared import compared_chapter, compared_models
from theodolite.report.examples import examples
from theodolite.report.faithfulness import faithfulness_chapter
from theodolite.report.figures import strip
from theodolite.report.findings import findings
from theodolite.report.leakage import leakage_chapter
from theodolite.report.saliency import saliency_chapter
from theodolite.report.tables import grid_table
from theodolite.report.units import units_chapter
from theodolite.report.words import full_title, method_text, source_words

TEMPLATES = Path(__file__).parent / "templates"
WORDS = {"yes": "Yes", "partly": "Partly", "no": "No", "cannot tell": "Cannot tell"}
ADVICE = {
    "yes": "In this respect the explanation can be relied upon.",
    "partly": "Better than chance, but not enough to rely on alone.",
    "no": "Do not rely on the explanation in this respect.",
    "cannot tell": "This evidence cannot answer the question.",
}
ADVICE_ON_FAITHFULNESS = ADVICE | {
    "yes": "Concepts times importances make up what the network puts out.",
    "partly": "Better than an explanation without meaning, but some of the output is not made of "
    "these concepts and importances.",
    "no": "Concepts times importances do not make up the output: do not take them for its reasons.",
}
ADVICE_ON_MAPS = {
    "faithful": ADVICE
    | {
        "yes": "The output depends on the marked pixels, and more than on those that a map without "
        "any knowledge marks.",
        "partly": "The marked pixels matter more than others, but not enough to rely on the map "
        "alone.",
        "no": "Other pixels matter as much: do not take the marked ones for the network's reasons.",
    },
    "located": ADVICE
    | {
        "yes": "The map marks the object.",
        "partly": "The map marks the object more than chance would, and much else beside it.",
        "no": "The map does not single out the object: either it or the network looks elsewhere.",
    },
}
BY_VOTES = {
    "yes": "People accept these explanations.",
    "partly": "People accept more of these explanations than chance would have it, but not surely "
    "enough of them.",
    "no": "People do not accept most of these explanations.",
    "cannot tell": "These votes do not tell whether people accept the explanations.",
}
ADVICE_ON_VOTES = ADVICE | {
    "yes": "That people accept an explanation does not make it true of the network.",
    "partly": "That people accept an explanation does not make it true of the network.",
    "no": "They may still be true of the network; people do not find them convincing.",
}
ADVICE_ON_FAULTS = ADVICE | {
    "partly": "There is some of it; whether more than we accept is not sure.",
    "no": "The concepts carry more than they say: do not take them at their word.",
}


def write_report(folder: Path) -> Path:
    """Build ``report.html`` from what a run folder holds."""
    record = read_record(folder / "run.json", RunRecord)
    spec = record.spec
    made = read_record(folder / "made.json", MadeRecord)
    scores, unanswered = read_scores(folder / "scores.json")
    models = compared_models(folder)
    found = verdicts(scores, headline_scores(spec, scores))
    asked = [v for v in found if v.answer != "not asked"]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined
    )
    page = environment.get_template("report.html.j2").render(
        title=spec.title or spec.name,
        subtitle=_subtitle(record, made),
        css=Markup((TEMPLATES / "report.css").read_text("utf-8")),  # noqa: S704  our own file
        bottom_line=_partial(made) + _bottom_line(asked),
        verdicts=[_card(v) for v in asked],
        interval_key=_interval_key(asked, spec),
        marks=_marks(scores),
        not_asked=[QUESTIONS[q] for q in _silent(found) if q in _answerable()],
        not_yet=[QUESTIONS[q] for q in _silent(found) if q not in _answerable()],
        facts=[(name, _fact(name, value)) for name, value in made.facts],
        examples=examples(folder, made.examples, spec.seeds[0]),
        chapters=[
            chapter(question, spec, scores)
            for question in QUESTIONS
            if any(score.question == question for score in scores)
        ],
        leakage=leakage_chapter(folder, spec, scores, models),
        faithfulness=faithfulness_chapter(folder, spec, made, scores, models),
        acceptance=acceptance_chapter(folder, spec, scores, models),
        saliency=saliency_chapter(folder, spec, models),
        compared=compared_chapter(models, spec),
        findings=findings(folder),
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


def _partial(made: MadeRecord) -> str:
    """What comes before any verdict, if pieces of work were left out."""
    if not made.failed_pieces:
        return ""
    return f"Partial: {made.failed_pieces} pieces of the evidence failed and were left out. "


def _bottom_line(asked: Sequence[Verdict]) -> str:
    answers = [v.answer for v in asked]
    if not answers:
        return "No question could be asked."
    if [v.question for v in asked] == ["accepted"]:
        return BY_VOTES[asked[0].answer]
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
        "because": f"{full_title(score)}: {verdict.because}".replace(" %", "\u00a0%"),
        "what": _advice(score)[verdict.answer],
        "strip": strip(score, width=300, labels=True),
    }


def _advice(score: Score) -> dict[str, str]:
    if looks_for_a_fault(score):
        return ADVICE_ON_FAULTS
    if score.question == "accepted":
        return ADVICE_ON_VOTES
    if catalogue()[score.metric].needs is SaliencyEvidence:
        return ADVICE_ON_MAPS[score.question]
    return ADVICE_ON_FAITHFULNESS if score.question == "faithful" else ADVICE


def _interval_key(asked: Sequence[Verdict], spec: RunSpec) -> str:
    intervals = [v.score.interval for v in asked if v.score is not None]
    over = dict.fromkeys(source_words(i, spec) for i in intervals if i is not None)
    return f"{100 * spec.resampling.level:g} % interval over {' or '.join(over) or 'samples'}"


def _marks(scores: Sequence[Score]) -> dict[str, bool]:
    """Which marks the strips of this page have, so that the key explains no others."""
    clean = [score for score in scores if looks_for_a_fault(score)]
    others = [score for score in scores if not looks_for_a_fault(score)]
    return {
        "null": bool(others),
        "enough": any(enough_line(score) is not None for score in others),
        "clean": bool(clean),
        "accepted": any(accepted_line(score) is not None for score in clean),
    }


def _fact(name: str, value: Any) -> str:
    if isinstance(value, float) and any(word in name for word in ("accuracy", "share", "probab")):
        return f"{100 * value:.1f} %"
    if isinstance(value, str) and name.startswith("method"):
        return method_text(value)
    return (
        f"{value:,}"
        if isinstance(value, int)
        else f"{value:g}"
        if isinstance(value, float)
        else value
    )


def _misleads(scores: Sequence[Score]) -> list[tuple[str, str]]:
    names = dict.fromkeys(score.metric for score in scores)
    return [(catalogue()[n].title, catalogue()[n].card.misleads) for n in names if n in catalogue()]


def _provenance(record: RunRecord, made: MadeRecord, spec: RunSpec) -> list[tuple[str, str]]:
    packages = ", ".join(f"{name} {version}" for name, version in record.packages.items())
    resampling = spec.resampling
    where = [("Evidence", ", ".join(made.stored))] if made.stored else []
    done_by = [("Work done by", record.engine)] if record.engine and made.stored else []
    return [
        ("Run", spec.name),
        ("Started", record.started),
        ("Command", record.command or "from Python"),
        ("Seeds", ", ".join(map(str, spec.seeds))),
        ("Intervals", f"{resampling.resamples} resamples, seed {resampling.seed}"),
        ("Software", f"Python {record.python}, {packages}"),
        ("Machine", record.machine),
        *where,
        *done_by,
        ("Scoring took", f"{made.seconds_scoring} s"),
    ]

"""The first screen of a report: what was audited, whether to rely on it, and each question's
answer."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from theodolite._runs.folder.explanation_record import EXPLANATIONS
from theodolite._runs.folder.run_records import ExplanationRecord, ProducedRecord, RunRecord
from theodolite._verdicts.bottom_line import reliance
from theodolite._verdicts.words import not_evaluated_text
from theodolite.evidence.subject import Subject
from theodolite.report.chapters.clean import is_defect_metric
from theodolite.report.figures.strips import score_strip, strip_key
from theodolite.report.formulas import with_code
from theodolite.report.methods import anchor
from theodolite.report.sentences import CONCEPTS, reference, sentence, with_noun
from theodolite.report.words import ANSWER_WORDS, full_title, method_text
from theodolite.results import Verdict

ASKED_BY_STUDY = ("posthoc_cbm", "saliency")
"""Pipelines of whose images a study can be made."""
FACTS = 2
"""Number of facts in the line below the title."""


def head(
    record: RunRecord, made_record: ProducedRecord, verdicts: Sequence[Verdict], subject: Subject
) -> dict[str, Any]:
    """Return what the first screen of a report shows."""
    explained = made_record.explained
    noun = explained.noun
    title = record.spec.title or record.spec.name
    css, rely, counts = reliance(verdicts)
    claim = explained.claim
    described = title if subject.outputs == "unknown" else _method(explained)
    return {
        "title": f"“{claim}”" if claim else title,
        "tab": f"{rely.rstrip('.')}: {described}",
        "subtitle": _described(record, made_record, subject),
        "bottom": {
            "css": css.replace("_", "-"),
            "rely": rely,
            "counts": counts,
            "partial": partial(made_record),
        },
        "examined": [
            {"kind": EXPLANATIONS.get(entry.kind, entry.kind), "n": entry.n, "unit": entry.unit}
            for entry in explained.examined
            if len(explained.examined) > 1
        ],
        "verdicts": [card(v, subject, noun) for v in verdicts if v.answer != "not_evaluated"],
        "not_evaluated": with_code(not_evaluated_text(_with_study(verdicts, record))),
        "strip_key": strip_key(
            f"{100 * record.spec.resampling.level:g} % interval",
            defects=any(v.score is not None and is_defect_metric(v.score) for v in verdicts),
        ),
        "noun": noun,
    }


def _with_study(verdicts: Sequence[Verdict], record: RunRecord) -> list[Verdict]:
    """Return the verdicts; where a study can be made of the run, *accepted* says how."""
    pipeline = record.spec.pipeline
    if pipeline is None or pipeline.name not in ASKED_BY_STUDY:
        return list(verdicts)
    return [
        replace(v, needs="", summary="ask people: `theodolite study init RUN`")
        if v.question == "accepted" and v.answer == "not_evaluated"
        else v
        for v in verdicts
    ]


def partial(made_record: ProducedRecord) -> str:
    """Warning before any verdict, if tasks were left out."""
    if not made_record.failed_tasks:
        return ""
    return f"Incomplete: {made_record.failed_tasks} tasks failed, and their samples are excluded."


def card(verdict: Verdict, subject: Subject, noun: str = CONCEPTS) -> dict[str, Any]:
    """One question that was asked: its answer, and the score that it was read from."""
    score = verdict.score
    return {
        "question": verdict.question,
        "css": verdict.answer.replace("_", "-"),
        "asks": with_noun(verdict.question_text, noun),
        "word": ANSWER_WORDS[verdict.answer],
        "says": sentence(verdict, noun),
        "sensitivity": verdict.sensitivity,
        "n": "" if score is None else f"{score.n:,} {score.n_unit}",
        "reference": reference(verdict, subject),
        "strip": "" if score is None else score_strip(score),
        "method": "" if score is None else anchor(score.metric),
        "hint": "" if score is None else f"{score.metric}: {full_title(score)}",
    }


def _described(record: RunRecord, made_record: ProducedRecord, subject: Subject) -> str:
    explained = made_record.explained
    if not explained.claim:
        of = subject.sentence.removeprefix("Audited: ").rstrip(".")
    else:
        of = _method(explained)
    several = len({(entry.n, entry.unit) for entry in explained.examined}) > 1
    counted = [] if several else explained.counts  # a table below counts each kind of evidence
    counts = ", ".join(f"{n:,} {what}" for what, n in counted)
    parts = [f"{of[:1].upper()}{of[1:]}{': ' * bool(counts)}{counts}."]
    facts = [
        f"{name[:1].upper()}{name[1:]}: {fact_text(name, value)}."
        for name, value in made_record.facts
        if isinstance(value, float) and "accuracy" in name
    ]
    version = record.packages.get("theodolite", "")
    made_by = f" with theodolite {version}" if version else ""
    audited = f"Audited {record.started.partition('T')[0]}{made_by}."
    return " ".join([*parts, *facts[:FACTS], audited])


def _method(explained: ExplanationRecord) -> str:
    model = f" of {explained.model}" if explained.model else ""
    data = f", on {explained.data}" if explained.data else ""
    return f"{explained.method}{model}{data}"


def fact_text(name: str, value: Any) -> str:
    """Format a number with its unit."""
    if isinstance(value, float) and any(word in name for word in ("accuracy", "share", "probab")):
        return f"{100 * value:.1f}\u00a0%"
    if isinstance(value, str):
        return method_text(value) if name.startswith("method") else value
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"

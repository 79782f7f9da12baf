"""Chapter on conflicts: a matrix of pairs of questions that disagree."""

from collections.abc import Sequence
from typing import Any

from theodolite._runs.folder.run_records import ExampleRecord
from theodolite._runs.report_material import RunMaterial
from theodolite._runs.run_content import choose_conflicts
from theodolite._verdicts.conflicts.record import ConflictRecord, ConflictsFile, JudgedRecord
from theodolite._verdicts.conflicts.sentences import SHORT, Level
from theodolite._verdicts.words import ask_as
from theodolite.evidence.subject import Subject
from theodolite.metrics.catalogue import catalogue
from theodolite.questions import QUESTIONS, Question
from theodolite.report.overlays import QUALITY, data_address
from theodolite.report.words import metric_text, unbroken
from theodolite.results import Source

BESIDE = {
    "more": "▲ more often than if unrelated",
    "less": "▼ less often than if unrelated",
    "as": "≈ not distinguishable from unrelated",
}
KINDS = {
    "enough": "by our convention",
    "null": "the baseline's value",
    "accepted": "the reference plus the tolerance",
}
LEFT_OUT = "Faithfulness is left out here, because it was not evaluated for your model."
SHOWN_EXAMPLES = 3
SHOWN_CONCEPTS = 6
IMAGE_SIZE = 150
"""The longer side of an image on a card, in pixels."""
TITLES: dict[Level, str] = {
    "explanations": "Per explanation",
    "concepts": "Per concept",
}


def conflicts_chapter(
    material: RunMaterial, images: Sequence[ExampleRecord], subject: Subject
) -> dict[str, Any] | None:
    """What the page shows; nothing if fewer than two questions can be held side by side."""
    conflicts_file = material.conflicts()
    candidates = [_level(conflicts_file, level, subject) for level in TITLES]
    levels = [level for level in candidates if level is not None]
    if not levels and not conflicts_file.verdicts:
        return None
    files = {example.sample: example.file for example in images}
    classes = material.record.spec.resampling.clusters == "classes"
    return {
        "verdicts": [
            {
                "said": f"{SHORT[conflict.good][0]}: {conflict.good_answer}, "
                f"{SHORT[conflict.bad][0]}: {conflict.bad_answer}",
                "means": conflict.means(subject),
            }
            for conflict in conflicts_file.verdicts
        ],
        "left_out": "" if subject.decides else LEFT_OUT,
        "levels": levels,
        "interval": _interval_words(conflicts_file.conflicts, classes=classes),
        "examples": [
            _example_cards(material, conflicts_file, conflict, files, subject)
            for conflict in choose_conflicts(conflicts_file)
        ],
    }


def _level(conflicts_file: ConflictsFile, level: Level, subject: Subject) -> dict[str, Any] | None:
    conflicts = [conflict for conflict in conflicts_file.conflicts if conflict.level == level]
    if not any(conflict.n for conflict in conflicts):
        return None
    judgments = [judgment for judgment in conflicts_file.judged if judgment.level == level]
    questions = [judgment.question for judgment in judgments]
    return {
        "title": TITLES[level],
        "by_number": any(conflict.by_number and conflict.n for conflict in conflicts),
        "of": level,
        "columns": [SHORT[question][1] for question in questions],
        "rows": [
            (SHORT[good][0], [_cell(conflicts, good, bad) for bad in questions])
            for good in questions
        ],
        "thresholds": [_threshold(judgment) for judgment in judgments],
        "agreements": [_agreement(conflict) for conflict in conflicts if _first(conflict)],
        "statements": [
            _statement(conflict, subject)
            for conflict in conflicts_file.strongest
            if conflict.level == level
        ],
    }


def _cell(
    conflicts: Sequence[ConflictRecord], good: Question, bad: Question
) -> dict[str, str] | None:
    conflict = next((p for p in conflicts if (p.good, p.bad) == (good, bad)), None)
    if conflict is None:
        return None
    if conflict.share is None:
        note = "none scored by both"
        return {"css": "none", "share": "–", "interval": "", "expected": "", "beside": note}
    return {
        "css": conflict.stands_out,
        "share": _percent(conflict.share),
        "interval": _ends(conflict),
        "expected": f"{_percent(conflict.null.value)} if unrelated",
        "beside": conflict.too_few or BESIDE[conflict.stands_out],
    }


def _threshold(judgment: JudgedRecord) -> tuple[str, str]:
    """Return a question, and from where on an item is good for it."""
    side = "at least" if judgment.better == "higher" else "at most"
    value = metric_text(judgment.threshold, judgment.metric)
    undefined = f", {judgment.n_undefined:,} undefined" if judgment.n_undefined else ""
    return ask_as(judgment.metric, judgment.question), (
        f"{_title(judgment.metric)}: good: {side} {value} ({KINDS[judgment.threshold_kind]}); "
        f"{judgment.n_good:,} of {judgment.n:,} good{undefined}"
    )


def _agreement(conflict: ConflictRecord) -> dict[str, str]:
    interval = conflict.kappa_interval
    ends = (
        "too few for an interval"
        if interval is None
        else f"{interval.low:.2f} to {interval.high:.2f}"
    )
    return {
        "pair": f"{SHORT[conflict.good][0]} and {SHORT[conflict.bad][0]}",
        "kappa": "undefined"
        if conflict.kappa is None
        else f"{conflict.kappa:.2f}".replace("-", "−"),
        "interval": ends.replace("-", "−"),
        "n": f"{conflict.n:,}",
        "undefined": f"{conflict.n_undefined:,}",
        "unmatched": f"{conflict.n_unmatched:,}",
    }


def _statement(conflict: ConflictRecord, subject: Subject) -> dict[str, Any]:
    names = [example.name for example in conflict.examples] if conflict.level == "concepts" else []
    return {
        "says": unbroken(conflict.statement(subject)),
        "means": conflict.cause(subject),
        "names": names[:SHOWN_CONCEPTS],
        "more": max(conflict.n_conflicts - SHOWN_CONCEPTS, 0) if names else 0,
    }


def _example_cards(
    material: RunMaterial,
    conflicts_file: ConflictsFile,
    conflict: ConflictRecord,
    files: dict[str, str],
    subject: Subject,
) -> dict[str, Any]:
    metrics = {j.question: j.metric for j in conflicts_file.judged if j.level == conflict.level}
    order = sorted(conflict.examples, key=lambda example: example.name not in files)
    return {
        "title": f"{conflict.level.capitalize()} that {conflict.claim(subject)}",
        "cards": [
            {
                "name": example.name,
                "image": _image(material, files.get(example.name)),
                "good": _score_text(example.good_value, metrics[conflict.good]),
                "bad": _score_text(example.bad_value, metrics[conflict.bad]),
            }
            for example in order[:SHOWN_EXAMPLES]
        ],
    }


def _score_text(value: float, metric: str) -> str:
    return unbroken(f"{_title(metric)}: {metric_text(value, metric)}")


def _title(name: str) -> str:
    metric = catalogue().get(name)
    return name if metric is None else metric.title


def _image(material: RunMaterial, file: str | None) -> str:
    """Small, to fit next to two lines of text."""
    return "" if file is None else data_address(material.image(file), QUALITY, IMAGE_SIZE)


def _first(conflict: ConflictRecord) -> bool:
    """Agreement is the same in both directions: it is shown once."""
    order = list(QUESTIONS)
    return order.index(conflict.good) < order.index(conflict.bad)


def _interval_words(conflicts: Sequence[ConflictRecord], *, classes: bool) -> str:
    words: dict[Source, str] = {"clusters": "classes" if classes else "groups"}
    intervals = [conflict.interval for conflict in conflicts if conflict.interval is not None]
    if not intervals:
        return ""
    over = dict.fromkeys(words.get(interval.over, interval.over) for interval in intervals)
    return f"{100 * intervals[0].level:g} % interval by resampling {' or '.join(over)}"


def _ends(conflict: ConflictRecord) -> str:
    interval = conflict.interval
    return "" if interval is None else f"{100 * interval.low:.1f} to {100 * interval.high:.1f}"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}\u00a0%"

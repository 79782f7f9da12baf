"""Where the questions disagree: a matrix of what is good for one and bad for another."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from theodolite.conflicts.matrix import folder_conflicts
from theodolite.conflicts.pictures import shown_conflicts
from theodolite.conflicts.record import ConflictRecord, ConflictsFile, JudgedRecord
from theodolite.conflicts.sentences import SHORT, Level
from theodolite.io.paths import confined
from theodolite.io.pictures import read_picture
from theodolite.metrics.catalogue import catalogue
from theodolite.questions import QUESTIONS, Question
from theodolite.report.overlays import data_address
from theodolite.report.words import metric_text
from theodolite.results import Source
from theodolite.run_folder.run_file import ExampleRecord, RunRecord, read_record

BESIDE = {
    "more": "▲ more than unrelated",
    "less": "▼ less than unrelated",
    "as": "≈ as unrelated",
}
LINES = {
    "enough": "by our convention",
    "null": "the null's value",
    "accepted": "a clean null and what we accept above it",
}
SHOWN_EXAMPLES = 3
SHOWN_CONCEPTS = 6
TITLES: dict[Level, str] = {
    "explanations": "Explanation by explanation",
    "concepts": "Concept by concept",
}


@dataclass(frozen=True)
class ConflictCell:
    """One pair: a share, its interval, what to expect of unrelated questions."""

    css: str
    share: str = ""
    interval: str = ""
    expected: str = ""
    beside: str = ""


def conflicts_chapter(folder: Path, pictures: Sequence[ExampleRecord]) -> dict[str, Any] | None:
    """What the page shows; nothing if fewer than two questions can be held side by side."""
    found = folder_conflicts(folder)
    levels = [_level(found, level) for level in TITLES]
    shown = [level for level in levels if level is not None]
    if not shown and not found.verdicts:
        return None
    files = {one.sample: one.file for one in pictures}
    classes = read_record(folder / "run.json", RunRecord).spec.resampling.clusters == "classes"
    return {
        "verdicts": [
            {
                "said": f"{SHORT[one.good][0]}: {one.good_answer}, "
                f"{SHORT[one.bad][0]}: {one.bad_answer}",
                "means": one.means,
            }
            for one in found.verdicts
        ],
        "levels": shown,
        "interval": _interval_words(found.conflicts, classes=classes),
        "examples": [_shown(folder, found, one, files) for one in shown_conflicts(found)],
    }


def _level(found: ConflictsFile, level: Level) -> dict[str, Any] | None:
    pairs = [one for one in found.conflicts if one.of == level]
    if not any(one.n for one in pairs):
        return None
    judged = [one for one in found.judged if one.of == level]
    asked = [one.question for one in judged]
    return {
        "title": TITLES[level],
        "by_number": any(one.by_number and one.n for one in pairs),
        "of": level,
        "columns": [SHORT[question][1] for question in asked],
        "rows": [(SHORT[good][0], [_cell(pairs, good, bad) for bad in asked]) for good in asked],
        "lines": [_line(one) for one in judged],
        "agreements": [_agreement(one) for one in pairs if _first(one)],
        "statements": [_statement(one) for one in found.strongest if one.of == level],
    }


def _cell(pairs: Sequence[ConflictRecord], good: Question, bad: Question) -> ConflictCell:
    one = next((p for p in pairs if (p.good, p.bad) == (good, bad)), None)
    if one is None:
        return ConflictCell("own")
    if one.share is None:
        return ConflictCell("none", "–", beside="none judged by both")
    return ConflictCell(
        one.stands_out,
        _percent(one.share),
        _ends(one),
        f"{_percent(one.null.value)} if unrelated",
        BESIDE[one.stands_out],
    )


def _line(one: JudgedRecord) -> dict[str, str]:
    side = "at least" if one.better == "higher" else "at most"
    return {
        "question": QUESTIONS[one.question],
        "score": _title(one.metric),
        "line": f"good: {side} {metric_text(one.line, one.metric)} ({LINES[one.line_is]})",
        "n": f"{one.n_good:,} of {one.n:,} good"
        + (f", {one.n_undefined:,} undefined" if one.n_undefined else ""),
    }


def _agreement(one: ConflictRecord) -> dict[str, str]:
    around = one.kappa_interval
    ends = "too few to tell" if around is None else f"{around.low:.2f} to {around.high:.2f}"
    return {
        "pair": f"{SHORT[one.good][0]} and {SHORT[one.bad][0]}",
        "kappa": "undefined" if one.kappa is None else f"{one.kappa:.2f}".replace("-", "−"),
        "interval": ends.replace("-", "−"),
        "n": f"{one.n:,}",
        "undefined": f"{one.n_undefined:,}",
        "unmatched": f"{one.n_unmatched:,}",
    }


def _statement(one: ConflictRecord) -> dict[str, Any]:
    names = [example.name for example in one.examples] if one.of == "concepts" else []
    return {
        "says": one.statement.replace(" %", "\u00a0%"),
        "means": one.cause,
        "names": names[:SHOWN_CONCEPTS],
        "more": max(one.n_conflicts - SHOWN_CONCEPTS, 0) if names else 0,
    }


def _shown(
    folder: Path, found: ConflictsFile, one: ConflictRecord, files: dict[str, str]
) -> dict[str, Any]:
    """Examples of one conflict; those whose pictures were kept come first."""
    metrics = {j.question: j.metric for j in found.judged if j.of == one.of}
    order = sorted(one.examples, key=lambda example: example.name not in files)
    return {
        "title": f"{one.of.capitalize()} that {one.claim}",
        "cards": [
            {
                "name": example.name,
                "picture": _picture(folder, files.get(example.name)),
                "good": _scored(example.good_value, metrics[one.good]),
                "bad": _scored(example.bad_value, metrics[one.bad]),
            }
            for example in order[:SHOWN_EXAMPLES]
        ],
    }


def _scored(value: float, metric: str) -> str:
    return f"{_title(metric)}: {metric_text(value, metric)}".replace(" %", "\u00a0%")


def _title(metric: str) -> str:
    about = catalogue().get(metric)
    return metric if about is None else about.title


def _picture(folder: Path, file: str | None) -> str:
    return "" if file is None else data_address(read_picture(confined(folder, file)))


def _first(one: ConflictRecord) -> bool:
    """Agreement is the same in both directions: it is shown once."""
    order = list(QUESTIONS)
    return order.index(one.good) < order.index(one.bad)


def _interval_words(pairs: Sequence[ConflictRecord], *, classes: bool) -> str:
    words: dict[Source, str] = {"clusters": "classes" if classes else "groups"}
    given = [one.interval for one in pairs if one.interval is not None]
    if not given:
        return ""
    over = dict.fromkeys(words.get(one.over, one.over) for one in given)
    return f"{100 * given[0].level:g} % interval by resampling {' or '.join(over)}"


def _ends(one: ConflictRecord) -> str:
    interval = one.interval
    return "" if interval is None else f"{100 * interval.low:.1f} to {100 * interval.high:.1f}"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}\u00a0%"

"""Collect the scores, texts and files of a run for experiment trackers (MLflow, W&B)."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from theodolite._runs.finished_run import read_finished_run
from theodolite._runs.folder.run_records import read_produced
from theodolite._verdicts.bottom_line import bottom_line
from theodolite.errors import printable
from theodolite.report.dossier.signed import read_signature
from theodolite.results import Score

LONGEST = 200
"""Characters of a name; MLflow takes 250, with room for what tells numbers of a score apart."""
FILES = ("report.html", "scores.json")


@dataclass(frozen=True)
class LoggedScores:
    """What is told about a run."""

    name: str
    numbers: dict[str, float]
    """Scores by name; the ends of intervals and the strongest baseline end in .low, .high,
    .null."""
    words: dict[str, str]
    """The bottom line, the answer to each question, which numbers are undefined, whether the run is
    partial, and who signed for it."""
    files: tuple[Path, ...]


def logged(folder: Path | str, dossier: Path | str | None = None) -> LoggedScores:
    """Read a run folder, after its seal was checked, and a signed dossier of it."""
    finished = read_finished_run(Path(folder))
    numbers: dict[str, float] = {}
    for name, score in _name_scores(finished.scores):
        if score.question == "faithful" and not finished.subject.decides:
            name = f"stand-in/{name}"
        numbers |= {f"{name}{end}": value for end, value in _numbers(score).items()}
    undefined = sorted(name for name, value in numbers.items() if not math.isfinite(value))
    words: dict[str, str] = {
        f"theodolite.{verdict.question}": verdict.answer for verdict in finished.verdicts
    }
    words["theodolite.bottom_line"] = bottom_line(finished.verdicts)
    explained = read_produced(finished.folder).explained
    if explained.claim:
        words["theodolite.claim"] = printable(explained.claim, 4000)
    if dossier is not None:
        signature = read_signature(Path(dossier), finished.folder)
        words["theodolite.claim"] = printable(signature.claim, 4000)
        words["theodolite.signed_by"] = printable(signature.sentence, 4000)
    words["theodolite.run"] = printable(finished.folder.resolve().name)
    if finished.failed_tasks:
        words["theodolite.partial"] = f"{finished.failed_tasks} tasks failed"
    if undefined:
        words["theodolite.undefined"] = printable(", ".join(undefined), 4000)
    return LoggedScores(
        printable(finished.record.spec.title or finished.record.spec.name),
        {name: value for name, value in numbers.items() if name not in undefined},
        words,
        tuple(finished.folder / name for name in FILES if (finished.folder / name).is_file()),
    )


def _numbers(score: Score) -> dict[str, float]:
    values = {"": score.value}
    if score.interval is not None:
        values |= {".low": score.interval.low, ".high": score.interval.high}
    if score.null is not None:
        values[".null"] = score.null.value
    return {end: float(value) for end, value in values.items()}


def _name_scores(scores: Sequence[Score]) -> list[tuple[str, Score]]:
    """A name for each score: its metric, and those options in which its scores differ."""
    by_name: dict[str, Score] = {}
    for score in scores:
        others = [other.options for other in scores if other.metric == score.metric]
        telling = [
            f"{option}-{value}"
            for option, value in score.options.items()
            if any(other.get(option) != value for other in others)
        ]
        plain = [re.sub(r"[^A-Za-z0-9_.-]+", "_", part) for part in (score.metric, *telling)]
        name = first = "/".join(plain)[:LONGEST]
        again = 1
        while name in by_name:  # names that differ only in what a tracker does not take
            again += 1
            name = f"{first}-{again}"
        by_name[name] = score
    return list(by_name.items())

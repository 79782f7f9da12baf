"""A finished run as it was sealed: what it ran, its scores, and the verdicts they lead to."""

from dataclasses import dataclass, field
from pathlib import Path

from theodolite.results import Score, Verdict
from theodolite.run_folder.headlines import verdicts_of
from theodolite.run_folder.run_file import MadeRecord, RunRecord, read_record
from theodolite.run_folder.scores_file import read_scores, read_subject
from theodolite.run_folder.seal import verify
from theodolite.subject import Subject, unstated


@dataclass(frozen=True)
class FinishedRun:
    """What a run folder says."""

    folder: Path
    record: RunRecord
    scores: tuple[Score, ...]
    verdicts: tuple[Verdict, ...]
    failed_pieces: int = 0
    """Pieces of work that were given up: the run is partial."""
    subject: Subject = field(default_factory=unstated)
    """Which explanation it is of, and what that is held against."""

    @property
    def report(self) -> Path:
        """The page that shows it."""
        return self.folder / "report.html"


def read_finished(folder: Path) -> FinishedRun:
    """Read a run folder after its seal was checked: a changed byte is refused."""
    verify(folder)
    record = read_record(folder / "run.json", RunRecord)
    scores, unanswered = read_scores(folder / "scores.json")
    subject = read_subject(folder)
    answers = verdicts_of(record.spec, scores, subject, unanswered)
    failed = read_record(folder / "made.json", MadeRecord).failed_pieces
    return FinishedRun(folder, record, tuple(scores), answers, failed, subject)

"""A finished run as it was sealed: what it ran, its scores, and the verdicts they lead to."""

from dataclasses import dataclass
from pathlib import Path

from theodolite.results import Score, Verdict
from theodolite.run_folder.headlines import verdicts_of
from theodolite.run_folder.run_file import MadeRecord, RunRecord, read_record
from theodolite.run_folder.scores_file import read_scores
from theodolite.run_folder.seal import verify


@dataclass(frozen=True)
class Run:
    """What a run folder says."""

    folder: Path
    record: RunRecord
    scores: tuple[Score, ...]
    verdicts: tuple[Verdict, ...]
    failed_pieces: int = 0
    """Pieces of work that were given up: the run is partial."""

    @property
    def report(self) -> Path:
        """The page that shows it."""
        return self.folder / "report.html"


def read_finished(folder: Path) -> Run:
    """Read a run folder after its seal was checked: a changed byte is refused."""
    verify(folder)
    record = read_record(folder / "run.json", RunRecord)
    scores, unanswered = read_scores(folder / "scores.json")
    answers = verdicts_of(record.spec, scores, unanswered)
    failed = read_record(folder / "made.json", MadeRecord).failed_pieces
    return Run(folder, record, tuple(scores), answers, failed)

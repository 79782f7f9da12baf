"""A finished run as it was sealed: what it ran, its scores, and the verdicts they lead to."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from theodolite._runs.folder.headlines import verdicts_of
from theodolite._runs.folder.run_file import RunRecord, read_produced, read_subject
from theodolite._runs.folder.seal import verify
from theodolite._storage.records import read_record
from theodolite._verdicts.scores_file import ScoresFile, VerdictRecord, read_failed, score_of
from theodolite.evidence.subject import Subject, unstated
from theodolite.results import Failed, Score, Verdict


@dataclass(frozen=True)
class Run:
    """What a run folder says."""

    folder: Path
    record: RunRecord
    scores: tuple[Score, ...]
    verdicts: tuple[Verdict, ...]
    failed_tasks: int = 0
    """Pieces of work that were given up: the run is partial."""
    errors: tuple[Failed, ...] = ()
    """Scores that could not be computed."""
    subject: Subject = field(default_factory=unstated)
    """Which explanation it is of, and what that is held against."""

    @property
    def report(self) -> Path:
        """The page that shows it."""
        return self.folder / "report.html"


def read_finished(folder: Path) -> Run:
    """Read a run folder after its seal was checked: a changed byte is refused."""
    verify(folder)
    record = read_record(folder / "run.json", RunRecord)
    content = read_record(folder / "scores.json", ScoresFile)
    scores = [score_of(score) for score in content.scores]
    failed, subject = read_failed(folder / "scores.json"), read_subject(folder)
    stored = {verdict.question: verdict for verdict in content.verdicts}
    answers = tuple(
        _no_longer_decided(verdict, stored.get(verdict.question))
        for verdict in verdicts_of(record.spec, scores, subject, content.not_computed, failed)
    )
    pieces = read_produced(folder).failed_tasks
    return Run(folder, record, tuple(scores), answers, pieces, failed, subject)


def _no_longer_decided(verdict: Verdict, stored: VerdictRecord | None) -> Verdict:
    """A question that the run did ask, by a score that decides no more: not "not_evaluated"."""
    if stored is None or verdict.answer != "not_evaluated" or verdict.reason == "probe_only":
        return verdict
    because = f"it was {stored.answer!r} by {stored.metric}, which decides no more: score it again"
    return replace(verdict, answer="inconclusive", summary=because)

"""A finished run: what it ran, its scores, and the verdicts they lead to."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from theodolite._runs.folder.checksums import verify_checksums
from theodolite._runs.folder.run_records import RunRecord
from theodolite._runs.folder.spec_answers import decide_verdicts
from theodolite._runs.folder_reader import RunFolder
from theodolite._verdicts.scores_file import VerdictRecord
from theodolite.evidence.subject import Subject, make_unstated_subject
from theodolite.results import Failed, Score, Verdict


@dataclass(frozen=True)
class Run:
    """What a run folder says."""

    folder: Path
    record: RunRecord
    scores: tuple[Score, ...]
    verdicts: tuple[Verdict, ...]
    failed_tasks: int = 0
    """Tasks that were given up: the run is partial."""
    errors: tuple[Failed, ...] = ()
    """Scores that could not be computed."""
    subject: Subject = field(default_factory=make_unstated_subject)
    """Which explanation was audited, and whose outputs it is compared with."""

    @property
    def report(self) -> Path:
        """The page that shows it."""
        return self.folder / "report.html"


def read_finished_run(folder: Path) -> Run:
    """Read a run folder after its checksums were checked: a changed byte is refused."""
    verify_checksums(folder)
    run = RunFolder(folder)
    scores, not_computed = run.scored
    stored = {verdict.question: verdict for verdict in run.scores_file.verdicts}
    now = decide_verdicts(run.record.spec, scores, run.subject, not_computed, run.errors)
    verdicts = tuple(_mark_undecided(verdict, stored.get(verdict.question)) for verdict in now)
    n_failed = run.made_record.failed_tasks
    return Run(folder, run.record, tuple(scores), verdicts, n_failed, run.errors, run.subject)


def _mark_undecided(verdict: Verdict, stored: VerdictRecord | None) -> Verdict:
    """Return "inconclusive" for a question whose deciding score decides no more."""
    if stored is None or verdict.answer != "not_evaluated" or verdict.reason == "probe_only":
        return verdict
    because = f"it was {stored.answer!r} by {stored.metric}, which decides no more: score it again"
    return replace(verdict, answer="inconclusive", summary=because)

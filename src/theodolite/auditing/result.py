"""The answers of an audit, and ways to keep them."""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from theodolite.auditing.run_sources import SourceRun
from theodolite.auditing.sources import EvidenceSource, one_class
from theodolite.errors import EvidenceError
from theodolite.evidence.base import Evidence
from theodolite.evidence.produced import Produced, Progress, silent
from theodolite.results import Verdict
from theodolite.run_folder.folder import apart_from, check_folder, claimed, prepare_folder
from theodolite.run_folder.headlines import headline_scores
from theodolite.run_folder.run_file import begin, run_record
from theodolite.run_folder.spec import MetricSpec, ResamplingSpec, RunSpec
from theodolite.runs.run import Places, run, run_made
from theodolite.scoring.evaluate import MetricRequest, Resampling
from theodolite.verdicts.answers import AuditAnswers, answer, by_kind, requests_for, verdicts
from theodolite.verdicts.notes import fallbacks
from theodolite.verdicts.selection import MetricSelection

FROM_PYTHON = "arrays from Python"


@dataclass(frozen=True, repr=False)
class AuditResult(AuditAnswers):
    """Scores, six verdicts, what could not be asked, and what that would need.

    ``print`` it to read the answers; ``save`` and ``report`` keep them.
    """

    source: EvidenceSource = field(
        default_factory=lambda: EvidenceSource(""), repr=False, compare=False
    )
    resampling: Resampling = field(default_factory=Resampling, repr=False)
    selected: bool = field(default=False, repr=False)
    """Whether only some metrics were asked; the spec of a saved run then names them."""

    def __repr__(self) -> str:
        return str(self)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """One per question, always six."""
        source_run = self.source.run
        headlines = headline_scores(source_run.spec, self.scores) if source_run is not None else ()
        return verdicts(self.scores, headlines, self.unanswered)

    def save(self, folder: Path | str, *, overwrite: bool = False) -> Path:
        """Write a run folder with a report, and seal it; where the report is.

        Evidence in pieces is scored again, piece by piece, so that the run can be verified.
        """
        from theodolite.report.html import write_report  # noqa: PLC0415
        from theodolite.run_folder.seal import seal  # noqa: PLC0415  most only want the answers

        out = Path(folder)
        with claimed(out):
            _check_folder(out, overwrite=overwrite)
            requests = self.requests if self.selected else ()
            spec = spec_of(self.source, self.resampling, requests)
            if self.source.stored:
                _run_pieces(self.source, spec, out, overwrite=overwrite)
            else:
                begin_folder(self.source, spec, out, "", overwrite=overwrite)
                write_audited(self, spec, out)
            path = write_report(out)
            seal(out)
        return path

    def report(self, path: Path | str) -> Path:
        """Write the report alone: one HTML file."""
        path = Path(path)
        if path.suffix not in (".html", ".htm") or path.is_dir():
            raise EvidenceError("report", repr(str(path)), "the name of an .html file")
        with tempfile.TemporaryDirectory() as folder:
            report = self.save(Path(folder) / "run")
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(report, path)
        return path


def spec_of(
    source: EvidenceSource, resampling: Resampling, requests: Sequence[MetricRequest] = ()
) -> RunSpec:
    """The spec that an audit can be done again by: what was chosen, or all that the evidence
    allows."""
    usual = Resampling(
        resampling.resamples, resampling.level, resampling.seed,
        most_pooled=resampling.most_pooled,
    )  # fmt: skip
    if resampling != usual:
        raise EvidenceError(
            "resampling", f"{resampling}", "only resamples, level, seed and most_pooled changed",
            "A run folder keeps no others.",
        )  # fmt: skip
    names = [path.name for path in source.local] or [FROM_PYTHON]
    chance = ResamplingSpec(
        resamples=resampling.resamples,
        level=resampling.level,
        seed=resampling.seed,
        most_pooled=resampling.most_pooled,
    )
    spec = RunSpec(
        name="audit",
        title=f"Audit of {source.name}",
        evidence=source.stored_names if source.stored else names,
        seeds=list(range(max(len(source.evidence), 1))),
        metrics=[MetricSpec(name=r.metric.name, options=r.options) for r in requests],
        resampling=chance,
    )
    return spec if source.run is None else spec.model_copy(update=_spec_updates(source.run, chance))


def _spec_updates(source_run: SourceRun, chance: ResamplingSpec) -> dict[str, Any]:
    """What the spec of an audit takes over from that of the run."""
    spec = source_run.spec
    updates: dict[str, Any] = {"headlines": spec.headlines, "report": spec.report}
    if source_run.alone:
        clusters = chance.model_copy(update={"clusters": spec.resampling.clusters})
        title = f"Audit of {spec.title or source_run.folder.name}"
        updates |= {"seeds": source_run.seeds(), "resampling": clusters, "title": title}
    return updates


def _check_folder(out: Path, *, overwrite: bool) -> None:
    """Refuse a folder in the words of Python, not of the command line."""
    try:
        check_folder(out, overwrite=overwrite)
    except EvidenceError as error:
        do = error.do.replace("--overwrite", "overwrite=True")
        raise type(error)(error.what, error.came, error.needed, do) from error


def check_any(source: EvidenceSource) -> None:
    """Refuse evidence that allows no score at all."""
    nothing_scored(source.name, by_kind(source.first))


def nothing_scored(name: str, kinds: Mapping[type[Evidence], Evidence]) -> None:
    """Refuse bundles, by kind, that allow no score."""
    requests, unanswered = requests_for(kinds)
    if not requests:
        needs = "; ".join(f"{missing.metric}: {', '.join(missing.needs)}" for missing in unanswered)
        raise EvidenceError(f"{name!r}", "nothing that can be scored", needs)


def answer_source(
    source: EvidenceSource,
    resampling: Resampling,
    progress: Progress = silent,
    selection: MetricSelection | None = None,
) -> AuditResult:
    """Put every question to evidence in memory that it can answer, or those that were chosen."""
    if selection is None:
        answers = answer(source.evidence, None, resampling, progress)
    else:
        requests, unanswered = selection.requests(by_kind(source.first))
        answers = answer(source.evidence, requests, resampling, progress)
        notes = (*fallbacks(selection.without_options(requests)), *answers.notes)
        answers = replace(answers, unanswered=tuple(unanswered), notes=notes)
    notes = (*source.notes, *one_class(source.first), *answers.notes)
    return AuditResult(
        answers.scores, answers.unanswered, answers.requests, notes, seconds=answers.seconds,
        source=source, resampling=resampling, selected=selection is not None,
    )  # fmt: skip


def begin_folder(
    source: EvidenceSource, spec: RunSpec, out: Path, command: str, *, overwrite: bool
) -> None:
    """Make room for a run, and say in it what is about to be done."""
    check_folder(out, overwrite=overwrite)
    for path in source.local:
        apart_from(out, "evidence", path)
    prepare_folder(out, overwrite=overwrite)
    begin(out / "run.json", run_record(spec, command, inputs=source.inputs))


def write_audited(result: AuditResult, spec: RunSpec, out: Path) -> None:
    """All files of the run but ``run.json``, report and seal."""
    source = result.source
    produced = Produced(
        source.evidence, notes=source.notes, facts=source.facts, inputs=source.inputs,
        tables=source.tables, picture=source.picture,
    )  # fmt: skip
    own = result.notes[len(source.notes) :]
    scored = AuditAnswers(
        result.scores, result.unanswered, result.requests, own, seconds=result.seconds
    )
    run_made(spec, produced, out, scored=scored)
    if source.run is not None:
        source.run.carry_over(out)


def _run_pieces(source: EvidenceSource, spec: RunSpec, out: Path, *, overwrite: bool) -> None:
    run(spec, Places(source.root, out, out), overwrite=overwrite)

"""The answers of an audit, and ways to keep them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from theodolite._runs.auditing.run_sources import SourceRun
from theodolite._runs.auditing.sources import EvidenceSource, conversions, one_class
from theodolite._runs.folder.folder import apart_from, check_folder, claimed, prepare_folder
from theodolite._runs.folder.headlines import headline_scores
from theodolite._runs.folder.run_file import begin, run_record
from theodolite._runs.folder.spec import MetricSpec, ResamplingSpec, RunSpec
from theodolite._runs.run import Places, run, run_made
from theodolite._scoring.evaluate import MetricRequest, Resampling
from theodolite._storage.lazy import import_late
from theodolite._storage.optional import require
from theodolite._verdicts.answers import AuditAnswers, OnError, answer, by_kind, requests_for
from theodolite._verdicts.lookup import Key, detail_records, find_score, score_records
from theodolite._verdicts.notes import fallbacks
from theodolite._verdicts.selection import MetricSelection
from theodolite._verdicts.words import interval_text, percent
from theodolite.errors import EvidenceError, NoSuchResult, printable
from theodolite.evidence.base import Evidence
from theodolite.evidence.produced import Produced, Progress, silent
from theodolite.results import Score

FROM_PYTHON = "arrays from Python"
LONGEST_LINE = 56
"""Characters of a line of the short form, which has at most seven."""


def _number(score: Score | None) -> str:
    return "" if score is None else f"  {percent(score.value, score)}{interval_text(score)}"


@dataclass(frozen=True, repr=False)
class AuditResult(AuditAnswers):
    """Scores, six verdicts, what could not be asked, and what that would need.

    ``print`` it to read the answers; ``save`` and ``report`` keep them. ``result["CTL"]`` is a
    score by its name or a paper's, ``result["CEM", {"top": 3}]`` that with these options,
    ``result.verdicts["exists"]`` the answer to a question. A notebook shows the head of the report;
    ``plot`` draws the scores, ``to_frame`` and ``to_records`` make a table of them.
    """

    source: EvidenceSource = field(
        default_factory=lambda: EvidenceSource(""), repr=False, compare=False
    )
    resampling: Resampling = field(default_factory=Resampling, repr=False)
    selected: bool = field(default=False, repr=False)
    """Whether only some metrics were asked; the spec of a saved run then names them."""

    def __repr__(self) -> str:
        """How many scores, and the answer to each question in a few words; ``print`` says all."""
        n = max((s.n_samples or 0 for s in self.scores), default=0)
        samples = f", {n:,} samples" if n else ""
        lines = [f"AuditResult: {len(self.scores)} scores{samples}"]
        verdicts = self.verdicts
        for verdict in verdicts:
            if verdict.answer != "not asked":
                lines.append(f"{verdict.question:<9}  {verdict.answer}{_number(verdict.score)}")
        silent = ", ".join(v.question for v in verdicts if v.answer == "not asked")
        lines += [f"not asked  {silent}"] if silent else []
        return "\n".join(printable(line, LONGEST_LINE) for line in lines)

    def __getitem__(self, key: Key) -> Score:
        quoted = [v.score for v in self.verdicts if v.score is not None]
        return find_score(self.scores, self.unanswered, key, quoted)

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, str | tuple):
            return False
        try:
            self[key]
        except NoSuchResult:
            return False
        return True

    def __iter__(self) -> Iterator[Score]:
        return iter(self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    def __bool__(self) -> bool:
        return True

    def to_records(self, rows: Literal["scores", "detail"] = "scores") -> list[dict[str, Any]]:
        """A row for each score; or, with ``"detail"``, for each concept, class or unit of each."""
        if rows not in ("scores", "detail"):
            raise EvidenceError("rows", repr(rows), "'scores' or 'detail'")
        return score_records(self.scores) if rows == "scores" else detail_records(self.scores)

    def to_frame(self, rows: Literal["scores", "detail"] = "scores") -> Any:
        """The same rows as a pandas frame."""
        return require("pandas", "to_frame", "notebook").DataFrame(self.to_records(rows))

    def plot(self, by: Literal["matplotlib", "altair"] = "matplotlib") -> Any:
        """Each score on its scale, with its interval, its nulls and the best possible: a figure of
        matplotlib, or a chart of altair."""
        return import_late("report.figures.score_plot").plot_scores(self.scores, by)

    def _repr_html_(self) -> str:
        notes = (*(f"failed: {failure}" for failure in self.failed), *self.notes)
        html: str = import_late("report.notebook").audit_html(
            self.verdicts, self.scores, self.subject, notes, self.failed_pieces
        )
        return html

    @property
    def headlines(self) -> Sequence[Score]:
        """Scores that verdicts are read from, where the audited run chose them."""
        source_run = self.source.run
        return () if source_run is None else headline_scores(source_run.spec, self.scores)

    def save(self, folder: Path | str, *, overwrite: bool = False) -> Path:
        """Write a run folder with a report, and seal it; where the report is.

        Evidence in pieces is scored again, piece by piece, so that the run can be verified.
        """
        from theodolite._runs.folder.seal import seal  # noqa: PLC0415  most only want the answers

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
            path: Path = import_late("report.html").write_report(out)
            seal(out)
        return path

    def report(self, path: Path | str) -> Path:
        """Write the report alone: one HTML file, and nothing beside it."""
        path = Path(path)
        if path.suffix not in (".html", ".htm") or path.is_dir():
            raise EvidenceError("report", repr(str(path)), "the name of an .html file")
        from theodolite._runs.auditing.in_memory import material_of  # noqa: PLC0415

        written: Path = import_late("report.html").write_report_of(material_of(self), path)
        return written


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
        subject=source.stated_subject,
        claim="" if source.claim is None else source.claim.text,
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
    on_error: OnError = "note",
) -> AuditResult:
    """Put every question to evidence in memory that it can answer, or those that were chosen."""
    if selection is None:
        answers = answer(source.evidence, None, resampling, progress, on_error=on_error)
    else:
        requests, unanswered = selection.requests(by_kind(source.first))
        answers = answer(source.evidence, requests, resampling, progress, on_error=on_error)
        notes = (*fallbacks(selection.without_options(requests)), *answers.notes)
        answers = replace(answers, unanswered=tuple(unanswered), notes=notes)
    notes = (
        *source.notes, *conversions(source.first), *one_class(source.first), *answers.notes
    )  # fmt: skip
    return AuditResult(
        answers.scores, answers.unanswered, answers.requests, notes, seconds=answers.seconds,
        failed=answers.failed, source=source, resampling=resampling,
        subject=source.stated_subject, selected=selection is not None,
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


def produced_of(source: EvidenceSource) -> Produced:
    """A source as what a pipeline would have produced."""
    return Produced(
        source.evidence, notes=source.notes, facts=source.facts, inputs=source.inputs,
        tables=source.tables, picture=source.picture, subject=source.stated_subject,
        claim=source.claim,
    )  # fmt: skip


def write_audited(result: AuditResult, spec: RunSpec, out: Path) -> None:
    """All files of the run but ``run.json``, report and seal."""
    source = result.source
    produced = produced_of(source)
    own = result.notes[len(source.notes) :]
    scored = AuditAnswers(
        result.scores, result.unanswered, result.requests, own, seconds=result.seconds,
        failed=result.failed,
    )  # fmt: skip

    run_made(spec, produced, out, scored=scored)
    if source.run is not None:
        source.run.carry_over(out)


def _run_pieces(source: EvidenceSource, spec: RunSpec, out: Path, *, overwrite: bool) -> None:
    run(spec, Places(source.root, out, out), overwrite=overwrite)

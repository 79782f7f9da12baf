"""The answers of an audit, and ways to keep them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from theodolite._runs.auditing.result_text import describe_audited, format_answers
from theodolite._runs.auditing.sources import EvidenceSource, list_conversions, note_single_class
from theodolite._runs.folder.explanation_record import count_axes
from theodolite._scoring.evaluate import Resampling
from theodolite._storage.lazy import import_late
from theodolite._storage.optional import require
from theodolite._storage.paths import all_or_nothing
from theodolite._verdicts.answers import AuditAnswers, OnError, answer, answer_shards, requests_for
from theodolite._verdicts.lookup import Key, detail_records, find_score, score_records
from theodolite._verdicts.notes import fallbacks
from theodolite._verdicts.selection import MetricSelection
from theodolite._verdicts.words import interval_text, percent
from theodolite.errors import EvidenceError, ResultNotFoundError, printable
from theodolite.evidence.pipeline_output import Progress, silent
from theodolite.results import Score

LONGEST_LINE = 56
"""Characters of a line of the short form, which has at most seven."""


def _number(score: Score | None) -> str:
    return "" if score is None else f"  {percent(score.value, score)}{interval_text(score)}"


@dataclass(frozen=True, repr=False)
class AuditResult(AuditAnswers):
    """Scores, a verdict per question that applies, and what could not be asked.

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
            if verdict.answer != "not_evaluated":
                lines.append(f"{verdict.question:<9}  {verdict.answer}{_number(verdict.score)}")
        silent = ", ".join(v.question for v in verdicts if v.answer == "not_evaluated")
        lines += [f"not evaluated  {silent}"] if silent else []
        return "\n".join(printable(line, LONGEST_LINE) for line in lines)

    def __str__(self) -> str:
        """What was audited, the bottom line, the verdicts, and what to know of them."""
        return format_answers(self, self.audited)

    @property
    def counts(self) -> list[tuple[str, int]]:
        """Sizes of the evidence: samples first, then classes, concepts, units or features."""
        return count_axes(self.source.first, self.source.claim, len(self.source.evidence))

    @property
    def audited(self) -> str:
        """Which explanation was audited, with its counts."""
        kind = self.source.first[0].kind if self.source.first else ""
        return describe_audited(self.subject, kind, self.counts)

    def __getitem__(self, key: Key) -> Score:
        quoted = [v.score for v in self.verdicts if v.score is not None]
        return find_score(self.scores, self.not_computed, key, quoted)

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, str | tuple):
            return False
        try:
            self[key]
        except ResultNotFoundError:
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
        """Return the rows of `to_records` as a pandas frame."""
        return require("pandas", "to_frame", "notebook").DataFrame(self.to_records(rows))

    def to_dict(self) -> dict[str, Any]:
        """Return verdicts and scores as plain data, as ``result.schema.json`` describes it."""
        from theodolite._runs.auditing.result_file import to_plain  # noqa: PLC0415  few want it

        return to_plain(self)

    def to_json(self, path: Path | str | None = None, indent: int | None = 2) -> str:
        """Return ``to_dict`` as JSON, and write it to a file if a path is given."""
        text = json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)
        if path is not None:
            with all_or_nothing(Path(path)) as stream:
                stream.write(f"{text}\n".encode())
        return text

    def plot(self, by: Literal["matplotlib", "altair"] = "matplotlib") -> Any:
        """Each score on its scale, with its interval, its nulls and the best possible: a figure of
        matplotlib, or a chart of altair."""
        return import_late("report.figures.score_plot").plot_scores(self.scores, by)

    def _repr_html_(self) -> str:
        notes = (*(f"failed: {failure}" for failure in self.errors), *self.notes)
        html: str = import_late("report.notebook").audit_html(
            self.verdicts, self.scores, self.subject, notes, self.failed_tasks
        )
        return html

    def save(self, folder: Path | str, *, overwrite: bool = False) -> Path:
        """Write a run folder with a report and checksums; return the path of the report.

        Sharded evidence is scored again, shard by shard, so that the run can be verified.
        """
        from theodolite._runs.auditing.saving import save_audit  # noqa: PLC0415  loads the engine

        return save_audit(self, Path(folder), overwrite=overwrite)

    def report(self, path: Path | str) -> Path:
        """Write the report as one HTML file, or a brief of two pages as PDF, by the path's ending.

        Where WeasyPrint is not installed, the brief is an HTML file to print.
        """
        path = Path(path)
        if path.suffix not in (".html", ".htm", ".pdf") or path.is_dir():
            raise EvidenceError("report", repr(str(path)), "the name of an .html or .pdf file")
        from theodolite._runs.auditing import saving  # noqa: PLC0415  loads the engine

        write = saving.write_audit_brief if path.suffix == ".pdf" else saving.write_audit_report
        return write(self, path)


def check_any(source: EvidenceSource) -> None:
    """Refuse evidence that allows no score at all."""
    requests, not_computed = requests_for(source.kinds())
    if not requests:
        needs = "; ".join(
            f"{missing.metric}: {', '.join(missing.needs)}" for missing in not_computed
        )
        raise EvidenceError(f"{source.name!r}", "nothing that can be scored", needs)


def answer_source(
    source: EvidenceSource,
    resampling: Resampling,
    progress: Progress = silent,
    selection: MetricSelection | None = None,
    on_error: OnError = "note",
) -> AuditResult:
    """Compute every score that the evidence allows, or those that were selected.

    Stored evidence is read shard by shard, never as a whole.
    """
    requests = not_computed = None
    if selection is not None:
        requests, not_computed = selection.requests(source.kinds())
    if source.stored:
        seeds = [source.open_stored().kinds]
        answers = answer_shards(seeds, requests, resampling, progress, on_error=on_error)
    else:
        answers = answer(source.evidence, requests, resampling, progress, on_error=on_error)
    notes = [*source.notes, *list_conversions(source.first), *note_single_class(source.first)]
    if selection is not None and requests is not None:
        notes += fallbacks(selection.without_options(requests))
    changes = {
        "notes": (*notes, *answers.notes),
        "not_computed": tuple(not_computed or answers.not_computed),
        "subject": source.stated_subject,
    }
    return AuditResult(
        **(vars(answers) | changes), source=source, resampling=resampling,
        selected=selection is not None,
    )  # fmt: skip

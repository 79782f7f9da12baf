"""What a run folder holds: scored once, then written to a folder or shown from memory."""

import itertools
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._runs.compared import compare_models, group_samples
from theodolite._runs.folder.chapters import installed_chapters
from theodolite._runs.folder.explained import explained_record
from theodolite._runs.folder.format import FINDINGS, PRODUCED, SHOWN
from theodolite._runs.folder.headlines import requests_named, resampling_of, scores_file_of
from theodolite._runs.folder.run_file import (
    ConceptCardRecord,
    ExampleRecord,
    MadeRecord,
    RunRecord,
    UnitCardRecord,
)
from theodolite._runs.folder.spec import RunSpec, subject_of
from theodolite._runs.material import Columns, FolderMaterial, MemoryMaterial
from theodolite._runs.run_conflicts import FILE as CONFLICTS
from theodolite._runs.run_conflicts import conflicts_of_run
from theodolite._storage.arrays import write_safetensors
from theodolite._storage.paths import all_or_nothing
from theodolite._storage.records import write_record
from theodolite._storage.tables import write_parquet
from theodolite._verdicts.answers import AuditAnswers, answer, by_kind
from theodolite._verdicts.conflicts.record import ConflictRecord, ConflictsFile
from theodolite._verdicts.per_sample import per_sample
from theodolite._verdicts.scores_file import ComparedFile, ComparedRecord, write_scores
from theodolite.errors import EvidenceError
from theodolite.evidence.base import Evidence
from theodolite.evidence.files import save
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.evidence.produced import Produced, Progress, silent

MODEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
MOST_CONFLICT_IMAGES = 6
SHOWN_CONFLICTS = 3
"""Conflicts that the report shows with examples."""
Image = tuple[ExampleRecord, bytes]


@dataclass(frozen=True, eq=False)
class RunContent:
    """All of a run but ``run.json``, the report and the checksums."""

    spec: RunSpec
    answers: AuditAnswers
    record: MadeRecord
    conflicts: ConflictsFile
    columns: Columns | None = None
    """Contribution of each sample to each score; None where there are too many samples."""
    evidence: Sequence[Sequence[Evidence]] = ()
    produced: Produced = field(default_factory=lambda: Produced([]))
    models: Sequence[ComparedRecord] = ()
    """Scores of all models, where several are compared."""
    images: Mapping[str, bytes] = field(default_factory=dict)

    def write(self, out: Path) -> None:
        """Write everything to a run folder."""
        _save_evidence(self.spec, self.evidence, out / "evidence")
        for other in self.produced.compared:
            _save_evidence(self.spec, other.evidence, out / "compared" / other.name)
        write_scores(out / "scores.json", scores_file_of(self.spec, self.answers))
        if self.produced.compared:
            write_record(out / "compared.json", ComparedFile(models=list(self.models)))
        self._write_studies(out)
        if self.columns is not None:
            write_parquet(out / "per_sample.parquet", self.columns)
        if self.conflicts.judged or self.conflicts.verdicts:
            write_record(out / CONFLICTS, self.conflicts)
        for name, table in self.produced.tables.items():
            write_parquet(out / "tables" / f"{name}.parquet", table)
        if self.produced.model:
            write_safetensors(out / "model.safetensors", self.produced.model)
        for file, content in self.images.items():
            with all_or_nothing(out / file) as stream:
                stream.write(content)
        write_record(out / PRODUCED, self.record)

    def _write_studies(self, out: Path) -> None:
        if not self.spec.studies:
            return
        firsts = [self.evidence[0], *(other.evidence[0] for other in self.produced.compared)]
        for chapters in installed_chapters():
            chapters.write(out / FINDINGS, self.spec, self.models, firsts, self.produced.tables)

    def material(self, record: RunRecord, carried: FolderMaterial | None = None) -> MemoryMaterial:
        """Return what a report is built from, without a folder.

        Args:
            record: What ``run.json`` would hold.
            carried: The run that was audited again, whose tables and images are shown.
        """
        return MemoryMaterial(
            (record, self.record), scores_file_of(self.spec, self.answers), self.conflicts,
            self.evidence, self.columns or {}, self.produced.tables, self.images, carried,
        )  # fmt: skip


def score_produced(
    spec: RunSpec,
    produced: Produced,
    progress: Progress = silent,
    *,
    scored: AuditAnswers | None = None,
    failed: int = 0,
) -> RunContent:
    """Score evidence in memory, unless it is scored already.

    Args:
        spec: What to score.
        produced: The evidence and what comes with it.
        progress: Called as work goes on.
        scored: Answers for this evidence, where it was scored before.
        failed: Number of tasks that were given up while it was made.
    """
    started = time.monotonic() - (scored.seconds if scored is not None else 0.0)
    evidence = [
        [group_samples(bundle, spec) for bundle in bundles] for bundles in produced.evidence
    ]
    answers = score_bundles(spec, evidence, progress) if scored is None else scored
    answers = replace(answers, subject=produced.subject or subject_of(spec))
    models, failures = _compared(spec, produced, answers, progress)
    columns = per_sample(answers.requests, evidence[0])
    conflicts = conflicts_of_run(spec, (answers.scores, answers.subject), columns, evidence[0])
    examples = example_images(produced, spec)
    conflict_examples = conflict_images(produced, conflicts)
    record = MadeRecord(
        explained=explained_record(spec, produced.claim, answers.subject, evidence),
        notes=[*produced.notes, *answers.notes, *failures],
        facts=list(produced.facts),
        inputs=dict(produced.inputs),
        examples=[example for example, _ in examples],
        conflict_examples=[example for example, _ in conflict_examples],
        cards=[UnitCardRecord.model_validate(asdict(card)) for card in produced.cards],
        concept_cards=[
            ConceptCardRecord.model_validate(asdict(card)) for card in produced.concept_cards
        ],
        seconds_scoring=round(time.monotonic() - started, 1),
        failed_tasks=failed,
    )
    images = {example.file: content for example, content in (*examples, *conflict_examples)}
    images |= _checked_images(produced.images)
    return RunContent(spec, answers, record, conflicts, columns, evidence, produced, models, images)


def score_bundles(
    spec: RunSpec, evidence: Sequence[Sequence[Evidence]], progress: Progress = silent
) -> AuditAnswers:
    """Compute the scores of a spec from evidence in memory."""
    requests = requests_named(spec.metrics) or None
    return answer(evidence, requests, resampling_of(spec), progress, on_error="note")


def _compared(
    spec: RunSpec, produced: Produced, answers: AuditAnswers, progress: Progress
) -> tuple[list[ComparedRecord], list[str]]:
    if not produced.compared and not spec.studies:
        return [], []
    for other in produced.compared:
        if not MODEL_NAME.fullmatch(other.name):
            needed = "a name of letters, digits, '_', '.', '-'"
            raise EvidenceError("model", repr(other.name), needed)
    return compare_models(spec, answers, produced.about, produced.compared, progress)


def _save_evidence(spec: RunSpec, evidence: Sequence[Sequence[Evidence]], root: Path) -> None:
    for seed, bundles in zip(spec.seeds, evidence, strict=False):
        for bundle in bundles:
            save(bundle, root / f"seed-{seed}" / bundle.kind)


def _checked_images(images: Mapping[str, bytes]) -> Mapping[str, bytes]:
    for file in images:
        if file.partition("/")[0] not in SHOWN:
            raise EvidenceError("image", repr(file), f"a file in one of {', '.join(SHOWN)}")
    return images


def _image_evidence(produced: Produced) -> Evidence | None:
    """Return the evidence whose samples have images, if there are images."""
    kinds = {type(bundle): bundle for bundle in produced.evidence[0]}
    if produced.image is None:
        return None
    return kinds.get(LocationEvidence) or kinds.get(ConceptEvidence)


def example_images(produced: Produced, spec: RunSpec) -> list[Image]:
    """Return random images for the report, alternating correct and incorrect predictions."""
    evidence = _image_evidence(produced)
    if produced.image is None or evidence is None or not spec.report.examples:
        return []
    concepts: Any = by_kind([evidence])[ConceptEvidence]
    order = np.random.default_rng(spec.seeds[0]).permutation(len(evidence))
    correct = np.asarray(concepts.predicted == concepts.labels)[order]
    pairs = zip(order[correct], order[~correct], strict=False)
    alternating = list(itertools.chain.from_iterable(pairs))
    rows = [*alternating, *(row for row in order if row not in set(alternating))]
    examples = []
    for number, row in enumerate(rows[: spec.report.examples]):
        name = evidence.samples.name(int(row))
        example = ExampleRecord(row=int(row), sample=name, file=f"images/{number:02d}.jpg")
        examples.append((example, produced.image(name)))
    return examples


def shown_conflicts(conflicts: ConflictsFile) -> list[ConflictRecord]:
    """Return the strongest conflicts between explanations."""
    strongest = [conflict for conflict in conflicts.strongest if conflict.level == "explanations"]
    return strongest[:SHOWN_CONFLICTS]


def conflict_images(produced: Produced, conflicts: ConflictsFile) -> list[Image]:
    """Return images of the most extreme examples, of each conflict in turn."""
    evidence = _image_evidence(produced)
    if produced.image is None or evidence is None:
        return []
    rows = {evidence.samples.name(row): row for row in range(len(evidence))}
    columns = [[example.name for example in c.examples] for c in shown_conflicts(conflicts)]
    in_turn = itertools.chain.from_iterable(itertools.zip_longest(*columns))
    names = [name for name in dict.fromkeys(in_turn) if name in rows]
    examples = []
    for number, name in enumerate(names[:MOST_CONFLICT_IMAGES]):
        file = f"images/conflict-{number:02d}.jpg"
        example = ExampleRecord(row=rows[name], sample=name, file=file)
        examples.append((example, produced.image(name)))
    return examples

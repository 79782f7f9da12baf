"""Score a run once; its content is written to a folder or shown from memory."""

import itertools
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from theodolite._runs.compared_models import group_samples, score_compared_models
from theodolite._runs.folder.chapters import installed_chapters
from theodolite._runs.folder.explanation_record import build_explained_record
from theodolite._runs.folder.file_names import (
    CONFLICTS,
    FINDINGS,
    IMAGE_FOLDERS,
    PER_SAMPLE,
    PRODUCED,
    SCORES,
)
from theodolite._runs.folder.run_records import (
    ConceptCardRecord,
    ExampleRecord,
    ExplanationRecord,
    ProducedRecord,
    UnitCardRecord,
)
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.folder.spec_answers import build_requests, build_scores_file, find_conflicts
from theodolite._runs.thumbnails import draw_rows
from theodolite._storage.arrays import write_safetensors
from theodolite._storage.paths import all_or_nothing
from theodolite._storage.records import write_record
from theodolite._storage.tables import write_parquet
from theodolite._verdicts.answers import AuditAnswers, answer, answer_shards, by_kind
from theodolite._verdicts.conflicts.matrix import clusters_of_samples
from theodolite._verdicts.conflicts.record import ConflictRecord, ConflictsFile
from theodolite._verdicts.per_sample import per_sample
from theodolite._verdicts.scores_file import ComparedFile, ComparedRecord, write_scores
from theodolite.errors import EvidenceError
from theodolite.evidence.base import Evidence
from theodolite.evidence.files import save
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.evidence.pipeline_output import Produced, Progress, silent
from theodolite.evidence.workers import SerialWorkers, Workers

if TYPE_CHECKING:
    from theodolite._runs.stored_bundles import StoredBundles

MODEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
PNG = b"\x89PNG"
MAX_SAMPLES = 200_000
"""Stored samples up to which there is a table of them: it is held in memory."""
MAX_CONFLICT_IMAGES = 6
MAX_CONFLICTS = 3
"""Conflicts that the report shows with examples."""
Columns = Mapping[str, Sequence[object]]
Image = tuple[ExampleRecord, bytes]


@dataclass(frozen=True, eq=False)
class RunContent:
    """All of a run but ``run.json``, the report and the checksums."""

    spec: RunSpec
    answers: AuditAnswers
    record: ProducedRecord
    conflicts: ConflictsFile
    columns: Columns | None = None
    """Contribution of each sample to each score; None if there are too many samples."""
    evidence: Sequence[Sequence[Evidence]] = ()
    """Bundles of each seed; none if the evidence is stored."""
    produced: Produced = field(default_factory=lambda: Produced([]))
    models: Sequence[ComparedRecord] = ()
    """Scores of all models, if several are compared."""
    images: Mapping[str, bytes] = field(default_factory=dict)

    def write(self, out: Path) -> None:
        """Write everything to a run folder."""
        _save_evidence(self.spec, self.evidence, out / "evidence")
        for other in self.produced.compared:
            _save_evidence(self.spec, other.evidence, out / "compared" / other.name)
        write_scores(out / SCORES, build_scores_file(self.spec, self.answers))
        if self.produced.compared:
            write_record(out / "compared.json", ComparedFile(models=list(self.models)))
        if self.spec.studies:
            firsts = [seeds[0] for seeds in (self.evidence, *self._compared_evidence())]
            for chapters in installed_chapters():
                chapters.write(out / FINDINGS, self.spec, self.models, firsts, self.produced.tables)
        if self.columns is not None:
            write_parquet(out / PER_SAMPLE, self.columns)
        if self.conflicts.judged or self.conflicts.verdicts:
            write_record(out / CONFLICTS, self.conflicts)
        for name, table in self.produced.tables.items():
            write_parquet(out / "tables" / f"{name}.parquet", table)
        if self.produced.model:
            write_safetensors(out / "model.safetensors", self.produced.model)
        for file, content in self.images.items():
            with all_or_nothing(out / file) as stream:
                stream.write(content)
        self.produced.pages(out)
        write_record(out / PRODUCED, self.record)

    def _compared_evidence(self) -> list[Sequence[Sequence[Evidence]]]:
        return [other.evidence for other in self.produced.compared]


def score_run(
    spec: RunSpec,
    produced: Produced,
    progress: Progress = silent,
    *,
    stored: "StoredBundles | None" = None,
    workers: Workers | None = None,
    scored: AuditAnswers | None = None,
) -> RunContent:
    """Score the evidence of a run, unless it is scored already.

    Args:
        spec: What to score.
        produced: Evidence in memory, and what comes with any evidence.
        progress: Called while the run works.
        stored: Evidence in shards, instead of evidence in memory.
        workers: Who does the work on shards.
        scored: Answers for this evidence, with all notes, if it was scored before.
    """
    started = time.monotonic() - (scored.seconds if scored is not None else 0.0)
    evidence = [
        [group_samples(bundle, spec) for bundle in bundles] for bundles in produced.evidence
    ]
    answers = scored
    if answers is None:
        answers = score_evidence(spec, evidence, progress, stored=stored, workers=workers)
        answers = replace(answers, notes=(*produced.notes, *answers.notes))
    answers = replace(answers, subject=produced.subject or spec.stated_subject)
    models, failures = _score_compared(spec, produced, answers, progress)
    columns: Columns | None = {}
    clusters: Mapping[str, int] = {}
    if stored is None or scored is None:  # a report alone does not read all shards again
        columns, clusters = _tabulate_samples(answers, evidence, stored, workers)
    if columns is None:
        conflicts = ConflictsFile(verdicts=[], judged=[], conflicts=[])
        note = f"No table per sample and no conflicts: there are more than {MAX_SAMPLES:,} samples."
        answers = replace(answers, notes=(*answers.notes, note))
    else:
        conflicts = find_conflicts(spec, (answers.scores, answers.subject), columns, clusters)
    examples = choose_example_images(produced, spec)
    conflict_examples = choose_conflict_images(produced, conflicts)
    record = ProducedRecord(
        explained=_explained(spec, produced, answers, evidence),
        notes=[*answers.notes, *failures],
        facts=list(produced.facts),
        inputs=dict(produced.inputs),
        examples=[example for example, _ in examples],
        conflict_examples=[example for example, _ in conflict_examples],
        cards=[UnitCardRecord.model_validate(asdict(card)) for card in produced.cards],
        concept_cards=[
            ConceptCardRecord.model_validate(asdict(card)) for card in produced.concept_cards
        ],
        stored=[] if stored is None else stored.addresses,
        failed_tasks=answers.failed_tasks,
        seconds_scoring=round(time.monotonic() - started, 1),
    )
    images = {example.file: content for example, content in (*examples, *conflict_examples)}
    images |= _check_images(produced.images)
    return RunContent(spec, answers, record, conflicts, columns, evidence, produced, models, images)


def _tabulate_samples(
    answers: AuditAnswers,
    evidence: Sequence[Sequence[Evidence]],
    stored: "StoredBundles | None",
    workers: Workers | None,
) -> tuple[Columns | None, Mapping[str, int]]:
    """Return what each sample contributes, and its cluster; None if there are too many samples."""
    if stored is None:
        return per_sample(answers.requests, evidence[0]), clusters_of_samples(evidence[0])
    if stored.count_samples() > MAX_SAMPLES:
        return None, {}
    return stored.per_sample(answers.requests, workers or SerialWorkers()), stored.clusters()


def score_evidence(
    spec: RunSpec,
    evidence: Sequence[Sequence[Evidence]],
    progress: Progress = silent,
    *,
    stored: "StoredBundles | None" = None,
    workers: Workers | None = None,
) -> AuditAnswers:
    """Compute the scores of a spec from the bundles of each seed, or from stored evidence."""
    requests, resampling = build_requests(spec.metrics) or None, spec.resampling.draws()
    if stored is None:
        return answer(evidence, requests, resampling, progress, on_error="note")
    return answer_shards([stored.kinds], requests, resampling, progress, workers, on_error="note")


def _score_compared(
    spec: RunSpec, produced: Produced, answers: AuditAnswers, progress: Progress
) -> tuple[list[ComparedRecord], list[str]]:
    if not produced.compared and not spec.studies:
        return [], []
    for other in produced.compared:
        if not MODEL_NAME.fullmatch(other.name):
            needed = "a name of letters, digits, '_', '.', '-'"
            raise EvidenceError("model", repr(other.name), needed)
    return score_compared_models(spec, answers, produced.about, produced.compared, progress)


def _explained(
    spec: RunSpec,
    produced: Produced,
    answers: AuditAnswers,
    evidence: Sequence[Sequence[Evidence]],
) -> ExplanationRecord:
    """Return the record of the explanation, with compared evidence of other kinds."""
    kinds = {bundle.kind for seed in produced.evidence[:1] for bundle in seed}
    others = [bundle for other in produced.compared for bundle in other.evidence[0]]
    others = [bundle for bundle in others if bundle.kind not in kinds]
    return build_explained_record(spec, produced.claim, answers.subject, evidence, others)


def _save_evidence(spec: RunSpec, evidence: Sequence[Sequence[Evidence]], root: Path) -> None:
    for seed, bundles in zip(spec.seeds, evidence, strict=False):
        for bundle in bundles:
            save(bundle, root / f"seed-{seed}" / bundle.kind)


def _check_images(images: Mapping[str, bytes]) -> Mapping[str, bytes]:
    for file in images:
        if file.partition("/")[0] not in IMAGE_FOLDERS:
            raise EvidenceError("image", repr(file), f"a file in one of {', '.join(IMAGE_FOLDERS)}")
    return images


def _find_image_evidence(produced: Produced) -> Evidence | None:
    """Return the evidence whose samples have images, if there are images."""
    if produced.image is None:
        return None
    kinds = {type(bundle): bundle for bundle in produced.evidence[0]}
    return kinds.get(LocationEvidence) or kinds.get(ConceptEvidence)


def choose_example_images(produced: Produced, spec: RunSpec) -> list[Image]:
    """Return random images for the report, alternating correct and incorrect predictions."""
    if produced.thumbnails:
        return _thumbnail_examples(produced)
    evidence = _find_image_evidence(produced)
    if produced.image is None or evidence is None or not spec.report.examples:
        return []
    concepts: Any = by_kind([evidence])[ConceptEvidence]
    correct = np.asarray(concepts.predicted == concepts.labels)
    rows = draw_rows(len(evidence), spec.seeds[0], correct)
    examples = []
    for number, row in enumerate(rows[: spec.report.examples]):
        name = evidence.samples.name(int(row))
        example = ExampleRecord(row=int(row), sample=name, file=f"images/{number:02d}.jpg")
        examples.append((example, produced.image(name)))
    return examples


def _thumbnail_examples(produced: Produced) -> list[Image]:
    samples, examples = produced.evidence[0][0].samples, []
    for number, (row, content) in enumerate(produced.thumbnails.items()):
        file = f"images/{number:02d}.{'png' if content.startswith(PNG) else 'jpg'}"
        examples.append((ExampleRecord(row=row, sample=samples.name(row), file=file), content))
    return examples


def choose_conflicts(conflicts: ConflictsFile) -> list[ConflictRecord]:
    """Return the strongest conflicts between explanations."""
    strongest = [conflict for conflict in conflicts.strongest if conflict.level == "explanations"]
    return strongest[:MAX_CONFLICTS]


def choose_conflict_images(produced: Produced, conflicts: ConflictsFile) -> list[Image]:
    """Return images of the most extreme examples, of each conflict in turn."""
    evidence = _find_image_evidence(produced)
    if produced.image is None or evidence is None:
        return []
    rows = {evidence.samples.name(row): row for row in range(len(evidence))}
    columns = [[example.name for example in c.examples] for c in choose_conflicts(conflicts)]
    in_turn = itertools.chain.from_iterable(itertools.zip_longest(*columns))
    names = [name for name in dict.fromkeys(in_turn) if name in rows]
    examples = []
    for number, name in enumerate(names[:MAX_CONFLICT_IMAGES]):
        file = f"images/conflict-{number:02d}.jpg"
        example = ExampleRecord(row=rows[name], sample=name, file=file)
        examples.append((example, produced.image(name)))
    return examples

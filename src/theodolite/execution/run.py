"""Do a run: evidence, scores, run folder."""

import re
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.contracts.axes import Samples
from theodolite.contracts.bundle import Evidence
from theodolite.contracts.evidence import (
    ConceptEvidence,
    EmbeddingEvidence,
    InterventionEvidence,
    LocationEvidence,
)
from theodolite.contracts.files import load, save
from theodolite.contracts.made import Compared, Made, Pipeline, Progress, Workshop, silent
from theodolite.contracts.score import Score
from theodolite.errors import EvidenceError, RefusedInput, VerificationFailed
from theodolite.execution.audit import Audit, answer, verdicts
from theodolite.execution.evaluate import Request, Resampling, expand
from theodolite.execution.record import (
    ComparedFile,
    ComparedRecord,
    ScoresFile,
    score_record,
    scores_file,
    write_scores,
)
from theodolite.execution.registry import build
from theodolite.execution.run_record import (
    ConceptCardRecord,
    ExampleRecord,
    MadeRecord,
    Record,
    RunRecord,
    UnitCardRecord,
    read_record,
    run_record,
    write_record,
)
from theodolite.execution.seal import verify
from theodolite.execution.spec import MetricSpec, RunSpec
from theodolite.execution.studies import write_studies
from theodolite.io.arrays import write_safetensors
from theodolite.io.paths import all_or_nothing, confined
from theodolite.io.tables import write_parquet
from theodolite.metrics._base import SampleMean, ratio
from theodolite.metrics._catalogue import entry


@dataclass(frozen=True)
class Places:
    """Where a run reads, writes and keeps what can be used again."""

    data: Path
    out: Path
    cache: Path


def run(spec: RunSpec, at: Places, progress: Progress = silent, command: str = "") -> Audit:
    """Run a spec into an empty folder. It is complete but not sealed: a report may follow."""
    _check_names(spec)  # a misspelt metric must not cost an hour first
    write_record(at.out / "run.json", run_record(spec, command))
    return run_made(spec, _make(spec, at, progress), at.out, progress)


def run_made(spec: RunSpec, made: Made, out: Path, progress: Progress = silent) -> Audit:
    """Score evidence that is made already, and write all but ``run.json``."""
    started = time.monotonic()
    evidence = [[_clustered(bundle, spec) for bundle in bundles] for bundles in made.evidence]
    for seed, bundles in zip(spec.seeds, evidence, strict=False):
        for bundle in bundles:
            save(bundle, out / "evidence" / f"seed-{seed}" / bundle.kind)
    found = _answer(spec, evidence, progress)
    write_scores(out / "scores.json", _scores_file(spec, found))
    if made.compared:
        for other in made.compared:
            _save_compared(other, spec, out)
        records = _compared(spec, found, made.about, made.compared, progress)
        write_record(out / "compared.json", ComparedFile(models=records))
        write_studies(out / "studies.json", spec, records)
    _write_per_sample(out / "per_sample.parquet", found.requests, evidence[0])
    for name, columns in made.tables.items():
        write_parquet(out / "tables" / f"{name}.parquet", columns)
    if made.model:
        write_safetensors(out / "model.safetensors", made.model)
    about = MadeRecord(
        notes=[*made.notes, *found.notes],
        facts=list(made.facts),
        inputs=dict(made.inputs),
        examples=_write_examples(out, made, spec),
        cards=_write_cards(out, made),
        concept_cards=[ConceptCardRecord.model_validate(asdict(c)) for c in made.concept_cards],
        seconds_scoring=round(time.monotonic() - started, 1),
    )
    write_record(out / "made.json", about)
    return found


def _save_compared(other: Compared, spec: RunSpec, out: Path) -> None:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", other.name):
        raise EvidenceError("model", repr(other.name), "a name of letters, digits, '_', '.', '-'")
    for seed, bundles in zip(spec.seeds, other.evidence, strict=False):
        for bundle in bundles:
            save(bundle, out / "compared" / other.name / f"seed-{seed}" / bundle.kind)


def _compared(
    spec: RunSpec,
    found: Audit,
    about: Mapping[str, float | int | str],
    others: Sequence[Compared],
    progress: Progress,
) -> list[ComparedRecord]:
    """Scores of all models: the one of the verdicts, then the others by the same metrics."""
    name = str(about.get("name", spec.name))
    main = ComparedRecord(name=name, about=dict(about), scores=[*map(score_record, found.scores)])
    records = [main]
    requests = requests_named(spec.compared_metrics or spec.metrics)
    for number, other in enumerate(others):
        progress("compared models", number, len(others))
        kinds = {type(bundle) for bundle in other.evidence[0]} | {ConceptEvidence}
        asked = [r for r in requests if r.entry.needs in kinds] if requests else None
        if asked is not None:  # compared models need not all have the same arrays
            asked = [r for r in asked if all(_allowed(r, seed) for seed in other.evidence)]
        evidence = [[_clustered(bundle, spec) for bundle in seed] for seed in other.evidence]
        scores = answer(evidence, asked, _lighter(spec)).scores
        records.append(
            ComparedRecord(
                name=other.name, about=dict(other.about), scores=[*map(score_record, scores)]
            )
        )
    progress("compared models", len(others), len(others))
    return records


def _allowed(request: Request, bundles: Sequence[Evidence]) -> bool:
    """Whether these bundles have the arrays for it."""
    own = [bundle for bundle in bundles if type(bundle) is request.entry.needs]
    return not any(request.entry.missing(bundle, request.options) for bundle in own)


def _lighter(spec: RunSpec) -> Resampling:
    """Compared models are told apart by their seeds: less resampling, nulls drawn once."""
    given = spec.resampling
    return Resampling(min(given.resamples, 100), given.level, given.seed, most_null_draws=1)


def prepare_folder(out: Path, *, overwrite: bool) -> None:
    """An empty folder to run into. Only a run folder of ours is ever emptied.

    A run that never finished (no manifest) is not worth asking about.
    """
    if out.is_file():
        raise EvidenceError(f"folder {out.name!r}", "a file", "an empty folder")
    if out.exists() and any(out.iterdir()):
        ours = (out / "run.json").is_file()
        finished = (out / "manifest.json").is_file()
        if not ours or (finished and not overwrite):
            do = "Pass --overwrite." if ours else "Choose another folder."
            raise EvidenceError(f"folder {out.name!r}", "something in it", "an empty folder", do)
        shutil.rmtree(out)
    out.mkdir(parents=True, exist_ok=True)


def _make(spec: RunSpec, at: Places, progress: Progress) -> Made:
    if spec.evidence:
        return Made([[load(confined(at.data, name)) for name in spec.evidence]])
    assert spec.dataset is not None  # noqa: S101  the spec was checked
    assert spec.pipeline is not None  # noqa: S101
    pipeline: Pipeline = build("pipelines", spec.pipeline, at.data)
    progress("data", 0, 1)
    given = build("datasets", spec.dataset, at.data)
    progress("data", 1, 1)
    return pipeline.make(given, Workshop(spec.seeds, at.cache, progress))


def _clustered(bundle: Evidence, spec: RunSpec) -> Any:
    if spec.resampling.clusters == "none":
        return bundle
    if isinstance(bundle, LocationEvidence | EmbeddingEvidence):
        return replace(bundle, explained=_clustered(bundle.explained, spec))
    if isinstance(bundle, InterventionEvidence):  # knows no labels: samples are resampled
        return bundle
    if not isinstance(bundle, ConceptEvidence) or bundle.labels is None:
        raise EvidenceError("clusters: classes", "evidence without labels", "labels")
    samples = Samples(bundle.samples.index, bundle.samples.ids, np.asarray(bundle.labels))
    return replace(bundle, samples=samples)


def requests_named(metrics: Sequence[MetricSpec]) -> list[Request]:
    """The requests of a spec, all checked."""
    return [request for one in metrics for request in expand(entry(one.name), one.options)]


def _check_names(spec: RunSpec) -> None:
    requests = requests_named(spec.metrics)
    requests_named(spec.compared_metrics)
    for question, wanted in spec.headlines.items():
        about = entry(wanted.name)
        if about.question != question:
            raise EvidenceError(
                f"headlines.{question}", repr(wanted.name), f"a score of {question!r}",
                f"It answers {about.question!r}: see `theodolite metrics`.",
            )  # fmt: skip
        of_it = [r.all_options() for r in requests if r.entry.name == wanted.name]
        if spec.metrics and not any(_picks(wanted.options, o, about.sweeps) for o in of_it):
            raise EvidenceError(
                f"headlines.{question}", f"{wanted.options}", f"options that `metrics` lists for "
                f"{wanted.name}",
            )  # fmt: skip


def _picks(wanted: dict[str, Any], options: dict[str, Any], sweeps: Sequence[str]) -> bool:
    return all(
        k in options and (v in options[k] if k in sweeps else v == options[k])
        for k, v in wanted.items()
    )


def _answer(spec: RunSpec, evidence: Sequence[Sequence[Evidence]], progress: Progress) -> Audit:
    given = spec.resampling
    requests = requests_named(spec.metrics) or None
    return answer(
        evidence, requests, Resampling(given.resamples, given.level, given.seed), progress
    )


def _scores_file(spec: RunSpec, found: Audit) -> ScoresFile:
    answers = verdicts(found.scores, headline_scores(spec, found.scores))
    return scores_file(found.scores, answers, found.unanswered)


def headline_scores(spec: RunSpec, scores: Sequence[Score]) -> list[Score]:
    """The scores that the spec wants the verdicts to be read from."""
    found = []
    for wanted in spec.headlines.values():
        found += [
            score
            for score in scores
            if score.metric == wanted.name
            and all(score.options.get(k) == v for k, v in wanted.options.items())
        ][:1]
    return found


def _write_per_sample(path: Path, requests: Sequence[Request], bundles: Sequence[Evidence]) -> None:
    """What each sample gave to each score that is a mean over samples."""
    by_kind = {type(bundle): bundle for bundle in bundles}
    columns: dict[str, list[Any]] = {n: [] for n in ("sample", "metric", "options", "value")}
    for request in requests:
        evidence = by_kind.get(request.entry.needs)
        about = request.entry
        if evidence is None or about.detail or not issubclass(about.state, SampleMean):
            continue
        each = request.entry.state.each(evidence, **request.options)
        value = ratio(each.part, each.whole)
        value[~each.asked] = np.nan
        names = [evidence.samples.name(i) for i in range(len(evidence))]
        plain = {k: v for k, v in request.options.items() if k not in request.entry.sweeps}
        sweeps = [request.all_options()[name] for name in request.entry.sweeps]
        for cell in np.ndindex(*value.shape[1:]):
            chosen = {n: s[i] for n, s, i in zip(request.entry.sweeps, sweeps, cell, strict=True)}
            label = ", ".join(f"{k}={v}" for k, v in {**plain, **chosen}.items())
            columns["sample"] += names
            columns["metric"] += [request.entry.name] * len(names)
            columns["options"] += [label] * len(names)
            column = np.moveaxis(value, 0, -1)[cell]
            columns["value"] += [None if np.isnan(v) else float(v) for v in column]
    write_parquet(path, columns)


def _write_examples(out: Path, made: Made, spec: RunSpec) -> list[ExampleRecord]:
    """Pictures for the report: rightly and wrongly predicted ones in turn, drawn by the seed."""
    kinds = {type(bundle): bundle for bundle in made.evidence[0]}
    shown = kinds.get(LocationEvidence) or kinds.get(ConceptEvidence)
    if made.picture is None or shown is None or not spec.report.examples:
        return []
    said = shown.explained if isinstance(shown, LocationEvidence) else shown
    assert isinstance(said, ConceptEvidence)  # noqa: S101
    order = np.random.default_rng(spec.seeds[0]).permutation(len(shown))
    right = np.asarray(said.predicted == said.labels)[order]
    in_turn = [rows for pair in zip(order[right], order[~right], strict=False) for rows in pair]
    rows = [*in_turn, *(row for row in order if row not in set(in_turn))][: spec.report.examples]
    examples = []
    for number, row in enumerate(rows):
        file = f"pictures/{number:02d}.jpg"
        content = made.picture(shown.samples.name(int(row)))
        with all_or_nothing(out / file) as stream:
            stream.write(content)
        name = shown.samples.name(int(row))
        examples.append(ExampleRecord(row=int(row), sample=name, file=file))
    return examples


def _write_cards(out: Path, made: Made) -> list[UnitCardRecord]:
    for file, content in made.pictures.items():
        with all_or_nothing(out / file) as stream:
            stream.write(content)
    return [UnitCardRecord.model_validate(asdict(card)) for card in made.cards]


def recompute(folder: Path, progress: Progress = silent) -> int:
    """Compute all scores of a run again from its stored evidence: they must be the same bytes."""
    n = verify(folder)
    spec = read_record(folder / "run.json", RunRecord).spec
    seeds = [folder / "evidence" / f"seed-{seed}" for seed in spec.seeds]
    stored = [path for path in seeds if path.is_dir()]
    if not stored:
        raise RefusedInput(f"run {folder.name!r}", "no evidence of its seeds", "evidence/seed-…")
    evidence = [[load(kind) for kind in sorted(seed.iterdir())] for seed in stored]
    found = _answer(spec, evidence, progress)
    same = _same_bytes(folder / "scores.json", _scores_file(spec, found))
    if (folder / "compared.json").is_file():
        stored_models = read_record(folder / "compared.json", ComparedFile).models
        others = [_load_compared(folder, record, spec) for record in stored_models[1:]]
        records = _compared(spec, found, stored_models[0].about, others, progress)
        same = same and _same_bytes(folder / "compared.json", ComparedFile(models=records))
    if not same:
        raise VerificationFailed(
            f"run {folder.name!r}", "other scores when computed again", "the stored ones"
        )
    return n


def _same_bytes(path: Path, record: Record) -> bool:
    """Whether writing the record would give the file as it is."""
    again = path.with_name(f".{path.name}.again")
    write_record(again, record)
    same = again.read_bytes() == path.read_bytes()
    again.unlink()
    return same


def _load_compared(folder: Path, record: ComparedRecord, spec: RunSpec) -> Compared:
    root = confined(folder / "compared", record.name)
    seeds = [root / f"seed-{seed}" for seed in spec.seeds]
    evidence = [[load(kind) for kind in sorted(s.iterdir())] for s in seeds if s.is_dir()]
    if not evidence:
        raise RefusedInput(f"model {record.name!r}", "no stored evidence", "compared/…/seed-…")
    return Compared(record.name, record.about, evidence)

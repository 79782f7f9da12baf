"""Do a run: evidence, scores, run folder."""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.contracts.bundle import Evidence
from theodolite.contracts.evidence import (
    ConceptEvidence,
    InterventionEvidence,
    LocationEvidence,
)
from theodolite.contracts.files import load, save
from theodolite.contracts.made import Compared, Made, Pipeline, Progress, Workshop, silent
from theodolite.contracts.shards import by_class
from theodolite.errors import EvidenceError
from theodolite.execution._scored import requests_named, resampling_of, scores_file_of
from theodolite.execution.audit import Audit, answer
from theodolite.execution.crew import Crew
from theodolite.execution.engine import Engine, crew
from theodolite.execution.evaluate import Request, Resampling
from theodolite.execution.record import (
    ComparedFile,
    ComparedRecord,
    score_record,
    write_scores,
)
from theodolite.execution.registry import build
from theodolite.execution.run_record import (
    ConceptCardRecord,
    ExampleRecord,
    MadeRecord,
    UnitCardRecord,
    begin,
    run_record,
    write_record,
)
from theodolite.execution.spec import RunSpec
from theodolite.execution.stored_run import (
    digests_of,
    notes_of,
    run_stored,
    stored_addresses,
    write_failed,
)
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


def run(
    spec: RunSpec,
    at: Places,
    progress: Progress = silent,
    command: str = "",
    engine: Engine | None = None,
) -> Audit:
    """Run a spec into its folder. It is complete but not sealed: a report may follow.

    A folder with a run that was cut off goes on with what is missing.
    """
    _check_names(spec)  # a misspelt metric must not cost an hour first
    engine = engine or Engine(workers=1)
    addresses = stored_addresses(spec, at.data)
    inputs = digests_of(addresses)
    begin(at.out / "run.json", run_record(spec, command, engine.chosen()[1], inputs))
    with crew(engine, at.out, progress) as workers:
        if addresses:
            found = run_stored(spec, addresses, at.out, workers, progress, engine.pieces or "")
        else:
            made = _make(spec, at, progress, workers)
            made = replace(made, notes=[*notes_of(workers), *made.notes])
            found = run_made(spec, made, at.out, progress, failed=len(workers.failed))
            write_failed(at.out, workers)
        if engine.pieces is None:
            workers.ledger.keep_only(workers.keys)
    return found


def run_made(
    spec: RunSpec, made: Made, out: Path, progress: Progress = silent, failed: int = 0
) -> Audit:
    """Score evidence that is made already, and write all but ``run.json``."""
    started = time.monotonic()
    evidence = [[_clustered(bundle, spec) for bundle in bundles] for bundles in made.evidence]
    for seed, bundles in zip(spec.seeds, evidence, strict=False):
        for bundle in bundles:
            save(bundle, out / "evidence" / f"seed-{seed}" / bundle.kind)
    found = answer_made(spec, evidence, progress)
    write_scores(out / "scores.json", scores_file_of(spec, found))
    if made.compared:
        for other in made.compared:
            _save_compared(other, spec, out)
        records = compared_records(spec, found, made.about, made.compared, progress)
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
        failed_pieces=failed,
    )
    write_record(out / "made.json", about)
    return found


def _save_compared(other: Compared, spec: RunSpec, out: Path) -> None:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", other.name):
        raise EvidenceError("model", repr(other.name), "a name of letters, digits, '_', '.', '-'")
    for seed, bundles in zip(spec.seeds, other.evidence, strict=False):
        for bundle in bundles:
            save(bundle, out / "compared" / other.name / f"seed-{seed}" / bundle.kind)


def answer_made(
    spec: RunSpec, evidence: Sequence[Sequence[Evidence]], progress: Progress = silent
) -> Audit:
    """The scores of a spec, from evidence in memory."""
    return answer(evidence, requests_named(spec.metrics) or None, resampling_of(spec), progress)


def compared_records(
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


def _make(spec: RunSpec, at: Places, progress: Progress, workers: Crew) -> Made:
    if spec.evidence:
        return Made([[load(confined(at.data, name)) for name in spec.evidence]])
    assert spec.dataset is not None  # noqa: S101  the spec was checked
    assert spec.pipeline is not None  # noqa: S101
    pipeline: Pipeline = build("pipelines", spec.pipeline, at.data)
    progress("data", 0, 1)
    given = build("datasets", spec.dataset, at.data)
    progress("data", 1, 1)
    return pipeline.make(given, Workshop(spec.seeds, at.cache, progress, workers))


def _clustered(bundle: Evidence, spec: RunSpec) -> Any:
    if spec.resampling.clusters == "none" or isinstance(bundle, InterventionEvidence):
        return bundle  # interventions know no labels: samples are resampled
    return by_class(bundle)


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

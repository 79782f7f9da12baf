"""The command that scores whatever it is given."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from theodolite._runs.auditing.audit_spec import build_spec
from theodolite._runs.auditing.model_answers import with_model_answers
from theodolite._runs.auditing.reading import read_sources
from theodolite._runs.auditing.result import answer_source, check_any
from theodolite._runs.auditing.saving import begin_folder, write_audited
from theodolite._runs.auditing.sources import (
    EvidenceSource,
    merge_sources,
    with_annotation_error,
    with_claim,
)
from theodolite._runs.engine.worker_choice import Engine
from theodolite._runs.folder.preparation import check_folder, check_outside, lock_folder
from theodolite._runs.folder.registry import build_registered
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.folder_reader import RunFolder
from theodolite._runs.run_inputs import RunPaths
from theodolite._scoring.evaluate import Resampling
from theodolite._storage.cache_folder import get_default_cache
from theodolite._storage.stores import Store
from theodolite._verdicts.answers import AuditAnswers, stand_in_line
from theodolite._verdicts.from_scores import verdicts
from theodolite._verdicts.gates.judge import NOT_MET, Thresholds, read_thresholds
from theodolite._verdicts.gates.outcome import check_gate
from theodolite._verdicts.scores_file import score_of, scores_file
from theodolite.cli import options as opt
from theodolite.cli.commands.run import compute
from theodolite.cli.interrupts import PARTIAL, resumable
from theodolite.cli.models import ModelOptions
from theodolite.cli.options import argument, command_line, engine_options, option
from theodolite.cli.progress import print_rehearsal, show_progress
from theodolite.cli.tables import print_scores, print_verdicts
from theodolite.errors import EvidenceError, printable
from theodolite.evidence.pipeline_output import Progress
from theodolite.evidence.sources.table_columns import is_table

EXPLANATIONS = ("concepts", "units", "saliency")
"""What is audited of a model; concepts always."""
STUDY_IMAGES = 24


def _column(text: str) -> Any:
    return option(text, metavar="COLUMNS")


@dataclass(frozen=True)
class _Settings:
    """How to audit, and where to."""

    resampling: Resampling
    out: Path | None
    overwrite: bool
    claim: str


@dataclass(frozen=True)
class _AuditRun:
    """A run of sharded evidence or of a model: both are done in tasks, and can be resumed."""

    spec: RunSpec
    root: Path
    cache: Path | None = None


@engine_options("checkpoint_dir", "mixed_cpus", "metrics_port")
def audit(
    evidence: Annotated[
        list[str] | None, argument("Files, folders or addresses (s3://...)", metavar="EVIDENCE")
    ] = None,
    out: Annotated[Path | None, option("Run folder to write, with a report")] = None,
    overwrite: opt.Overwrite = False,
    model: Annotated[str | None, option("Model to audit, such as timm:resnet18")] = None,
    weights: opt.Weights = None,
    classes: opt.Classes = None,
    preprocess: opt.Preprocess = None,
    trust_model: opt.TrustModel = False,
    layer: opt.Layer = None,
    data: Annotated[Path | None, option("Folder of images with concepts")] = None,
    dataset: Annotated[str, option("Layout of DATA: folder, cub, monumai")] = "folder",
    explain: Annotated[str, option("Explanations to audit")] = ",".join(EXPLANATIONS),
    interventions: Annotated[int, option("Test images for saliency; 0: none", min=0)] = 100,
    study: Annotated[str | None, option("Study folder, or none. Default: OUT-study")] = None,
    claim: Annotated[str, option("Claim of the explanation, the report's title")] = "",
    values: Annotated[str | None, _column("Concept scores: names or pattern ('pred_*')")] = None,
    truth: Annotated[str | None, _column("True concepts: names or pattern ('true_*')")] = None,
    known: Annotated[str | None, _column("Flags: is the true concept known")] = None,
    labels: Annotated[str | None, _column("True class of each row")] = None,
    predicted: Annotated[str | None, _column("Predicted class of each row")] = None,
    ids: Annotated[str | None, _column("Identifier of each row")] = None,
    clusters: Annotated[str | None, _column("Group of dependent rows, such as a patient")] = None,
    annotation_error: Annotated[
        float | None, option("Fraction of wrong annotations. Default: 0.05", min=0, max=0.49)
    ] = None,
    model_answers: Annotated[Path | None, option("Model outputs for a plan (.npz)")] = None,
    cache: opt.Cache = None,
    thresholds: Annotated[Path | None, option("Thresholds (YAML); exit code 6 if not met")] = None,
    as_json: opt.Json = False,
    seed: opt.Seed = 0,
    resamples: opt.Resamples = 1000,
    dry_run: opt.DryRun = False,
    max_memory: opt.MaxMemory = None,
    quiet: opt.Quiet = False,
    *,
    engine: Engine,
) -> None:
    """Audit an explanation.

    EVIDENCE is one or several of: a .npz or .safetensors file of arrays, named as in `theodolite
    evidence`; a .csv, .parquet or Arrow file; a folder of stored evidence; a folder or address of
    sharded evidence; a run folder; the folder of an exported study.

    Columns of a table are named like the arrays (values as a list, or values_0, values_1), or
    chosen by options: a name, several names with commas, or a pattern. With 'pred_*' and 'true_*',
    pred_horn and true_horn belong to the concept horn.
    """
    del max_memory  # set as it was read
    criteria = None if thresholds is None else read_thresholds(thresholds)
    settings = _Settings(Resampling(resamples, seed=seed), out, overwrite, claim)
    options = ModelOptions(model or "", weights, classes, preprocess, trust_model)
    explained = _read_explanations(explain, interventions)
    job = _model_job(evidence, options, layer, (data, dataset, cache), settings, explained)
    columns = {
        "values": values, "truth": truth, "known": known, "labels": labels,
        "predicted": predicted, "ids": ids, "clusters": clusters,
    }  # fmt: skip
    patterns = _patterns(columns, job)
    with ExitStack() as stack:
        if out is not None:
            stack.enter_context(lock_folder(out))
        source = None if job else _read(evidence or [], settings, patterns)
        if model_answers is not None:
            source = with_model_answers(source, model_answers)
        if annotation_error is not None:
            source = with_annotation_error(source, annotation_error)
        if source and any(map(is_table, evidence or ())):  # before the first score: the pairs
            typer.echo("\n".join(printable(note, 2000) for note in source.notes), err=as_json)
        job = _sharded_job(source, settings) if source and source.stored else job
        if job and (out or engine.checkpoint_dir):
            stack.enter_context(resumable())
        if dry_run and not (source and job):
            _print_plan(job)
            return
        if job:
            with _places(job, out) as at:
                again = overwrite if out else None
                answers = compute(
                    job.spec, at, engine, overwrite=again, dry_run=dry_run, quiet=quiet
                )
        else:
            with show_progress(quiet=quiet) as progress:
                answers = _audit_in_memory(source, settings, progress)
        if answers is not None:
            _print(answers, as_json=as_json)
            _end(answers, job, (out, study), criteria, quiet=as_json)


def _print_plan(job: _AuditRun | None) -> None:
    """Print what an audit would take; of evidence in memory there is no plan."""
    if job is None or job.spec.pipeline is None or job.spec.dataset is None:
        print_rehearsal(None)
        return
    from theodolite.pipelines.posthoc.plan import plan_audit

    pipeline = build_registered("pipelines", job.spec.pipeline, job.root)
    data = build_registered("datasets", job.spec.dataset, job.root)
    for line in plan_audit(pipeline, data):
        typer.echo(printable(line, 1000))


def _read_explanations(text: str, interventions: int) -> dict[str, Any]:
    """Return the settings of the pipeline for a list of explanations."""
    chosen = [name.strip() for name in text.split(",")]
    unknown = [name for name in chosen if name not in EXPLANATIONS]
    if unknown or "concepts" not in chosen:
        needed = f"concepts, and perhaps {' and '.join(EXPLANATIONS[1:])}"
        raise EvidenceError("--explain", repr(text), needed)
    saliency = interventions if "saliency" in chosen else 0
    return {"units": "units" in chosen, "saliency_images": saliency}


def _prepare_study(study: str | None, job: _AuditRun | None, out: Path, *, quiet: bool) -> None:
    """Write what people are asked about the images of a run, beside the run folder."""
    if job is None or job.spec.pipeline is None or study == "none":
        return
    from theodolite.pipelines.study.material import TwinSettings
    from theodolite.pipelines.study.run_material import material_of_run, seed_of_run

    folder = Path(study or f"{out}-study")
    if folder.exists():
        typer.echo(printable(f"study: {folder} is unchanged", 1000), err=True)
        return
    settings = TwinSettings(images=STUDY_IMAGES, seed=seed_of_run(out))
    try:
        with show_progress(quiet=quiet) as progress:
            material = material_of_run(out, job.root, folder, settings, progress)
    except EvidenceError as error:
        typer.echo(printable(f"no study: {error}", 1000), err=True)
        return
    if not quiet:
        n = len(material.of("real"))
        typer.echo(printable(
            f"accepted: a study of {n} explanations is prepared; to ask people: "
            f"theodolite study init {folder} --out {folder}", 1000,
        ))  # fmt: skip


def _model_job(
    evidence: list[str] | None,
    model: ModelOptions,
    layer: str | None,
    images: tuple[Path | None, str, Path | None],
    settings: _Settings,
    explained: dict[str, Any],
) -> _AuditRun | None:
    """Return the run of a concept bottleneck, if a model was named."""
    data, dataset, cache = images
    if not model.model:
        needs_model = {
            "--weights": model.weights, "--layer": layer, "--data": data,
            "--classes": model.classes, "--preprocess": model.preprocess,
        }  # fmt: skip
        for flag, value in needs_model.items():
            if value is not None:
                raise EvidenceError(flag, f"{str(value)!r} without --model", "--model as well")
        if not evidence:
            raise EvidenceError("audit", "nothing", "evidence, or --model and --data",
                                "See `theodolite audit --help`.")  # fmt: skip
        return None
    if evidence:
        raise EvidenceError("audit", f"{evidence[0]!r} and --model", "either evidence or a model")
    if data is None:
        raise EvidenceError("--data", "none", "the folder of a data set with concepts")
    from theodolite._runs.auditing.network import SEEDS, concept_data

    concept_data(data, dataset)  # a wrong folder must not cost a model first
    model.check_trust()
    root, place, settings_of_model = model.make_settings(data)
    pipeline = {"name": "posthoc_cbm", "layer": layer} | explained | settings_of_model
    name = pipeline["backbone"]
    spec = RunSpec.model_validate(
        {
            "name": "audit",
            "title": f"Audit of a concept bottleneck of {name} on {data.resolve().name}",
            "claim": settings.claim,
            "dataset": {"name": dataset, "root": place},
            "pipeline": pipeline,
            "seeds": list(SEEDS),
            "resampling": {
                "resamples": settings.resampling.resamples, "seed": settings.resampling.seed
            },
        }
    )  # fmt: skip
    return _AuditRun(spec, root, cache or get_default_cache())


def _patterns(columns: dict[str, str | None], job: _AuditRun | None) -> dict[str, str]:
    chosen = {name: pattern for name, pattern in columns.items() if pattern is not None}
    if chosen and job is not None:
        flag = f"--{next(iter(chosen))}"
        raise EvidenceError(flag, "--model as well", "a .csv, .parquet or Arrow file")
    return chosen


def _read(evidence: list[str], settings: _Settings, patterns: dict[str, str]) -> EvidenceSource:
    """Read what is to be audited; not before it is known that the result can be written."""
    if settings.out is not None:
        check_folder(settings.out, overwrite=settings.overwrite)
        for place in evidence:
            local = Store.at(place).local
            if local is not None:
                check_outside(settings.out, "evidence", local)
    return with_claim(merge_sources(read_sources(evidence, patterns)), settings.claim)


def _sharded_job(source: EvidenceSource, settings: _Settings) -> _AuditRun:
    check_any(source)
    return _AuditRun(build_spec(source, settings.resampling), source.root)


def _audit_in_memory(
    source: EvidenceSource | None, settings: _Settings, progress: Progress
) -> AuditAnswers:
    assert source is not None  # noqa: S101  else there is a job
    check_any(source)
    if settings.out is None:
        return answer_source(source, settings.resampling, progress)
    spec = build_spec(source, settings.resampling)
    begin_folder(source, spec, settings.out, command_line(), overwrite=settings.overwrite)
    answers = answer_source(source, settings.resampling, progress)
    write_audited(answers, spec, settings.out)
    return answers


@contextmanager
def _places(job: _AuditRun, out: Path | None) -> Iterator[RunPaths]:
    """Say where a run reads and writes; without a run folder, only the scores are kept."""
    if out is not None:
        yield RunPaths(job.root, out, job.cache or out)
        return
    with tempfile.TemporaryDirectory() as folder:
        yield RunPaths(job.root, Path(folder), job.cache or Path(folder))


def _print(answers: AuditAnswers, *, as_json: bool) -> None:
    if as_json:
        content = scores_file(
            answers.scores, answers.verdicts, answers.not_computed, answers.errors, answers.subject
        )
        typer.echo(content.model_dump_json(indent=1))
        return
    print_scores(answers.scores, of_probe=answers.subject.outputs == "probe_only")
    typer.echo("")
    print_verdicts(answers.verdicts)
    for missing_evidence in answers.missing:
        typer.echo(str(missing_evidence))
    if answers.linear_probe is not None:
        typer.echo(stand_in_line(answers.subject, answers.linear_probe))
    needing: dict[str, list[str]] = {}
    for lacking in answers.not_computed:
        if not lacking.needs[0].endswith(" evidence"):  # of a kind that came
            needing.setdefault(", ".join(lacking.needs), []).append(lacking.metric)
    for needs, metrics in needing.items():
        typer.echo(f"not scored, because {needs} are missing: {', '.join(metrics)}")
    for failure in answers.errors:
        typer.echo(printable(f"failed: {failure}", 1000))
    for note in answers.notes:
        typer.echo(f"note: {note}")


def _print_other_explanations(out: Path) -> None:
    """Print the answers of further explanations of the network, a line each."""
    for model in RunFolder(out).compared()[1:]:
        answered = [v for v in verdicts([*map(score_of, model.scores)]) if v.score is not None]
        texts = [f"{v.question} {v.answer} (n = {v.score.n:,})" for v in answered if v.score]
        typer.echo(printable(f"{model.name}: {', '.join(texts)}", 1000))


def _end(
    answers: AuditAnswers,
    job: _AuditRun | None,
    folders: tuple[Path | None, str | None],
    criteria: Thresholds | None,
    *,
    quiet: bool,
) -> None:
    """Write report and checksums, prepare a study, then print thresholds that are not met."""
    out, study = folders
    code = PARTIAL if answers.failed_tasks or answers.errors else 0
    if out is not None:
        from theodolite.cli.finish import finish

        code = finish(out, verdicts_too=False, quiet=quiet)
        if not quiet:
            _print_other_explanations(out)
        _prepare_study(study, job, out, quiet=quiet)
    if criteria is not None:
        gate = check_gate(criteria, answers)
        for check in gate.failures:
            typer.echo(printable(f"{check.outcome}: {check.sentence}", 1000), err=True)
        code = code if gate.passed else NOT_MET
    if code:
        raise typer.Exit(code)

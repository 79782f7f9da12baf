"""The command that tests a metric on data with a planted effect."""

from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from theodolite._planted.conditions import Condition
from theodolite._planted.validation.metric_validation import (
    MetricValidation,
    list_subjects,
    validate_metric,
)
from theodolite._planted.validation.outside_functions import dealt_out, load_outside_function
from theodolite._planted.validation.renewal import list_records, renew_record
from theodolite._planted.validation.subjects import MetricSubject, ValidationSubject
from theodolite._planted.validation.validation_record import (
    build_validation_record,
    get_record_name,
    write_validation_record,
)
from theodolite._runs.engine.worker_choice import Engine, open_worker_pool
from theodolite._verdicts.gates.judge import NOT_MET
from theodolite.cli import options as opt
from theodolite.cli.interrupts import resumable
from theodolite.cli.options import argument, engine_options, option
from theodolite.cli.progress import show_progress
from theodolite.cli.tables import print_json, print_table
from theodolite.errors import EvidenceError
from theodolite.metrics.catalogue import find_metric

Size = Literal["ci", "release"]


def _declared(text: str) -> Any:
    return option(f"{text}, of a function")


@engine_options("checkpoint_dir", "mixed_cpus")
def metrics_validate(
    out: Annotated[Path, option("Folder for validation records and checkpoints")],
    metric: Annotated[str | None, argument("Metric by name, or module:function")] = None,
    every: Annotated[
        bool, option("All metrics; with --size ci, those that decide", "--all")
    ] = False,
    size: Annotated[Size, option("Number of conditions and draws")] = "ci",
    draws: Annotated[int | None, option("Draws per condition. Default: by size", min=20)] = None,
    seed: opt.Seed = 0,
    date: Annotated[str | None, option("Date to write down. Default: today")] = None,
    keep: Annotated[Path | None, option("Folder for a copy, NAME-VERSION.json")] = None,
    renew: Annotated[Path | None, option("Folder of older records to check again in part")] = None,
    question: Annotated[str | None, _declared("Question that the function answers")] = None,
    better: Annotated[Literal["higher", "lower"] | None, _declared("Better values")] = None,
    arrays: Annotated[str, _declared("Arrays in order, with commas")] = "values,labels",
    planted: Annotated[str | None, _declared("Effect that is planted")] = None,
    null: Annotated[str | None, _declared("Arrays that the baseline permutes")] = None,
    tolerance: Annotated[float | None, _declared("Tolerance, if it looks for a defect")] = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    *,
    engine: Engine,
) -> None:
    """Test a metric on data with a planted effect: false positives, coverage, bias, order.

    To resume a validation that was interrupted, give the same command again. Exit code 6: a
    condition failed.
    """
    declared = {
        "question": question, "better": better, "arrays": tuple(arrays.split(",")),
        "planted": planted, "null": null, "tolerance": tolerance,
    }  # fmt: skip
    day = date or datetime.now(timezone.utc).date().isoformat()
    if renew is not None:
        raise typer.Exit(_renew(renew, metric, day, as_json=as_json))
    subjects = _subjects(metric, size, declared, every=every)
    contents = []
    for number, subject in enumerate(subjects):
        home = out / subject.name.replace(":", "-") if every else out
        with (
            resumable(),
            show_progress(quiet=quiet) as progress,
            open_worker_pool(engine, home, progress) as pool,
        ):
            validation = validate_metric(subject, size, draws=draws, seed=seed, workers=pool)
        content = build_validation_record(validation, day)
        write_validation_record(home / "validation.json", content)
        contents.append(content)
        if keep is not None:
            keep.mkdir(parents=True, exist_ok=True)
            write_validation_record(keep / get_record_name(content), content)
        if every and not as_json:
            failed = len(content["failures"])
            word = f"{failed} not met" if failed else "holds"
            typer.echo(
                f"{number + 1} of {len(subjects)} {subject.name}: {content['summary']}; {word}"
            )
        elif not as_json:
            _print(validation)
    if as_json:
        print_json(contents if every else contents[0])
    raise typer.Exit(NOT_MET if any(content["failures"] for content in contents) else 0)


def _subjects(
    metric: str | None, size: Size, declared: dict[str, Any], *, every: bool
) -> list[ValidationSubject]:
    if every == (metric is not None):
        raise EvidenceError("validate", "both or none", "a score, or --all")
    if every:
        return list(list_subjects(size))
    name = str(metric)
    if ":" not in name:
        return [MetricSubject(find_metric(name).name)]
    null, tolerance = declared.pop("null"), declared["tolerance"]
    nulls = (dealt_out(*null.split(",")),) if null else ()
    return [
        load_outside_function(name, **declared, nulls=nulls, is_defect_metric=tolerance is not None)
    ]


def _renew(folder: Path, metric: str | None, day: str, *, as_json: bool) -> int:
    """Renew what gives equal numbers; the exit code says whether all did."""
    paths = [
        path for path in list_records(folder) if metric in (None, path.stem.rpartition("-")[0])
    ]
    if not paths:
        raise EvidenceError(
            "renew", f"{metric or 'nothing'} in {folder.name!r}", "validation records"
        )
    renewals = []
    for path in paths:
        renewal = renew_record(path, day)
        if renewal is None:
            continue
        renewals.append(renewal)
        word = "equal numbers" if renewal.holds else "validate it again"
        if not as_json:
            typer.echo(f"{renewal.metric}: {word}; {renewal.conditions} conditions drawn again")
            for line in renewal.differences:
                typer.echo(f"  {line}")
    if as_json:
        print_json([{**asdict(each), "holds": each.holds} for each in renewals])
    else:
        typer.echo(f"{len(paths) - len(renewals)} were already current")
    return 0 if all(renewal.holds for renewal in renewals) else NOT_MET


def _print(validation: MetricValidation) -> None:
    usual = validation.subject.generator.usual
    rows = []
    for cell in validation.cells:
        changed = Condition(**cell.condition).changed_from(usual)
        condition = ", ".join(f"{name} {value}" for name, value in changed.items()) or "as usual"
        shares = {name: f"{count / cell.draws:.2f}" for name, count in cell.answers.items()}
        covered = f"{cell.covered / cell.intervals:.2f}" if cell.intervals else "–"
        rows.append(
            (
                condition, f"{cell.truth:.3f}", f"{cell.mean:.3f} ± {cell.spread:.3f}", covered,
                shares["yes"], shares["partly"], shares["no"], shares["inconclusive"],
                "; ".join(cell.failures) or "holds",
            )
        )  # fmt: skip
    heads = ("condition", "true", "mean", "covered", "yes", "partly", "no", "inconclusive", "")
    print_table(heads, rows)
    for line in validation.lines:
        typer.echo(f"{line.name}: {'holds' if line.holds else 'FAILS'} ({line.summary})")
    for power in validation.powers:
        seen = "never" if power.dial is None else f"from {power.dial:.2g} of the effect size on"
        typer.echo(f"power at {power.samples} samples: {seen}")

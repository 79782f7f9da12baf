"""The command that puts a score through planted truths."""

import json
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from theodolite.cli.options import (
    EngineOption,
    Json,
    MixedCpus,
    Pieces,
    Quiet,
    RayAddress,
    WorkersOption,
    chosen_engine,
)

if TYPE_CHECKING:
    from theodolite._planted.certification.certify import Certified
    from theodolite._planted.certification.subjects import CertifiedSubject

Declared = "Of a function: "


def certify(
    out: Annotated[Path, typer.Option(help="The folder for certificates and pieces of work.")],
    metric: Annotated[
        str | None, typer.Argument(help="A score of the catalogue, or module:function.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="All scores; with --size ci those that decide.")
    ] = False,
    size: Annotated[
        Literal["ci", "release"], typer.Option(help="How many conditions and draws.")
    ] = "ci",
    draws: Annotated[
        int | None, typer.Option(help="Draws of each condition; else by size.", min=20)
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all draws.", min=0)] = 0,
    date: Annotated[str | None, typer.Option(help="The day to write down; else today.")] = None,
    keep: Annotated[
        Path | None, typer.Option(help="Also write NAME-VERSION.json into this folder.")
    ] = None,
    renew: Annotated[
        Path | None,
        typer.Option(help="Certificates of older code: three conditions again, compared."),
    ] = None,
    question: Annotated[str | None, typer.Option(help=f"{Declared}what it answers.")] = None,
    better: Annotated[
        Literal["higher", "lower"] | None, typer.Option(help=f"{Declared}which values are better.")
    ] = None,
    arrays: Annotated[
        str, typer.Option(help=f"{Declared}arrays it takes, in order, with commas.")
    ] = "values,labels",
    planted: Annotated[str | None, typer.Option(help=f"{Declared}what is planted.")] = None,
    null: Annotated[
        str | None, typer.Option(help=f"{Declared}arrays that its null deals out, with commas.")
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option(help=f"{Declared}it looks for a fault, and accepts so much.")
    ] = None,
    engine: EngineOption = "auto",
    workers: WorkersOption = None,
    ray_address: RayAddress = None,
    pieces: Pieces = None,
    mixed_cpus: MixedCpus = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Put a score through evidence with a planted truth: false alarms, coverage, bias, order.

    What was cut off goes on: give the same command again. A line that does not hold: exit code 6.
    """
    from theodolite._verdicts.gates.judge import NOT_MET

    declared = {
        "question": question, "better": better, "arrays": tuple(arrays.split(",")),
        "planted": planted, "null": null, "tolerance": tolerance,
    }  # fmt: skip
    day = date or datetime.now(timezone.utc).date().isoformat()
    if renew is not None:
        raise typer.Exit(_renewed(renew, metric, day, as_json=as_json))
    subjects = _subjects(metric, size, declared, every=every)
    contents = []
    for number, subject in enumerate(subjects):
        home = out / _folder(subject.name) if every else out
        chosen = chosen_engine(engine, workers, ray_address, pieces, "auto", mixed_cpus=mixed_cpus)
        content, certified = _certificate(subject, home, chosen, (size, draws, seed, day), quiet)
        contents.append(content)
        if keep is not None:
            _keep(keep, content)
        if every and not as_json:
            failed = len(content["failures"])
            word = f"{failed} not met" if failed else "holds"
            typer.echo(
                f"{number + 1} of {len(subjects)} {subject.name}: {content['summary']}; {word}"
            )
        elif not as_json:
            _print(certified)
    if as_json:
        typer.echo(json.dumps(contents if every else contents[0], indent=1))
    raise typer.Exit(NOT_MET if any(content["failures"] for content in contents) else 0)


def _subjects(
    metric: str | None, size: Literal["ci", "release"], declared: dict[str, Any], *, every: bool
) -> "list[CertifiedSubject]":
    from theodolite._planted.certification.certify import subjects_of
    from theodolite._planted.certification.foreign import dealt_out, foreign_named
    from theodolite._planted.certification.subjects import CatalogueSubject
    from theodolite.errors import EvidenceError
    from theodolite.metrics.catalogue import find_metric

    if every == (metric is not None):
        raise EvidenceError("certify", "both or none", "a score, or --all")
    if every:
        return list(subjects_of(size))
    name = str(metric)
    if ":" not in name:
        return [CatalogueSubject(find_metric(name).name)]
    null, tolerance = declared.pop("null"), declared["tolerance"]
    nulls = (dealt_out(*null.split(",")),) if null else ()
    return [foreign_named(name, **declared, nulls=nulls, is_defect_metric=tolerance is not None)]


def _certificate(
    subject: "CertifiedSubject",
    home: Path,
    engine: Any,
    how: tuple[Literal["ci", "release"], int | None, int, str],
    quiet: bool,
) -> "tuple[dict[str, Any], Certified]":
    from theodolite._planted.certification.certificate import certificate, write_certificate
    from theodolite._planted.certification.certify import certify
    from theodolite._runs.engine.base import worker_pool
    from theodolite.cli.interrupts import goes_on
    from theodolite.cli.progress import show_progress

    size, draws, seed, day = how
    with (
        goes_on(),
        show_progress(quiet=quiet) as progress,
        worker_pool(engine, home, progress) as pool,
    ):
        certified = certify(subject, size, draws=draws, seed=seed, workers=pool)
    content = certificate(certified, day)
    write_certificate(home / "certificate.json", content)
    return content, certified


def _renewed(folder: Path, metric: str | None, day: str, *, as_json: bool) -> int:
    """Renew what gives the same numbers; the exit code says whether all did."""
    from theodolite._planted.certification.renewal import certificates_of, renew
    from theodolite._verdicts.gates.judge import NOT_MET
    from theodolite.errors import EvidenceError

    paths = [path for path in certificates_of(folder) if metric in (None, _metric_of(path))]
    if not paths:
        raise EvidenceError("renew", f"{metric or 'nothing'} in {folder.name!r}", "certificates")
    renewals = []
    for path in paths:
        renewal = renew(path, day)
        if renewal is None:
            continue
        renewals.append(renewal)
        word = "the same numbers" if renewal.holds else "certify it again"
        if not as_json:
            typer.echo(f"{renewal.metric}: {word}; {renewal.conditions} conditions drawn again")
            for line in renewal.differences:
                typer.echo(f"  {line}")
    if as_json:
        records = [{**asdict(each), "holds": each.holds} for each in renewals]
        typer.echo(json.dumps(records, indent=1))
    else:
        typer.echo(f"{len(paths) - len(renewals)} were of today's code already")
    return 0 if all(renewal.holds for renewal in renewals) else NOT_MET


def _metric_of(path: Path) -> str:
    return path.stem.rpartition("-")[0]


def _keep(folder: Path, content: dict[str, Any]) -> None:
    from theodolite._planted.certification.certificate import file_name, write_certificate

    folder.mkdir(parents=True, exist_ok=True)
    write_certificate(folder / file_name(content), content)


def _folder(name: str) -> str:
    return name.replace(":", "-")


def _print(certified: "Certified") -> None:
    from theodolite._planted.certification.conditions import Condition
    from theodolite.cli.tables import print_table

    usual = certified.subject.generator.usual
    rows = []
    for cell in certified.cells:
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
    for line in certified.lines:
        typer.echo(f"{line.name}: {'holds' if line.holds else 'FAILS'} ({line.summary})")
    for power in certified.powers:
        seen = "never" if power.dial is None else f"from {power.dial:.2g} on the dial on"
        typer.echo(f"power at {power.samples} samples: {seen}")

"""The command that scores whatever it is given."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from theodolite._storage.atomic import default_cache
from theodolite.cli.options import (
    Cache,
    DryRun,
    EngineOption,
    Json,
    MetricsPort,
    MixedCpus,
    MostMemory,
    Overwrite,
    Pieces,
    Quiet,
    RayAddress,
    WorkersOption,
    chosen_engine,
    command_line,
)

if TYPE_CHECKING:
    from theodolite._runs.auditing.sources import EvidenceSource
    from theodolite._runs.engine.base import Engine
    from theodolite._verdicts.answers import AuditAnswers
    from theodolite._verdicts.gates.judge import Thresholds
    from theodolite.cli.audits import AuditArguments, NetworkArguments


ColumnsOption = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMNS",
        help="A column's name, several with commas, or a pattern: of 'pred_*' and 'true_*', "
        "pred_horn and true_horn are of the concept horn.",
        rich_help_panel="Columns of a .csv or .parquet file",
        show_default=False,
    ),
]


def audit(
    evidence: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="EVIDENCE...",
            help="One or several of: a .npz or .safetensors file of arrays, named as in "
            "`theodolite evidence`; a .csv or .parquet file, with the options for columns; a "
            "folder of stored evidence; a folder or address (s3://…) of evidence in pieces; a run "
            "folder; the folder of an exported study.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Also write a run folder with a report.")] = None,
    overwrite: Overwrite = False,
    model: Annotated[
        str | None, typer.Option(help="Instead of evidence: a network of timm, such as resnet18.")
    ] = None,
    weights: Annotated[
        Path | None, typer.Option(help="Its weights (.safetensors); else timm fetches them.")
    ] = None,
    layer: Annotated[
        str | None,
        typer.Option(help="Its layer to look at; default: the last layer with a spatial grid."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="The folder of a data set of images with concepts.")
    ] = None,
    dataset: Annotated[
        str, typer.Option(help="How that folder is laid out: folder, cub, monumai, …")
    ] = "folder",
    claim: Annotated[
        str, typer.Option(help="What the explanation says, in quotes: the title of the report.")
    ] = "",
    values: ColumnsOption = None,
    truth: ColumnsOption = None,
    known: ColumnsOption = None,
    labels: ColumnsOption = None,
    predicted: ColumnsOption = None,
    ids: ColumnsOption = None,
    clusters: ColumnsOption = None,
    model_answers: Annotated[
        Path | None,
        typer.Option(help="What a model answers to the rows of a plan of attributions (.npz)."),
    ] = None,
    cache: Cache = None,
    thresholds: Annotated[
        Path | None,
        typer.Option(help="The least that is good enough (YAML); if it is not met, exit code 6."),
    ] = None,
    as_json: Json = False,
    seed: Annotated[int, typer.Option(help="Seed of intervals and nulls.", min=0)] = 0,
    resamples: Annotated[
        int, typer.Option(help="Resamples for intervals.", min=0, max=100_000)
    ] = 1000,
    engine: EngineOption = "auto",
    workers: WorkersOption = None,
    ray_address: RayAddress = None,
    pieces: Pieces = None,
    mixed_cpus: MixedCpus = False,
    dry_run: DryRun = False,
    metrics_port: MetricsPort = None,
    most_memory: MostMemory = None,
    quiet: Quiet = False,
) -> None:
    """Ask everything that the evidence allows, and say what would be needed for the rest."""
    from theodolite._runs.auditing.model_answers import with_model_answers
    from theodolite._runs.folder.folder import claimed
    from theodolite._scoring.evaluate import Resampling
    from theodolite._verdicts.gates.judge import read_thresholds
    from theodolite.cli.audits import AuditArguments, read_all, rehearse_pieces
    from theodolite.cli.interrupts import goes_on
    from theodolite.cli.progress import print_price, print_rehearsal
    from theodolite.errors import printable

    del most_memory  # set as it was read
    chosen = chosen_engine(
        engine, workers, ray_address, pieces, "auto", metrics_port, mixed_cpus=mixed_cpus
    )
    criteria = None if thresholds is None else read_thresholds(thresholds)
    arguments = AuditArguments(
        Resampling(resamples, seed=seed), out, overwrite, command_line(), claim,
        announce=None if quiet else print_price,
    )  # fmt: skip
    network = _network(evidence, (model, weights, layer), (data, dataset, cache))
    options = {
        "values": values, "truth": truth, "known": known, "labels": labels,
        "predicted": predicted, "ids": ids, "clusters": clusters,
    }  # fmt: skip
    columns = _columns(options, network)
    with ExitStack() as stack:
        if out is not None:
            stack.enter_context(claimed(out))
        source = None if network else read_all(evidence or [], arguments, columns)
        if model_answers is not None:
            source = with_model_answers(source, model_answers)
        if source and columns:  # before the first score: which columns are a pair
            typer.echo("\n".join(printable(note, 2000) for note in source.notes), err=as_json)
        if (network or (source and source.stored)) and (out is not None or pieces is not None):
            stack.enter_context(goes_on())
        if dry_run:
            print_rehearsal(rehearse_pieces(source, arguments, chosen))
            return
        answers = _answers(source, network, arguments, chosen, quiet=quiet)
        _print(answers, as_json=as_json)
        _end(answers, out, criteria, quiet=as_json)


def _answers(
    source: "EvidenceSource | None",
    network: "NetworkArguments | None",
    arguments: "AuditArguments",
    engine: "Engine",
    *,
    quiet: bool,
) -> "AuditAnswers":
    from theodolite.cli.audits import audit_files, audit_network, audit_pieces
    from theodolite.cli.progress import show_progress

    with show_progress(quiet=quiet) as progress:
        if network:
            return audit_network(network, arguments, engine, progress)
        assert source is not None  # noqa: S101  else there is a network
        if source.stored:
            return audit_pieces(source, arguments, engine, progress)
        return audit_files(source, arguments, progress)


def _network(
    evidence: list[str] | None,
    network: tuple[str | None, Path | None, str | None],
    images: tuple[Path | None, str, Path | None],
) -> "NetworkArguments | None":
    """The network to look at, if one was named."""
    from theodolite.cli.audits import NetworkArguments
    from theodolite.errors import EvidenceError

    (model, weights, layer), (data, dataset, cache) = network, images
    if model is None:
        for option, value in (("--weights", weights), ("--layer", layer), ("--data", data)):
            if value is not None:
                raise EvidenceError(option, f"{str(value)!r} without a network", "--model as well")
        if not evidence:
            raise EvidenceError("audit", "nothing", "evidence, or --model and --data",
                                "`theodolite audit --help` says what can be given.")  # fmt: skip
        return None
    if evidence:
        raise EvidenceError("audit", f"{evidence[0]!r} and --model", "evidence or a network")
    if data is None:
        raise EvidenceError("--data", "none", "the folder of a data set with concepts")
    return NetworkArguments(model, weights, layer, data, dataset, cache or default_cache())


def _columns(options: dict[str, str | None], network: "NetworkArguments | None") -> dict[str, str]:
    """The columns that were named; a network has none."""
    from theodolite.errors import EvidenceError

    columns = {name: pattern for name, pattern in options.items() if pattern is not None}
    if columns and network is not None:
        raise EvidenceError(
            f"--{next(iter(columns))}", "--model as well", "a .csv or .parquet file"
        )
    return columns


def _print(answers: "AuditAnswers", *, as_json: bool) -> None:
    from theodolite._verdicts.answers import stand_in_line
    from theodolite._verdicts.scores_file import scores_file
    from theodolite.cli.tables import print_scores, print_verdicts
    from theodolite.errors import printable

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
        typer.echo(f"not scored, for lack of {needs}: {', '.join(metrics)}")
    for failure in answers.errors:
        typer.echo(printable(f"failed: {failure}", 1000))
    for note in answers.notes:
        typer.echo(f"note: {note}")


def _end(
    answers: "AuditAnswers", out: Path | None, criteria: "Thresholds | None", *, quiet: bool
) -> None:
    """Report and seal; then say which thresholds are not met."""
    from theodolite._verdicts.gates.judge import NOT_MET, fails, judged
    from theodolite.cli.finish import PARTIAL, finish
    from theodolite.errors import printable

    code = PARTIAL if answers.failed_tasks or answers.errors else 0
    if out is not None:
        try:
            finish(out, verdicts_too=False, quiet=quiet)
        except typer.Exit as partial:  # thresholds are looked at all the same
            code = partial.exit_code
    if criteria is not None:
        checks = judged(
            criteria, answers.scores, answers.verdicts, failed_tasks=answers.failed_tasks,
            failed=answers.errors,
        )  # fmt: skip
        failing = [check for check in checks if fails(check, criteria)]
        for check in failing:
            typer.echo(printable(f"{check.outcome}: {check.sentence}", 1000), err=True)
        code = NOT_MET if failing else code
    if code:
        raise typer.Exit(code)

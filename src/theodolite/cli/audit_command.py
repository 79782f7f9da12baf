"""The command that scores whatever evidence it is given."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from theodolite.cli.options import (
    EngineOption,
    Json,
    Overwrite,
    Pieces,
    Quiet,
    RayAddress,
    WorkersOption,
    chosen_engine,
    command_line,
)

if TYPE_CHECKING:
    from theodolite.execution.audit import Audit


def audit(
    evidence: Annotated[
        str,
        typer.Argument(
            help="A folder of stored evidence, a folder or address (s3://…) of evidence in "
            "pieces, or a .npz or .safetensors file with the array "
            "'values' and any of truth, weights, predicted, labels, class_truth, known, concepts, "
            "classes; or with 'unit_pixels' and the other counts of units.",
            show_default=False,
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="Also write a run folder with a report.")] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    seed: Annotated[int, typer.Option(help="Seed of intervals and nulls.", min=0)] = 0,
    resamples: Annotated[
        int, typer.Option(help="Resamples for intervals.", min=0, max=100_000)
    ] = 1000,
    engine: EngineOption = "auto",
    workers: WorkersOption = None,
    ray_address: RayAddress = None,
    pieces: Pieces = None,
    quiet: Quiet = False,
) -> None:
    """Score everything that the evidence allows."""
    from theodolite.cli import goes_on
    from theodolite.cli.audits import Auditing, audit_files, audit_pieces, given_at, spec_of
    from theodolite.cli.finish import PARTIAL, finish
    from theodolite.cli.progress import shown
    from theodolite.execution.run_folder import claimed

    chosen = chosen_engine(engine, workers, ray_address, pieces, "auto")
    given = given_at(evidence)
    spec = spec_of(given, resamples=resamples, seed=seed)
    asked = Auditing(spec, given, out, overwrite, command_line())
    with ExitStack() as stack:
        if given.in_pieces and (out is not None or pieces is not None):
            stack.enter_context(goes_on())
        if out is not None:
            stack.enter_context(claimed(out))
        with shown(quiet=quiet) as progress:
            if given.in_pieces:
                found = audit_pieces(asked, chosen, progress)
            else:
                found = audit_files(asked, progress)
        _print(found, as_json=as_json)
        if out is not None:
            finish(out, verdicts_too=False, quiet=as_json)
        elif found.failed_pieces:
            raise typer.Exit(PARTIAL)


def _print(found: "Audit", *, as_json: bool) -> None:
    from theodolite.cli.tables import print_scores, print_verdicts
    from theodolite.execution.record import scores_file

    if as_json:
        content = scores_file(found.scores, found.verdicts, found.unanswered)
        typer.echo(content.model_dump_json(indent=1))
        return
    print_scores(found.scores)
    typer.echo("")
    print_verdicts(found.verdicts)
    needing: dict[str, list[str]] = {}
    for missing in found.unanswered:
        needing.setdefault(", ".join(missing.needs), []).append(missing.metric)
    for needs, metrics in needing.items():
        typer.echo(f"not asked, for lack of {needs}: {', '.join(metrics)}")
    for note in found.notes:
        typer.echo(f"note: {note}")

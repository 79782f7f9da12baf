"""Commands about run folders that are there."""

from pathlib import Path
from typing import Annotated

import typer

from theodolite.cli.options import Quiet
from theodolite.errors import printable


def report(
    folder: Annotated[Path, typer.Argument(help="A run folder.", show_default=False)],
    figures: Annotated[
        Path | None, typer.Option(help="Also write the figures for a paper (PDF) into this folder.")
    ] = None,
) -> None:
    """Build the report of a run again."""
    from theodolite.report.html import write_report
    from theodolite.run_folder.seal import seal, verify

    # a report of changed numbers would be sealed as if they were the run's
    verify(folder, but="report.html")
    path = write_report(folder)
    seal(folder)
    typer.echo(f"report: {path}")
    if figures is not None:
        from theodolite.report.figures.paper import write_figures

        for written in write_figures(folder, figures):
            typer.echo(f"figure: {written}")


def upgrade(
    folder: Annotated[Path, typer.Argument(help="A run folder of 0.1.0.", show_default=False)],
    out: Annotated[Path, typer.Option(help="The run folder to write.")],
) -> None:
    """Write a run of an older version in the format of today, beside it; its report is new."""
    from theodolite.cli.finish import finish
    from theodolite.run_folder.folder import claimed
    from theodolite.runs.upgrade import upgrade as write

    with claimed(out):
        write(folder, out)
        finish(out, verdicts_too=False)


def verify(
    folder: Annotated[Path, typer.Argument(help="A run folder.", show_default=False)],
    recompute: Annotated[
        str | None,
        typer.Option(help="Also compute again: a share of the work, such as 1%, or all."),
    ] = None,
    buckets: Annotated[
        bool,
        typer.Option("--buckets", help="Read from the buckets that the folder names, to do so."),
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Check that a run folder is what it was; exit code 5 if a byte was changed."""
    from theodolite.cli.progress import show_progress
    from theodolite.run_folder.piece_list import check_pieces
    from theodolite.run_folder.seal import verify as check
    from theodolite.runs.recompute import other_arithmetic, share_of
    from theodolite.runs.recompute import recompute as again

    if recompute is not None:
        share = share_of(recompute)
        with show_progress(quiet=quiet) as progress:
            n = again(folder, progress, share, buckets=buckets)
        much = "all" if share == 1 else f"{100 * share:g} % of the"
        digits = " but for last digits: another kind of machine" if other_arithmetic(folder) else ""
        same = f"{much} scores or pieces the same when computed again{digits}"
        typer.echo(f"ok: {n} files unchanged, {same}")
        return
    n = check(folder)
    pieces, elsewhere = check_pieces(folder, buckets=buckets)
    compared = f", {pieces} pieces as they were" if pieces else ""
    left = f", pieces at {printable(elsewhere)} not compared (--buckets reads buckets)"
    typer.echo(f"ok: {n} files unchanged{compared}{left if elsewhere else ''}")

"""Commands that bring a run's findings into papers and model cards."""

from pathlib import Path
from typing import Annotated

import typer

from theodolite.cli.options import OverwriteFile


def export(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Run folders; several stand side by side in LaTeX."),
    ],
    latex: Annotated[
        Path | None, typer.Option(help="Write a table per question, to be \\input in a paper.")
    ] = None,
    model_card: Annotated[
        Path | None, typer.Option(help="Write a section for a model card (Markdown).")
    ] = None,
    update: Annotated[
        Path | None, typer.Option(help="Put that section into this model card; keep its rest.")
    ] = None,
    overwrite: OverwriteFile = False,
) -> None:
    """Write what a run found as LaTeX tables or as a section of a model card."""
    from theodolite.errors import EvidenceError
    from theodolite.io.untrusted_text import check_ours
    from theodolite.report.exports.latex import MARK, write_latex
    from theodolite.report.exports.model_card import (
        BEGIN,
        END,
        update_model_card,
        write_model_card,
    )
    from theodolite.run_folder.seal import verify

    if latex is None and model_card is None and update is None:
        raise EvidenceError("export", "no form", "--latex, --model-card or --update")
    if len(runs) > 1 and (model_card or update):
        raise EvidenceError("model card", f"{len(runs)} runs", "one", "Export them one by one.")
    if latex is not None and not overwrite:
        check_ours(latex, MARK)
    if model_card is not None and not overwrite:
        check_ours(model_card, BEGIN, END)
    for folder in runs:
        verify(folder)  # numbers that were changed must not be quoted
    if latex is not None:
        typer.echo(f"latex: {write_latex(latex, runs)}")
    if model_card is not None:
        typer.echo(f"model card: {write_model_card(model_card, runs[0])}")
    if update is not None:
        typer.echo(f"model card: {update_model_card(update, runs[0])}")

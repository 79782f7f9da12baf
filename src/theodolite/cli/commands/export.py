"""The command that brings a run's results into papers, model cards, registries and dossiers."""

from pathlib import Path
from typing import Annotated

import typer

from theodolite._runs.folder.checksums import verify_checksums
from theodolite._storage.untrusted_text import check_written_by_theodolite
from theodolite.bridges.hugging_face import write_eval_results
from theodolite.cli import options as opt
from theodolite.cli.options import argument, option
from theodolite.errors import EvidenceError
from theodolite.report.dossier.facts import NEW, TEMPLATE_FILE, read_facts, write_template
from theodolite.report.dossier.folder import write_dossier
from theodolite.report.dossier.signed import read_signature
from theodolite.report.exports.every_eval_ever import write_every_eval_ever
from theodolite.report.exports.latex import MARK, write_latex
from theodolite.report.exports.model_card import BEGIN, END, update_model_card, write_model_card

RECORD = '{\n "eval_library": {\n  "name": "theodolite"'
"""How our records of Every Eval Ever begin."""


def export(
    runs: Annotated[list[Path], argument("Run folders; several only for LaTeX", metavar="RUN")],
    latex: Annotated[Path | None, option("LaTeX file to write: a table per question")] = None,
    model_card: Annotated[Path | None, option("Model card section to write (Markdown)")] = None,
    update: Annotated[Path | None, option("Model card to put that section into")] = None,
    signed: Annotated[Path | None, option("Signed dossier that the model card names")] = None,
    dossier: Annotated[Path | None, option("Dossier folder to write, ready to sign")] = None,
    facts: Annotated[
        str | None, option("Facts for the dossier; new writes a template", metavar="FILE|new")
    ] = None,
    with_run: Annotated[bool, option("Put the whole run into the dossier", "--with-run")] = False,
    every_eval_ever: Annotated[
        Path | None, option("JSON of Every Eval Ever 0.3.0 to write")
    ] = None,
    eval_results: Annotated[
        str | None, option("Write .eval_results/theodolite.yaml for the Hub", metavar="DATASET_ID")
    ] = None,
    source_url: Annotated[str | None, option("URL of the report, for --eval-results")] = None,
    overwrite: opt.OverwriteFile = False,
) -> None:
    """Write the results of a run for papers, model cards and registries, or as a dossier."""
    alone = (model_card, update, dossier, facts, every_eval_ever, eval_results)
    if latex is None and not any(alone):
        forms = "--latex, --model-card, --update, --dossier, --every-eval-ever or --eval-results"
        raise EvidenceError("export", "no form", forms)
    if len(runs) > 1 and any(alone):
        raise EvidenceError("export", f"{len(runs)} runs", "one", "Export them one by one.")
    if not overwrite:
        _check_files({latex: (MARK,), model_card: (BEGIN, END), every_eval_ever: (RECORD,)})
    for folder in runs:
        verify_checksums(folder)  # numbers that were changed must not be quoted
    run = runs[0]
    vouching = "" if signed is None else read_signature(signed, run).sentence
    if latex is not None:
        typer.echo(f"latex: {write_latex(latex, runs)}")
    if model_card is not None:
        typer.echo(f"model card: {write_model_card(model_card, run, vouching)}")
    if update is not None:
        typer.echo(f"model card: {update_model_card(update, run, vouching)}")
    _export_dossier(run, dossier, facts, with_run=with_run)
    if every_eval_ever is not None:
        typer.echo(f"every eval ever: {write_every_eval_ever(every_eval_ever, run)}")
    if eval_results is not None:
        path = write_eval_results(Path(), run, eval_results, source_url=source_url)
        typer.echo(f"evaluation results: {path}")


def _check_files(files: dict[Path | None, tuple[str, ...]]) -> None:
    """Refuse to replace files of other programs."""
    for file, marks in files.items():
        if file is not None:
            check_written_by_theodolite(file, *marks)


def _export_dossier(run: Path, dossier: Path | None, facts: str | None, *, with_run: bool) -> None:
    if facts == NEW:
        write_template(Path(TEMPLATE_FILE))
        typer.echo(f"facts: {TEMPLATE_FILE}; fill them in, then pass --facts {TEMPLATE_FILE}")
        return
    if (dossier is None) != (facts is None):
        raise EvidenceError(
            "export", "--facts alone" if dossier is None else "--dossier alone",
            "--dossier FOLDER --facts FILE", "--facts new writes a template of the facts.",
        )  # fmt: skip
    if dossier is None or facts is None:
        return
    path = Path(facts)
    write_dossier(run, dossier, read_facts(path), path.parent, with_run=with_run)
    typer.echo(f"dossier: {dossier}\nnot signed yet: theodolite sign {dossier} --key KEY")

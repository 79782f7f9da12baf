"""Commands that bring a run's findings into papers, model cards, registries and dossiers."""

from pathlib import Path
from typing import Annotated

import typer

from theodolite.cli.options import OverwriteFile

Runs = Annotated[
    list[Path],
    typer.Argument(metavar="RUN...", help="Run folders; several stand side by side in LaTeX."),
]
Latex = Annotated[
    Path | None, typer.Option(help="Write a table per question, to be \\input in a paper.")
]
ModelCard = Annotated[
    Path | None, typer.Option(help="Write a section for a model card (Markdown).")
]
Update = Annotated[
    Path | None, typer.Option(help="Put that section into this model card; keep its rest.")
]
Signed = Annotated[
    Path | None, typer.Option(help="A signed dossier of the run, which the model card names.")
]
Dossier = Annotated[
    Path | None, typer.Option(help="Write a folder to be signed, and checked by strangers.")
]
Facts = Annotated[
    str | None,
    typer.Option(metavar="FILE|new", help="Facts for the dossier; new writes a template."),
]
WithRun = Annotated[
    bool, typer.Option("--with-run", help="Put the run, evidence and all, into the dossier.")
]
EveryEvalEver = Annotated[
    Path | None, typer.Option(help="Write all scores as JSON of Every Eval Ever 0.3.0.")
]
EvalResults = Annotated[
    str | None,
    typer.Option(metavar="DATASET_ID", help="Write .eval_results/theodolite.yaml for the Hub."),
]
SourceUrl = Annotated[
    str | None, typer.Option(help="Where the report can be read, for --eval-results.")
]


def export(
    runs: Runs,
    latex: Latex = None,
    model_card: ModelCard = None,
    update: Update = None,
    signed: Signed = None,
    dossier: Dossier = None,
    facts: Facts = None,
    with_run: WithRun = False,
    every_eval_ever: EveryEvalEver = None,
    eval_results: EvalResults = None,
    source_url: SourceUrl = None,
    overwrite: OverwriteFile = False,
) -> None:
    """Write what a run found for papers, model cards and registries, or as a dossier to sign."""
    from theodolite._runs.folder.seal import verify
    from theodolite.errors import EvidenceError

    alone = (model_card, update, dossier, facts, every_eval_ever, eval_results)
    if latex is None and not any(alone):
        forms = "--latex, --model-card, --update, --dossier, --every-eval-ever or --eval-results"
        raise EvidenceError("export", "no form", forms)
    if len(runs) > 1 and any(alone):
        raise EvidenceError("export", f"{len(runs)} runs", "one", "Export them one by one.")
    _check_files(latex, model_card, every_eval_ever, overwrite=overwrite)
    for folder in runs:
        verify(folder)  # numbers that were changed must not be quoted
    if latex is not None:
        from theodolite.report.exports.latex import write_latex

        typer.echo(f"latex: {write_latex(latex, runs)}")
    _export_card(runs[0], model_card, update, signed)
    _export_dossier(runs[0], dossier, facts, with_run=with_run)
    _export_registries(runs[0], every_eval_ever, eval_results, source_url)


def _check_files(
    latex: Path | None, model_card: Path | None, every_eval_ever: Path | None, *, overwrite: bool
) -> None:
    """Files of other people are not replaced unasked."""
    from theodolite._storage.untrusted_text import check_ours
    from theodolite.report.exports.latex import MARK
    from theodolite.report.exports.model_card import BEGIN, END

    if overwrite:
        return
    if latex is not None:
        check_ours(latex, MARK)
    if model_card is not None:
        check_ours(model_card, BEGIN, END)
    if every_eval_ever is not None:
        check_ours(every_eval_ever, '{\n "eval_library": {\n  "name": "theodolite"')


def _export_card(
    run: Path, model_card: Path | None, update: Path | None, signed: Path | None
) -> None:
    from theodolite.report.exports.model_card import update_model_card, write_model_card

    if model_card is None and update is None:
        return
    vouching = ""
    if signed is not None:
        from theodolite.report.dossier.signed import read_signature

        vouching = read_signature(signed, run).sentence
    if model_card is not None:
        typer.echo(f"model card: {write_model_card(model_card, run, vouching)}")
    if update is not None:
        typer.echo(f"model card: {update_model_card(update, run, vouching)}")


def _export_dossier(run: Path, dossier: Path | None, facts: str | None, *, with_run: bool) -> None:
    from theodolite.errors import EvidenceError
    from theodolite.report.dossier.facts import NEW, TEMPLATE_FILE, read_facts, write_template

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
    from theodolite.report.dossier.folder import write_dossier

    path = Path(facts)
    write_dossier(run, dossier, read_facts(path), path.parent, with_run=with_run)
    typer.echo(f"dossier: {dossier}\nnot signed yet: theodolite sign {dossier} --key KEY")


def _export_registries(
    run: Path, every_eval_ever: Path | None, dataset_id: str | None, source_url: str | None
) -> None:
    if every_eval_ever is not None:
        from theodolite.report.exports.every_eval_ever import write_every_eval_ever

        typer.echo(f"every eval ever: {write_every_eval_ever(every_eval_ever, run)}")
    if dataset_id is not None:
        from theodolite.bridges.hugging_face import write_eval_results

        path = write_eval_results(Path(), run, dataset_id, source_url=source_url)
        typer.echo(f"evaluation results: {path}")

"""Commands about run folders that are there."""

from pathlib import Path
from typing import Annotated

import typer

from theodolite.cli.options import Quiet
from theodolite.errors import EvidenceError, printable


def report(
    folder: Annotated[Path, typer.Argument(help="A run folder.", show_default=False)],
    figures: Annotated[
        Path | None, typer.Option(help="Also write the figures for a paper (PDF) into this folder.")
    ] = None,
) -> None:
    """Build the report of a run again."""
    from theodolite._runs.folder.seal import seal, verify
    from theodolite.report.html import write_report

    # a report of changed numbers would be sealed as if they were the run's
    verify(folder, but="report.html")
    path = write_report(folder)
    seal(folder)
    typer.echo(f"report: {path}")
    if figures is not None:
        from theodolite.report.figures.paper import write_figures

        for written in write_figures(folder, figures):
            typer.echo(f"figure: {written}")


def verify(
    folder: Annotated[Path, typer.Argument(help="A run folder or dossier.", show_default=False)],
    recompute: Annotated[
        str | None,
        typer.Option(help="Also compute again: a share of the work, such as 1%, or all."),
    ] = None,
    buckets: Annotated[
        bool,
        typer.Option("--buckets", help="Read from the buckets that the folder names, to do so."),
    ] = False,
    signers: Annotated[
        Path | None, typer.Option(help="Who may sign a dossier: allowed_signers of OpenSSH.")
    ] = None,
    signer: Annotated[
        str, typer.Option(metavar="NAME", help="Who of them must have signed; else anybody.")
    ] = "",
    public_key: Annotated[
        Path | None, typer.Option(help="The Ed25519 key that must have signed the DSSE envelope.")
    ] = None,
    run: Annotated[
        Path | None, typer.Option(help="The run folder of a dossier that does not hold it.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Check that a run folder or dossier is what it was; exit code 5 if a byte was changed."""
    from theodolite._runs.recompute import share_of
    from theodolite.report.dossier.statement import is_dossier

    share = None if recompute is None else share_of(recompute)
    if not is_dossier(folder) and not (signers or signer or public_key):
        _verify_run(folder, share, buckets=buckets, quiet=quiet)
        return
    from theodolite.cli.progress import show_progress
    from theodolite.report.dossier.verification import DossierSigners, verify_dossier

    by = DossierSigners(signers, signer, public_key)
    if signer and signers is None:
        raise EvidenceError("--signer", repr(signer), "--signers too, a list with that name")
    with show_progress(quiet=quiet) as progress:
        check = verify_dossier(folder, by, run=run, share=share, buckets=buckets, progress=progress)
    typer.echo(printable(f"ok: {check.sentence}", 1000))


def _verify_run(folder: Path, share: float | None, *, buckets: bool, quiet: bool) -> None:
    from theodolite._runs.folder.piece_list import check_pieces
    from theodolite._runs.folder.seal import verify as check
    from theodolite._runs.recompute import other_arithmetic
    from theodolite._runs.recompute import recompute as again
    from theodolite.cli.progress import show_progress

    if share is not None:
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


def sign(
    folder: Annotated[Path, typer.Argument(help="A dossier.", show_default=False)],
    key: Annotated[Path, typer.Option(help="A private key of OpenSSH, or its .pub in an agent.")],
    name: Annotated[
        str, typer.Option(help="For a signature beside others: statement.json.NAME.sig.")
    ] = "",
    dsse: Annotated[
        bool, typer.Option("--dsse", help="Write a DSSE envelope instead (Ed25519, extra sign).")
    ] = False,
) -> None:
    """Sign a dossier with your SSH key: you vouch for it, offline."""
    from theodolite.report.dossier.envelopes import sign_envelope
    from theodolite.report.dossier.signatures import sign_with_ssh
    from theodolite.report.dossier.statement import STATEMENT
    from theodolite.report.dossier.verification import DossierSigners, verify_dossier

    verify_dossier(folder, DossierSigners())  # nobody is to vouch for a changed file
    content = (folder / STATEMENT).read_bytes()
    if dsse:
        path = sign_envelope(folder, content, key)
    else:
        path = sign_with_ssh(folder, content, key, name)
    typer.echo(f"signature: {path}")

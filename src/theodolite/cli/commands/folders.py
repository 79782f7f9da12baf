"""Commands about run folders that are there."""

from pathlib import Path
from typing import Annotated

import typer

from theodolite._runs.folder import checksums
from theodolite._runs.folder.checkpoint_list import check_checkpoints
from theodolite._runs.folder.preparation import check_outside
from theodolite._runs.folder_reader import RunFolder
from theodolite._runs.recomputation import has_other_arithmetic, parse_share
from theodolite._runs.recomputation import recompute as compute_again
from theodolite.cli import options as opt
from theodolite.cli.options import argument, option
from theodolite.cli.progress import show_progress
from theodolite.errors import EvidenceError, printable
from theodolite.report.dossier.envelopes import sign_envelope
from theodolite.report.dossier.signatures import sign_with_ssh
from theodolite.report.dossier.statement import STATEMENT, is_dossier
from theodolite.report.dossier.verification import DossierSigners, verify_dossier
from theodolite.report.html import write_report


def report(
    folder: opt.Run,
    brief: Annotated[Path | None, option("Two-page brief to write: a .pdf or .html file")] = None,
    figures: Annotated[Path | None, option("Folder for figures for a paper (PDF)")] = None,
) -> None:
    """Build the report of a run again, or a two-page brief."""
    if brief is not None:
        check_outside(folder, "--brief", brief)
    # a report of changed numbers would be sealed as if they were the run's
    checksums.verify_checksums(folder, but="report.html")
    path = write_report(folder)
    checksums.write_checksums(folder)
    typer.echo(f"report: {path}")
    if brief is not None:
        from theodolite.report.brief import write_brief

        written, note = write_brief(RunFolder(folder), brief)
        typer.echo("\n".join([f"brief: {written}", *filter(None, [note])]))
    if figures is not None:
        from theodolite.report.figures.paper import write_figures

        for figure in write_figures(folder, figures):
            typer.echo(f"figure: {figure}")


def verify(
    folder: Annotated[Path, argument("Run folder or dossier")],
    recompute: Annotated[str | None, option("Fraction to recompute, such as 1%, or all")] = None,
    buckets: Annotated[bool, option("Read the buckets that FOLDER names", "--buckets")] = False,
    signers: Annotated[Path | None, option("OpenSSH allowed_signers of a dossier")] = None,
    signer: Annotated[str, option("Required signer. Default: any of them", metavar="NAME")] = "",
    public_key: Annotated[Path | None, option("Ed25519 key of the DSSE envelope")] = None,
    run: Annotated[Path | None, option("Run folder, if the dossier does not hold it")] = None,
    quiet: opt.Quiet = False,
) -> None:
    """Check that a run folder or dossier is unchanged.

    Exit code 5: a byte was changed, or the dossier was not signed by --signers or --public-key.
    """
    share = None if recompute is None else parse_share(recompute)
    if not is_dossier(folder) and not (signers or signer or public_key):
        _verify_run(folder, share, buckets=buckets, quiet=quiet)
        return
    by = DossierSigners(signers, signer, public_key)
    if signer and signers is None:
        raise EvidenceError("--signer", repr(signer), "also --signers, a list with that name")
    with show_progress(quiet=quiet) as progress:
        check = verify_dossier(folder, by, run=run, share=share, buckets=buckets, progress=progress)
    typer.echo(printable(f"ok: {check.sentence}", 1000))


def _verify_run(folder: Path, share: float | None, *, buckets: bool, quiet: bool) -> None:
    if share is not None:
        with show_progress(quiet=quiet) as progress:
            n = compute_again(folder, progress, share, buckets=buckets)
        much = "all" if share == 1 else f"{100 * share:g} % of the"
        digits = (
            " except for last digits, because the machine differs"
            if has_other_arithmetic(folder)
            else ""
        )
        same = f"{much} scores or tasks equal when recomputed{digits}"
        typer.echo(f"ok: {n} files unchanged, {same}")
        return
    n = checksums.verify_checksums(folder)
    pieces, elsewhere = check_checkpoints(folder, buckets=buckets)
    compared = f", {pieces} checkpoints unchanged" if pieces else ""
    left = f", checkpoints at {printable(elsewhere)} not compared (--buckets reads buckets)"
    typer.echo(f"ok: {n} files unchanged{compared}{left if elsewhere else ''}")


def sign(
    folder: Annotated[Path, argument("Dossier")],
    key: Annotated[Path, option("OpenSSH private key, or its .pub in an agent")],
    name: Annotated[str, option("Name of an extra signature: statement.json.NAME.sig")] = "",
    dsse: Annotated[bool, option("Write a DSSE envelope (Ed25519, extra sign)", "--dsse")] = False,
) -> None:
    """Sign a dossier with your SSH key, offline."""
    verify_dossier(folder, DossierSigners())  # nobody is to vouch for a changed file
    content = (folder / STATEMENT).read_bytes()
    if dsse:
        path = sign_envelope(folder, content, key)
    else:
        path = sign_with_ssh(folder, content, key, name)
    typer.echo(f"signature: {path}")

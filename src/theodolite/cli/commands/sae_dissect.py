"""The command that dissects the latents of a sparse autoencoder (SAE)."""

from pathlib import Path
from typing import Annotated

import typer

from theodolite._runs.engine.worker_choice import Engine, open_worker_pool
from theodolite._runs.folder.preparation import lock_folder
from theodolite._storage.tables import write_parquet
from theodolite._storage.text import write_json
from theodolite.cli import options as opt
from theodolite.cli.interrupts import PARTIAL, resumable
from theodolite.cli.options import argument, engine_options, option
from theodolite.cli.progress import show_progress
from theodolite.errors import EvidenceError
from theodolite.language.sae.dissect import dissect_sae
from theodolite.language.sae.evidence import SparseActivationEvidence

TABLE, SUMMARY = "units.parquet", "summary.json"


@engine_options("checkpoint_dir")
def sae_dissect(
    folder: Annotated[Path, argument("Folder that SparseActivationWriter wrote")],
    out: Annotated[Path, option("Folder to write")],
    length: Annotated[int, option("Concepts in a formula", min=1, max=3)] = 3,
    candidates: Annotated[
        int, option("Concepts that formulas are first searched in", min=1, max=256)
    ] = 64,
    precision: Annotated[float, option("Minimum gain from a third concept")] = 0.01,
    quantile: opt.Quantile = 0.995,
    min_documents: Annotated[int, option("Leave out concepts in fewer documents", min=1)] = 5,
    null_units: Annotated[
        int | None, option("Latents with a baseline. Default: all", min=0)
    ] = None,
    device: Annotated[str | None, option("Torch device to count on, such as cuda")] = None,
    seed: opt.Seed = 0,
    overwrite: opt.Overwrite = False,
    quiet: opt.Quiet = False,
    *,
    engine: Engine,
) -> None:
    """Find the concepts that the latents of an SAE detect, from sparse activations.

    To resume a run that was interrupted, give the same command again.
    """
    evidence = SparseActivationEvidence.open(folder)
    if (out / SUMMARY).exists() and not overwrite:
        raise EvidenceError(
            f"folder {str(out)!r}", "an earlier result in it", "an empty folder", "Or --overwrite."
        )
    with resumable(), lock_folder(out), show_progress(quiet=quiet) as progress:
        with open_worker_pool(engine, out, progress) as crew:
            try:
                dissected = dissect_sae(
                    evidence, workers=crew, quantile=quantile, length=length, candidates=candidates,
                    precision=precision, min_documents=min_documents, null_units=null_units,
                    device=device, seed=seed,
                )  # fmt: skip
            except EvidenceError:
                for first in crew.failed[:1]:  # what the message is a consequence of
                    typer.echo(f"{first.piece}: {first.error}: {first.message}", err=True)
                raise
            failed = crew.n_failed
        write_parquet(out / TABLE, dissected.columns())
        summary = {**dissected.summary(), "codes": evidence.digest(), "failed_tasks": failed}
        write_json(out / SUMMARY, summary)
    typer.echo(f"{dissected!r}\ntable: {out / TABLE}")
    if failed:
        typer.echo(f"theodolite: incomplete: {failed} tasks failed", err=True)
        raise typer.Exit(PARTIAL)

"""The command for dictionaries with sparse codes."""

from pathlib import Path
from typing import Annotated

import typer

from theodolite.cli.options import (
    EngineOption,
    Overwrite,
    Pieces,
    Quiet,
    RayAddress,
    WorkersOption,
    chosen_engine,
)

TABLE, SUMMARY = "units.parquet", "summary.json"


def codes(
    folder: Annotated[
        Path, typer.Argument(help="Sparse codes, as SparseActivationWriter leaves them.")
    ],
    out: Annotated[Path, typer.Option(help="The folder to write.")],
    length: Annotated[int, typer.Option(help="Concepts in a formula.", min=1, max=3)] = 3,
    candidates: Annotated[
        int, typer.Option(help="Concepts that a formula is first looked for in.", min=1, max=256)
    ] = 64,
    precision: Annotated[
        float, typer.Option(help="How much better three concepts must be than two.")
    ] = 0.01,
    quantile: Annotated[
        float, typer.Option(help="A dense unit is active above this quantile.")
    ] = 0.995,
    min_documents: Annotated[
        int, typer.Option(help="Leave out concepts in fewer documents.", min=1)
    ] = 5,
    null_units: Annotated[
        int | None, typer.Option(help="Units that the null is made for; else all.", min=0)
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="Count by torch on this device, such as cuda.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the null.")] = 0,
    engine: EngineOption = "auto",
    workers: WorkersOption = None,
    ray_address: RayAddress = None,
    pieces: Pieces = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Find out which concepts the units of a dictionary detect, from sparse codes.

    A run that was cut off goes on with what is missing: give the same command again.
    """
    from theodolite._runs.engine.base import worker_pool
    from theodolite._runs.folder.folder import claimed
    from theodolite._storage.tables import write_parquet
    from theodolite._storage.text import write_json
    from theodolite.cli.finish import PARTIAL
    from theodolite.cli.interrupts import goes_on
    from theodolite.cli.progress import show_progress
    from theodolite.errors import EvidenceError
    from theodolite.language.sae.dissect import dissect_sae
    from theodolite.language.sae.evidence import SparseActivationEvidence

    chosen = chosen_engine(engine, workers, ray_address, pieces, "auto")
    evidence = SparseActivationEvidence.open(folder)
    if (out / SUMMARY).exists() and not overwrite:
        raise EvidenceError(
            f"folder {str(out)!r}", "an earlier result in it", "an empty folder", "Or --overwrite."
        )
    with goes_on(), claimed(out), show_progress(quiet=quiet) as progress:
        with worker_pool(chosen, out, progress) as crew:
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
        typer.echo(f"theodolite: partial: {failed} pieces of work failed", err=True)
        raise typer.Exit(PARTIAL)

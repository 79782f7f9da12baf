"""The command that puts a score through planted truths."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from theodolite.cli.options import (
    EngineOption,
    Json,
    Pieces,
    Quiet,
    RayAddress,
    WorkersOption,
    chosen_engine,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from theodolite.certification.characteristics import Characteristics


def certify(
    metric: Annotated[str, typer.Argument(help="A score that looks for leakage in values.")],
    out: Annotated[Path, typer.Option(help="The folder for certificate.json and its pieces.")],
    size: Annotated[
        Literal["ci", "release"], typer.Option(help="How many conditions and draws.")
    ] = "ci",
    draws: Annotated[
        int | None, typer.Option(help="Draws of each condition; else by size.", min=20)
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all draws.", min=0)] = 0,
    engine: EngineOption = "auto",
    workers: WorkersOption = None,
    ray_address: RayAddress = None,
    pieces: Pieces = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Put a score through evidence with a planted truth: false alarms, coverage, bias.

    So far for scores that look for leakage in values of concepts. What was cut off goes on: give
    the same command again.
    """
    from theodolite.certification.certificate import certificate, write_certificate
    from theodolite.certification.grid import REPETITIONS, certify, conditions
    from theodolite.cli.interrupts import goes_on
    from theodolite.cli.progress import show_progress
    from theodolite.engine.base import worker_pool
    from theodolite.thresholds.judge import NOT_MET

    chosen = chosen_engine(engine, workers, ray_address, pieces, "auto")
    with (
        goes_on(),
        show_progress(quiet=quiet) as progress,
        worker_pool(chosen, out, progress) as pool,
    ):
        n = draws or REPETITIONS[size]
        cells = certify(metric, conditions(size), n, seed=seed, workers=pool)
    content = certificate(metric, cells, size, seed)
    write_certificate(out / "certificate.json", content)
    if as_json:
        typer.echo(json.dumps(content, indent=1))
    else:
        _print(cells)
    raise typer.Exit(NOT_MET if content["failed"] else 0)


def _print(cells: "Sequence[Characteristics]") -> None:
    from theodolite.certification.planted_leakage import LeakageCondition
    from theodolite.cli.tables import print_table

    usual = LeakageCondition().describe()
    rows = []
    for cell in cells:
        changed = {k: v for k, v in cell.condition.items() if v != usual[k] and k != "share"}
        condition = ", ".join(f"{name} {value}" for name, value in changed.items()) or "plain"
        shares = {name: f"{count / cell.draws:.2f}" for name, count in cell.answers.items()}
        covered = f"{cell.covered / cell.intervals:.2f}" if cell.intervals else "–"
        rows.append(
            (
                condition, f"{cell.truth:.3f}", f"{cell.mean:.3f} ± {cell.spread:.3f}", covered,
                shares["yes"], shares["partly"], shares["no"], shares["cannot tell"],
                "; ".join(cell.failures) or "holds",
            )
        )  # fmt: skip
    heads = (
        "condition", "true", "mean", "covered", "free", "partly", "leaking", "cannot tell", "",
    )  # fmt: skip
    print_table(heads, rows)

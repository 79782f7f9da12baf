"""The command that runs protocols and sweeps by name."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from theodolite._storage.cache_folder import get_default_cache
from theodolite.cli.options import Cache, Json, Quiet, check_there

if TYPE_CHECKING:
    from theodolite_reproductions.sweeps.result import SweepRecord


def papers_run(
    spec: Annotated[
        Path,
        typer.Argument(help="Name of `papers list`, or a YAML file", show_default=False),
    ],
    out: Annotated[Path, typer.Option(help="Folder to write")],
    data: Annotated[Path, typer.Option(help="Folder that the protocol's paths are in")] = Path(),
    cache: Cache = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run a protocol, or a sweep over the choices of one.

    A sweep measures every combination of choices on the same samples. What was cut off goes on with
    what is missing.
    """
    from theodolite._runs.folder.preparation import lock_folder
    from theodolite._runs.folder.protocols import find_protocol_file
    from theodolite._runs.run_inputs import RunPaths
    from theodolite._storage.text import read_yaml
    from theodolite.cli.commands.run import run
    from theodolite.cli.interrupts import resumable
    from theodolite.cli.progress import show_progress
    from theodolite_reproductions.sweeps.result import run_sweep
    from theodolite_reproductions.sweeps.spec import read_sweep

    path = find_protocol_file(spec)
    content = read_yaml(path, "protocol")
    if not isinstance(content, dict) or "vary" not in content:
        run(path, out, data, cache, quiet=quiet)
        return
    checked, protocol = read_sweep(path)
    check_there(data)
    at = RunPaths(data, out, cache or get_default_cache())
    with resumable(), lock_folder(out), show_progress(quiet=quiet) as progress:
        record = run_sweep(checked, protocol, at, progress)
    if as_json:
        typer.echo(record.model_dump_json(indent=1))
        return
    _print(record)


def _print(record: "SweepRecord") -> None:
    from theodolite.cli.tables import print_table

    names = [contrast.name for contrast in record.sweep.contrasts]
    rows = [
        [", ".join(f"{name.rpartition('.')[2]}={value}" for name, value in cell.choices.items())]
        + [_ends(own.value, own.low, own.high) for own in cell.contrasts]
        for cell in record.cells
    ]
    print_table(["cell", *names], rows)
    typer.echo("")
    rows = [
        [move.setting, f"{move.before} to {move.after}", move.contrast,
         _ends(move.value, move.low, move.high), "–" if move.p is None else f"{move.p:.2g}"]
        for move in sorted(record.moves, key=lambda move: -abs(move.value or 0.0))
    ]  # fmt: skip
    print_table(["choice", "from, to", "moves", "by", "p, corrected for all"], rows)


def _ends(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return "undefined"
    ends = "" if low is None or high is None else f" [{low:.3f}, {high:.3f}]"
    return f"{value:.3f}{ends}"

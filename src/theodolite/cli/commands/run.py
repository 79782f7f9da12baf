"""Commands that make evidence and score it."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from theodolite._storage.atomic import default_cache
from theodolite.cli.options import (
    Cache,
    DryRun,
    EngineOption,
    Inference,
    MetricsPort,
    MixedCpus,
    Overwrite,
    Pieces,
    Quiet,
    RayAddress,
    WorkersOption,
    check_there,
    chosen_engine,
    command_line,
)

if TYPE_CHECKING:
    from theodolite._runs.engine.base import Engine
    from theodolite._runs.folder.spec import RunSpec
    from theodolite._runs.inputs import Places


def run(
    spec: Annotated[
        Path,
        typer.Argument(
            help="A run spec in YAML, or a name of `theodolite protocols`.", show_default=False
        ),
    ],
    out: Annotated[Path, typer.Option(help="The run folder to write.")],
    data: Annotated[Path, typer.Option(help="The folder that the spec's paths are in.")] = Path(),
    cache: Cache = None,
    engine: EngineOption = "auto",
    workers: WorkersOption = None,
    ray_address: RayAddress = None,
    pieces: Pieces = None,
    inference: Inference = "auto",
    mixed_cpus: MixedCpus = False,
    overwrite: Overwrite = False,
    dry_run: DryRun = False,
    short: Annotated[
        bool, typer.Option("--short", help="One seed, few resamples: to see that it goes through.")
    ] = False,
    metrics_port: MetricsPort = None,
    quiet: Quiet = False,
) -> None:
    """Run a spec: make evidence, score it, write a run folder with a report.

    A run that was cut off goes on with what is missing: give the same command again.
    """
    from theodolite._runs.folder.protocols import protocol_file, short_form
    from theodolite._runs.folder.spec import read_spec
    from theodolite._runs.inputs import Places

    chosen = chosen_engine(
        engine, workers, ray_address, pieces, inference, metrics_port, mixed_cpus=mixed_cpus
    )
    checked = read_spec(protocol_file(spec))
    checked = short_form(checked) if short else checked
    check_there(data)
    at = Places(data, out, cache or default_cache())
    run_spec(checked, at, chosen, overwrite=overwrite, dry_run=dry_run, quiet=quiet)


def dissect(
    concepts: Annotated[
        str,
        typer.Argument(
            help="How the masks are stored: camvid, pets, monumai_masks, broden, ade20k "
            "or mask_folder, the format for your own."
        ),
    ],
    folder: Annotated[Path, typer.Argument(help="The folder with images and masks.")],
    model: Annotated[str, typer.Option(help="A network of timm, such as resnet18.")],
    out: Annotated[Path, typer.Option(help="The run folder to write.")],
    weights: Annotated[
        Path | None, typer.Option(help="Its weights (.safetensors); else timm fetches them.")
    ] = None,
    layer: Annotated[
        str | None,
        typer.Option(
            help="The layer whose units to dissect; default: the last layer with a spatial grid."
        ),
    ] = None,
    units: Annotated[int | None, typer.Option(help="Only the first so many units.", min=1)] = None,
    length: Annotated[int, typer.Option(help="Concepts in a formula.", min=1, max=10)] = 3,
    search: Annotated[
        Literal["beam", "exact"],
        typer.Option(help="exact: the best of all formulas of three, proved; not the beam's."),
    ] = "beam",
    exact: Annotated[bool, typer.Option("--exact", hidden=True)] = False,
    resolution: Annotated[
        str | None,
        typer.Option(help="Rows x columns to count on, such as 240x320; default: 112x112."),
    ] = None,
    void: Annotated[
        list[int] | None,
        typer.Option(help="A number in label maps, such as 255, that is not counted; repeat it."),
    ] = None,
    quantile: Annotated[float, typer.Option(help="A unit is active above this quantile.")] = 0.995,
    min_images: Annotated[int, typer.Option(help="Leave out concepts in fewer images.", min=1)] = 5,
    cache: Cache = None,
    engine: EngineOption = "auto",
    workers: WorkersOption = None,
    ray_address: RayAddress = None,
    inference: Inference = "auto",
    mixed_cpus: MixedCpus = False,
    overwrite: Overwrite = False,
    dry_run: DryRun = False,
    metrics_port: MetricsPort = None,
    quiet: Quiet = False,
) -> None:
    """Find out which concepts the units of a layer detect. A run that was stopped goes on."""
    from theodolite._runs.folder.spec import RunSpec
    from theodolite._runs.inputs import Places

    check_there(folder)
    paths = [folder.resolve(), *([weights.resolve()] if weights else [])]
    data = Path(os.path.commonpath([path.parent for path in paths]))
    places = [path.relative_to(data).as_posix() for path in paths]
    pipeline: dict[str, Any] = {
        "name": "dissection", "backbone": model, "layer": layer, "units": units, "length": length,
        "lengths": max(length, 10), "search": "exact" if exact else search, "quantile": quantile,
        "min_images": min_images,
    }  # fmt: skip
    if weights:
        pipeline["weights"] = places[1]
    if resolution is not None:
        pipeline["grid"] = _rows_and_columns(resolution)
    dataset = {"name": concepts, "root": places[0]} | ({"void": void} if void else {})
    spec = RunSpec.model_validate(
        {
            "name": "dissection",
            "title": f"What the units of {model} detect",
            "dataset": dataset,
            "pipeline": pipeline,
            "resampling": {"resamples": 200},
        }
    )
    at = Places(data, out, cache or default_cache())
    chosen = chosen_engine(
        engine, workers, ray_address, None, inference, metrics_port, mixed_cpus=mixed_cpus
    )
    run_spec(spec, at, chosen, overwrite=overwrite, dry_run=dry_run, quiet=quiet)


def _rows_and_columns(text: str) -> list[int]:
    from theodolite.errors import EvidenceError

    sides = re.fullmatch(r"([0-9]{1,4})x([0-9]{1,4})", text)
    if sides is None:
        raise EvidenceError("--resolution", repr(text), "rows x columns, such as 240x320")
    return [int(side) for side in sides.groups()]


def run_spec(
    spec: "RunSpec",
    at: "Places",
    engine: "Engine",
    *,
    overwrite: bool,
    dry_run: bool,
    quiet: bool,
) -> None:
    """Do a spec into its folder, then report and seal; or say what that would take."""
    from theodolite._runs.folder.folder import claimed
    from theodolite._runs.run import rehearse, run
    from theodolite.cli.finish import finish
    from theodolite.cli.interrupts import goes_on
    from theodolite.cli.progress import print_price, print_rehearsal, show_progress

    command = command_line()
    with goes_on(), claimed(at.out):
        if dry_run:
            print_rehearsal(rehearse(spec, at, command=command, engine=engine, overwrite=overwrite))
            return
        announce = None if quiet else print_price
        with show_progress(quiet=quiet) as progress:
            run(spec, at, progress, command, engine, overwrite=overwrite, announce=announce)
        finish(at.out)

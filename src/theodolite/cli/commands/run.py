"""Commands that compute evidence and score it."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from theodolite._runs.engine.worker_choice import Engine
from theodolite._runs.folder.preparation import lock_folder
from theodolite._runs.folder.protocols import find_protocol_file, shorten_spec
from theodolite._runs.folder.spec import RunSpec, read_spec
from theodolite._runs.run import rehearse
from theodolite._runs.run import run as run_into_folder
from theodolite._runs.run_inputs import RunPaths
from theodolite._storage.cache_folder import get_default_cache
from theodolite._verdicts.answers import AuditAnswers
from theodolite.cli import options as opt
from theodolite.cli.finish import finish
from theodolite.cli.interrupts import resumable
from theodolite.cli.models import ModelOptions
from theodolite.cli.options import argument, check_there, engine_options, option
from theodolite.cli.progress import print_price, print_rehearsal, show_progress
from theodolite.errors import EvidenceError


@engine_options("checkpoint_dir", "inference", "mixed_cpus", "metrics_port")
def run(
    spec: Annotated[Path, argument("Run spec (YAML), or a name of `theodolite papers list`")],
    out: opt.Out,
    data: Annotated[Path, option("Folder that the spec's paths are in")] = Path(),
    cache: opt.Cache = None,
    overwrite: opt.Overwrite = False,
    dry_run: opt.DryRun = False,
    short: Annotated[bool, option("Try it with one seed and few resamples", "--short")] = False,
    quiet: opt.Quiet = False,
    *,
    engine: Engine,
) -> None:
    """Run a spec: compute evidence, score it, write a run folder with a report.

    To resume a run that was interrupted, give the same command again.
    """
    checked = read_spec(find_protocol_file(spec))
    checked = shorten_spec(checked) if short else checked
    check_there(data)
    at = RunPaths(data, out, cache or get_default_cache())
    run_spec(checked, at, engine, overwrite=overwrite, dry_run=dry_run, quiet=quiet)


@engine_options("inference", "mixed_cpus", "metrics_port")
def dissect(
    model: Annotated[str, option("Model to dissect, such as timm:resnet18")],
    data: Annotated[Path, option("Folder of images with masks or regions of concepts")],
    out: opt.Out,
    dataset: Annotated[str, option("Layout of DATA, such as broden or monumai")] = "folder",
    weights: opt.Weights = None,
    classes: opt.Classes = None,
    preprocess: opt.Preprocess = None,
    trust_model: opt.TrustModel = False,
    layer: opt.Layer = None,
    units: Annotated[int | None, option("Number of units. Default: all", min=1)] = None,
    length: Annotated[int, option("Concepts in a formula", min=1, max=10)] = 3,
    search: Annotated[
        Literal["beam", "exact"], option("Search; exact proves the best formula of three")
    ] = "beam",
    resolution: Annotated[
        str | None, option("Rows x columns to count on. Default: 112x112")
    ] = None,
    void: Annotated[list[int] | None, option("Label not to count, such as 255; repeatable")] = None,
    quantile: opt.Quantile = 0.995,
    min_images: Annotated[int, option("Leave out concepts in fewer images", min=1)] = 5,
    cache: opt.Cache = None,
    overwrite: opt.Overwrite = False,
    dry_run: opt.DryRun = False,
    quiet: opt.Quiet = False,
    *,
    engine: Engine,
) -> None:
    """Find the concepts that the units of a layer detect.

    The model and the data are named as in `theodolite audit`. Layouts with masks: camvid, pets,
    broden, ade20k, and mask_folder for your own.
    To resume a run that was interrupted, give the same command again.
    """
    check_there(data)
    options = ModelOptions(model, weights, classes, preprocess, trust_model)
    options.check_trust()
    root, place, network = options.make_settings(data)
    pipeline: dict[str, Any] = network | {
        "name": "dissection", "layer": layer, "units": units, "length": length,
        "lengths": max(length, 10), "search": search, "quantile": quantile,
        "min_images": min_images,
    }  # fmt: skip
    if resolution is not None:
        pipeline["grid"] = _rows_and_columns(resolution)
    spec = RunSpec.model_validate(
        {
            "name": "dissection",
            "title": f"What the units of {network['backbone']} detect",
            "dataset": {"name": dataset, "root": place} | ({"void": void} if void else {}),
            "pipeline": pipeline,
            "resampling": {"resamples": 200},
        }
    )
    at = RunPaths(root, out, cache or get_default_cache())
    run_spec(spec, at, engine, overwrite=overwrite, dry_run=dry_run, quiet=quiet)


def _rows_and_columns(text: str) -> list[int]:
    sides = re.fullmatch(r"([0-9]{1,4})x([0-9]{1,4})", text)
    if sides is None:
        raise EvidenceError("--resolution", repr(text), "rows x columns, such as 240x320")
    return [int(side) for side in sides.groups()]


def run_spec(
    spec: RunSpec, at: RunPaths, engine: Engine, *, overwrite: bool, dry_run: bool, quiet: bool
) -> None:
    """Run a spec into its folder, then report and seal; or print what that would take."""
    with resumable(), lock_folder(at.out):
        answers = compute(spec, at, engine, overwrite=overwrite, dry_run=dry_run, quiet=quiet)
        if answers is not None:
            code = finish(at.out)
            if code:
                raise typer.Exit(code)


def compute(
    spec: RunSpec,
    at: RunPaths,
    engine: Engine,
    *,
    overwrite: bool | None,
    dry_run: bool,
    quiet: bool,
) -> AuditAnswers | None:
    """Run a spec, or only print what that would take."""
    command = opt.command_line()
    if dry_run:
        print_rehearsal(rehearse(spec, at, command=command, engine=engine, overwrite=overwrite))
        return None
    announce = None if quiet else print_price
    with show_progress(quiet=quiet) as progress:
        return run_into_folder(
            spec, at, progress, command, engine, overwrite=overwrite, announce=announce
        )

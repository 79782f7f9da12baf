"""The commands."""

import inspect
import json
import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

if TYPE_CHECKING:
    from theodolite.execution.engine import Engine
    from theodolite.execution.run import Places
    from theodolite.execution.spec import RunSpec

PARTIAL = 4
"""Exit code of a run that is usable, but not whole."""

app = typer.Typer(
    name="theodolite",
    help="Can you rely on this explanation of a neural network?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)
data_app = typer.Typer(
    help="Data sets: which there are, and whether a folder can be read.", no_args_is_help=True
)
app.add_typer(data_app, name="data")

Cache = Annotated[Path | None, typer.Option(help="Where features are kept for the next run.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
EngineOption = Annotated[
    str,
    typer.Option(
        "--engine", metavar="auto|local|ray", help="Who does work that can be cut into pieces."
    ),
]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", help="How many processes; else one a core.", min=1)
]
RayAddress = Annotated[
    str | None, typer.Option(help="A Ray cluster that runs already; else none is attached to.")
]
Pieces = Annotated[
    str | None,
    typer.Option(
        help="Where finished pieces of work are kept, if not in OUT: a folder or s3:// address "
        "that all machines of a cluster reach."
    ),
]
Inference = Annotated[
    str,
    typer.Option(metavar="auto|tasks|data", help="How networks are run on Ray: tasks or Ray Data."),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an earlier run in OUT.")]


def _cache() -> Path:
    named = os.environ.get("THEODOLITE_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "theodolite"


def _version(wanted: bool) -> None:
    if wanted:
        from theodolite import __version__

        typer.echo(f"theodolite {__version__}")
        raise typer.Exit


@app.callback()
def _start(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


@app.command()
def metrics(
    name: Annotated[str | None, typer.Argument(help="Show this metric's card.")] = None,
    as_json: Json = False,
) -> None:
    """List the scores, or show the card of one."""
    from theodolite.cli.tables import print_table
    from theodolite.metrics._cards import card
    from theodolite.metrics._catalogue import catalogue, entry

    chosen = [entry(name)] if name else list(catalogue().values())
    if as_json:
        typer.echo(json.dumps([card(one) for one in chosen], indent=1, default=str))
        return
    if name:
        print_table(("", ""), [(key, str(value)) for key, value in card(chosen[0]).items()])
        return
    rows = [
        (e.question, e.name, e.better, f"{e.bounds[0]:g} to {e.bounds[1]:g}", e.card.asks)
        for e in chosen
    ]
    print_table(("question", "score", "better", "range", "asks"), rows)


@app.command()
def run(
    spec: Annotated[Path, typer.Argument(help="A run spec in YAML.", show_default=False)],
    out: Annotated[Path, typer.Option(help="The run folder to write.")],
    data: Annotated[Path, typer.Option(help="The folder that the spec's paths are in.")] = Path(),
    cache: Cache = None,
    engine: EngineOption = "auto",
    workers: WorkersOption = None,
    ray_address: RayAddress = None,
    pieces: Pieces = None,
    inference: Inference = "auto",
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Run a spec: make evidence, score it, write a run folder with a report.

    A run that was cut off goes on with what is missing: give the same command again.
    """
    from theodolite.execution.run import Places
    from theodolite.execution.spec import read_spec

    chosen = _engine(engine, workers, ray_address, pieces, inference)
    checked = read_spec(spec)
    _check_folder(data)
    at = Places(data, out, cache or _cache())
    _run(checked, at, chosen, overwrite=overwrite, quiet=quiet)


@app.command()
def dissect(
    concepts: Annotated[
        str,
        typer.Argument(
            help="How the masks are stored: camvid, pets, monumai_masks, broden, ade20k "
            "or mask_folder, the format for your own."
        ),
    ],
    folder: Annotated[Path, typer.Argument(help="The folder with pictures and masks.")],
    model: Annotated[str, typer.Option(help="A network of timm, such as resnet18.")],
    out: Annotated[Path, typer.Option(help="The run folder to write.")],
    weights: Annotated[
        Path | None, typer.Option(help="Its weights (.safetensors); else timm fetches them.")
    ] = None,
    layer: Annotated[
        str | None,
        typer.Option(help="The layer whose units to dissect; else the last with places."),
    ] = None,
    units: Annotated[int | None, typer.Option(help="Only the first so many units.", min=1)] = None,
    length: Annotated[int, typer.Option(help="Concepts in a formula.", min=1, max=10)] = 3,
    exact: Annotated[
        bool, typer.Option(help="The best of all formulas of three, proved; not the beam's.")
    ] = False,
    quantile: Annotated[float, typer.Option(help="A unit is active above this quantile.")] = 0.995,
    min_pictures: Annotated[
        int, typer.Option(help="Leave out concepts in fewer pictures.", min=1)
    ] = 5,
    cache: Cache = None,
    engine: EngineOption = "auto",
    workers: WorkersOption = None,
    ray_address: RayAddress = None,
    inference: Inference = "auto",
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Find out which concepts the units of a layer detect. A run that was stopped goes on."""
    from theodolite.execution.run import Places
    from theodolite.execution.spec import RunSpec

    _check_folder(folder)
    given = [folder.resolve(), *([weights.resolve()] if weights else [])]
    data = Path(os.path.commonpath([path.parent for path in given]))
    places = [path.relative_to(data).as_posix() for path in given]
    pipeline: dict[str, Any] = {
        "name": "dissection", "backbone": model, "layer": layer, "units": units, "length": length,
        "lengths": max(length, 10), "search": "exact" if exact else "beam", "quantile": quantile,
        "min_pictures": min_pictures,
    }  # fmt: skip
    if weights:
        pipeline["weights"] = places[1]
    spec = RunSpec.model_validate(
        {
            "name": "dissection",
            "title": f"What the units of {model} detect",
            "dataset": {"name": concepts, "root": places[0]},
            "pipeline": pipeline,
            "resampling": {"resamples": 200},
        }
    )
    at = Places(data, out, cache or _cache())
    chosen = _engine(engine, workers, ray_address, None, inference)
    _run(spec, at, chosen, overwrite=overwrite, quiet=quiet)


@app.command()
def audit(
    evidence: Annotated[
        str,
        typer.Argument(
            help="A folder of stored evidence, a folder or address (s3://…) of evidence in "
            "pieces, or a .npz or .safetensors file with the array "
            "'values' and any of truth, weights, predicted, labels, class_truth, known, concepts, "
            "classes; or with 'unit_pixels' and the other counts of units.",
            show_default=False,
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="Also write a run folder with a report.")] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    seed: Annotated[int, typer.Option(help="Seed of intervals and nulls.", min=0)] = 0,
    resamples: Annotated[
        int, typer.Option(help="Resamples for intervals.", min=0, max=100_000)
    ] = 1000,
    engine: EngineOption = "auto",
    workers: WorkersOption = None,
    ray_address: RayAddress = None,
    pieces: Pieces = None,
    quiet: Quiet = False,
) -> None:
    """Score everything that the evidence allows."""
    from theodolite.cli.audits import audit_files, audit_pieces, spec_of
    from theodolite.cli.progress import shown
    from theodolite.cli.tables import print_scores, print_verdicts
    from theodolite.errors import EvidenceError
    from theodolite.execution.record import scores_file
    from theodolite.execution.run_folder import prepare_folder

    chosen = _engine(engine, workers, ray_address, pieces, "auto")
    spec = spec_of(evidence, resamples=resamples, seed=seed)
    if out is not None:
        prepare_folder(out, overwrite=overwrite)
    with shown(quiet=quiet) as progress:
        found = audit_pieces(spec, evidence, out, chosen, progress, _command())
        if found is None:
            found = audit_files(spec, Path(evidence), out, progress, _command())
    if not found.scores:
        needs = "; ".join(f"{u.metric}: {', '.join(u.needs)}" for u in found.unanswered)
        raise EvidenceError(f"{Path(evidence).name!r}", "nothing that can be scored", needs)
    if as_json:
        content = scores_file(found.scores, found.verdicts, found.unanswered)
        typer.echo(content.model_dump_json(indent=1))
    else:
        print_scores(found.scores)
        typer.echo("")
        print_verdicts(found.verdicts)
        for missing in found.unanswered:
            typer.echo(f"not asked: {missing.metric} needs {', '.join(missing.needs)}")
        for note in found.notes:
            typer.echo(f"note: {note}")
    if out is not None:
        _finish(out, verdicts_too=False, quiet=as_json)
    elif found.failed_pieces:
        raise typer.Exit(PARTIAL)


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="A run folder.", show_default=False)],
    figures: Annotated[
        Path | None, typer.Option(help="Also write the figures for a paper (PDF) into this folder.")
    ] = None,
) -> None:
    """Build the report of a run again."""
    from theodolite.execution.seal import seal, verify
    from theodolite.report.html import write_report

    # a report of changed numbers would be sealed as if they were the run's
    verify(folder, but="report.html")
    path = write_report(folder)
    seal(folder)
    typer.echo(f"report: {path}")
    if figures is not None:
        from theodolite.report.paper_figures import write_figures

        for written in write_figures(folder, figures):
            typer.echo(f"figure: {written}")


@app.command()
def verify(
    folder: Annotated[Path, typer.Argument(help="A run folder.", show_default=False)],
    recompute: Annotated[
        str | None,
        typer.Option(help="Also compute again: a share of the work, such as 1%, or all."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Check that a run folder is what it was; exit code 5 if a byte was changed."""
    from theodolite.cli.progress import shown
    from theodolite.execution.recompute import recompute as again
    from theodolite.execution.recompute import share_of
    from theodolite.execution.seal import verify as check

    if recompute is not None:
        share = share_of(recompute)
        with shown(quiet=quiet) as progress:
            n = again(folder, progress, share)
        much = "all" if share == 1 else f"{100 * share:g} % of it, drawn at random,"
        typer.echo(f"ok: {n} files unchanged, {much} the same when computed again")
    else:
        typer.echo(f"ok: {check(folder)} files unchanged")


@data_app.command("list")
def data_list() -> None:
    """Data sets that specs can name."""
    from theodolite.cli.tables import print_table
    from theodolite.execution.registry import registered

    rows = []
    for name, point in sorted(registered("datasets").items()):
        lines = (inspect.getdoc(inspect.getmodule(point.load())) or "").splitlines()
        rows.append((name, lines[0] if lines else ""))
    print_table(("name", "what it reads"), rows)


@data_app.command("check")
def data_check(
    name: Annotated[
        str, typer.Argument(help="A data set, as 'data list' has it.", show_default=False)
    ],
    folder: Annotated[Path, typer.Argument(help="Its folder.", show_default=False)],
) -> None:
    """Read a data set and say what is in it."""
    import numpy as np

    from theodolite.cli.tables import print_table
    from theodolite.execution.registry import build
    from theodolite.execution.spec import Named

    _check_folder(folder)
    resolved = folder.resolve()
    found: Any = build("datasets", Named(name=name, root=resolved.name), resolved.parent)
    notes = [("note", note) for note in found.notes]
    if not hasattr(found, "at_hand"):  # tables and features: all there is has been read
        print_table(("", found.name), [*found.summary(), *notes])
        return
    at_hand = found.at_hand(np.arange(len(found)))
    facts = [("pictures", f"{len(found):,} listed, {len(at_hand):,} at hand"), *found.summary()]
    print_table(("", found.name), [*facts, *notes])
    found.check_pictures(at_hand)


@data_app.command("example")
def data_example(
    folder: Annotated[Path, typer.Argument(help="A new folder.", show_default=False)],
    n: Annotated[int, typer.Option(help="How many pictures.", min=6, max=10_000)] = 60,
) -> None:
    """Write a small data set of drawn shapes: the format of your own, by example."""
    from theodolite.datasets.shapes import write_shapes
    from theodolite.execution.run_folder import prepare_folder

    prepare_folder(folder, overwrite=False)
    write_shapes(folder, n)
    typer.echo(f"wrote {folder}: read it with 'theodolite data check folder {folder}'")


@data_app.command("store")
def data_store(
    evidence: Annotated[
        Path, typer.Argument(help="Stored evidence, .npz or .safetensors.", show_default=False)
    ],
    address: Annotated[
        str, typer.Argument(help="A new folder, or an address such as s3://bucket/evidence.")
    ],
    rows: Annotated[int | None, typer.Option(help="Samples of a piece.", min=16)] = None,
) -> None:
    """Write evidence in pieces, to be audited by many processes in constant memory."""
    from theodolite.contracts.files import load, load_arrays
    from theodolite.contracts.stored import stored
    from theodolite.contracts.stored_writer import EvidenceWriter

    with EvidenceWriter(address, rows) as writer:
        writer.add(load(evidence) if evidence.is_dir() else load_arrays(evidence))
    found = stored(address)
    typer.echo(f"wrote {len(found):,} samples in {len(found.cuts)} pieces: {address}")


def _engine(
    name: str, workers: int | None, ray_address: str | None, pieces: str | None, inference: str
) -> "Engine":
    from theodolite.errors import EvidenceError
    from theodolite.execution.engine import Engine, EngineName
    from theodolite.execution.ray import Inference as HowNetworks

    for option, given, known in (
        ("engine", name, get_args(EngineName)),
        ("inference", inference, get_args(HowNetworks)),
    ):
        if given not in known:
            raise EvidenceError(f"--{option}", repr(given), f"one of {', '.join(known)}")
    return Engine(name, workers, ray_address, pieces, inference)  # type: ignore[arg-type]


def _check_folder(path: Path) -> None:
    from theodolite.errors import EvidenceError

    if not path.is_dir():
        raise EvidenceError(f"folder {str(path)!r}", "nothing there", "a folder")


def _command() -> str:
    return shlex.join(["theodolite", *sys.argv[1:]])


def _run(spec: "RunSpec", at: "Places", engine: "Engine", *, overwrite: bool, quiet: bool) -> None:
    """Do a spec into its folder, then report and seal."""
    from theodolite.cli.progress import shown
    from theodolite.execution.run import run
    from theodolite.execution.run_folder import prepare_folder

    prepare_folder(at.out, overwrite=overwrite)
    with shown(quiet=quiet) as progress:
        run(spec, at, progress, _command(), engine)
    _finish(at.out)


def _finish(out: Path, *, verdicts_too: bool = True, quiet: bool = False) -> None:
    """Report, seal, and say where it is."""
    from theodolite.cli.tables import print_verdicts
    from theodolite.execution._scored import headline_scores
    from theodolite.execution.audit import verdicts
    from theodolite.execution.record import read_scores
    from theodolite.execution.run_record import MadeRecord, RunRecord, read_record
    from theodolite.execution.seal import seal
    from theodolite.report.html import write_report

    path = write_report(out)
    seal(out)
    if verdicts_too:
        spec = read_record(out / "run.json", RunRecord).spec
        scores, _ = read_scores(out / "scores.json")
        print_verdicts(verdicts(scores, headline_scores(spec, scores)))
    if not quiet:
        typer.echo(f"report: {path}")
    if failed := read_record(out / "made.json", MadeRecord).failed_pieces:
        typer.echo(f"theodolite: partial: {failed} pieces of work failed: failed.parquet", err=True)
        raise typer.Exit(PARTIAL)

"""Options that several commands have, and what is made of them."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

if TYPE_CHECKING:
    from theodolite._runs.engine.base import Engine

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
MixedCpus = Annotated[
    bool,
    typer.Option(
        "--mixed-cpus", help="Machines of a cluster may differ in last digits; the notes say so."
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Time a few pieces of the work, say what all of it would take, and end.",
    ),
]
MetricsPort = Annotated[
    int | None,
    typer.Option(
        help="Counts of the run for Prometheus, at this port of this machine.", min=1, max=65535
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an earlier run in OUT.")]
OverwriteFile = Annotated[
    bool, typer.Option("--overwrite", help="Replace a file that theodolite did not write.")
]


def _choose_most_memory(text: str | None) -> str | None:
    from theodolite._storage.memory import choose_most_memory, parse_bytes

    choose_most_memory(None if text is None else parse_bytes(text, "--most-memory"))
    return text


MostMemory = Annotated[
    str | None,
    typer.Option(
        callback=_choose_most_memory,
        metavar="SIZE",
        help="The most that packed data may take once unpacked, such as 2GB; else a quarter of the "
        "machine, at most 4 GiB.",
        show_default=False,
    ),
]


def chosen_engine(
    name: str,
    workers: int | None,
    ray_address: str | None,
    pieces: str | None,
    inference: str,
    metrics_port: int | None = None,
    *,
    mixed_cpus: bool = False,
) -> "Engine":
    """Where work is done, as asked for."""
    from theodolite._runs.engine.base import Engine, EngineName
    from theodolite._runs.engine.ray import Inference as HowNetworks
    from theodolite.errors import EvidenceError

    for option, value, known in (
        ("engine", name, get_args(EngineName)),
        ("inference", inference, get_args(HowNetworks)),
    ):
        if value not in known:
            raise EvidenceError(f"--{option}", repr(value), f"one of {', '.join(known)}")
    how = (name, workers, ray_address, pieces, inference, metrics_port, mixed_cpus)
    return Engine(*how)  # type: ignore[arg-type]


def check_there(path: Path) -> None:
    """Refuse a folder that is not there."""
    from theodolite.errors import EvidenceError

    if not path.is_dir():
        raise EvidenceError(f"folder {str(path)!r}", "nothing there", "a folder")


def command_line() -> str:
    """The command as it was given, for the record."""
    return shlex.join(["theodolite", *sys.argv[1:]])

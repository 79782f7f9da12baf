"""Commands about data sets, and about evidence as data."""

import inspect
from pathlib import Path
from typing import Annotated, Any

import typer

from theodolite.cli.options import MostMemory, check_there


def data_list() -> None:
    """Data sets that specs can name."""
    from theodolite._runs.folder.registry import registered
    from theodolite.cli.tables import print_table

    rows = []
    for name, point in sorted(registered("datasets").items()):
        lines = (inspect.getdoc(inspect.getmodule(point.load())) or "").splitlines()
        rows.append((name, lines[0] if lines else ""))
    print_table(("name", "what it reads"), rows)


def data_check(
    name: Annotated[
        str, typer.Argument(help="A data set, as 'data list' has it.", show_default=False)
    ],
    folder: Annotated[Path, typer.Argument(help="Its folder.", show_default=False)],
) -> None:
    """Read a data set and say what is in it."""
    import numpy as np

    from theodolite._runs.folder.registry import build
    from theodolite._runs.folder.spec import Named
    from theodolite.cli.tables import print_table

    check_there(folder)
    resolved = folder.resolve()
    dataset: Any = build("datasets", Named(name=name, root=resolved.name), resolved.parent)
    notes = [("note", note) for note in dataset.notes]
    if not hasattr(dataset, "at_hand"):  # tables and features: all there is has been read
        print_table(("", dataset.name), [*dataset.summary(), *notes])
        return
    at_hand = dataset.at_hand(np.arange(len(dataset)))
    facts = [("images", f"{len(dataset):,} listed, {len(at_hand):,} at hand"), *dataset.summary()]
    print_table(("", dataset.name), [*facts, *notes])
    dataset.check_images(at_hand)


def data_example(
    folder: Annotated[Path, typer.Argument(help="A new folder.", show_default=False)],
    n: Annotated[int, typer.Option(help="How many images.", min=6, max=10_000)] = 60,
) -> None:
    """Write a small data set of drawn shapes: the format of your own, by example."""
    from theodolite._runs.folder.folder import new_folder
    from theodolite.datasets.shapes import write_shapes

    new_folder(folder)
    write_shapes(folder, n)
    typer.echo(f"wrote {folder}: read it with 'theodolite data check folder {folder}'")


def data_store(
    source: Annotated[
        str,
        typer.Argument(
            help="A .npz, .safetensors, .parquet, .arrow, .feather or .tar file, a folder of such, "
            "a saved Hugging Face data set, or stored evidence.",
            show_default=False,
        ),
    ],
    address: Annotated[
        str, typer.Argument(help="A new folder, or an address such as s3://bucket/evidence.")
    ],
    fields: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ARRAY=COLUMN",
            help="Which columns hold what: values=logits, values='logit_*', ids=path. Several with "
            "commas, or the option again.",
            show_default=False,
        ),
    ] = None,
    kind: Annotated[
        str | None, typer.Option(help="The kind of evidence, if names do not say it.")
    ] = None,
    concepts: Annotated[str | None, typer.Option(help="Their names, or how many.")] = None,
    classes: Annotated[str | None, typer.Option(help="Their names, or how many.")] = None,
    rows: Annotated[int | None, typer.Option(help="Samples of a piece.", min=16)] = None,
    most_memory: MostMemory = None,
) -> None:
    """Write evidence in pieces, to be audited by many processes in constant memory."""
    from theodolite.evidence.sources.store import store

    del most_memory  # set as it was read
    axes = {"concepts": concepts, "classes": classes}
    named = {name: _names(text) for name, text in axes.items() if text is not None}
    bundle = store(source, address, kind=kind, fields=_fields(fields), rows=rows, **named)
    typer.echo(f"wrote {bundle.samples:,} samples in {bundle.pieces} pieces: {address}")


def _names(text: str) -> object:
    return int(text) if text.isdecimal() else text.split(",")


def _fields(options: list[str] | None) -> dict[str, str] | None:
    """Arrays and their columns; what has no '=' is one more column of the array before."""
    from theodolite.errors import EvidenceError

    if not options:
        return None
    fields: dict[str, str] = {}
    name = ""
    for part in ",".join(options).split(","):
        before, mark, after = part.partition("=")
        if mark:
            name = before.strip()
            if name in fields:
                raise EvidenceError("--fields", f"{name!r} twice", "each array once")
        if not name or not (after if mark else part).strip():
            raise EvidenceError("--fields", repr(part), "ARRAY=COLUMN, such as values=logits")
        fields[name] = after.strip() if mark else f"{fields[name]},{part.strip()}"
    return fields


def data_commit(
    address: Annotated[str, typer.Argument(help="Where parts were written.", show_default=False)],
    expects: Annotated[
        str | None, typer.Option(help="Add parts to the bundle with this manifest (its digest).")
    ] = None,
    single_committer: Annotated[
        bool, typer.Option(help="Nobody else commits: for servers that ignore conditions.")
    ] = False,
) -> None:
    """Make one bundle of all finished parts: all of it is there, or nothing."""
    from theodolite.evidence.manifests.commit import commit

    result = commit(address, expects, single_committer=single_committer)
    how = "committed" if result.created else "was committed already:"
    size = f"{result.samples:,} samples, {result.parts} parts"
    typer.echo(f"{how} {size}, manifest {result.sha256}: {address}")


def data_clean(
    address: Annotated[str, typer.Argument(help="A committed bundle.", show_default=False)],
    older_than: Annotated[str, typer.Option(help="Age: 12h, 1d.")] = "1d",
    yes: Annotated[bool, typer.Option(help="Remove what is listed.")] = False,
) -> None:
    """List what no manifest names, such as parts of writers that died; --yes removes it."""
    from theodolite._storage.stores import Store
    from theodolite.evidence.manifests.clean import seconds_of, unused_files

    names = unused_files(address, seconds_of(older_than))
    for name in names:
        typer.echo(name)
        if yes:
            Store.at(address).remove(name)
    typer.echo(f"{len(names)} files {'removed' if yes else 'could be removed: pass --yes'}")


def data_adopt(
    address: Annotated[
        str, typer.Argument(help="A folder of Zarr arrays named like fields.", show_default=False)
    ],
    kind: Annotated[str, typer.Option("--as", help="The kind of evidence.", show_default=False)],
) -> None:
    """Take Zarr arrays of others as evidence where they lie: a manifest is written, no array."""
    from theodolite.evidence.manifests.adopt import adopt

    result = adopt(address, kind)
    typer.echo(f"adopted {result.samples:,} samples, manifest {result.sha256}: {address}")
    for note in result.notes:
        typer.echo(note)

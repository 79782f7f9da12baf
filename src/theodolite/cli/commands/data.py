"""Commands about data sets, and about evidence as data."""

import inspect
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from theodolite._runs.folder.preparation import create_empty_folder
from theodolite._runs.folder.registry import build_registered, find_registered
from theodolite._runs.folder.spec import Named
from theodolite._storage.stores import Store
from theodolite.cli import options as opt
from theodolite.cli.options import argument, option
from theodolite.cli.tables import print_table
from theodolite.errors import EvidenceError
from theodolite.evidence.manifests.adopt_zarr import adopt
from theodolite.evidence.manifests.commit import commit
from theodolite.evidence.manifests.unused_files import find_unused_files, parse_age
from theodolite.evidence.sources.store_rows import store

Address = Annotated[str, argument("Folder or address, such as s3://bucket/evidence")]


def data_list() -> None:
    """List the data sets that specs can name."""
    rows = []
    for name, point in sorted(find_registered("datasets").items()):
        lines = (inspect.getdoc(inspect.getmodule(point.load())) or "").splitlines()
        rows.append((name, lines[0] if lines else ""))
    print_table(("name", "what it reads"), rows)


def data_check(
    name: Annotated[str, argument("Name of a data set, as in `data list`")],
    folder: Annotated[Path, argument("Its folder")],
) -> None:
    """Read a data set and show what it holds."""
    opt.check_there(folder)
    resolved = folder.resolve()
    dataset: Any = build_registered(
        "datasets", Named(name=name, root=resolved.name), resolved.parent
    )
    notes = [("note", note) for note in dataset.notes]
    if not hasattr(dataset, "at_hand"):  # tables and features: all there is has been read
        print_table(("", dataset.name), [*dataset.summary(), *notes])
        return
    at_hand = dataset.at_hand(np.arange(len(dataset)))
    facts = [("images", f"{len(dataset):,} listed, {len(at_hand):,} at hand"), *dataset.summary()]
    print_table(("", dataset.name), [*facts, *notes])
    dataset.check_images(at_hand)


def data_example(
    folder: Annotated[Path, argument("New folder")],
    n: Annotated[int, option("Number of images", min=6, max=10_000)] = 60,
) -> None:
    """Write a small data set of drawn shapes.

    It shows the format for a data set of your own.
    """
    from theodolite.datasets.shapes import write_shapes

    create_empty_folder(folder)
    write_shapes(folder, n)
    typer.echo(f"wrote {folder}: read it with 'theodolite data check folder {folder}'")


def data_store(
    source: Annotated[str, argument("File, folder or saved data set with evidence")],
    address: Address,
    fields: Annotated[
        list[str] | None,
        option("Columns of each array: values=logits,ids=path", metavar="ARRAY=COLUMN"),
    ] = None,
    kind: Annotated[str | None, option("Kind of evidence. Default: by array names")] = None,
    concepts: Annotated[str | None, option("Names of concepts, or their number")] = None,
    classes: Annotated[str | None, option("Names of classes, or their number")] = None,
    rows: Annotated[int | None, option("Samples per shard", min=16)] = None,
    max_memory: opt.MaxMemory = None,
) -> None:
    """Store evidence in shards, to be audited by many processes in constant memory.

    SOURCE is a .npz, .safetensors, .parquet, .arrow, .feather or .tar file, a folder of such files,
    a saved Hugging Face data set, or stored evidence.
    """
    del max_memory  # set as it was read
    axes = {"concepts": concepts, "classes": classes}
    named = {name: _names(text) for name, text in axes.items() if text is not None}
    bundle = store(source, address, kind=kind, fields=_fields(fields), rows=rows, **named)
    typer.echo(f"wrote {bundle.samples:,} samples in {bundle.pieces} pieces: {address}")


def _names(text: str) -> object:
    return int(text) if text.isdecimal() else text.split(",")


def _fields(options: list[str] | None) -> dict[str, str] | None:
    """Arrays and their columns; what has no '=' is one more column of the array before."""
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
    address: Address,
    expects: Annotated[str | None, option("Digest of the manifest to add parts to")] = None,
    single_committer: Annotated[
        bool, option("Nobody else commits: for servers that ignore conditions")
    ] = False,
) -> None:
    """Commit all finished parts as one bundle: all of it, or nothing."""
    result = commit(address, expects, single_committer=single_committer)
    how = "committed" if result.created else "was committed already:"
    size = f"{result.samples:,} samples, {result.parts} parts"
    typer.echo(f"{how} {size}, manifest {result.sha256}: {address}")


def data_clean(
    address: Address,
    older_than: Annotated[str, option("Minimum age, such as 12h or 1d")] = "1d",
    yes: Annotated[bool, option("Remove the listed files")] = False,
) -> None:
    """List files that no manifest names, such as parts of writers that died; --yes removes them."""
    names = find_unused_files(address, parse_age(older_than))
    for name in names:
        typer.echo(name)
        if yes:
            Store.at(address).remove(name)
    typer.echo(f"{len(names)} files {'removed' if yes else 'could be removed: pass --yes'}")


def data_adopt(
    address: Annotated[str, argument("Folder of Zarr arrays named like fields")],
    kind: Annotated[str, option("Kind of evidence", "--as")],
) -> None:
    """Use existing Zarr arrays as evidence in place: a manifest is written, no array."""
    result = adopt(address, kind)
    typer.echo(f"adopted {result.samples:,} samples, manifest {result.sha256}: {address}")
    for note in result.notes:
        typer.echo(note)

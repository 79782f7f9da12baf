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


def data_info(name: Annotated[str, argument("Name of a data set, as in `data list`")]) -> None:
    """Show the layout and options of a data set."""
    known = find_registered("datasets")
    if name not in known:
        raise EvidenceError("data set", repr(name), f"one of {', '.join(sorted(known))}")
    reader = known[name].load()
    for text in (inspect.getdoc(inspect.getmodule(reader)), inspect.getdoc(reader)):
        typer.echo(f"{text or ''}\n")
    rows = [
        (option.name, "" if option.default is option.empty else repr(option.default))
        for option in inspect.signature(reader).parameters.values()
    ]
    print_table(("option", "default"), rows)


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
    address: Annotated[str | None, argument("Folder or address to write")] = None,
    fields: Annotated[
        list[str] | None,
        option("Columns of each array: values=logits,ids=path", metavar="ARRAY=COLUMN"),
    ] = None,
    kind: Annotated[str | None, option("Kind of evidence. Default: by array names")] = None,
    concepts: Annotated[str | None, option("Names of concepts, or their number")] = None,
    classes: Annotated[str | None, option("Names of classes, or their number")] = None,
    rows: Annotated[int | None, option("Samples per shard", min=16)] = None,
    in_place: Annotated[
        bool, option("Use a folder of Zarr arrays where it is", "--in-place")
    ] = False,
    max_memory: opt.MaxMemory = None,
) -> None:
    """Store evidence in shards, to be audited by many processes in constant memory.

    SOURCE is a .npz, .safetensors, .parquet, .arrow, .feather or .tar file, a folder of such files,
    a saved Hugging Face data set, or stored evidence. With --in-place it is a folder of Zarr arrays
    named like the fields of --kind: a manifest is written there, and no array.
    """
    del max_memory  # set as it was read
    if in_place:
        _adopt(source, address, kind)
        return
    if address is None:
        raise EvidenceError("ADDRESS", "none", "a folder or address to write")
    axes = {"concepts": concepts, "classes": classes}
    named = {name: _names(text) for name, text in axes.items() if text is not None}
    bundle = store(source, address, kind=kind, fields=_fields(fields), rows=rows, **named)
    typer.echo(f"wrote {bundle.samples:,} samples in {bundle.pieces} pieces: {address}")


def _adopt(source: str, address: str | None, kind: str | None) -> None:
    """Write a manifest for Zarr arrays where they are."""
    if address is not None or kind is None:
        got = "ADDRESS as well" if address is not None else "no --kind"
        raise EvidenceError("--in-place", got, "a folder of Zarr arrays and --kind")
    result = adopt(source, kind)
    typer.echo(f"adopted {result.samples:,} samples, manifest {result.sha256}: {source}")
    for note in result.notes:
        typer.echo(note)


def _clean(address: str, older_than: str, *, remove: bool) -> None:
    """List or remove files that no manifest names."""
    names = find_unused_files(address, parse_age(older_than))
    for name in names:
        typer.echo(name)
        if remove:
            Store.at(address).remove(name)
    typer.echo(f"{len(names)} files {'removed' if remove else 'could be removed: pass --yes'}")


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
    clean: Annotated[bool, option("List files that no manifest names", "--clean")] = False,
    older_than: Annotated[str, option("With --clean: minimum age, such as 12h")] = "1d",
    yes: Annotated[bool, option("With --clean: remove the listed files")] = False,
) -> None:
    """Commit all finished parts as one bundle: all of it, or nothing.

    With --clean nothing is committed: files that no manifest names are listed, such as parts of
    writers that died, and removed with --yes.
    """
    if clean:
        _clean(address, older_than, remove=yes)
        return
    result = commit(address, expects, single_committer=single_committer)
    how = "committed" if result.created else "was committed already:"
    size = f"{result.samples:,} samples, {result.parts} parts"
    typer.echo(f"{how} {size}, manifest {result.sha256}: {address}")


def data_keys(path: Annotated[Path, argument("File to write")]) -> None:
    """Write a new key for signed checksums of tasks.

    Copy it to every machine yourself: it is never sent.
    """
    from theodolite._runs.engine.signed_checksums import KEY_FILE, write_new_key

    write_new_key(path)
    typer.echo(f"key: {path} (set {KEY_FILE} to it on every machine)")

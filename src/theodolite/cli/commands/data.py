"""Commands about data sets, and about evidence as data."""

import inspect
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from theodolite._runs.expected_figures import rerun_figures
from theodolite._runs.folder.preparation import create_empty_folder
from theodolite._runs.folder.protocols import find_protocols_of
from theodolite._runs.folder.registry import build_registered, find_registered
from theodolite._runs.folder.spec import Named
from theodolite._storage.stores import Store
from theodolite.cli import options as opt
from theodolite.cli.interrupts import resumable
from theodolite.cli.options import argument, option
from theodolite.cli.progress import show_progress
from theodolite.cli.tables import print_json, print_table
from theodolite.datasets.card import (
    DataCard,
    find_card,
    format_instructions,
    format_page,
    read_card,
)
from theodolite.datasets.getting import check_files, get_files
from theodolite.errors import EvidenceError, VerificationError
from theodolite.evidence.manifests.adopt_zarr import adopt
from theodolite.evidence.manifests.commit import commit
from theodolite.evidence.manifests.unused_files import find_unused_files, parse_age
from theodolite.evidence.sources.store_rows import store

GET_WORDS = {"allowed": "data get", "instructions": "by hand", "made": "made", "own": "your own"}
Address = Annotated[str, argument("Folder or address, such as s3://bucket/evidence")]


def data_list(as_json: opt.Json = False) -> None:
    """List the data sets that specs can name, and how to get each."""
    cards = {name: find_card(point) for name, point in sorted(find_registered("datasets").items())}
    if as_json:
        print_json({name: card and card.model_dump(mode="json") for name, card in cards.items()})
        return
    rows = []
    for name, card in cards.items():
        size = f"{card.bytes / 1e6:.1f}" if card and card.bytes else ""
        facts = (card.title, GET_WORDS[card.redistribution], size, card.license) if card else ()
        rows.append((name, *(facts or ("of another package", "", "", ""))))
    print_table(("name", "data set", "get", "MB", "license"), rows, right=(3,))


def _find_loader(name: str) -> EntryPoint:
    known = find_registered("datasets")
    if name not in known:
        raise EvidenceError("data set", repr(name), f"one of {', '.join(sorted(known))}")
    return known[name]


def data_info(name: Annotated[str, argument("Name of a data set, as in `data list`")]) -> None:
    """Show the page of a data set and the options of its loader."""
    point = _find_loader(name)
    card, reader = find_card(point), point.load()
    texts = [] if card is None else [format_page(card, find_protocols_of(name))]
    for text in (*texts, inspect.getdoc(inspect.getmodule(reader)), inspect.getdoc(reader)):
        typer.echo(f"{text or ''}\n")
    rows = [
        (option.name, "" if option.default is option.empty else repr(option.default))
        for option in inspect.signature(reader).parameters.values()
    ]
    print_table(("option", "default"), rows)


def data_get(
    name: Annotated[str, argument("Name of a data set, or the YAML file of a card")],
    to: Annotated[Path | None, option("Folder to write. Default: data/FOLDER of the card")] = None,
) -> None:
    """Download a data set at its pinned revision; check every digest.

    A download that was interrupted continues. Where the license forbids a download, or no digest
    is known, the source, the terms and the layout are printed, and the exit code is 5.
    """
    is_file = name.endswith(".yaml")
    card = read_card(Path(name)) if is_file else find_card(_find_loader(name))
    if card is None or card.redistribution == "own":
        raise EvidenceError(f"data set {name!r}", "data of your own", "a public data set")
    if card.redistribution == "made":
        typer.echo(f"{card.title}: the loader computes it, there is nothing to download")
        return
    if not card.files:
        typer.echo(format_instructions(card))
        raise typer.Exit(VerificationError.exit_code)
    folder = Path("data", card.folder) if to is None else to
    with resumable(), show_progress(quiet=False) as progress:
        for line in get_files(card, folder, progress):
            typer.echo(line)
    check = "" if is_file else f": check it with 'theodolite data check {name} {folder}'"
    typer.echo(f"wrote {folder}{check}")


def data_check(
    name: Annotated[str, argument("Name of a data set, as in `data list`")],
    folder: Annotated[Path, argument("Its folder, or its file")],
    figures: Annotated[
        bool, option("Rerun the audit of the expected figures", "--figures")
    ] = False,
) -> None:
    """Check the files of a data set, read it, and show what it holds."""
    point = _find_loader(name)
    card, path = find_card(point), _find_path_argument(point)
    if not folder.exists():
        raise EvidenceError(f"folder {str(folder)!r}", "nothing there", "a folder")
    folder = folder.absolute()
    folder = folder if folder.name and ".." not in folder.parts else folder.resolve()
    files = check_files(card, folder) if card is not None and card.files else []
    named = Named.model_validate({"name": name, path: folder.name})
    dataset: Any = build_registered("datasets", named, folder.parent)
    listed = len(dataset) if hasattr(dataset, "__len__") else 0
    facts = dataset.summary() if hasattr(dataset, "summary") else [("listed", f"{listed:,}")]
    has_images = hasattr(dataset, "check_images")
    if has_images:
        at_hand = dataset.at_hand(np.arange(listed))
        facts = [("images", f"{listed:,} listed, {len(at_hand):,} at hand"), *facts]
    notes = [
        *files,
        *_count_differences(card, listed if has_images else 0),
        *getattr(dataset, "notes", ()),
    ]
    print_table(("", dataset.name), [*facts, *(("note", note) for note in notes)])
    if has_images:
        dataset.check_images(at_hand)
    if figures:
        _check_figures(name, card, folder)


def _find_path_argument(point: EntryPoint) -> str:
    """Return the first argument of a loader that is a path."""
    parameters = inspect.signature(point.load()).parameters.values()
    return next((p.name for p in parameters if "Path" in str(p.annotation)), "root")


def _count_differences(card: DataCard | None, listed: int) -> list[str]:
    if card is None or not listed or card.n in (None, listed):
        return []
    return [f"The card says {card.n:,} {card.unit}."]


def _check_figures(name: str, card: DataCard | None, folder: Path) -> None:
    if card is None or card.expected is None:
        raise EvidenceError(f"data set {name!r}", "no expected figures", "a card with figures")
    with show_progress(quiet=False) as progress:
        values = rerun_figures(name, card.expected, folder, progress)
    figures = list(zip(card.expected.figures, values, strict=True))
    rows = [
        (
            figure.title, f"{100 * value:.1f} %", f"{100 * figure.value:.1f} %",
            f"{100 * figure.low:.1f} to {100 * figure.high:.1f} %",
            "inside" if figure.low <= value <= figure.high else "outside",
        )
        for figure, value in figures
    ]  # fmt: skip
    print_table(("score", "here", "kept", "interval", ""), rows, right=(1, 2, 3))
    if any(row[-1] == "outside" for row in rows):
        raise typer.Exit(VerificationError.exit_code)


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
    in_place: Annotated[bool, option("Use a folder of Zarr arrays in place", "--in-place")] = False,
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
    typer.echo(f"wrote {bundle.samples:,} samples in {bundle.pieces} shards: {address}")


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
        bool, option("This is the only writer: for servers that ignore conditions")
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
    how = "committed" if result.created else "was already committed:"
    size = f"{result.samples:,} samples, {result.parts} parts"
    typer.echo(f"{how} {size}, manifest {result.sha256}: {address}")


def data_keys(path: Annotated[Path, argument("File to write")]) -> None:
    """Write a new key for signed checksums of tasks.

    Copy it to every machine yourself: it is never sent.
    """
    from theodolite._runs.engine.signed_checksums import KEY_FILE, write_new_key

    write_new_key(path)
    typer.echo(f"key: {path} (set {KEY_FILE} to it on every machine)")

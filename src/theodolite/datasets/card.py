"""Cards of data sets: where the data comes from, how large it is, what an audit of it gives.

A card is a YAML file named after its loader, in `datasets/cards` of the package that registers the
loader. Its page in the documentation is generated from it.
"""

import importlib.util
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from theodolite._storage.downloads import check_address
from theodolite._storage.records import Strict, describe_first_error
from theodolite._storage.text import read_yaml
from theodolite.errors import UnsafeInputError

NO_FIGURES = "Expected figures: none kept."
DIGEST = r"(sha256:[0-9a-f]{64}|git-(blob|tree):[0-9a-f]{40})"


class DataFile(Strict):
    """A file of a data set, or a folder with the digest of a git tree."""

    path: str
    """Below the folder of the data set."""
    bytes: int
    digest: str = Field(pattern=f"^{DIGEST}$")
    url: str
    """Of a folder: with ``{path}`` for the path of a file."""
    listing: str = ""
    """Address of the listing of a tree."""
    leave_out: tuple[str, ...] = ()
    """Files of a tree that are not downloaded."""

    @model_validator(mode="after")
    def _is_complete(self) -> "DataFile":
        for address in filter(None, (self.url, self.listing)):
            check_address(address)
        is_tree = self.digest.startswith("git-tree:")
        if is_tree != bool(self.listing) or is_tree != ("{path}" in self.url):
            raise ValueError("a git-tree needs `listing` and {path} in `url`, a file neither")
        return self


class ExpectedFigure(Strict):
    """A score of a kept run, with the interval that a rerun must meet."""

    metric: str
    options: dict[str, Any] = {}
    title: str
    value: float
    low: float
    high: float


class ExpectedFigures(Strict):
    """Figures of a kept run, and how to compute them again."""

    measured_on: str
    spec: dict[str, Any]
    """A run spec without `dataset`."""
    figures: tuple[ExpectedFigure, ...]


class DataCard(Strict):
    """What is known of a data set before it is read."""

    name: str
    title: str
    authors: str = ""
    """Authors and year."""
    url: str = ""
    mirrors: tuple[str, ...] = ()
    license: str = ""
    redistribution: Literal["allowed", "instructions", "made", "own"]
    """Whether the license allows redistribution; ``made``: theodolite computes the data; ``own``:
    the loader reads your own data."""
    revision: str = ""
    """Commit or version of the files."""
    folder: str = ""
    """Where protocols look for it, below the data folder."""
    files: tuple[DataFile, ...] = ()
    derive: Literal["", "monumai"] = ""
    """The copy that is computed after the download."""
    bytes: int = 0
    """Size of what the loader reads."""
    layout: str
    n: int | None = None
    unit: str = "images"
    classes: int | None = None
    concepts: int | None = None
    regions: Literal["mask", "box", "point", "none"] = "none"
    minutes: float | None = None
    """CPU minutes of an audit at default settings."""
    expected: ExpectedFigures | None = None
    notes: str = ""

    @model_validator(mode="after")
    def _is_complete(self) -> "DataCard":
        public = self.redistribution in ("allowed", "instructions")
        if public and not (self.authors and self.url and self.license and self.folder):
            raise ValueError("needs authors, url, license and folder")
        if self.files and (self.redistribution != "allowed" or not self.revision):
            raise ValueError("files need `redistribution: allowed` and a revision")
        return self


def read_card(path: Path) -> DataCard:
    """Return the card of a file, checked."""
    try:
        return DataCard.model_validate(read_yaml(path, "card"))
    except ValidationError as error:
        reason = describe_first_error(error)
        raise UnsafeInputError(f"card {path.name!r}", reason, "the fields of a card") from error


def find_card(point: EntryPoint) -> DataCard | None:
    """Return the card of a loader, or None for a loader of a package that has none."""
    package = importlib.util.find_spec(point.value.partition(".")[0].partition(":")[0])
    for folder in (package and package.submodule_search_locations) or ():
        path = Path(folder) / "datasets" / "cards" / f"{point.name}.yaml"
        if path.is_file():
            return read_card(path)
    return None


def format_instructions(card: DataCard) -> str:
    """Return where the data is, its terms and the layout to put it in."""
    lines = [f"{card.title} is not downloaded by theodolite.", f"From:   {card.url}"]
    lines += [f"Mirror: {mirror}" for mirror in card.mirrors]
    lines += [f"Terms:  {card.license}", f"Layout: DATA/{card.folder}: {card.layout.strip()}"]
    return "\n".join([*lines, f"Then:   theodolite data check {card.name} DATA/{card.folder}"])


def format_page(card: DataCard, protocols: tuple[str, ...]) -> str:
    """Return the page of a data set in Markdown."""
    lines = [f"# {card.title}", ""]
    if card.authors:
        lines += [f"{card.authors}: <{card.url}>", ""]
    sizes = {card.unit: card.n, "classes": card.classes, "concepts": card.concepts}
    rows = {
        "loader": f"`{card.name}`",
        "source": {"made": "made by theodolite: nothing to download", "own": "your own data"}.get(
            card.redistribution, ", ".join((card.url, *card.mirrors))
        ),
        "revision": card.revision,
        "license": card.license,
        "holds": ", ".join(f"{number:,} {unit}" for unit, number in sizes.items() if number),
        "regions": {"none": "none"}.get(card.regions, f"{card.regions} per concept"),
        "download": _size(sum(file.bytes for file in card.files)),
        "on disk": _size(card.bytes),
        "an audit takes": f"about {card.minutes:g} CPU min" if card.minutes else "",
    }
    lines += ["| | |", "|---|---|", *(f"| {k} | {v} |" for k, v in rows.items() if v), ""]
    lines += ["## Get it", "", *_commands(card), "", "## Layout", "", card.layout.strip(), ""]
    if protocols:
        data = "" if card.redistribution == "made" else "--data DATA "
        runs = [f"$ theodolite run {name} {data}--out runs/{name}" for name in protocols]
        lines += ["## Run its protocols", "", "```console", *runs, "```", ""]
        lines += ["`theodolite papers inputs NAME` shows what else a protocol reads.", ""]
    lines += ["## What to expect", "", *_figures(card)]
    if card.notes:
        lines += ["", card.notes.strip()]
    return "\n".join(lines) + "\n"


def _size(number: int) -> str:
    return f"{number / 1e6:,.1f} MB" if number else ""


def _commands(card: DataCard) -> list[str]:
    place = f"DATA/{card.folder}" if card.folder else "FOLDER"
    get = f"theodolite data get {card.name} --to {place}"
    check = f"theodolite data check {card.name} {place}"
    if card.redistribution == "made":
        return ["The loader computes it. A run spec names it:", "", "```yaml",
                f"dataset: {{name: {card.name}}}", "```"]  # fmt: skip
    if card.redistribution == "own":
        return ["```console", f"$ theodolite data info {card.name}", "```"]
    if not card.files:
        return [
            "The license or the publisher does not allow an automatic download. `data get` prints",
            "the source, the terms and the layout, and exits with code 5.", "",
            "```console", f"$ {get}", f"$ {check}", "```",
        ]  # fmt: skip
    figures = [f"$ {check} --figures"] if card.expected else []
    return ["```console", f"$ {get}", f"$ {check}", *figures, "```", "",
            "Every file is checked against its digest at the pinned revision."]  # fmt: skip


def _figures(card: DataCard) -> list[str]:
    if card.expected is None:
        return [NO_FIGURES]
    lines = [f"Measured on {card.expected.measured_on}.", "", "| score | value | interval |"]
    lines += ["|---|---|---|"]
    for figure in card.expected.figures:
        low, value, high = (f"{100 * x:.1f}" for x in (figure.low, figure.value, figure.high))
        lines.append(f"| {figure.title} | {value} % | {low} to {high} % |")
    return lines

"""All entries of the five papers, read and checked."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path

from pydantic import ValidationError

from theodolite._storage.records import describe_first_error
from theodolite._storage.text import read_yaml
from theodolite.errors import UnsafeInputError
from theodolite.metrics.catalogue import catalogue
from theodolite_reproductions.claims.entry import NOT_IN_THE_CATALOGUE, PaperEntry, PaperFile

PAGES = ("alignment", "leakage", "surrogates", "detection", "acceptance")
"""Files of entries and pages of the documentation, in the order of the papers."""


@dataclass(frozen=True)
class PaperLedger:
    """Papers in order, with their entries in the order of the files."""

    papers: tuple[PaperFile, ...]

    @property
    def entries(self) -> tuple[PaperEntry, ...]:
        """Of all papers."""
        return tuple(entry for paper in self.papers for entry in paper.entries)

    def entry(self, name: str) -> PaperEntry:
        """The entry of this id."""
        for entry in self.entries:
            if entry.id == name.upper():
                return entry
        raise UnsafeInputError("entry", f"{name!r}", "an id of the ledger, such as P003-F0-05")

    def counts(self) -> dict[str, Counter[str]]:
        """Return how many entries there are, by paper and by kind."""
        return {
            "paper": Counter(entry.paper for entry in self.entries),
            "kind": Counter(entry.kind for entry in self.entries),
        }


@cache
def ledger() -> PaperLedger:
    """The ledger that comes with the package."""
    with as_file(files("theodolite_reproductions.claims") / "entries") as folder:
        return read_ledger(folder / f"{page}.yaml" for page in PAGES)


def read_ledger(paths: Iterable[Path]) -> PaperLedger:
    """Entries from files, one a paper; refuses what is doubled or points nowhere."""
    checked = PaperLedger(tuple(_read(path) for path in paths))
    _check_ids(checked.entries)
    _check_names(checked.entries)
    return checked


def _read(path: Path) -> PaperFile:
    try:
        return PaperFile.model_validate(read_yaml(path, "ledger"))
    except ValidationError as error:
        raise UnsafeInputError(
            f"ledger {path.name!r}", describe_first_error(error), "entries"
        ) from error


def _check_ids(entries: Iterable[PaperEntry]) -> None:
    for name, times in Counter(entry.id for entry in entries).items():
        if times > 1:
            raise UnsafeInputError("ledger", f"{name} {times} times", "each id once")


def _check_names(entries: tuple[PaperEntry, ...]) -> None:
    options = {entry.id for entry in entries if entry.kind == "option"}
    scores = {*catalogue(), *NOT_IN_THE_CATALOGUE}
    for entry in entries:
        if unknown := set(entry.moved_by) - options:
            raise UnsafeInputError(entry.id, f"moved by {sorted(unknown)}", "options of the ledger")
        if entry.score is not None and entry.score not in scores:
            raise UnsafeInputError(entry.id, f"the score {entry.score!r}", "one of the catalogue")

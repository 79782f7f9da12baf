"""Packages outside ours: what they bring by entry point, and what of it is left out.

A package that cannot be loaded must not stop somebody else's audit: it is left out, and named.
"""

import hashlib
import importlib.metadata
import importlib.util
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import Distribution, EntryPoint, PackageNotFoundError
from pathlib import Path
from typing import Any

from theodolite.errors import printable

OURS = "theodolite"
GROUPS = ("evidence", "metrics", "datasets", "pipelines", "judges")
CODE = (".py", ".so", ".pyd")


@dataclass(frozen=True)
class Package:
    """Whose code it is: the name and version of its distribution, and a digest of the code."""

    name: str
    version: str
    code: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}".strip()


@dataclass(frozen=True)
class LeftOut:
    """Something that a package brings and that cannot be used."""

    package: str
    group: str
    name: str
    why: str

    def __str__(self) -> str:
        return f"{self.package}: {self.name!r} ({self.group}) is left out: {self.why}"


_left_out: dict[tuple[str, str, str], LeftOut] = {}


def left_out(group: str) -> list[LeftOut]:
    """What was left out of a group so far."""
    return [entry for entry in _left_out.values() if entry.group == group]


def leave_out(package: str, group: str, name: str, why: object) -> None:
    """Name something that cannot be used; the first of each package is warned of."""
    text = f"{type(why).__name__}: {why}" if isinstance(why, BaseException) else why
    known = {other.package for other in _left_out.values()}
    entry = LeftOut(package, group, name, printable(text, 300))
    _left_out.setdefault((package, group, name), entry)
    if package not in known:
        warnings.warn(f"theodolite: {entry}.", RuntimeWarning, stacklevel=2)


def our_entry_points(group: str) -> list[EntryPoint]:
    """What comes with theodolite itself."""
    points = importlib.metadata.entry_points(group=f"{OURS}.{group}")
    return [point for point in points if _of_ours(point.dist)]


def entry_points(group: str) -> list[tuple[str, EntryPoint]]:
    """Entry points of other packages, each with its package, in one order on every machine."""
    points = importlib.metadata.entry_points(group=f"{OURS}.{group}")
    foreign = [(_label(point.dist), point) for point in points if not _of_ours(point.dist)]
    return sorted(foreign, key=lambda pair: (pair[0], pair[1].name))


def load_each(
    group: str, unless_it_fails: Callable[[], AbstractContextManager[None]]
) -> Iterator[tuple[str, str, Any]]:
    """Load what other packages bring: package, name and thing. What fails to load is left out.

    ``unless_it_fails`` puts registries back as they were, where loading ends with an exception.
    """
    for package, point in entry_points(group):
        try:
            with unless_it_fails():
                loaded = point.load()
        except Exception as error:  # noqa: BLE001  whatever it is, it is not the caller's fault
            leave_out(package, group, point.name, error)
            continue
        yield package, point.name, loaded


@cache
def registered() -> dict[str, Package]:
    """All packages that join us by an entry point, by the name of their top module."""
    every = importlib.metadata.entry_points()  # looking for all groups at once: a third of the time
    points = [point for group in GROUPS for point in every.select(group=f"{OURS}.{group}")]
    points = [point for point in points if not _of_ours(point.dist)]
    tops = sorted({point.module.partition(".")[0] for point in points})
    return {top: _package(top) for top in tops}


def is_ours(thing: Any) -> bool:
    """Whether a class or a function comes with theodolite itself.

    >>> is_ours(Package), is_ours(Path)
    (True, False)
    """
    return str(thing.__module__).partition(".")[0] == OURS


def package_of(thing: Any) -> Package:
    """The package that a class or a function comes from."""
    return _package(str(thing.__module__).partition(".")[0])


def packages_of(things: Iterable[Any]) -> list[Package]:
    """The packages that classes and functions come from, but for ours and Python's own."""
    modules = {getattr(getattr(thing, "func", thing), "__module__", None) for thing in things}
    tops = {str(module).partition(".")[0] for module in modules if module}
    return [_package(top) for top in sorted(tops - {OURS, "numpy"} - set(sys.stdlib_module_names))]


@cache
def _package(top: str) -> Package:
    dist = _distribution(top)
    files = _code_files(top, dist)
    digest = hashlib.sha256()
    for name, path in sorted(files.items()):
        digest.update(name.encode() + b"\0" + path.read_bytes())
    code = digest.hexdigest()[:16] if files else ""
    return Package(top, "", code) if dist is None else Package(dist.name, dist.version, code)


def _distribution(top: str) -> Distribution | None:
    """The distribution of a top-level module; of those that join us it is known at once."""
    for group in GROUPS:
        for point in importlib.metadata.entry_points(group=f"{OURS}.{group}"):
            if point.module.partition(".")[0] == top and point.dist is not None:
                return point.dist
    if top == "__main__":
        return None
    names = importlib.metadata.packages_distributions().get(top, [])
    try:
        return importlib.metadata.distribution(names[0]) if names else None
    except PackageNotFoundError:
        return None


def _code_files(top: str, dist: Distribution | None) -> dict[str, Path]:
    """The code of a package by name: what its distribution lists, else the folder it lies in."""
    every = [] if dist is None else dist.files or ()
    # what an editable installation lists is not the code, only where that lies on this machine
    listed = [f for f in every if f.suffix in CODE and not f.name.startswith("__editable__")]
    files = {file.as_posix(): Path(str(file.locate())) for file in listed}
    files = {name: path for name, path in files.items() if path.is_file()}
    if files:
        return files
    module = sys.modules.get(top)
    spec = None if module else importlib.util.find_spec(top)
    folders = getattr(module, "__path__", None) or getattr(spec, "submodule_search_locations", None)
    roots = [Path(place) for place in folders or ()]
    alone = getattr(module, "__file__", None) or getattr(spec, "origin", None)
    files = {
        p.relative_to(r).as_posix(): p for r in roots for p in r.rglob("*") if p.suffix in CODE
    }
    return files or ({Path(alone).name: Path(alone)} if alone else {})


def _label(dist: Distribution | None) -> str:
    return "a package" if dist is None else f"{dist.name} {dist.version}"


def _of_ours(dist: Distribution | None) -> bool:
    return dist is not None and dist.name.lower() == OURS

"""Load plugins: what other installed packages register through entry points of theodolite.

A package that fails to load must not stop an audit: it is skipped, and named with the reason."""

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
    """Name, version and code digest of an installed distribution."""

    name: str
    version: str
    code: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}".strip()


@dataclass(frozen=True)
class LeftOut:
    """Plugin that cannot be used, and why."""

    package: str
    group: str
    name: str
    why: str

    def __str__(self) -> str:
        return f"{self.package}: {self.name!r} ({self.group}) is left out: {self.why}"


_left_out: dict[tuple[str, str, str], LeftOut] = {}


def list_left_out(group: str) -> list[LeftOut]:
    """Return the plugins of a group that were skipped so far."""
    return [entry for entry in _left_out.values() if entry.group == group]


def leave_out(package: str, group: str, name: str, why: object) -> None:
    """Record a plugin that cannot be used; warn once per package."""
    text = f"{type(why).__name__}: {why}" if isinstance(why, BaseException) else why
    known = {other.package for other in _left_out.values()}
    entry = LeftOut(package, group, name, printable(text, 300))
    _left_out.setdefault((package, group, name), entry)
    if package not in known:
        warnings.warn(f"theodolite: {entry}.", RuntimeWarning, stacklevel=2)


def list_own_entry_points(group: str) -> list[EntryPoint]:
    """Return the entry points of theodolite itself."""
    points = importlib.metadata.entry_points(group=f"{OURS}.{group}")
    return [point for point in points if _of_ours(point.dist)]


def list_entry_points(group: str) -> list[tuple[str, EntryPoint]]:
    """Return entry points of other packages with their package, in a fixed order."""
    points = importlib.metadata.entry_points(group=f"{OURS}.{group}")
    foreign = [(_label(point.dist), point) for point in points if not _of_ours(point.dist)]
    return sorted(foreign, key=lambda pair: (pair[0], pair[1].name))


def load_plugins(
    group: str, unless_it_fails: Callable[[], AbstractContextManager[None]]
) -> Iterator[tuple[str, str, Any]]:
    """Load what other packages register: package, name and object. Failures are skipped.

    ``unless_it_fails`` puts registries back as they were, where loading ends with an exception.
    """
    for package, point in list_entry_points(group):
        try:
            with unless_it_fails():
                loaded = point.load()
        except Exception as error:  # noqa: BLE001  whatever it is, it is not the caller's fault
            leave_out(package, group, point.name, error)
            continue
        yield package, point.name, loaded


@cache
def get_plugin_packages() -> dict[str, Package]:
    """Return all packages that register entry points, by top-level module."""
    every = importlib.metadata.entry_points()  # looking for all groups at once: a third of the time
    points = [point for group in GROUPS for point in every.select(group=f"{OURS}.{group}")]
    points = [point for point in points if not _of_ours(point.dist)]
    tops = sorted({point.module.partition(".")[0] for point in points})
    return {top: _package(top) for top in tops}


def is_ours(thing: Any) -> bool:
    """Return whether a class or function comes with theodolite itself.

    >>> is_ours(Package), is_ours(Path)
    (True, False)
    """
    return str(thing.__module__).partition(".")[0] == OURS


def get_package(thing: Any) -> Package:
    """Return the package that defines a class or function."""
    return _package(str(thing.__module__).partition(".")[0])


def list_packages(things: Iterable[Any]) -> list[Package]:
    """Return the packages that define these objects, except theodolite and Python."""
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
    """Return the distribution of a top-level module; plugin packages are cached."""
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
    """Return the files of a package: those its distribution lists, or those of its folder."""
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

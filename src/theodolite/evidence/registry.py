"""Registry of the kinds of evidence: theodolite's own and those of installed packages.

A kind is registered when its class is created. Other packages add kinds through entry points of
the group ``theodolite.evidence``."""

import functools
import importlib
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.evidence.plugins import get_package, is_ours, leave_out, load_plugins
from theodolite.questions import USUAL_KINDS, Question

if TYPE_CHECKING:
    from theodolite.evidence.base import Evidence

GROUP = "evidence"
OUR_KINDS = "theodolite.evidence.kinds"
_registered: dict[str, "type[Evidence]"] = {}


class MissingPackage(UnsafeInputError):
    """Raised for evidence whose kind comes from a package that is not installed."""

    def __init__(self, kind: str, package: str) -> None:
        super().__init__(
            f"{kind} evidence", "no package that knows it", package, f"Install {package}."
        )
        self.sentence = f"{kind} evidence: needs {package}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.what.removesuffix(" evidence"), self.expected)


def register(kind: "type[Evidence]") -> None:
    """Register a kind when its class is created, before its fields are known."""
    if "__slots__" in vars(kind):
        message = f"{kind.__name__}: slots=True makes a second class; leave it out"
        raise TypeError(message)
    name, marker = kind.kind, kind.marker
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,49}", name):
        raise EvidenceError("kind of evidence", repr(name), "small letters, digits and '_'")
    others = [other for other in _registered.values() if not _again(other, kind)]
    if any(other.kind == name for other in others):
        raise EvidenceError("kind of evidence", f"{name!r} twice", "a unique name")
    taken = next((other for other in others if marker and other.marker == marker), None)
    if taken is not None:
        raise EvidenceError(
            f"marker of {name} evidence", f"{marker!r}, which marks {taken.kind} evidence",
            "an array that no other kind is known by",
        )  # fmt: skip
    _registered[name] = kind


def _again(other: "type[Evidence]", kind: "type[Evidence]") -> bool:
    """Return whether a class is a redefinition of the same one, as in a notebook cell."""
    return (other.__module__, other.__qualname__) == (kind.__module__, kind.__qualname__)


def kinds() -> "dict[str, type[Evidence]]":
    """Return every kind by name: own kinds as listed, then others by name."""
    _load()
    ours = {name: kind for name, kind in _registered.items() if is_ours(kind)}
    return ours | {name: _registered[name] for name in sorted(set(_registered) - set(ours))}


def registered_kinds() -> "list[type[Evidence]]":
    """Return the kinds of theodolite and those declared so far; loads no other package."""
    importlib.import_module(OUR_KINDS)
    return list(_registered.values())


def find_kind(name: str) -> "type[Evidence]":
    """Return one kind by name, or raise."""
    kind = kinds().get(name)
    if kind is None:
        raise EvidenceError("kind of evidence", repr(name), f"one of {', '.join(kinds())}")
    return kind


def markers() -> "dict[str, type[Evidence]]":
    """Return the kind that each marker array identifies."""
    return {kind.marker: kind for kind in kinds().values() if kind.marker is not None}


def kinds_for(question: Question, among: Iterable[str] = ()) -> list[str]:
    """Return kinds that a question applies to: the default, then own, then others."""
    able = [name for name, kind in kinds().items() if question in kind.ways or name in among]
    return [*USUAL_KINDS[question], *(n for n in able if n not in USUAL_KINDS[question])]


def package_entry(kind: "type[Evidence]") -> dict[str, Any]:
    """Return the header entry of the package that defines a kind; empty for own kinds."""
    if is_ours(kind):
        return {}
    package = get_package(kind)
    return {"package": {"name": package.name, "version": package.version}}


def check_installed(header: Any) -> None:
    """Raise if a header names an unknown kind whose package is not installed."""
    package, kind = header.get("package"), str(header.get("kind"))
    if isinstance(package, dict) and kind not in kinds():
        name = f"{package.get('name', '')} {package.get('version', '')}".strip()
        raise MissingPackage(kind, name or "a package")


@contextmanager
def unless_it_fails() -> Iterator[None]:
    """Undo registrations of the block if it raises."""
    before = dict(_registered)
    try:
        yield
    except BaseException:
        _registered.clear()
        _registered.update(before)
        raise


@functools.cache
def _load() -> None:
    importlib.import_module(OUR_KINDS)
    for package, name, loaded in load_plugins(GROUP, unless_it_fails):
        brought = [k for k in _registered.values() if k is loaded or _in(k, loaded)]
        if not brought:
            leave_out(package, GROUP, name, "no kind of evidence in it")
        for kind in brought:
            _check_fields(package, name, kind)


def _in(kind: "type[Evidence]", module: Any) -> bool:
    return getattr(module, kind.__name__, None) is kind


def _check_fields(package: str, name: str, kind: "type[Evidence]") -> None:
    """Unregister a kind whose declaration cannot be read."""
    try:
        arrays = [array for array, _ in kind.layouts()]
    except Exception as error:  # noqa: BLE001  it is not a dataclass, say
        arrays, why = [], f"{error}"
    else:
        why = "" if arrays else "no arrays"
        if arrays and kind.marker is not None and kind.marker not in arrays:
            why = f"the marker {kind.marker!r} is no array of it"
        if not isinstance(kind.ways, Mapping) or not all(
            question in USUAL_KINDS and isinstance(words, str)
            for question, words in kind.ways.items()
        ):
            why = "`ways` must say, by question, what is needed"
    if why:
        _registered.pop(kind.kind, None)
        leave_out(package, GROUP, name, why)

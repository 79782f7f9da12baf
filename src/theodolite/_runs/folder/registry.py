"""Data sets and pipelines by name: found through entry points, so ours and others' are alike."""

import importlib.metadata
import inspect
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError

from theodolite._runs.folder.spec import Named
from theodolite._storage.paths import find_in_data
from theodolite._storage.records import describe_first_error
from theodolite.errors import EvidenceError
from theodolite.evidence.plugins import OURS, leave_out, list_entry_points, list_own_entry_points


@cache
def find_registered(group: str) -> dict[str, importlib.metadata.EntryPoint]:
    """What is registered in a group (``datasets``, ``pipelines``); looked for once.

    A name that is taken, by us or by a package before it, is left out.
    """
    points = {point.name: point for point in list_own_entry_points(group)}
    for package, point in list_entry_points(group):
        if point.name in points:
            leave_out(package, group, point.name, "the name is taken")
        else:
            points[point.name] = point
    return points


def build_registered(group: str, named: Named, data: Path) -> Any:
    """Call a registered thing with the arguments of a spec, checked.

    Arguments that are paths are looked up below the data folder, and may not leave it.
    """
    points = find_registered(group)
    if named.name not in points:
        raise EvidenceError(group.removesuffix("s"), repr(named.name), f"one of {sorted(points)}")
    make = _load_entry_point(group, points[named.name])
    return make(**_check_arguments(make, named, data))


def _load_entry_point(group: str, point: importlib.metadata.EntryPoint) -> Any:
    """What an entry point names; of a package that fails to load, the error says which it is."""
    try:
        return point.load()
    except Exception as error:
        if point.value.partition(".")[0] == OURS:
            raise
        package = "" if point.dist is None else f"{point.dist.name} {point.dist.version}"
        raise EvidenceError(
            f"{group.removesuffix('s')} {point.name!r}", f"{type(error).__name__}: {error}",
            f"a package {package} that can be loaded",
        ) from error  # fmt: skip


def _check_arguments(make: Any, named: Named, data: Path) -> dict[str, Any]:
    parameters = inspect.signature(make).parameters
    hints = get_type_hints(make if inspect.isfunction(make) else make.__init__)
    hints = {**get_type_hints(make), **hints} if inspect.isclass(make) else hints
    arguments = named.arguments
    unknown = sorted(set(arguments) - set(parameters))
    needed = [n for n, p in parameters.items() if p.default is p.empty and n not in arguments]
    if unknown or needed:
        got = f"unknown {unknown}" if unknown else f"no {needed}"
        raise EvidenceError(f"arguments of {named.name}", got, f"some of {list(parameters)}")
    checked = {}
    for name, value in arguments.items():
        if _is_path(hints[name]) and isinstance(value, str):
            checked[name] = find_in_data(data, value)
            continue
        try:
            checked[name] = TypeAdapter(hints[name]).validate_python(value)
        except ValidationError as error:
            raise EvidenceError(
                f"{named.name}.{name}",
                f"{value!r}",
                describe_first_error(error).removeprefix("the whole: "),
            ) from error
    return checked


def _is_path(hint: Any) -> bool:
    if get_origin(hint) in (Union, UnionType):
        return any(_is_path(choice) for choice in get_args(hint))
    return hint is Path

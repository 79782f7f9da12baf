"""Commands that other packages add, through the entry point group ``theodolite.commands``."""

from collections.abc import Callable, Collection
from importlib.metadata import EntryPoint
from typing import Any, NamedTuple

import typer

from theodolite.cli.groups import as_command
from theodolite.errors import EvidenceError
from theodolite.evidence.plugins import leave_out, list_entry_points

GROUP = "commands"
ANYTHING = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
INSTALL = {"study": "'theodolite[study]'", "papers": "theodolite-reproductions"}
"""Commands of packages of this project, and what to pass to `pip install` for them."""


class PackageCommands(NamedTuple):
    """What other packages add: how to load each command, and which are installed."""

    loaders: dict[str, Callable[[str], Any]]
    installed: list[str]


def package_commands(ours: Collection[str]) -> PackageCommands:
    """Find commands of installed packages; for others of the project, one that names the package.

    Args:
        ours: Names of commands that no package may replace.
    """
    loaders: dict[str, Callable[[str], Any]] = {}
    for package, point in list_entry_points(GROUP):
        if point.name in ours or point.name in loaders:
            leave_out(package, GROUP, point.name, "a command with this name exists")
        else:
            loaders[point.name] = _loader(package, point)
    missing = {name: _missing(install) for name, install in INSTALL.items() if name not in loaders}
    return PackageCommands(loaders | missing, list(loaders))


def _loader(package: str, point: EntryPoint) -> Callable[[str], Any]:
    def load(name: str) -> Any:
        try:
            commands = point.load()
        except Exception as error:  # noqa: BLE001  whatever it is, other commands still work
            leave_out(package, GROUP, name, error)
            return None
        if isinstance(commands, typer.Typer) or callable(commands):
            return as_command(name, commands)
        kind = type(commands).__name__
        leave_out(package, GROUP, name, f"{kind} is neither a typer.Typer nor a function")
        return None

    return load


def _missing(install: str) -> Callable[[str], Any]:
    def say_what_to_install(context: typer.Context) -> None:
        raise EvidenceError(
            f"theodolite {context.info_name}", "no installed package provides it", "it",
            f"Install it: pip install {install}.",
        )  # fmt: skip

    return lambda name: as_command(name, say_what_to_install, context_settings=ANYTHING)

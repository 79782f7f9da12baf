"""Commands that other packages add, through the entry point group ``theodolite.commands``."""

from collections.abc import Callable
from dataclasses import dataclass

import typer

from theodolite.errors import EvidenceError
from theodolite.evidence.plugins import entry_points, leave_out

GROUP = "commands"
ANYTHING = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


@dataclass(frozen=True)
class PackageCommand:
    """A command that a package of its own adds."""

    help: str
    install: str
    """What to pass to `pip install`."""
    hidden: bool = False


REPRODUCTIONS = "theodolite-reproductions"
PACKAGES = {
    "study": PackageCommand(
        "Ask people: make a study from a run, serve it, bring home what they said.",
        "'theodolite[study]'",
    ),
    "findings": PackageCommand("Compare claims of five papers", REPRODUCTIONS, hidden=True),
    "sweep": PackageCommand("Run a sensitivity analysis", REPRODUCTIONS, hidden=True),
    "accept": PackageCommand("Train a model of human ratings", REPRODUCTIONS, hidden=True),
}


def add_package_commands(app: typer.Typer, ours: set[str]) -> None:
    """Add the commands of installed packages; for others, one that says what to install.

    Args:
        app: The program.
        ours: Names of commands that no package may replace.
    """
    names = set(ours)
    for package, point in entry_points(GROUP):
        if point.name in names:
            leave_out(package, GROUP, point.name, "there is a command of this name")
            continue
        try:
            commands = point.load()
        except Exception as error:  # noqa: BLE001  whatever it is, other commands still work
            leave_out(package, GROUP, point.name, error)
            continue
        if isinstance(commands, typer.Typer):
            app.add_typer(commands, name=point.name)
        elif callable(commands):
            app.command(point.name)(commands)
        else:
            kind = type(commands).__name__
            leave_out(package, GROUP, point.name, f"{kind} is no typer.Typer and no function")
            continue
        names.add(point.name)
    for name in sorted(PACKAGES.keys() - names):
        known = PACKAGES[name]
        missing = app.command(name, help=known.help, hidden=known.hidden, context_settings=ANYTHING)
        missing(_missing(known.install))


def _missing(install: str) -> Callable[[typer.Context], None]:
    def says_what_to_install(context: typer.Context) -> None:
        raise EvidenceError(
            f"theodolite {context.info_name}", "no package that adds it", "it",
            f"Install it: pip install {install}.",
        )  # fmt: skip

    return says_what_to_install

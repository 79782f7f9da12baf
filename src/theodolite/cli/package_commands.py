"""Commands that other distributions bring, by entry points in the group ``theodolite.commands``."""

from collections.abc import Callable

import typer

from theodolite.errors import EvidenceError
from theodolite.plugins import entry_points, leave_out

GROUP = "commands"
PACKAGES = {
    "study": (
        "Ask people: make a study from a run, serve it, bring home what they said.",
        "theodolite-study",
        "study",
    ),
}
"""Commands with a distribution of their own: their help, it, and the extra that brings it."""
ANYTHING = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


def add_package_commands(app: typer.Typer, ours: set[str]) -> None:
    """Add the commands of what is installed; of what is not, one that says what to install.

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
        if not isinstance(commands, typer.Typer):
            leave_out(package, GROUP, point.name, f"{type(commands).__name__} is no typer.Typer")
            continue
        app.add_typer(commands, name=point.name)
        names.add(point.name)
    for name in PACKAGES.keys() - names:
        help_text, distribution, extra = PACKAGES[name]
        app.command(name, help=help_text, context_settings=ANYTHING)(_missing(distribution, extra))


def _missing(distribution: str, extra: str) -> Callable[[typer.Context], None]:
    def says_what_to_install(context: typer.Context) -> None:
        raise EvidenceError(
            f"theodolite {context.info_name}", f"no {distribution}", "it",
            f"Install it: pip install 'theodolite[{extra}]'.",
        )  # fmt: skip

    return says_what_to_install

"""Share options and the progress bar with packages that define their own commands.

A command is an entry point in the group ``theodolite.commands``: a Typer program.
"""

from typing import TYPE_CHECKING

from theodolite._storage.lazy import lazy_getattr, lazy_names

__all__ = [
    "Json",
    "Quiet",
    "check_there",
    "show_progress",
]

if TYPE_CHECKING:
    from theodolite.cli.options import Json, Quiet, check_there
    from theodolite.cli.progress import show_progress
else:
    HOMES = lazy_names(
        "theodolite",
        {
            "cli.options": "Json Quiet check_there",
            "cli.progress": "show_progress",
        },
    )
    __getattr__ = lazy_getattr(__name__, HOMES)


def __dir__() -> list[str]:
    return __all__

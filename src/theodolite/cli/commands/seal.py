"""The command that makes a key for seals of pieces."""

from pathlib import Path
from typing import Annotated

import typer


def seal_new(
    path: Annotated[Path, typer.Argument(help="The file to write.", show_default=False)],
) -> None:
    """Make a key that pieces of work are sealed with, for buckets that others can write to.

    Copy it to every machine yourself: it is never sent.
    """
    from theodolite._runs.engine.seal import KEY_FILE, new_key

    new_key(path)
    typer.echo(f"key: {path} (set {KEY_FILE} to it on every machine)")

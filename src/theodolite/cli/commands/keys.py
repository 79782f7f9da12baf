"""The command that makes a key for signed checksums of tasks."""

from pathlib import Path
from typing import Annotated

import typer

from theodolite._runs.engine.signed_checksums import KEY_FILE, write_new_key
from theodolite.cli.options import argument


def keys_new(path: Annotated[Path, argument("File to write")]) -> None:
    """Write a new key.

    Copy it to every machine yourself: it is never sent.
    """
    write_new_key(path)
    typer.echo(f"key: {path} (set {KEY_FILE} to it on every machine)")

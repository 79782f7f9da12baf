"""The command that shows a whole audit on data that everybody has."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from theodolite.cli.commands.audit import audit
from theodolite.cli.options import Overwrite, option
from theodolite.datasets.digit_strokes import digit_strokes


def demo(
    out: Annotated[Path, option("Folder to write")] = Path("theodolite-demo"),
    overwrite: Overwrite = False,
) -> None:
    """Audit a small digit classifier and write its report."""
    typer.echo("A concept bottleneck reads digits by ten strokes: a nine, because of the loop.\n")
    out.mkdir(parents=True, exist_ok=True)
    arrays = out / "strokes.npz"
    np.savez(arrays, **digit_strokes())
    claim = "This digit, because of these strokes"
    audit([str(arrays)], out=out / "run", overwrite=overwrite, claim=claim, quiet=True)
    typer.echo(f"\nthe arrays: {arrays}\nthe same again: theodolite audit {arrays} --out runs/mine")

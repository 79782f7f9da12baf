"""The command that shows a whole audit on data that everybody has."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from theodolite._runs.auditing.front import audit
from theodolite._runs.folder.preparation import check_folder
from theodolite.cli.options import Overwrite, option
from theodolite.datasets.digits import digit_images, digit_strokes
from theodolite.evidence.subject import Subject


def demo(
    out: Annotated[Path, option("Folder to write")] = Path("theodolite-demo"),
    overwrite: Overwrite = False,
) -> None:
    """Audit a small digit classifier and write its report."""
    typer.echo("A concept bottleneck reads digits by ten strokes: a nine, because of the loop.\n")
    check_folder(out / "run", overwrite=overwrite)
    out.mkdir(parents=True, exist_ok=True)
    arrays = out / "strokes.npz"
    np.savez(arrays, **digit_strokes())
    claim = "This digit, because of these strokes"
    subject = Subject("a concept bottleneck of ten strokes", data="digits of scikit-learn")
    result = audit(arrays, images=digit_images(), claim=claim, subject=subject)
    typer.echo(result)
    typer.echo(f"\nreport: {result.save(out / 'run', overwrite=overwrite)}\narrays: {arrays}")
    typer.echo(f"repeat this audit: theodolite audit {arrays} --out runs/mine")

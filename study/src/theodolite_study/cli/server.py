"""Define the command that packs a study folder for upload to a server."""

from pathlib import Path
from typing import Annotated

import typer

from theodolite_study.cli.study_folder import Folder


def study_pack(
    folder: Folder,
    out: Annotated[Path, typer.Option(help="A new zip file, for the desk.")],
) -> None:
    """Pack a study folder for upload."""
    from theodolite.errors import EvidenceError
    from theodolite_study.designer.study_archive import write_archive

    if out.exists():
        raise EvidenceError("--out", "a file that is there", "a new one")
    write_archive(folder, out)
    typer.echo(f"study: {out}\nUpload it in the desk: New study.")

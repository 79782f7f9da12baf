"""Define the command that packs material for upload to a server."""

from pathlib import Path
from typing import Annotated

import typer

from theodolite.ext.commands import Quiet, check_there
from theodolite_study.cli.study_commands import load_material


def study_material(
    source: Annotated[
        Path, typer.Argument(help="A run folder, or a folder with instances.json and images/.")
    ],
    out: Annotated[Path, typer.Option(help="A new zip file, for the desk.")],
    data: Annotated[Path, typer.Option(help="The folder that the run's paths are in.")] = Path(),
    images: Annotated[int, typer.Option(help="Images of the run", min=1)] = 12,
    techniques: Annotated[
        str | None, typer.Option(help="Some methods of the run, with commas; else all.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Pack images and explanations of a run for upload."""
    import shutil
    from tempfile import mkdtemp

    from theodolite.errors import EvidenceError
    from theodolite.ext.studies import INSTANCES
    from theodolite_study.designer.material_archive import write_archive

    check_there(data)
    if out.exists():
        raise EvidenceError("--out", "a file that is there", "a new one")
    if (source / INSTANCES).is_file():
        load_material(source, source, data, 0, None, quiet=quiet)
        write_archive(source, out)
    else:
        scratch = Path(mkdtemp(prefix="theodolite-material-"))
        try:
            folder = scratch / "material"
            load_material(source, folder, data, images, techniques, quiet=quiet)
            write_archive(folder, out)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    typer.echo(f"material: {out}\nUpload it in the desk, under Material.")

"""Define the commands for operators of a server: run background jobs, pack material for upload."""

from pathlib import Path
from typing import Annotated

import typer

from theodolite.ext.commands import Quiet, check_there
from theodolite_study.cli.study_commands import load_material
from theodolite_study.cli.study_folder import Folder, StudyDatabase, open_database, report_errors


def study_jobs(folder: Folder, database: StudyDatabase = None) -> None:
    """Run the background jobs: payments, platforms, exports.

    A second process waits.
    """
    from theodolite_study.keys import Keys
    from theodolite_study.money.background_job import run_jobs
    from theodolite_study.operate.background_tasks import ExportTask, MetricsTask
    from theodolite_study.operate.logs import log_as_lines
    from theodolite_study.operate.revision import require_same_revision

    with report_errors(), open_database(folder, database) as url:
        require_same_revision(url)
        log_as_lines()
        typer.echo("jobs:   at work\nstop:   Ctrl-C; a round is finished")
        run_jobs(url, Keys.read(folder), [MetricsTask(), ExportTask(url, folder)])


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

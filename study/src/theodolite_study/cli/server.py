"""Commands of whoever runs a server: the process of jobs, and material for the desk."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from theodolite.ext.commands import Quiet, check_there
from theodolite_study.cli.commands import material_from
from theodolite_study.cli.folder import Folder, StudyDatabase, database_of, in_words

if TYPE_CHECKING:
    from theodolite.ext.studies import Material


def study_jobs(folder: Folder, database: StudyDatabase = None) -> None:
    """Pay people, hear from platforms, end what lapsed. One works; a second one waits."""
    from theodolite_study.keys import Keys
    from theodolite_study.money.job import run_jobs

    with in_words(), database_of(folder, database) as url:
        typer.echo("jobs:   at work\nstop:   Ctrl-C; a round is finished")
        run_jobs(url, Keys.read(folder))


def study_material(
    source: Annotated[
        Path, typer.Argument(help="A run folder, or a folder with instances.json and pictures/.")
    ],
    out: Annotated[Path, typer.Option(help="A new zip file, for the desk.")],
    data: Annotated[Path, typer.Option(help="The folder that the run's paths are in.")] = Path(),
    pictures: Annotated[int, typer.Option(help="How many pictures of the run.", min=1)] = 12,
    techniques: Annotated[
        str | None, typer.Option(help="Some methods of the run, with commas; else all.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Pictures and explanations of a run as one file, to be uploaded in the desk."""
    import shutil
    from tempfile import mkdtemp

    from theodolite.errors import EvidenceError
    from theodolite.ext.studies import INSTANCES

    check_there(data)
    if out.exists():
        raise EvidenceError("--out", "a file that is there", "a new one")
    if (source / INSTANCES).is_file():
        _write_archive(source, material_from(source, source, data, 0, None, quiet=quiet), out)
    else:
        scratch = Path(mkdtemp(prefix="theodolite-material-"))
        try:
            folder = scratch / "material"
            made = material_from(source, folder, data, pictures, techniques, quiet=quiet)
            _write_archive(folder, made, out)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    typer.echo(f"material: {out}\nUpload it in the desk, under Material.")


def _write_archive(folder: Path, material: "Material", out: Path) -> None:
    """instances.json and the pictures that it names; nothing else, and the same bytes each time."""
    import zipfile  # noqa: TID251  written, where theodolite.io reads

    from theodolite.ext.studies import INSTANCES, PICTURES, all_or_nothing, existing, picture_path

    names = sorted({name for one in material.instances for name in one.pictures()})
    with all_or_nothing(out) as stream, zipfile.ZipFile(stream, "w") as archive:
        records = material.model_dump_json(exclude_none=True)
        archive.writestr(zipfile.ZipInfo(INSTANCES), records, zipfile.ZIP_DEFLATED)
        for name in names:
            content = existing(picture_path(folder, name), "picture").read_bytes()
            archive.writestr(zipfile.ZipInfo(f"{PICTURES}/{name}"), content)

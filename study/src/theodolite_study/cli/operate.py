"""Define the commands that back up, rehearse a restore of, and upgrade the database of a server."""

from pathlib import Path
from typing import Annotated

import typer

from theodolite_study.cli.study_folder import Folder, StudyDatabase, open_database, report_errors

Backup = Annotated[Path, typer.Argument(help="A folder that study backup wrote.")]


def study_backup(
    folder: Folder,
    out: Annotated[Path, typer.Option(help="A new folder, which only you can read.")],
    database: StudyDatabase = None,
) -> None:
    """Dump the database and list the images with digests."""
    from theodolite_study.operate.backup import write_backup

    with report_errors(), open_database(folder, database) as url:
        typer.echo(str(write_backup(url, folder, out)))


def study_rehearse_restore(
    folder: Folder, backup: Backup, database: StudyDatabase = None
) -> None:  # fmt: skip
    """Restore a backup into a scratch database and check it.

    The scratch database is dropped again.
    """
    from theodolite.errors import VerificationError
    from theodolite_study.operate.restore import rehearse_restore

    with report_errors(), open_database(folder, database) as url:
        report = rehearse_restore(backup, url, folder)
    typer.echo(str(report))
    if report.problems:
        raise VerificationError("restore", f"{len(report.problems)} problems", "none")


def study_upgrade(
    folder: Folder,
    check: Annotated[
        Path | None,
        typer.Option(help="Backup or dump: upgrade and verify a copy of it"),
    ] = None,
    database: StudyDatabase = None,
) -> None:
    """Upgrade the tables to the format of this release.

    With --check, try it on a copy first.
    """
    from theodolite.errors import VerificationError
    from theodolite_study.operate.revision import get_newest_revision
    from theodolite_study.operate.upgrade import check_upgrade, upgrade

    with report_errors(), open_database(folder, database) as url:
        if check is None:
            upgrade(url)
            typer.echo(f"tables: revision {get_newest_revision()}")
            return
        report = check_upgrade(check, url)
    typer.echo(str(report))
    if report.problems:
        raise VerificationError("upgrade", f"{len(report.problems)} problems", "none")

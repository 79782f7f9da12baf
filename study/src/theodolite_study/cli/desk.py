"""Define the command that manages accounts of the desk, `study staff`."""

from pathlib import Path
from typing import Annotated

import typer

from theodolite.errors import printable
from theodolite_study.cli.study_folder import (
    Folder,
    StudyDatabase,
    load_desk_origin,
    open_database,
    report_errors,
)


def study_staff(
    folder: Folder,
    name: Annotated[str, typer.Argument(help="Name of the account.")] = "owner",
    database: StudyDatabase = None,
    origin: Annotated[
        str | None, typer.Option(help="How the desk is reached, if not as when it last ran.")
    ] = None,
    operator: Annotated[
        bool, typer.Option("--operator", help="They run the server: health, no answers.")
    ] = False,
    disable: Annotated[bool, typer.Option("--disable", help="Close the account.")] = False,
    link: Annotated[
        bool, typer.Option("--link", help="Sign in at once, on this machine only.")
    ] = False,
) -> None:
    """Make a link to set up an account, once.

    Accounts own the studies that they make; the owner of the folder's study is whoever comes first.
    """
    import psycopg

    from theodolite_study.desk.accounts import make_local_link

    with report_errors(), open_database(folder, database, load=True) as url:
        if disable:
            _close_account(url, name)
            typer.echo(f"{printable(name)}: closed")
            return
        if link:
            with psycopg.connect(url) as connection:
                typer.echo(make_local_link(connection, load_desk_origin(folder), name))
            return
        address = make_account_link(
            folder, url, origin or load_desk_origin(folder), name, operator=operator
        )
        typer.echo(f"{address}\nFor {printable(name)}, once, within a day.")


def make_account_link(folder: Path, url: str, origin: str, name: str, *, operator: bool) -> str:
    """Return a setup link for an account, and make it the owner of all studies without one."""
    import psycopg

    from theodolite_study.desk.accounts import make_enroll_link, own_free_studies
    from theodolite_study.keys import Keys

    with psycopg.connect(url) as connection:
        link = make_enroll_link(
            connection, Keys.read(folder), origin, name, operator=True if operator else None
        )
        own_free_studies(connection, name)
    return link


def _close_account(url: str, name: str) -> None:
    import psycopg

    from theodolite_study.desk.accounts import end_all_sessions
    from theodolite_study.refusals import NotHere

    with psycopg.connect(url) as connection:
        row = connection.execute(
            "update staff set disabled = true, enroll_sha256 = null where name = %s returning id",
            (name,),
        ).fetchone()
        if row is None:
            raise NotHere("There is no account of that name.")
        end_all_sessions(connection, row[0])

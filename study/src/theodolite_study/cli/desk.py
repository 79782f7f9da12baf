"""Define the commands that serve the admin console (`study desk`) and manage its accounts."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from theodolite.errors import printable
from theodolite_study.cli.study_folder import (
    Folder,
    StudyDatabase,
    load_desk_origin,
    open_database,
    remember_desk,
    report_errors,
    require_free_port,
)

CLI_COMMAND = "from theodolite.cli import main; main()"


def study_desk(
    folder: Folder,
    database: StudyDatabase = None,
    port: Annotated[int, typer.Option(help="On this machine only.", min=1, max=65535)] = 8081,
    origin: Annotated[
        str | None,
        typer.Option(help="How researchers reach it: https://desk.example.org, behind a proxy."),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Where to listen; off this machine only --behind-proxy.")
    ] = "127.0.0.1",
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="A proxy with limits of time is in front.")
    ] = False,
) -> None:
    """Serve the admin console of all studies.

    It is a process of its own: make studies, watch them, pay participants, export, close.
    """
    from theodolite_study.desk.run import serve_desk
    from theodolite_study.serve.settings import Settings

    require_free_port(port)
    seen = origin or f"http://127.0.0.1:{port}"
    with report_errors(), open_database(folder, database, load=True) as url:
        remember_desk(folder, seen)
        typer.echo(f"desk:   {seen}   (accounts: theodolite study staff {folder} NAME)")
        settings = Settings(database_url=url, folder=folder, public_origin=seen)
        serve_desk(settings, port, host=host, behind_proxy=behind_proxy or origin is not None)


def study_staff(
    folder: Folder,
    name: Annotated[str, typer.Argument(help="Whose account.")],
    database: StudyDatabase = None,
    origin: Annotated[
        str | None, typer.Option(help="How the desk is reached, if not as when it last ran.")
    ] = None,
    operator: Annotated[
        bool, typer.Option("--operator", help="They run the server: health, no answers.")
    ] = False,
    disable: Annotated[bool, typer.Option("--disable", help="Close the account.")] = False,
) -> None:
    """Make a link to set up an account, once.

    Accounts own the studies that they make; the owner of the folder's study is whoever comes first.
    """
    with report_errors(), open_database(folder, database, load=True) as url:
        if disable:
            _close_account(url, name)
            typer.echo(f"{printable(name)}: closed")
            return
        link = make_account_link(
            folder, url, origin or load_desk_origin(folder), name, operator=operator
        )
        typer.echo(f"{link}\nFor {printable(name)}, once, within a day.")


def make_account_link(folder: Path, url: str, origin: str, name: str, *, operator: bool) -> str:
    """Return a setup link for an account, and make it the owner of all studies without one."""
    import psycopg

    from theodolite_study.desk.accounts import make_enroll_link
    from theodolite_study.keys import Keys

    with psycopg.connect(url) as connection:
        link = make_enroll_link(
            connection, Keys.read(folder), origin, name, operator=True if operator else None
        )
        connection.execute(
            "insert into member (study_id, staff_id, role) select s.id, t.id, 'owner'"
            " from study s, staff t where t.name = %s and not exists"
            " (select from member m where m.study_id = s.id)",
            (name,),
        )
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


@contextmanager
def run_desk(folder: Path, url: str, port: int) -> Iterator[None]:
    """Run the admin console in a second process and print a link for the first account."""
    origin = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-c", CLI_COMMAND, "study", "desk", str(folder), "--port", str(port)]
    desk = subprocess.Popen(  # noqa: S603
        command, stdout=subprocess.DEVNULL, start_new_session=True
    )
    try:
        link = make_account_link(folder, url, origin, "demo", operator=True)
        typer.echo(f"desk:   {link}")
        yield
    finally:
        desk.terminate()
        desk.wait(20)

"""Open a study folder and its database. Used by all commands about studies."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

if TYPE_CHECKING:
    from uuid import UUID

    from psycopg import Connection

Folder = Annotated[Path, typer.Argument(help="A study folder.", show_default=False)]
StudyDatabase = Annotated[
    str | None,
    typer.Option(help="PostgreSQL address (default: THEODOLITE_DATABASE, else own)"),
]


@dataclass(frozen=True)
class StudyFolder:
    """Study of a folder, with an open connection to its database."""

    slug: str
    url: str = field(repr=False)
    id: "UUID"
    connection: "Connection[Any]" = field(repr=False)
    """Connection of the tables' owner; each command is one transaction."""


@contextmanager
def open_database(folder: Path, url: str | None, *, load: bool = False) -> Iterator[str]:
    """Yield the address of a folder's database; with ``load``, migrate its tables first."""
    from theodolite_study.database import address, migrate
    from theodolite_study.local_postgres import provide_database
    from theodolite_study.operate.revision import get_newest_revision, load_database_revision

    with provide_database(folder, get_database_address(url)) as place:
        address(place)  # refuses what is none
        if load and load_database_revision(place) != get_newest_revision():
            migrate(place)  # as the owner of the tables: a server's login has no such right
        yield place


def get_database_address(url: str | None) -> str | None:
    """Return the given address, or that of the environment; None: the folder's own database."""
    return url or os.environ.get("THEODOLITE_DATABASE") or None


def may_import(url: str) -> bool:
    """Return whether this login may add studies; the login of a server may not."""
    import psycopg

    with psycopg.connect(url) as connection:
        row = connection.execute("select has_table_privilege('study', 'insert')").fetchone()
    return row is not None and bool(row[0])


@contextmanager
def open_study(folder: Path, url: str | None, *, load: bool = False) -> Iterator[StudyFolder]:
    """Yield a folder's study; with ``load``, migrate the tables and import the study first."""
    import psycopg

    from theodolite_study.folder_import import import_folder
    from theodolite_study.keys import Keys
    from theodolite_study.protocol import read_protocol

    slug = read_protocol(folder).slug
    with open_database(folder, url, load=load) as address, psycopg.connect(address) as connection:
        if load:
            with connection.transaction():
                import_folder(connection, folder, Keys.read(folder))
        number = _study_of(connection, slug)
        connection.commit()  # each command begins a transaction of its own
        yield StudyFolder(slug, address, number, connection)


def _study_of(connection: "Connection[Any]", slug: str) -> "UUID":
    from uuid import UUID

    from theodolite.errors import EvidenceError

    row = connection.execute("select id from study where slug = %s", (slug,)).fetchone()
    if row is None:
        raise EvidenceError(
            "study", repr(slug), "one of this database", "theodolite study serve puts it there."
        )
    return UUID(str(row[0]))


def open_draft(study: StudyFolder) -> bool:
    """Open a study that was never open, and return whether it was such a draft."""
    from theodolite_study.store.opening import open_version

    row = study.connection.execute(
        "select v.id from study s join version v on v.study_id = s.id and v.no = 1"
        " where s.id = %s and s.state = 'draft' and v.state = 'draft'", (study.id,),
    ).fetchone()  # fmt: skip
    if row is None:
        return False
    with study.connection.transaction():
        open_version(study.connection, row[0])
    return True


@contextmanager
def create_private_file(path: Path) -> Iterator[BinaryIO]:
    """Open a new file that only its owner can read; delete it if it stays empty."""
    from theodolite.errors import EvidenceError

    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise EvidenceError("--out", "a file that is there", "a new one") from error
    with os.fdopen(handle, "wb") as stream:
        try:
            yield stream
        finally:
            if not stream.tell():
                path.unlink(missing_ok=True)


@contextmanager
def report_errors() -> Iterator[None]:
    """Report refusals of a study and database failures as one line on the command line."""
    from psycopg import OperationalError, ProgrammingError

    from theodolite.errors import EvidenceError
    from theodolite_study.refusals import StudyError

    try:
        yield
    except StudyError as refusal:
        raise EvidenceError(refusal.message.rstrip(".")) from refusal
    except ProgrammingError as error:
        raise EvidenceError(
            "database", "one without this study's tables", "a study that was served once",
            "theodolite study serve makes them.",
        ) from error  # fmt: skip
    except OperationalError as error:
        raise EvidenceError(
            "database", "no connection", "a running PostgreSQL", "Check the address."
        ) from error


DESK_ORIGIN = "desk_origin.txt"


def remember_desk(folder: Path, origin: str) -> None:
    """Store the address of the admin console, which account links point to."""
    with suppress(OSError):
        (folder / DESK_ORIGIN).write_text(f"{origin}\n")


def load_desk_origin(folder: Path) -> str:
    """Return the address where the admin console was last served."""
    path = folder / DESK_ORIGIN
    return path.read_text().strip() if path.is_file() else "http://127.0.0.1:8081"

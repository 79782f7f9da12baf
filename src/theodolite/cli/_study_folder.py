"""A study folder and its database, for the commands about studies."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from theodolite.study.database import Database

Folder = Annotated[Path, typer.Argument(help="A study folder.", show_default=False)]
StudyDatabase = Annotated[
    str | None,
    typer.Option(
        help="postgresql://user:password@host/name; else THEODOLITE_DATABASE, else a PostgreSQL of "
        "the study's own, inside of its folder."
    ),
]


@dataclass(frozen=True)
class Studied:
    """A study at hand."""

    slug: str
    url: str = field(repr=False)
    database: "Database"


@contextmanager
def studied(folder: Path, url: str | None, *, load: bool = False) -> Iterator[Studied]:
    """Reach the database; with ``load``, bring its tables and the study up to date first."""
    try:
        from theodolite.study.database import Database, migrate
        from theodolite.study.intake import load as load_study
        from theodolite.study.keys import Keys
    except ModuleNotFoundError as error:
        from theodolite.errors import EvidenceError

        raise EvidenceError(
            "studies", f"no {error.name}", "it", "Install it: pip install 'theodolite[study]'."
        ) from error
    from theodolite.study.local_postgres import at_hand
    from theodolite.study.protocol import read_protocol

    slug = read_protocol(folder).slug
    with at_hand(folder, url or os.environ.get("THEODOLITE_DATABASE")) as found:
        database = Database(found)
        try:
            if load:
                migrate(found)
                load_study(database, folder, Keys.read(folder))
            yield Studied(slug, found, database)
        finally:
            database.close()


@contextmanager
def in_words() -> Iterator[None]:
    """What a study refuses, and a database that does not answer, as one line."""
    from sqlalchemy.exc import OperationalError, ProgrammingError

    from theodolite.errors import EvidenceError
    from theodolite.study.refusals import StudyRefusal

    try:
        yield
    except StudyRefusal as refusal:
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

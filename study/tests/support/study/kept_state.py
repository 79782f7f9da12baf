"""All rows of a database, put aside and brought back: one set-up, many runs."""

from sqlalchemy import text

from theodolite_study.database import Database
from theodolite_study.tables import metadata

NAMES = [table.name for table in metadata.sorted_tables]


def keep_state(database: Database) -> None:
    """Put the rows of all tables aside."""
    copies = "".join(f"create table kept.{name} as table public.{name};" for name in NAMES)
    with database.owning() as connection:
        connection.execute(
            text(f"drop schema if exists kept cascade; create schema kept; {copies}")
        )


def bring_back(database: Database) -> None:
    """The rows as they were put aside. Numbers of new rows go on rising."""
    empty = "".join(f"delete from public.{name};" for name in reversed(NAMES))
    full = "".join(
        f"insert into public.{name} overriding system value table kept.{name};" for name in NAMES
    )
    with database.owning() as connection:
        # slot and assignment point at each other
        connection.execute(text(f"set local session_replication_role = replica; {empty} {full}"))


def emptied(database: Database) -> None:
    """No rows in any table."""
    with database.owning() as connection:
        connection.execute(text(f"truncate {', '.join(NAMES)} cascade"))

"""Connections to PostgreSQL: roles, limits of time, transactions."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from psycopg.errors import InsufficientPrivilege
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, ProgrammingError

from theodolite.errors import EvidenceError
from theodolite_study.tables import APP, WITHDRAW

OPTIONS = (
    "-c statement_timeout=5000 -c lock_timeout=4000 -c idle_in_transaction_session_timeout=15000 "
    "-c jit=off -c timezone=UTC -c default_transaction_isolation=read\\ committed"
)
OLDEST = 15
"""Older ones were not tried."""


@dataclass(frozen=True)
class Database:
    """Where the studies are. Connects when it is first used."""

    url: str = field(repr=False)
    pool: int = 10
    wait: float = 3.0
    """Seconds to wait for a connection before the server says that it is busy."""

    @cached_property
    def engine(self) -> Engine:
        """Connections that work as the server's role."""
        engine = create_engine(
            address(self.url),
            pool_size=self.pool,
            max_overflow=0,
            pool_timeout=self.wait,
            pool_pre_ping=True,
            connect_args={"options": OPTIONS, "connect_timeout": 5},
        )
        event.listen(engine, "connect", _as_server)
        return engine

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """As the server: adds to the record, never changes it."""
        with self.engine.begin() as connection:
            yield connection

    @contextmanager
    def withdrawing(self) -> Iterator[Connection]:
        """As the one role that may take answers out again."""
        with self.engine.begin() as connection:
            connection.execute(text(f"set local role {WITHDRAW}"))
            yield connection

    @contextmanager
    def owning(self) -> Iterator[Connection]:
        """As the login itself, for whoever sets studies up."""
        with self.engine.begin() as connection, _in_words():
            connection.execute(text("set local role none"))
            connection.execute(text("set local statement_timeout = 0"))
            connection.execute(text("set local idle_in_transaction_session_timeout = 0"))
            yield connection

    def close(self) -> None:
        """Give all connections back."""
        self.engine.dispose()


@contextmanager
def _in_words() -> Iterator[None]:
    try:
        yield
    except ProgrammingError as error:
        if not isinstance(error.orig, InsufficientPrivilege):
            raise
        raise EvidenceError(
            "database", f"a login without the right to do this ({_first_line(error)})",
            "the login that owns the tables",
            "Give the address of the database with the owner's name; to make the tables it also "
            f"needs CREATEROLE, or the roles {APP} and {WITHDRAW} made and granted beforehand.",
        ) from error  # fmt: skip


def _first_line(error: DBAPIError) -> str:
    return str(error.orig).strip().splitlines()[0]


def _as_server(connection: Any, _record: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"set role {APP}")
    connection.commit()


def address(url: str) -> str:
    """The address for psycopg, whichever way it was written."""
    try:
        given = make_url(url)
    except ArgumentError as error:
        raise EvidenceError(
            "database", "no address", "postgresql://user:password@host:port/name"
        ) from error
    if given.get_backend_name() not in {"postgresql", "postgres"}:
        raise EvidenceError(
            "database", given.get_backend_name(), "PostgreSQL",
            "Exactly n votes is proved for PostgreSQL only.",
        )  # fmt: skip
    return given.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)


def migrate(url: str, revision: str = "head") -> None:
    """Bring the tables to the newest form, or to a named one."""
    _alembic(url, "upgrade", revision)


def migrate_down(url: str, revision: str) -> None:
    """Bring the tables back to an older form."""
    _alembic(url, "downgrade", revision)


def _alembic(url: str, what: str, revision: str) -> None:
    engine = create_engine(address(url), connect_args={"connect_timeout": 5})
    try:
        with engine.begin() as connection, _in_words():
            version = connection.dialect.server_version_info or (0,)
            if int(version[0]) < OLDEST:
                raise EvidenceError("PostgreSQL", f"version {version[0]}", f"{OLDEST} or newer")
            # two servers that start at once would both make the tables
            connection.execute(text("select pg_advisory_xact_lock(7203001)"))
            config = Config()
            config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
            config.attributes["connection"] = connection
            getattr(command, what)(config, revision)
    except OperationalError as error:
        raise EvidenceError(
            "database", f"no connection ({_first_line(error)})", "a running PostgreSQL",
            "Start it, and check the address.",
        ) from error  # fmt: skip
    finally:
        engine.dispose()


def revision(database: Database) -> str | None:
    """Which form the tables have; None where there are none."""
    with database.owning() as connection:
        if not connection.execute(text("select to_regclass('alembic_version')")).scalar():
            return None
        found = connection.execute(text("select version_num from alembic_version")).scalar()
        return None if found is None else str(found)

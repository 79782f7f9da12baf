"""Parse database addresses and migrate the tables. Used by the command line and by upgrades."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from psycopg.errors import InsufficientPrivilege
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, ProgrammingError

from theodolite.errors import EvidenceError

MIN_POSTGRES_VERSION = 15
"""Oldest supported version of PostgreSQL."""
MIGRATIONS = Path(__file__).parent / "migrations"


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
            "needs CREATEROLE, or the roles of deploy/roles.sql made and granted beforehand.",
        ) from error  # fmt: skip


def _first_line(error: DBAPIError) -> str:
    return str(error.orig).strip().splitlines()[0]


def address(url: str) -> str:
    """Normalize a database address for psycopg."""
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise EvidenceError(
            "database", "no address", "postgresql://user:password@host:port/name"
        ) from error
    if parsed.get_backend_name() not in {"postgresql", "postgres"}:
        raise EvidenceError(
            "database", parsed.get_backend_name(), "PostgreSQL",
            "Exactly n votes is proved for PostgreSQL only.",
        )  # fmt: skip
    return parsed.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)


def make_alembic_config() -> Config:
    """Return Alembic's configuration with the folder of our migrations."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    return config


def migrate(url: str) -> None:
    """Create the tables, or upgrade them to the newest revision, in one transaction."""
    engine = create_engine(address(url), connect_args={"connect_timeout": 5})
    try:
        with engine.begin() as connection, _in_words():
            version = connection.dialect.server_version_info or (0,)
            if int(version[0]) < MIN_POSTGRES_VERSION:
                raise EvidenceError(
                    "PostgreSQL", f"version {version[0]}", f"{MIN_POSTGRES_VERSION} or newer"
                )
            # two servers that start at once would both make the tables
            connection.execute(text("select pg_advisory_xact_lock(7203001)"))
            config = make_alembic_config()
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    except OperationalError as error:
        raise EvidenceError(
            "database", f"no connection ({_first_line(error)})", "a running PostgreSQL",
            "Start it, and check the address.",
        ) from error  # fmt: skip
    finally:
        engine.dispose()

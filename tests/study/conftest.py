"""A real PostgreSQL for the tests of studies: one cluster a process, one database a test."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import mkdtemp

import pytest

from kept_state import emptied
from theodolite.errors import EvidenceError
from theodolite.study.database import Database, migrate
from theodolite.study.local_postgres import LocalPostgres, binaries, cluster_has_database, create

_numbers = count()
TABLES = "tables"


@pytest.fixture(scope="session")
def cluster() -> Iterator[LocalPostgres]:
    """A running server that has a database with empty tables, to be copied."""
    try:
        binaries()
    except EvidenceError:
        pytest.skip("no PostgreSQL here: apt-get install postgresql")
    folder = Path(mkdtemp(prefix="study-pg-"))
    made = create(folder, durable=False)
    made.start()
    cluster_has_database(made, TABLES)
    migrate(made.database(TABLES))
    yield made
    made.stop()
    shutil.rmtree(folder)


@contextmanager
def new_database(cluster: LocalPostgres) -> Iterator[Database]:
    """A database with all tables, empty."""
    name = f"t{next(_numbers)}"
    cluster_has_database(cluster, name, TABLES)
    database = Database(cluster.database(name))
    try:
        yield database
    finally:
        database.close()


@pytest.fixture
def database(cluster: LocalPostgres) -> Iterator[Database]:
    """A database with all tables, empty."""
    with new_database(cluster) as made:
        yield made


@pytest.fixture(scope="module")
def one_database(cluster: LocalPostgres) -> Iterator[Database]:
    """A database for all tests of a module."""
    with new_database(cluster) as made:
        yield made


@pytest.fixture
def empty_database(one_database: Database) -> Database:
    """The same one, emptied: faster than a new one."""
    emptied(one_database)
    return one_database

"""A real PostgreSQL for the tests of studies: one cluster a process, one database a test."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import mkdtemp
from typing import TypeVar

import pytest

from support.study.kept_state import emptied
from support.study.stepped_study import second_form
from theodolite.errors import EvidenceError
from theodolite_study.database import Database, migrate
from theodolite_study.local_postgres import LocalPostgres, binaries, cluster_has_database, create

_numbers = count()
TABLES = "tables"
Made = TypeVar("Made")


@pytest.fixture(scope="session")
def cluster() -> Iterator[LocalPostgres]:
    """A running server that has a database with empty tables, to be copied."""
    try:
        binaries()
    except EvidenceError:
        pytest.skip("no PostgreSQL here: apt-get install postgresql")
    made = _tried_again(_new_cluster)
    yield made
    made.stop()
    shutil.rmtree(made.folder)


def _new_cluster() -> LocalPostgres:
    made = create(Path(mkdtemp(prefix="study-pg-")), durable=False)
    made.start()
    cluster_has_database(made, TABLES)
    migrate(made.database(TABLES), "0001")
    return made


def _tried_again(make: Callable[[], Made], mend: Callable[[], None] = lambda: None) -> Made:
    """A machine that stood still, or a port taken meanwhile, does not fail all that follow."""
    try:
        return make()
    except EvidenceError:
        mend()
        return make()


@contextmanager
def new_database(cluster: LocalPostgres) -> Iterator[Database]:
    """A database with all tables, empty."""

    def named() -> str:
        name = f"t{next(_numbers)}"
        cluster_has_database(cluster, name, TABLES)
        return name

    def restarted() -> None:
        cluster.stop()
        cluster.start()

    database = Database(cluster.database(_tried_again(named, restarted)))
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


def _second(cluster: LocalPostgres) -> str:
    name = f"second{next(_numbers)}"
    cluster_has_database(cluster, name, second_form(cluster))
    return cluster.database(name)


@pytest.fixture
def second_url(cluster: LocalPostgres) -> str:
    """The address of an empty database with the second form of the tables."""
    return _second(cluster)


@pytest.fixture(scope="module")
def second_module_url(cluster: LocalPostgres) -> str:
    """The same for all tests of a module."""
    return _second(cluster)

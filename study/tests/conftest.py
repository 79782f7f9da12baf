"""A real PostgreSQL for the tests of studies: one cluster a process, one database a test."""

import shutil
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from tempfile import mkdtemp
from typing import TypeVar

import pytest

from support.study.stepped_study import template_database
from theodolite.errors import EvidenceError
from theodolite_study.local_postgres import (
    LocalPostgres,
    create_cluster,
    create_database,
    find_binaries,
    open_cluster,
)

_numbers = count()
Made = TypeVar("Made")


@pytest.fixture(scope="session")
def cluster() -> Iterator[LocalPostgres]:
    """A running server that has a database with empty tables, to be copied."""
    try:
        find_binaries()
    except EvidenceError:
        pytest.skip("no PostgreSQL here: apt-get install postgresql")
    made = _tried_again(_new_cluster)
    yield made
    made.stop()
    shutil.rmtree(made.folder)


def _new_cluster() -> LocalPostgres:
    folder = Path(mkdtemp(prefix="study-pg-"))
    create_cluster(folder, durable=False)
    return open_cluster(folder)


def _tried_again(make: Callable[[], Made], mend: Callable[[], None] = lambda: None) -> Made:
    """A machine that stood still, or a port taken meanwhile, does not fail all that follow."""
    try:
        return make()
    except EvidenceError:
        mend()
        return make()


def _new_database(cluster: LocalPostgres) -> str:
    name = f"study{next(_numbers)}"
    create_database(cluster, name, template_database(cluster))
    return cluster.database(name)


@pytest.fixture
def database_url(cluster: LocalPostgres) -> str:
    """Return the address of a new database with empty tables."""
    return _new_database(cluster)


@pytest.fixture(scope="module")
def module_database_url(cluster: LocalPostgres) -> str:
    """Return the address of a new database that all tests of a module share."""
    return _new_database(cluster)

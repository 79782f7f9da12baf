"""Run PostgreSQL's programs with passwords in variables, since command lines are public."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from theodolite.errors import EvidenceError
from theodolite_study.local_postgres import find_binaries

PG_VARIABLES = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD",
                "dbname": "PGDATABASE", "sslmode": "PGSSLMODE"}  # fmt: skip
MAX_ERROR_CHARACTERS = 300


def run_postgres_program(name: str, url: str, *arguments: str) -> None:
    """Run a program on a database; report the end of its output on failure."""
    variables = {PG_VARIABLES[key]: str(value) for key, value in conninfo_to_dict(url).items()
                 if key in PG_VARIABLES}  # fmt: skip
    command = [str(find_binaries() / name), *arguments]
    done = subprocess.run(  # noqa: S603
        command, capture_output=True, check=False, text=True, env=os.environ | variables
    )
    if done.returncode:
        words = done.stderr.strip()[-MAX_ERROR_CHARACTERS:]
        raise EvidenceError(name, words or f"exit {done.returncode}", "its work done")


def compute_row_sums(connection: psycopg.Connection[Any]) -> dict[str, list[int | str]]:
    """Return the number of rows of each table and an order-independent checksum."""
    connection.execute("set local timezone to 'UTC'")
    names = connection.execute(
        "select relname from pg_class where relnamespace = 'public'::regnamespace"
        " and relkind in ('r', 'p') and not relispartition and relpersistence = 'p' order by 1"
    ).fetchall()
    sums: dict[str, list[int | str]] = {}
    for (name,) in names:
        query = sql.SQL(
            "select count(*), coalesce(sum(hashtextextended(t::text, 0)), 0)::text from {} t"
        )
        row = connection.execute(query.format(sql.Identifier(name))).fetchone()
        assert row is not None  # noqa: S101
        sums[name] = list(row)
    return sums


@contextmanager
def create_scratch_database(url: str) -> Iterator[str]:
    """Create an empty database next to another, and drop it afterwards."""
    name = f"rehearsal_{uuid4().hex[:12]}"
    try:
        _alone(url, sql.SQL("create database {} template template0 encoding 'utf8'"), name)
    except psycopg.Error as error:
        raise EvidenceError(
            "rehearsal", str(error).strip().splitlines()[0], "a login that may create databases"
        ) from error
    try:
        yield urlsplit(url)._replace(path=f"/{name}").geturl()
    finally:
        _alone(url, sql.SQL("drop database {} with (force)"), name)


def _alone(url: str, command: sql.SQL, name: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(command.format(sql.Identifier(name)))

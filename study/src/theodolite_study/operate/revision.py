"""Compare the revision of a database's tables with the one that this release needs."""

from functools import cache

import psycopg
from alembic.script import ScriptDirectory

from theodolite.errors import EvidenceError
from theodolite_study.database import make_alembic_config


class RevisionMismatchError(EvidenceError):
    """Tables that another release created."""


@cache
def get_newest_revision() -> str:
    """Return the revision that this release creates and needs."""
    head = ScriptDirectory.from_config(make_alembic_config()).get_current_head()
    assert head is not None  # noqa: S101
    return head


def load_database_revision(url: str) -> str:
    """Return the revision of a database's tables; "none" if it has no tables."""
    try:
        with psycopg.connect(url, connect_timeout=5) as connection:
            row = connection.execute("select op_revision()").fetchone()
    except psycopg.errors.UndefinedFunction:
        return "none"
    except psycopg.OperationalError as error:
        reason = str(error).strip().splitlines()[0]
        raise EvidenceError(
            "database", f"no connection ({reason})", "a running PostgreSQL",
            "Start it, and check the address.",
        ) from error  # fmt: skip
    return "none" if row is None else str(row[0])


def require_same_revision(url: str) -> None:
    """Refuse tables that another release created, newer or older."""
    there, ours = load_database_revision(url), get_newest_revision()
    if there != ours:
        raise RevisionMismatchError(
            "database", f"tables of revision {there}", f"revision {ours}",
            "Older ones: theodolite study upgrade. Newer ones need a newer release.",
        )  # fmt: skip

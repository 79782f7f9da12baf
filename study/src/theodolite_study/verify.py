"""Is the study in order, and how far is it? In sentences."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, text

from theodolite.errors import EvidenceError
from theodolite_study import tables
from theodolite_study.database import Database
from theodolite_study.invariants import broken
from theodolite_study.progress import ALARM
from theodolite_study.rows import Found


@dataclass(frozen=True)
class Verified:
    """What is wrong, and how far the study is."""

    problems: tuple[str, ...]
    facts: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        end = self.problems or ("All rules hold.",)
        return "\n".join([*self.facts, *self.warnings, *end])


def verify(database: Database, slug: str) -> Verified:
    """Ask the tables for everything that must hold, and that what enforces it is there.

    After a restore the second part is what matters: a table without its constraints would hold
    today and not tomorrow.
    """
    with database.owning() as connection:
        connection.execute(text("set transaction isolation level repeatable read, read only"))
        study = connection.execute(
            tables.study.select().where(tables.study.c.slug == slug)
        ).one_or_none()
        if study is None:
            raise EvidenceError("study", repr(slug), "one of this database")
        problems = [str(one) for one in broken(connection)]
        problems += [*_missing_guards(connection), *_rights(connection)]
        votes = _votes(connection, study)
        return Verified(
            tuple(problems),
            (*_progress(study, votes), *_people(connection, study)),
            tuple(_alarms(study, votes)),
        )


def guards() -> set[str]:
    """Names of all constraints and unique indexes that the tables need."""
    found = set()
    for table in tables.metadata.tables.values():
        found |= {str(one.name) for one in table.constraints if one.name is not None}
        found |= {str(one.name) for one in table.indexes if one.unique}
    return found


def _missing_guards(connection: Connection) -> list[str]:
    """A constraint that was dropped, or that came back from a backup without its force."""
    there = set(
        connection.execute(
            text(
                "select conname from pg_constraint where connamespace = 'public'::regnamespace "
                "and convalidated union select c.relname from pg_index i "
                "join pg_class c on c.oid = i.indexrelid "
                "where c.relnamespace = 'public'::regnamespace and i.indisvalid and i.indisunique"
            )
        ).scalars()
    )
    expected = {_as_in_database(connection, name) for name in guards()}
    return [f"Not so: the guard {name} is there" for name in sorted(expected - there)]


def _as_in_database(connection: Connection, name: str) -> str:
    return name[: connection.dialect.max_identifier_length]


_RIGHT = "select has_table_privilege(:role, :name, :right)"
# a right to one column is one too many, and a table's is one to each of them
_RIGHT_IN_PART = "select has_any_column_privilege(:role, :name, :right)"


def _rights(connection: Connection) -> list[str]:
    """The server may add to the record and not change it."""
    wrong = []
    for table in tables.KEPT:
        for right, may in (("insert", True), ("update", False), ("delete", False)):
            found = connection.execute(
                text(_RIGHT if may or right == "delete" else _RIGHT_IN_PART),
                {"role": tables.APP, "name": table, "right": right},
            ).scalar()
            if found is not may:
                verb = "may" if may else "may not"
                wrong.append(f"Not so: {tables.APP} {verb} {right} in {table}")
    return wrong


@dataclass(frozen=True)
class _Votes:
    wanted: int
    instances: int
    counted: int
    surplus: int
    with_n: dict[int, int]


def _votes(connection: Connection, study: Found) -> _Votes:
    each = connection.execute(
        text(
            "select i.id, count(v.id) filter (where v.counted), count(v.id) filter "
            "(where not v.counted) from instance i left join vote v on v.instance_id = i.id "
            "where i.study_id = :study and i.kind = 'real' group by i.id"
        ),
        {"study": study.id},
    ).all()
    with_n: dict[int, int] = {}
    for _, counted, _ in each:
        with_n[counted] = with_n.get(counted, 0) + 1
    return _Votes(
        study.n_votes, len(each), sum(row[1] for row in each), sum(row[2] for row in each), with_n
    )


def _progress(study: Found, votes: _Votes) -> list[str]:
    needed = votes.wanted * votes.instances
    done = votes.with_n.get(votes.wanted, 0)
    said = [
        f"The study {study.slug!r} is {study.state}.",
        f"{votes.counted:,} of {needed:,} votes ({votes.counted / needed:.0%}); {done:,} of "
        f"{votes.instances:,} explanations have all {votes.wanted}.",
    ]
    fewer = ", ".join(
        f"{many:,} have {n}" for n, many in sorted(votes.with_n.items()) if n != votes.wanted
    )
    return [*said, f"Of the others {fewer}."] if fewer else said


def _people(connection: Connection, study: Found) -> list[str]:
    states: list[Any] = list(
        connection.execute(
            text(
                "select state, count(*) from participant where study_id = :study and not preview "
                "group by state order by state"
            ),
            {"study": study.id},
        )
    )
    shown = ", ".join(f"{many:,} {state.replace('_', ' ')}" for state, many in states)
    return [f"People: {shown or 'none yet'}."]


def _alarms(study: Found, votes: _Votes) -> list[str]:
    given = votes.counted + votes.surplus
    share = votes.surplus / given if given else 0.0
    said = []
    if share > ALARM:
        said.append(
            f"{share:.1%} of all votes are surplus: people lose items that they are at work on. "
            f"The lease of {study.lease_seconds / 60:g} minutes is too short, or votes were taken "
            "out."
        )
    if study.state in ("closed", "archived") and votes.counted < votes.wanted * votes.instances:
        said.append("The study closed before all votes were in, or somebody withdrew since.")
    return said

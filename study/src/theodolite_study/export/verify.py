"""Verify a study in its database: rules, guards and rights. Used by `study verify` and restores."""

import re
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg

from theodolite_study.export.data_rules import find_violations
from theodolite_study.store import SCHEMA, read_sql
from theodolite_study.watch.progress import StudyProgress, load_progress

MAX_NAME_CHARACTERS = 63
GUARD_PATTERN = re.compile(
    r"\bconstraint (\w+)\s+(?:unique|primary|check|foreign|references)|create unique index (\w+)"
    r"|create trigger (\w+)",
    re.IGNORECASE,
)
GUARDS_QUERY = """
    select conname from pg_constraint
     where connamespace = 'public'::regnamespace and convalidated
    union select c.relname from pg_index i join pg_class c on c.oid = i.indexrelid
     where c.relnamespace = 'public'::regnamespace and i.indisvalid and i.indisunique
    union select tgname from pg_trigger where not tgisinternal and tgenabled <> 'D'"""
# a right to one column is one too many
SERVER_RIGHTS_QUERY = """
    select c.relname || ': ' || r from pg_class c,
           unnest(array['select', 'insert', 'update']) r
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
       and has_any_column_privilege('theodolite_serve', c.oid, r)
    union all
    select c.relname || ': ' || r from pg_class c, unnest(array['delete', 'truncate']) r
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
       and has_table_privilege('theodolite_serve', c.oid, r)"""
STEP_RIGHTS_QUERY = """
    select t || ': ' || r
      from unnest(array['vote', 'baseline', 'answer', 'consent', 'gold_result']) t,
           unnest(array['update', 'delete']) r
     where case r when 'update' then has_any_column_privilege('theodolite_steps', t, r)
                  else has_table_privilege('theodolite_steps', t, r) end"""
DESK_RIGHTS_QUERY = """
    select t || ': ' || r
      from unnest(array['vote', 'baseline', 'answer', 'consent', 'gold_result', 'assignment']) t,
           unnest(array['insert', 'update', 'delete']) r
     where case r when 'delete' then has_table_privilege('theodolite_desk', t, r)
                  else has_any_column_privilege('theodolite_desk', t, r) end"""
ROLES = (
    ("theodolite_serve", SERVER_RIGHTS_QUERY),
    ("theodolite_steps", STEP_RIGHTS_QUERY),
    ("theodolite_desk", DESK_RIGHTS_QUERY),
)


@dataclass(frozen=True)
class VerificationReport:
    """Problems of a study, and facts about its progress."""

    problems: tuple[str, ...]
    facts: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    def __str__(self) -> str:
        end = self.problems or ("All rules hold.",)
        return "\n".join([*self.facts, *self.warnings, *end])


def verify(connection: psycopg.Connection[Any], study: UUID) -> VerificationReport:
    """Check all rules of a study, and that the database enforces them.

    The second part matters after a restore: a table without its constraints may be correct today
    and not tomorrow.
    """
    problems = [str(violation) for violation in find_violations(connection, study)]
    problems += [*find_missing_guards(connection), *find_excess_rights(connection)]
    now = load_progress(connection, study)
    return VerificationReport(tuple(problems), tuple(_facts(now)), tuple(_warnings(now)))


def list_guards() -> set[str]:
    """Return the names of all constraints, unique indexes and triggers of the schema."""
    texts = map(read_sql, SCHEMA)
    return {
        name for text in texts for match in GUARD_PATTERN.findall(text) for name in match if name
    }


def find_missing_guards(connection: psycopg.Connection[Any]) -> list[str]:
    """List constraints that were dropped, or that a restore brought back without effect."""
    there = {str(row[0]) for row in connection.execute(GUARDS_QUERY)}
    needed = {name[:MAX_NAME_CHARACTERS] for name in list_guards()}
    return [f"Not so: the guard {name} is there" for name in sorted(needed - there)]


def find_excess_rights(connection: psycopg.Connection[Any]) -> list[str]:
    """List rights of database roles that they must not have."""
    return [
        f"Not so: {role} may not do this, {row[0]}"
        for role, query in ROLES
        for row in connection.execute(query)
    ]


def _facts(now: StudyProgress) -> list[str]:
    out = ", ".join(f"{n:,} {way.replace('_', ' ')}" for way, n in now.outcomes.items())
    return [
        f"The study {now.slug!r} is {now.state}, version {now.version_no} is {now.version_state}.",
        f"{now.filled:,} of {now.seats:,} votes ({now.filled / max(now.seats, 1):.0%}); "
        f"{now.surplus:,} more are surplus.",
        f"People: {now.inside:,} inside{', ' if out else ''}{out}.",
    ]


def _warnings(now: StudyProgress) -> list[str]:
    warnings = []
    if now.alarm:
        warnings.append(
            f"{now.surplus_share:.1%} of all votes are surplus: people lose items that they are at "
            f"work on. The patience of {now.lease_seconds / 60:g} minutes is too short, or votes "
            "were taken out."
        )
    if now.state in ("closed", "archived") and now.filled < now.seats:
        warnings.append("The study closed before all votes were in, or somebody withdrew since.")
    return warnings

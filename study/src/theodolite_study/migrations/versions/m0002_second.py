"""The second form: the database is the study. Data of the first form come along.

An expanding step: columns of the first form stay until the next release.
"""

import re
from pathlib import Path
from typing import Any

from alembic import op
from psycopg import sql

from theodolite.errors import RefusedInput
from theodolite_study.locale.default_texts import default_languages, default_texts
from theodolite_study.store import SECOND_FORM, statements

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

FIRST = Path(__file__).with_name("m0001_first.sql")
NEW_ANSWERS = """
    select (select count(*) from vote where num_nonnulls(q1, q2, q3, q4, q5, q6) = 0)
         + (select count(*) from baseline where text is null)
         + (select count(*) from consent where form = 'shown')
         + (select count(*) from version where no > 1)
         + (select count(*) from study where protocol is null or n_votes is null)"""


def upgrade() -> None:
    """Make everything, and move what is there; the log follows in batches."""
    driver: Any = op.get_bind().connection.driver_connection  # here % is no pattern
    for name in SECOND_FORM:
        driver.execute(statements(name))
    _add_texts(driver)


def _add_texts(driver: Any) -> None:
    """Words that 0.1.0 had in its pages, and not in its tables."""
    driver.execute("alter table wording disable trigger wording_frozen")
    missing = driver.execute(
        "select v.id, m.language, m.key from version v, missing_texts(v.id) m"
    ).fetchall()
    for version, language, key in missing:
        texts = default_texts(language if language in default_languages() else "en")
        if key in texts:
            driver.execute(
                "insert into wording (version_id, key, language, body) values (%s, %s, %s, %s)",
                (version, key, language, texts[key]),
            )
    driver.execute("alter table wording enable trigger wording_frozen")


def downgrade() -> None:
    """Give the tables of the first form again, with all that it had, but for who declined.

    Refused once somebody agreed, answered or was asked in the second form: the first has no place
    for it.
    """
    driver: Any = op.get_bind().connection.driver_connection
    ((new,),) = driver.execute(NEW_ANSWERS).fetchall()
    if new:
        raise RefusedInput(
            "downgrade", f"{new:,} answers and versions of the second form", "none",
            "The first form has no place for them. Bring a backup back instead.",
        )  # fmt: skip
    driver.execute(
        "update slot set slot_no = -slot_no; update slot set slot_no = -slot_no - 1;"
        "update practice set baseline = jsonb_build_object('text', baseline -> 'words',"
        " 'boxes', baseline -> 'regions');"
        "set constraints all immediate; set constraints all deferred"
    )
    names = re.findall(r"CREATE TABLE (\w+)", FIRST.read_text())
    _set_aside(driver, names)
    driver.execute(FIRST.read_text())
    for name in names:
        _put_back(driver, sql.Identifier(name), name)
    driver.execute("drop schema was cascade")


def _set_aside(driver: Any, names: list[str]) -> None:
    """Tables of the first form into a schema of their own; all else of the second is dropped."""
    driver.execute(
        "drop view version_public, wording_public, consent_public, outcome_public cascade;"
        " create schema was"
    )
    for name in names:
        driver.execute(sql.SQL("alter table {} set schema was").format(sql.Identifier(name)))
    rest = driver.execute(
        "select 1, c.oid::regclass::text from pg_class c where c.relkind in ('r', 'p', 'v')"
        " and c.relnamespace = 'public'::regnamespace and not c.relispartition"
        " and c.relname <> 'alembic_version'"
        " union all select 2, p.oid::regprocedure::text from pg_proc p"
        " where p.pronamespace = 'public'::regnamespace"
        " union all select 3, t.oid::regtype::text from pg_type t join pg_class c"
        " on c.oid = t.typrelid and c.relkind = 'c' where t.typnamespace = 'public'::regnamespace"
        " order by 1"
    ).fetchall()
    for kind, name in rest:
        what = ("", "table", "function", "type")[kind]
        driver.execute(f"drop {what} if exists {name} cascade")


def _put_back(driver: Any, table: sql.Identifier, name: str) -> None:
    columns = driver.execute(
        "select column_name, is_identity from information_schema.columns"
        " where table_schema = 'public' and table_name = %s order by ordinal_position", (name,),
    ).fetchall()  # fmt: skip
    own = sql.SQL(", ").join(sql.Identifier(column) for column, _ in columns)
    driver.execute(
        sql.SQL(
            "insert into public.{t} ({c}) overriding system value select {c} from was.{t}"
        ).format(t=table, c=own)
    )
    for column, identity in columns:
        if identity == "YES":
            driver.execute(
                sql.SQL(
                    "select setval(pg_get_serial_sequence({n}, {l}), max({c})) from {t}"
                    " having max({c}) is not null"
                ).format(
                    n=sql.Literal(name), l=sql.Literal(column), c=sql.Identifier(column), t=table
                )
            )

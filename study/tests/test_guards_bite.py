"""Without any one of the guards a test fails: so the tests would see it go."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import IntegrityError
from support.study.kept_state import emptied
from support.study.played_races import played
from support.study.small_study import active, opened, rated, said, study_folder
from support.study.stepped import stepped
from support.study.study_mutations import MUTATIONS, mutated, prepared
from theodolite_study.assignments import save_draft, store_baseline
from theodolite_study.claims import next_assignment

from support.study.study_guards import GUARDS
from theodolite_study.database import Database
from theodolite_study.sessions import begin

ALL = """
    select indexrelid::regclass::text from pg_index join pg_class t on t.oid = indrelid
    where indisunique and relnamespace = 'public'::regnamespace and relname <> 'alembic_version'
      and pg_get_indexdef(indexrelid) not like '%USING btree (id)'
    union all
    select conname from pg_constraint where contype = 'c'
      and connamespace = 'public'::regnamespace"""
MORE = """
    insert into practice (participant_id, instance_id, attempt, baseline)
        select '{ann}', id, 1, '[]' from instance limit 1;
    insert into demographic (participant_id) values ('{ann}');
    insert into post_study (participant_id, answers) values ('{ann}', '[]');
    insert into gold_result (assignment_id, answers, passed, payload_sha256, durations)
        values ({done}, '[]', true, '', '[]');
    insert into staff (study_id, name, enrol_sha256) select id, 'eve', '' from study;
    insert into barred select id, '' from study;
    insert into invite select '', id from study;
    insert into seen_token values ('', now());
    insert into webhook (event_id, kind) values ('', '')"""


@pytest.fixture(scope="module")
def told(
    one_database: Database, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Any]]:
    """A study in which each table has a row: Ann voted, Bob looks, Cyd has begun."""
    database = one_database
    emptied(database)
    keys = opened(database, study_folder(tmp_path_factory.mktemp("s") / "s", instances=5))
    ann, bob, cyd = (active(database, keys, name) for name in ("ann", "bob", "cyd"))
    done = next_assignment(database, ann)
    rated(database, ann, done)
    live, waiting = next_assignment(database, bob), next_assignment(database, cyd)
    store_baseline(database, bob, live.id, said())
    save_draft(database, cyd, waiting.id, {})
    begin(database, participant_id=ann)
    known = {"ann": ann, "bob": bob, "done": done.id, "live": live.id, "waiting": waiting.id}
    with database.owning() as connection:
        taken = "select instance_id from assignment"
        known["free"], known["unmet"] = connection.execute(
            text(f"select id, instance_id from slot where instance_id not in ({taken}) limit 1")
        ).one()
        connection.execute(text(MORE.format(**known)))
    yield known
    emptied(database)


def dropped(connection: Connection, guard: str) -> None:
    table = connection.execute(
        text("select conrelid::regclass::text from pg_constraint where conname = :guard"),
        {"guard": guard},
    ).scalar()
    connection.execute(
        text(f"alter table {table} drop constraint {guard}" if table else f"drop index {guard}")
    )


@pytest.mark.parametrize("guard", GUARDS)
def test_the_database_itself_forbids_it_and_nothing_else_does(
    guard: str, one_database: Database, told: dict[str, Any]
) -> None:
    for statement in GUARDS[guard]:
        with one_database.owning() as connection:
            with pytest.raises(IntegrityError) as refused, connection.begin_nested():
                connection.execute(text(statement.format(**told)))
            assert refused.value.orig.diag.constraint_name == guard
            with connection.begin_nested() as inner:
                dropped(connection, guard)
                assert connection.execute(text(statement.format(**told))).rowcount > 0
                connection.execute(text("set constraints all immediate"))
                inner.rollback()


def test_no_guard_is_forgotten(one_database: Database) -> None:
    with one_database.owning() as connection:
        found = set(connection.execute(text(ALL)).scalars())
    assert found == set(GUARDS), "say in study_guards.py what the new one forbids"


@pytest.mark.parametrize("name", MUTATIONS)
def test_without_a_line_of_code_something_breaks(
    name: str, empty_database: Database, tmp_path: Path
) -> None:
    mutation = MUTATIONS[name]
    play, race = prepared(empty_database, tmp_path / "s", name)
    with mutated(mutation.module, mutation.old, mutation.new):
        if race is None:
            assert callable(mutation.scene)
            with pytest.raises((Exception, pytest.fail.Exception)):
                mutation.scene(play)
            return
        with stepped(empty_database) as scheduler, pytest.raises(AssertionError):
            played(play, race, scheduler, seed=name, most=0)


@pytest.mark.parametrize("name", [n for n, m in MUTATIONS.items() if callable(m.scene)])
def test_with_it_nothing_does(name: str, empty_database: Database, tmp_path: Path) -> None:
    play, _ = prepared(empty_database, tmp_path / "s", name)
    mutation = MUTATIONS[name]
    assert callable(mutation.scene)
    digest = hashlib.sha256(Path(str(mutation.module.__file__)).read_bytes()).digest()
    mutation.scene(play)
    assert hashlib.sha256(Path(str(mutation.module.__file__)).read_bytes()).digest() == digest

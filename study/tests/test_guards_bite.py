"""Without any one of the guards something that must not be happens: so tests would see it go."""

import os
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from support.study.gates import Gates, gates
from support.study.lock_lines import BEHIND, BITTEN, lock_lines, without
from support.study.step_races import RACES, played
from support.study.stepped_study import SteppedStudy
from support.study.study_guards import CHECKS, ELSEWHERE, MORE, TRIGGERS, UNIQUE

ALL = """
    select indexrelid::regclass::text from pg_index join pg_class t on t.oid = indrelid
     where indisunique and relnamespace = 'public'::regnamespace and relname <> 'alembic_version'
       and pg_get_indexdef(indexrelid) not like '%USING btree (id)'
    union select conname from pg_constraint
     where contype = 'c' and connamespace = 'public'::regnamespace
    union select tgname from pg_trigger where not tgisinternal"""
IN_SHORT = ("st_held 2", "st_seat 2", "st_take_place 1", "st_freed", "st_back")
"""Every line of a lock is tried where THEODOLITE_STUDY_ORDERS is 0; these always."""
LINES = BITTEN if os.environ.get("THEODOLITE_STUDY_ORDERS") == "0" else IN_SHORT


@pytest.fixture(scope="module")
def owner(module_database_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(module_database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def known(owner: psycopg.Connection[Any]) -> dict[str, Any]:
    """A study in which each table has a row: Ann voted, Bob looks, Cyd has begun."""
    study = SteppedStudy(owner, instances=5, votes=2, quota=2)
    ann, bob, cyd = (study.person(name).begins() for name in ("ann", "bob", "cyd"))
    done, live, waiting = (person.next()["item"] for person in (ann, bob, cyd))
    ann.votes(done)
    bob.says(live)
    cyd.step("st_draft", cyd.token, waiting, {})
    names = {"version": study.version, "done": done, "live": live, "waiting": waiting}
    names |= {"other": uuid4()}
    for name in ("ann", "bob"):
        query = "select id from participant where pseudonym = %s"
        names[name] = study.one(query, f"p-{name}")
    names["free"], names["unmet"] = owner.execute(
        "select id, instance_id from slot where instance_id not in"
        " (select instance_id from assignment) limit 1"
    ).fetchone()  # type: ignore[misc]
    for statement in MORE.format(**names).split(";\n"):
        owner.execute(statement)
    names["draft"] = study.one("select id from version where study_id = %s", names["other"])
    return names


def _dropped(connection: psycopg.Connection[Any], guard: str) -> None:
    for query, way in (
        ("select tgrelid::regclass from pg_trigger where tgname = %s", "drop trigger {0} on {1}"),
        ("select conrelid::regclass from pg_constraint where conname = %s",
         "alter table {1} drop constraint {0} cascade"),
    ):  # fmt: skip
        row = connection.execute(query, (guard,)).fetchone()
        if row is not None:
            connection.execute(way.format(guard, row[0]))
            return
    connection.execute(f"drop index {guard}")


@pytest.mark.parametrize("guard", [*UNIQUE, *CHECKS, *TRIGGERS])
def test_the_database_itself_forbids_it_and_nothing_else_does(
    guard: str, owner: psycopg.Connection[Any], known: dict[str, Any]
) -> None:
    forbidden = (UNIQUE | CHECKS).get(guard) or (TRIGGERS[guard],)
    for statement in (one.format(**known) for one in forbidden):
        with pytest.raises(psycopg.IntegrityError) as refused:
            owner.execute(statement)
        assert guard in TRIGGERS or refused.value.diag.constraint_name == guard
        with owner.transaction(force_rollback=True):
            _dropped(owner, guard)
            assert owner.execute(statement).rowcount > 0
            owner.execute("set constraints all immediate")


def test_no_guard_is_forgotten(owner: psycopg.Connection[Any]) -> None:
    found = {row[0] for row in owner.execute(ALL)}
    listed = {*UNIQUE, *CHECKS, *TRIGGERS, *ELSEWHERE}
    assert found == listed, "say in study_guards.py what the new one forbids"


def test_an_empty_list_of_languages_is_refused_twice(
    owner: psycopg.Connection[Any], known: dict[str, Any]
) -> None:
    for drop in (False, True):
        with owner.transaction(force_rollback=True):
            if drop:
                _dropped(owner, "version_languages")
            with pytest.raises(psycopg.errors.CheckViolation):
                owner.execute("update version set languages = '{}' where id = %s", [known["draft"]])


def test_versions_of_a_round_have_one_door(
    owner: psycopg.Connection[Any], known: dict[str, Any]
) -> None:
    for drop, doors in ((False, 1), (True, 2)):
        with owner.transaction(force_rollback=True):
            if drop:
                _dropped(owner, "door_of_round")
            owner.execute(
                "insert into version (study_id, no, state, instrument, n_votes, quota,"
                " lease_seconds, languages, default_language, digest) select study_id, 7, 'closed',"
                " '{}', 1, 1, 1, '{en}', 'en', 'x' from version where id = %s", [known["version"]],
            )  # fmt: skip
            owner.execute("insert into door select id, 1 from version where no = 7")
            assert owner.execute("select count(*) from door").fetchone() == (doors,)


@pytest.fixture(scope="module")
def gate(module_database_url: str) -> Iterator[Gates]:
    with gates(module_database_url) as made:
        yield made


@pytest.mark.parametrize("name", LINES)
def test_without_a_lock_a_race_goes_wrong(
    name: str, gate: Gates, owner: psycopg.Connection[Any]
) -> None:
    with without(owner, lock_lines()[name]), pytest.raises(AssertionError):
        played(owner, RACES[BITTEN[name]], gate, name=name, most=0, twice=False)


def test_no_lock_is_forgotten() -> None:
    assert lock_lines().keys() == BITTEN.keys() | BEHIND.keys(), (
        "say in lock_lines.py which race goes wrong without the new one"
    )
    assert not BITTEN.keys() & BEHIND.keys()

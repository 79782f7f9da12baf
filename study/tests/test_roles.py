"""What the server's roles may do to the tables: the record is added to, never changed."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from psycopg.errors import InsufficientPrivilege
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ProgrammingError

from support.study.small_study import active, all_rated, opened, rated, study_folder
from theodolite.errors import EvidenceError
from theodolite_study.claims import Done, next_assignment
from theodolite_study.database import Database, address, migrate
from theodolite_study.intake import load
from theodolite_study.invariants import violations
from theodolite_study.keys import Keys
from theodolite_study.local_postgres import LocalPostgres, cluster_has_database
from theodolite_study.tables import APP, KEPT, WITHDRAW, metadata
from theodolite_study.verify import verify
from theodolite_study.withdrawal import invalidate, withdraw

RECORD = ("study", "asset", "instance", "slot")
NEVER = {
    APP: [
        *(f"delete from {table}" for table in (*KEPT, *RECORD, "assignment", "consent")),
        *(f"update {table} set at = now()" for table in KEPT),
        "update vote set q1 = 5", "update vote set counted = false",
        "update baseline set text = 'other'", "update event set detail = '[]'",
        "update study set protocol = '[]'", "update study set n_votes = 9",
        "update slot set slot_no = 9", "update slot set instance_id = 1",
        "update assignment set participant_id = null", "update assignment set position = 9",
        "update consent set given_at = now()", "update gold_result set passed = true",
        "insert into slot (study_id, instance_id, slot_no, rnd) values (null, 1, 9, 0)",
        "create table more (id int)", "truncate vote",
        "insert into staff (study_id, name) values (null, 'eve')", "delete from staff",
        "update staff set study_id = null", "update staff set disabled = false",
        "update staff set name = 'eve'", "insert into invite values ('', null)",
        "delete from invite", "insert into barred values (null, '')", "delete from barred",
        "alter table vote drop constraint vote_assignment_id_key", "drop index vote_fills_slot",
    ],
    WITHDRAW: [
        "update vote set q1 = 5", "update vote set participant_id = null",
        "update baseline set text = 'other'", "update event set detail = '[]'",
        "update assignment set revealed_at = now()", "update slot set reserved_for = 1",
        "update study set state = 'open'", "insert into vote (assignment_id) values (1)",
        "insert into baseline (assignment_id) values (1)", "delete from participant",
        "update event set kind = 'other'", "delete from barred", "update barred set token = ''",
        "delete from invite", "delete from instance", "delete from slot", "delete from study", "delete from staff",
        "insert into participant (id) values (gen_random_uuid())", "truncate vote",
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("role", "statement"), [(role, one) for role, all_of in NEVER.items() for one in all_of]
)
def test_roles_may_not(role: str, statement: str, one_database: Database) -> None:
    with one_database.owning() as connection:
        connection.execute(text(f"set local role {role}"))
        with pytest.raises(ProgrammingError) as refused, connection.begin_nested():
            connection.execute(text(statement))
    assert isinstance(refused.value.orig, InsufficientPrivilege)


def test_transactions_work_as_the_roles(one_database: Database) -> None:
    for begun, role in ((one_database.transaction, APP), (one_database.withdrawing, WITHDRAW)):
        with begun() as connection:
            assert connection.execute(text("select current_user")).scalar() == role
    with one_database.transaction() as connection:  # it does not stay so
        assert connection.execute(text("select current_user")).scalar() == APP


@pytest.fixture
def plain(database: Database) -> Iterator[Database]:
    """The same database for a login that owns nothing."""
    name = f"plain_{uuid4().hex}"
    with database.owning() as connection:
        connection.execute(text(f"create role {name} login password 'x' in role {APP}, {WITHDRAW}"))
    url = make_url(database.url).set(username=name, password="x")  # noqa: S106
    made = Database(url.render_as_string(hide_password=False))
    yield made
    made.close()
    with database.owning() as connection:
        connection.execute(text(f"drop role {name}"))


def test_a_login_that_owns_nothing_runs_a_study(
    plain: Database, database: Database, tmp_path: Path
) -> None:
    folder = study_folder(tmp_path / "s", instances=2, votes=1)
    with pytest.raises(EvidenceError, match="the login that owns the tables"):
        load(plain, folder, Keys.read(folder))
    keys = opened(database, folder)
    ann, bob = active(plain, keys, "ann"), active(plain, keys, "bob")
    item = next_assignment(plain, ann)
    assert rated(plain, ann, item).counted
    withdraw(plain, ann)
    assert len(all_rated(plain, bob)) == 2
    assert next_assignment(plain, bob) == Done("nothing left")
    assert invalidate(plain, bob, staff="eve", reason="a machine") == 2
    assert violations(plain) == []


def test_tables_are_made_by_an_owner_only(
    cluster: LocalPostgres, plain: Database, database: Database
) -> None:
    name = f"empty_{uuid4().hex}"
    cluster_has_database(cluster, name)
    url = make_url(plain.url).set(database=name).render_as_string(hide_password=False)
    with pytest.raises(EvidenceError, match="CREATEROLE"):
        migrate(url)
    # an owner without the right to make roles, who was given them
    owner = make_url(plain.url).username
    engine = create_engine(address(cluster.database("postgres")), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f'alter database "{name}" owner to {owner}'))
    migrate(url)
    made = Database(url)
    assert violations(made) == []
    made.close()
    with engine.connect() as connection:
        connection.execute(text(f'drop database "{name}"'))
    engine.dispose()


def test_every_table_can_be_read(one_database: Database) -> None:
    for begun in (one_database.transaction, one_database.withdrawing):
        with begun() as connection:
            for table in metadata.sorted_tables:
                connection.execute(table.select().limit(1))


@pytest.mark.parametrize("right", ["update", "update (q1)"])
def test_a_right_too_many_is_told_even_to_one_column(
    right: str, database: Database, tmp_path: Path
) -> None:
    opened(database, study_folder(tmp_path / "s", instances=1))
    assert verify(database, "small").problems == ()
    with database.owning() as connection:
        connection.execute(text(f"grant {right} on vote to {APP}"))
    assert verify(database, "small").problems == (f"Not so: {APP} may not update in vote",)


def test_a_right_that_is_missing_is_told(database: Database, tmp_path: Path) -> None:
    opened(database, study_folder(tmp_path / "s", instances=1))
    with database.owning() as connection:
        connection.execute(text(f"revoke insert on vote from {APP}"))
        connection.execute(text(f"grant insert (q1) on vote to {APP}"))
    assert verify(database, "small").problems == (f"Not so: {APP} may insert in vote",)

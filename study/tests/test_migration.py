"""A database of 0.1.0, kept as it was made: what it has is there in the second form, and back."""

import gzip
import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from theodolite.errors import RefusedInput
from theodolite_study.database import migrate, migrate_down, move_log
from theodolite_study.export.study_export import export_study
from theodolite_study.export.verify import missing_guards
from theodolite_study.export.violations import violations
from theodolite_study.local_postgres import LocalPostgres, cluster_has_database
from theodolite_study.migrations.versions import m0001_first
from theodolite_study.model.instrument import Instrument
from theodolite_study.sessions import digest_of

DATA = Path(__file__).parent / "data" / "study_0_1"
KNOWN = json.loads(gzip.decompress((DATA / "export.json.gz").read_bytes()))
_numbers = count()
Connected = psycopg.Connection[Any]


def restored(cluster: LocalPostgres) -> str:
    """A copy of the kept database."""
    name = f"old{next(_numbers)}"
    cluster_has_database(cluster, name)
    migrate(cluster.database(name), "0001")  # for the roles
    with psycopg.connect(cluster.database(name), autocommit=True) as connection:
        connection.execute("drop schema public cascade; create schema public")
        dump = gzip.decompress((DATA / "database.sql.gz").read_bytes()).decode()
        _load(connection, dump)
    return cluster.database(name)


def _load(connection: Connected, dump: str) -> None:
    """A plain dump, whose tables come by COPY."""
    statements: list[str] = []
    lines = iter(dump.splitlines(keepends=True))
    for line in lines:
        if line.startswith("COPY "):
            connection.execute("".join(statements).encode())
            statements = ["set search_path to public;"]
            with connection.cursor().copy(line.rstrip().rstrip(";").encode()) as copy:
                for row in lines:
                    if row == "\\.\n":
                        break
                    copy.write(row)
        else:
            statements.append(line)
    connection.execute("".join(statements).encode())


@pytest.fixture(scope="module")
def moved(cluster: LocalPostgres) -> Iterator[tuple[Connected, str]]:
    url = restored(cluster)
    migrate(url)
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection, url


def rows(connection: Connected, query: str) -> list[Any]:
    return connection.execute(query.encode()).fetchall()


def test_all_rules_hold(moved: tuple[Connected, str]) -> None:
    connection, _ = moved
    assert violations(connection) == [] and missing_guards(connection) == []
    assert rows(connection, "select count(*) from version v, missing_texts(v.id)") == [(0,)]
    assert rows(connection, "select distinct form from consent") == [("text-0.1",)]
    assert rows(connection, "select octet_length(token) from declined") == [(32,)]
    assert rows(connection, "select bool_and(v.digest = s.protocol_sha256) from version v join"
                " study s on s.id = v.study_id") == [(True,)]  # fmt: skip
    for (instrument,) in rows(connection, "select instrument from version"):
        Instrument.model_validate(instrument)
    assert rows(connection, "select min(slot_no), max(slot_no) from slot") == [(1, 4)]


@pytest.mark.parametrize("slug", ["small", "planned"])
def test_the_export_is_that_of_0_1(moved: tuple[Connected, str], tmp_path: Path, slug: str) -> None:
    from theodolite.ext.studies import read_parquet  # noqa: PLC0415

    _, url = moved
    export_study(url, slug, tmp_path / "out")
    known = KNOWN["studies"][slug]
    for name, keys in (
        ("votes", ("participant", "instance")),
        ("aggregates", ("instance", "question")),
    ):
        table = read_parquet(tmp_path / "out" / f"{name}.parquet")
        size = len(next(iter(table.values())))
        now = {tuple(table[key][at] for key in keys): at for at in range(size)}
        was = {tuple(row[key] for key in keys): row for row in known[name]}
        assert now.keys() == was.keys()
        for key, row in was.items():
            for column in row.keys() & table.keys():
                value = table[column][now[key]]
                same = value == row[column] or (value is None and row[column] is None)
                assert same or value == pytest.approx(row[column]), (name, column, key)
    agreed = json.loads((tmp_path / "out" / "agreement.json").read_text())
    compared = 0
    for question, was in known["agreement"]["questions"].items():
        for score, value in was["scores"].items():
            if "value" in value:
                found = agreed["questions"][question]["scores"][score]["value"]
                assert found == pytest.approx(value["value"]), (question, score)
                compared += 1
    assert compared > 5


def test_somebody_goes_on_in_the_middle_of_an_item(cluster: LocalPostgres) -> None:
    url = restored(cluster)
    migrate(url)
    token, item = digest_of(KNOWN["session"]), KNOWN["item"]
    with psycopg.connect(url, autocommit=True) as connection:
        one = lambda query, *values: connection.execute(query, values).fetchone()[0]  # noqa: E731
        assert one("select st_next(%s)", token) == {"word": "ok", "go": "item", "item": item}
        page = one("select st_item(%s, %s, true)", token, item)
        assert page["own"]["words"] == "its ears" and page["shown"]["sizes"]
        answers = {"q1": 4, "q2": 3, "q3": 5, "q4": 2}
        if page["shown"].get("same"):
            answers |= {"q5": 1, "q6": 5}
        rated = one("select st_rate(%s, %s, %s, '{}', gen_random_uuid(), sha256('x'), '{}', '{}')",
                    token, item, json.dumps(answers))  # fmt: skip
        assert rated["counted"] and rated["go"] == "item"
        assert violations(connection) == []
        with pytest.raises(RefusedInput, match="second form"):
            migrate_down(url, "0001")
        person = one("select participant_id from session where token_sha256 = %s", token)
        code = b"c" * 32
        connection.execute("update participant set withdrawal_sha256 = %s where id = %s",
                           (code, person))  # fmt: skip
        assert one("select st_withdraw(%s, false)", code)["word"] == "ok"
        for query in ("select count(*) from demographic where participant_id = %s",
                      "select count(*) from event where actor = %s::text"):  # fmt: skip
            assert one(query, person) == 0


def test_the_log_follows_in_batches(cluster: LocalPostgres) -> None:
    """Broken off between any two, nothing is lost or there twice."""
    url = restored(cluster)
    from theodolite_study.database import _alembic  # noqa: PLC0415

    _alembic(url, "upgrade", "head")
    with psycopg.connect(url, autocommit=True) as connection:
        lines = "select count(*) from event where kind <> 'explanation served'"
        ((all_,),) = rows(connection, lines)
        assert rows(connection, "select count(*) from log") == [(0,)]
        assert move_log(url, 50) > 0
        ((some,),) = rows(connection, "select count(*) from log")
        assert 0 < some < all_
        migrate(url)
        assert rows(connection, "select count(*) from log") == [(all_,)]
        assert move_log(url) == 0


def test_the_way_back_gives_what_was_there(cluster: LocalPostgres) -> None:
    before, after = restored(cluster), restored(cluster)
    migrate(after)
    migrate_down(after, "0001")
    declined = "select id::text from participant where state = 'declined'"
    with psycopg.connect(before) as old, psycopg.connect(after) as new:
        gone = {row[0] for row in rows(old, declined)}
        assert gone
        first = Path(m0001_first.__file__).with_suffix(".sql").read_text()
        names = [line.split()[2] for line in first.splitlines() if line.startswith("CREATE TABLE")]
        for name in names:
            query = sql.SQL("select to_jsonb(t)::text from {} t order by 1")
            was, now = ({row[0] for row in here.execute(query.format(sql.Identifier(name)))}
                        for here in (old, new))  # fmt: skip
            was = {line for line in was if not any(person in line for person in gone)}
            assert now == was, name
    migrate(after)
    with psycopg.connect(after, autocommit=True) as again:
        assert violations(again) == []

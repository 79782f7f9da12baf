"""Data of the first form in the second one: nothing is lost, nothing that proves something changes."""

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from support.study.played_study import arrived, at_random, begun, taken_part
from support.study.small_study import said
from theodolite_study.assignments import reveal, store_baseline
from theodolite_study.claims import next_assignment
from theodolite_study.database import Database, migrate
from theodolite_study.participants import arrive, decline
from theodolite_study.platforms.identity import Identity
from theodolite_study.rankings import store_rankings
from theodolite_study.withdrawal import withdraw

ORDERS = {"q7": [4, 3, 2, 1, 0], "q8": [0, 1, 2, 3, 4, 5], "q9": [5, 4, 3, 2, 1, 0]}


@pytest.fixture
def moved(
    database: Database, tmp_path: Path
) -> Iterator[tuple[psycopg.Connection[Any], dict[str, Any]]]:
    """A study that people took part in by 0.1.0, and what it was before."""
    played = begun(
        database, tmp_path / "study", instances=4, gold=1, votes=2, quota=4, checks={"every": 2}
    )
    arrived(played, "ann", {"age_band": "65 or older", "gender": "woman", "country": "de"})
    taken_part(played, ["ann", "bob"], at_random())
    store_rankings(database, played.people["ann"], ORDERS)
    arrived(played, "eve", {})
    withdraw(database, played.people["eve"])
    nobody = arrive(database, "small", Identity("link", "nobody"), played.keys).participant.id
    decline(database, nobody)
    connection = psycopg.connect(database.url, autocommit=True)
    before = {
        "votes": rows(
            connection,
            "select id, counted, q1, q2, q3, q4, q5, q6, payload_sha256 from vote order by id",
        ),
        "own": rows(
            connection, "select assignment_id, text, boxes, payload_sha256 from baseline order by 1"
        ),
        "consent": rows(connection, "select participant_id, form_sha256 from consent order by 1"),
        "digest": rows(connection, "select protocol_sha256 from study"),
    }
    migrate(database.url, "0002")
    yield connection, before
    connection.close()


def rows(connection: psycopg.Connection[Any], query: str) -> list[Any]:
    return list(connection.execute(query))


def test_answers_are_the_same(moved: tuple[psycopg.Connection[Any], dict[str, Any]]) -> None:
    connection, before = moved
    assert len(before["votes"]) == 8
    after = rows(connection, "select id, counted, answers, payload_sha256 from vote order by id")
    for (id_, counted, *ratings, payload), now in zip(before["votes"], after, strict=True):
        names = [f"q{n}" for n in range(1, 7)]
        given = {
            name: value for name, value in zip(names, ratings, strict=True) if value is not None
        }
        assert now == (id_, counted, given, payload)
    own = rows(connection, "select assignment_id, answers, payload_sha256 from baseline order by 1")
    for (item, text, boxes, payload), now in zip(before["own"], own, strict=True):
        assert now == (item, {"words": text, "regions": boxes}, payload)
    assert (
        rows(connection, "select participant_id, form_sha256 from consent order by 1")
        == before["consent"]
    )
    assert rows(connection, "select distinct form from consent") == [("text-0.1",)]
    assert rows(connection, "select digest from version") == before["digest"]
    stored = dict(rows(connection, "select stage, answers from answer where answers <> '{}'"))
    assert stored["about"] == {"age_band": "65", "gender": "woman", "country": "DE"}
    assert stored["end"]["q7"] == ["i4", "i3", "i2", "i1", "i0"]


def test_the_instrument_takes_what_it_took(
    moved: tuple[psycopg.Connection[Any], dict[str, Any]],
) -> None:
    connection, _ = moved
    from theodolite_study.model.instrument import Instrument  # noqa: PLC0415

    ((instrument, settings),) = rows(connection, "select instrument, settings from version")
    whole = Instrument.model_validate(instrument)
    assert [block.name for block in whole.blocks("after")] == [f"q{n}" for n in range(1, 7)]
    assert settings["needs"] == {"q5": "same", "q6": "different"}
    # a trigger looks at every row again
    connection.execute("update vote set answers = answers")
    connection.execute("update baseline set answers = answers")
    with pytest.raises(psycopg.errors.CheckViolation):
        connection.execute("""update vote set answers = answers || '{"q1": 6}'""")


def test_who_declined_or_withdrew_is_gone(
    moved: tuple[psycopg.Connection[Any], dict[str, Any]],
) -> None:
    connection, _ = moved
    states = dict(rows(connection, "select state, count(*) from participant group by state"))
    assert states == {"active": 2, "withdrawn": 1}
    assert rows(connection, "select octet_length(token) from declined") == [(32,)]
    assert rows(connection, "select available = st_available(version_id) from door") == [(True,)]
    assert rows(connection, "select count(*) from log where kind = 8") == [(8,)]


def test_somebody_goes_on_in_the_middle_of_an_item(database: Database, tmp_path: Path) -> None:
    played = begun(database, tmp_path / "study", instances=3, votes=2, quota=3)
    who = arrived(played, "ann", {})
    item = next_assignment(database, who)
    store_baseline(database, who, item.id, said())
    reveal(database, who, item.id)
    token = secrets.token_bytes(32)
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute(
            "insert into session (token_sha256, participant_id, expires_at) values (%s, %s, now() + interval '1 hour')",
            (token, who),
        )
        migrate(database.url, "0002")
        ((went,),) = rows(connection, f"select st_next('\\x{token.hex()}')")
        assert went == {"word": "ok", "go": "item", "item": item.id}
        ((page,),) = rows(connection, f"select st_item('\\x{token.hex()}', {item.id}, true)")
        assert page["own"]["words"] == "its ears" and page["shown"]["sizes"]
        answers = '{"q1": 4, "q2": 3, "q3": 5, "q4": 2, "q5": 1, "q6": 5}'
        if page["shown"]["same"] is None:
            answers = '{"q1": 4, "q2": 3, "q3": 5, "q4": 2}'
        query = "select st_rate(%s, %s, %s, '{}', gen_random_uuid(), sha256('x'), '{}', '{}')"
        ((rated,),) = connection.execute(query, (token, item.id, answers)).fetchall()
        assert rated["counted"] and rated["go"] == "item"

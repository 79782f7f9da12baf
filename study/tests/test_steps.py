"""The steps that people take, as functions of the database: what each does, refuses and keeps."""

import hashlib
import threading
from collections.abc import Iterator
from itertools import count
from typing import Any

import psycopg
import pytest

from support.study.stepped_study import CONSENT, INSTRUMENT, SteppedStudy
from theodolite_study.local_postgres import LocalPostgres
from theodolite_study.store import STEPS, read_sql

_numbers = count()
DENIED = (
    psycopg.errors.InsufficientPrivilege,
    psycopg.errors.FeatureNotSupported,  # of partitions
    psycopg.errors.ObjectNotInPrerequisiteState,  # of views
)


@pytest.fixture
def connection(database_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database_url, autocommit=True) as opened:
        yield opened


def test_a_whole_walk(connection: psycopg.Connection[Any]) -> None:
    study = SteppedStudy(connection, instances=3, quota=2)
    ann = study.person("ann").begins()
    assert study.broken() == []
    went = ann.next()
    for _ in range(2):
        assert went["go"] == "item"
        item = went["item"]
        before = ann.item(item)
        assert before["own"] is None and before["state"] == "leased"
        assert study.one("select revealed_at from assignment where id = %s", item) is None
        assert ann.rates(item)["word"] == "stage", "first one's own answer"
        assert ann.says(item)["word"] == "ok"
        assert ann.rates(item)["word"] == "stage", "then the explanation"
        assert ann.item(item)["own"] == {"words": "a horn", "regions": []}
        went = ann.rates(item)
        assert went["word"] == "ok" and went["counted"]
    assert went["go"] == "done"
    left = ann.leaves()
    assert (left["outcome"], left["amount"], left["votes"]) == ("finished", 400, 2)
    assert ann.leaves()["amount"] == 400, "leaving twice is leaving once"
    assert study.one("select count(*) from payout") == 1
    assert study.one("select sum(n) from tally where what = 'votes'") == 2
    assert study.broken() == []


def test_stages_before_the_items(connection: psycopg.Connection[Any]) -> None:
    about = [{"blocks": [{"name": "age", "kind": "number", "least": 18, "most": 99, "step": 1}]}]
    later = {
        "name": "why",
        "kind": "text",
        "least": 1,
        "most": 99,
        "show_if": {"block": "age", "op": "gt", "value": 50},
    }
    after = [{"blocks": [INSTRUMENT["after"][0]["blocks"][0], later]}]
    study = SteppedStudy(connection, instrument=INSTRUMENT | {"about": about, "after": after})
    ann = study.person("ann")
    ann.arrives()
    assert ann.step("st_answer", ann.token, "about", {"age": 60}, {}, b"1", None)["word"] == "stage"
    ann.agrees()
    assert ann.step("st_begin", ann.token) == {"word": "stage", "missing": "about"}
    with pytest.raises(psycopg.errors.CheckViolation, match="age: does not fit"):
        ann.step("st_answer", ann.token, "about", {"age": 17}, {}, b"1", None)
    assert ann.step("st_answer", ann.token, "about", {"age": 60}, {}, b"1", None)["word"] == "ok"
    assert (
        ann.step("st_answer", ann.token, "about", {"age": 61}, {}, b"2", None)["word"] == "conflict"
    )
    assert ann.step("st_begin", ann.token)["state"] == "active"
    item = ann.next()["item"]
    ann.says(item)
    assert ann.item(item)["earlier"] == {"age": 60}
    with pytest.raises(psycopg.errors.CheckViolation, match="why: missing"):
        ann.rates(item)
    eve = study.person("eve")
    eve.arrives()
    eve.agrees()
    away = eve.step("st_answer", eve.token, "about", {"age": 20}, {}, b"3", "screened_out")
    assert (away["outcome"], away["amount"]) == ("screened_out", 30)
    assert study.one("select count(*) from place where state <> 'open'") == 1
    assert study.broken() == []


def test_sent_twice_is_stored_once(connection: psycopg.Connection[Any]) -> None:
    study = SteppedStudy(connection)
    ann = study.person("ann").begins()
    item = ann.next()["item"]
    assert ann.says(item)["word"] == ann.says(item)["word"] == "ok"
    assert ann.says(item, "something else")["word"] == "conflict"
    ann.item(item)
    first = ann.rates(item, 4)
    again = ann.rates(item, 4)
    assert again["again"] and again["item"] == first["item"]
    assert ann.rates(item, 2)["word"] == "conflict"
    assert study.one("select count(*) from vote") == 1


def test_answers_that_do_not_fit_are_never_stored(connection: psycopg.Connection[Any]) -> None:
    study = SteppedStudy(connection)
    ann = study.person("ann").begins()
    item = ann.next()["item"]
    ann.says(item)
    ann.item(item)
    with pytest.raises(psycopg.errors.CheckViolation, match="q1: does not fit"):
        ann.rates(item, 6)
    with pytest.raises(psycopg.errors.CheckViolation, match="q1: missing"):
        ann.step("st_rate", ann.token, item, {}, {}, None, b"x", {}, {})
    assert study.one("select count(*) from vote") == 0
    assert ann.rates(item, 5)["word"] == "ok"


def test_the_form_that_was_shown_is_what_was_agreed_to(connection: psycopg.Connection[Any]) -> None:
    study = SteppedStudy(connection)
    ann = study.person("ann")
    ann.arrives()
    for digest in (hashlib.sha256(CONSENT + b" ").digest(), b""):
        refused = ann.step("st_consent", ann.token, study.version, "en", digest, ann.code)
        assert refused["word"] == "old form"
    assert ann.agrees()["word"] == "ok"
    kept = study.one("select form_sha256 from consent")
    assert kept == study.one("select sha256(shown) from consent_text where language = 'en'")
    with pytest.raises(psycopg.errors.IntegrityConstraintViolation, match="no such form"):
        connection.execute("update consent set form_sha256 = sha256('other')")


def test_who_declines_leaves_a_fingerprint_and_nothing_else(
    connection: psycopg.Connection[Any],
) -> None:
    study = SteppedStudy(connection)
    before = {name: study.one(f"select count(*) from {name}") for name in tables(connection)}
    ann = study.person("ann")
    ann.arrives()
    assert ann.step("st_decline", ann.token)["outcome"] == "declined"
    after = {name: study.one(f"select count(*) from {name}") for name in tables(connection)}
    grown = {name: after[name] - before[name] for name in after if after[name] != before[name]}
    assert grown.pop("declined") == 1
    assert {name for name in grown if not name.startswith(("log", "tally"))} == set()
    assert study.one("select count(*) from log where participant_id is not null") == 0
    assert study.one("select octet_length(token) from declined") == 32
    assert study.person("ann").arrives()["word"] == "barred"
    assert study.broken() == []


def tables(connection: psycopg.Connection[Any]) -> list[str]:
    query = "select tablename from pg_tables where schemaname = 'public'"
    return [row[0] for row in connection.execute(query)]


def test_the_door_promises_no_more_than_there_is(connection: psycopg.Connection[Any]) -> None:
    study = SteppedStudy(connection, instances=2, votes=2, quota=3)
    words = [study.person(f"p{i}").arrives()["word"] for i in range(4)]
    assert words == ["ok", "ok", "full", "full"]
    assert study.one("select array_agg(promised order by created_at) from participant") == [3, 1]
    assert study.broken() == []
    ann = study.person("p0")
    ann.arrives()  # the same person again
    assert ann.step("st_decline", ann.token)["word"] == "ok"
    assert study.person("p5").arrives()["word"] == "ok", "what was promised to ann is free"
    assert study.broken() == []


def test_places_are_held_for_a_while(connection: psycopg.Connection[Any]) -> None:
    study = SteppedStudy(connection, places=1)
    ann, bob = study.person("ann"), study.person("bob")
    assert ann.arrives()["word"] == "ok"
    assert bob.arrives()["word"] == "full"
    connection.execute(
        "update participant set alive_until = clock_timestamp() - interval '1 second'"
    )
    assert bob.arrives()["word"] == "ok"
    assert ann.agrees()["word"] == "full", "the place went to bob"
    assert study.broken() == []
    assert bob.agrees()["word"] == "ok"


def test_who_stops_is_paid_for_what_they_did(connection: psycopg.Connection[Any]) -> None:
    study = SteppedStudy(connection, instances=8, votes=2, quota=4)
    ann = study.person("ann").begins()
    went = ann.votes(ann.next()["item"])
    left = ann.leaves("stopped")
    assert (left["outcome"], left["amount"]) == ("stopped", 100)
    assert study.one("select state from assignment where id = %s", went["item"]) == "released"
    assert study.one("select state from place where participant_id is not null") == "used"
    assert ann.next()["go"] == "end"
    assert study.broken() == []
    bob = study.person("bob").begins()
    bob.next()
    assert bob.leaves("stopped")["amount"] == 0, "nothing was done"
    assert study.broken() == []


def test_a_lease_that_ran_out_is_somebody_elses(connection: psycopg.Connection[Any]) -> None:
    study = SteppedStudy(connection, instances=1, votes=1, quota=1, lease=0.05)
    connection.execute(
        "insert into door select id, 9 from version on conflict (version_id) do update set available = 9"
    )
    ann, bob = study.person("ann").begins(), study.person("bob").begins()
    first = ann.next()["item"]
    ann.says(first)
    ann.item(first)
    connection.execute("select pg_sleep(0.2)")  # three times the lease: nobody sent a sign of life
    second = bob.next()["item"]
    assert study.one("select state from assignment where id = %s", first) == "lost"
    late = ann.rates(first)
    assert late["word"] == "ok" and not late["counted"], "nothing that was given is lost"
    assert bob.votes(second)["counted"]
    assert study.one("select count(*) from vote where counted") == 1


def test_hidden_checks(connection: psycopg.Connection[Any]) -> None:
    rule = {"every": 2, "allowed": 0, "then": "screen_out"}
    study = SteppedStudy(connection, instances=6, quota=5, gold=2, settings={"checks": rule})
    ann = study.person("ann").begins()
    went = ann.next()
    for _ in range(2):
        went = ann.votes(went["item"])
    assert study.one("select slot_id from assignment where id = %s", went["item"]) is None
    went = ann.votes(went["item"], 5)
    assert went["go"] == "item" and study.one("select passed from gold_result")
    for _ in range(2):
        went = ann.votes(went["item"])
    ended = ann.votes(went["item"], 1)
    assert (ended["go"], ended["outcome"], ended["amount"]) == ("end", "failed_checks", 320)
    assert study.broken() == []


def test_withdrawing_leaves_nothing_and_frees_seats(connection: psycopg.Connection[Any]) -> None:
    study = SteppedStudy(connection, instances=3, quota=3)
    ann = study.person("ann").begins()
    went = ann.votes(ann.next()["item"])
    ann.says(went["item"])
    gone = study.one("select id from participant")
    assert ann.step("st_withdraw", ann.code, True)["amount"] == 133
    for name in ("vote", "baseline", "assignment", "consent", "session", "answer", "draft"):
        assert study.one(f"select count(*) from {name}") == 0, name
    assert study.one("select count(*) from log where participant_id = %s", gone) == 0
    assert study.one("select participant_id from payout") is None
    assert study.one("select count(*) from slot where state <> 'open'") == 0
    assert ann.next()["word"] == "nobody"
    assert ann.step("st_withdraw", ann.code, True)["word"] == "not here"
    assert study.broken() == []


@pytest.mark.parametrize(
    "change",
    [
        "update version set quota = quota + 1",
        "update version set state = 'draft'",
        "insert into wording values ((select id from version), 'k', 'en', 'x')",
        "update consent_text set shown = 'x', digest = sha256('x')",
        "delete from outcome",
    ],
)
def test_an_opened_version_stays_as_it_is(connection: psycopg.Connection[Any], change: str) -> None:
    SteppedStudy(connection)
    with pytest.raises(psycopg.errors.IntegrityConstraintViolation):
        connection.execute(change)
    connection.execute("update version set state = 'finishing', least_items = 2")


def test_no_dynamic_statements_and_a_fixed_search_path() -> None:
    for name in ("fit.sql", *STEPS):
        text = read_sql(name)
        assert "execute" not in text.lower().replace("execute function", "")
        functions = text.count("create function ")
        assert text.count("set search_path = ") == functions


def test_practice_is_passed_repeated_or_failed(connection: psycopg.Connection[Any]) -> None:
    rule = {"attempts": 2, "pass_mark": 0.5}
    study = SteppedStudy(connection, training=2, settings={"training": rule})

    def practised(name: str, *values: int) -> dict[str, Any]:
        person = study.person(name)
        if study.one("select count(*) from participant where pseudonym = %s", f"p-{name}") == 0:
            person.arrives()
            person.agrees()
            assert person.step("st_begin", person.token)["state"] == "training"
        else:
            person.arrives()
        for number, value in enumerate(values, 1):
            assert person.step("st_practice", person.token, None)["number"] == number
            assert (
                person.step("st_practice_rate", person.token, number, {"q1": 1})["word"] == "stage"
            )
            own = {"words": "a tower", "regions": []}
            assert person.step("st_practice_own", person.token, number, own)["word"] == "ok"
            assert (
                person.step("st_practice_rate", person.token, number, {"q1": 1})["word"] == "stage"
            )
            assert person.step("st_practice", person.token, number)["own"] == own
            rated = person.step("st_practice_rate", person.token, number, {"q1": value})
            assert rated == {"word": "ok", "passed": value == 5}
            assert person.step("st_practice_rate", person.token, number, {"q1": 2})["word"] == (
                "ok" if value == 2 else "conflict"
            )
        return person.step("st_practice_end", person.token)

    assert practised("ann", 5)["word"] == "stage", "there is more to practise"
    assert practised("bob", 5, 1)["state"] == "active"
    assert practised("eve", 1, 1)["attempt"] == 2
    failed = practised("eve", 2, 1)
    assert (failed["outcome"], failed["amount"]) == ("failed_practice", 30)
    assert study.broken() == []


def test_the_server_touches_no_table(cluster: LocalPostgres, database_url: str) -> None:
    """The login of the server can do what a participant can do, and nothing else."""
    with psycopg.connect(database_url, autocommit=True) as owner:
        study = SteppedStudy(owner, instances=2, votes=1, quota=1)
        names = tables(owner)
    with psycopg.connect(database_url, autocommit=True) as own:
        own.execute("set role theodolite_serve")
        for name in names:
            for statement in (
                f"select * from {name}", f"insert into {name} default values",
                f"update {name} set ctid = ctid", f"delete from {name}", f"truncate {name}",
            ):  # fmt: skip
                with pytest.raises(DENIED):
                    own.execute(statement)
        for name in ("version_public", "wording_public", "consent_public", "outcome_public"):
            own.execute(f"select * from {name}")
            with pytest.raises(DENIED):
                own.execute(f"delete from {name}")
        for inside in ("st_log(null, null, 1::smallint, null, null)", "st_available(1)"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                own.execute(f"select {inside}")
        ann = study.person("ann", own).begins()
        assert ann.votes(ann.next()["item"])["go"] == "done"
        assert ann.leaves()["amount"] == 400
        assert ann.step("st_withdraw", ann.code, False)["word"] == "ok"
        assert own.execute("select st_allowed('x', 1, 2)").fetchone() == (True,)
        assert own.execute("select st_allowed('x', 0, 2), st_allowed('x', 0, 2)").fetchone() == (
            True,
            False,
        )


def walk(url: str, study: SteppedStudy, name: str, faults: list[str]) -> None:
    """All of one person's walk, on a connection of their own."""
    try:
        with psycopg.connect(url, autocommit=True) as own:
            person = study.person(name, own)
            if person.arrives()["word"] != "ok":
                return
            person.agrees()
            person.step("st_begin", person.token)
            went = person.next()
            while went["go"] == "item":
                went = person.votes(went["item"])
            person.leaves()
    except Exception as error:  # noqa: BLE001  told by the test
        faults.append(f"{name}: {error!r}")


def test_many_at_once_fill_every_seat_once(
    database_url: str, connection: psycopg.Connection[Any]
) -> None:
    study = SteppedStudy(connection, instances=30, votes=3, quota=9)
    faults: list[str] = []
    people = [
        threading.Thread(target=walk, args=(database_url, study, f"p{i}", faults))
        for i in range(14)
    ]
    for person in people:
        person.start()
    for person in people:
        person.join()
    assert faults == []
    assert study.broken() == []
    given = study.one("select count(*) from vote where counted")
    assert given == study.one("select count(*) from slot where state = 'filled'")
    inside = study.one("select count(*) from participant where outcome = 'finished'")
    assert inside >= 9 and study.one("select count(*) from payout") >= inside
    assert (
        study.one("select deadlocks from pg_stat_database where datname = current_database()") == 0
    )


def test_a_link_sends_nobody_away_who_waits(connection: psycopg.Connection[Any]) -> None:
    study = SteppedStudy(connection, instances=2, votes=1, quota=1)
    ann, bob = study.person("ann").begins(), study.person("bob").begins()
    connection.execute("update participant set promised = 2 where study_id = %s", (study.study,))
    ann.next()
    assert bob.votes(bob.next()["item"])["go"] == "wait"
    assert bob.leaves("finished")["word"] == "stage"
    assert bob.leaves("not waiting")["outcome"] == "ran_out"

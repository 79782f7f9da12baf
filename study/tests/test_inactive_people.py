"""People who leave without a word: their promise is free for whoever comes next, exactly once."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from support.study.stepped_study import SteppedStudy, Walker

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from inactive_people import Run

SILENT = (
    "update participant set alive_until = clock_timestamp() - interval '1 s' where pseudonym = %s"
)


@pytest.fixture
def connection(database_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database_url, autocommit=True) as made:
        yield made


def fall_silent(walker: Walker) -> None:
    walker.study.connection.execute(SILENT, (f"p-{walker.name}",))


def state_of(walker: Walker) -> tuple[int, bool, str | None]:
    row = walker.study.connection.execute(
        "select promised, away_at is not null, outcome from participant where pseudonym = %s",
        (f"p-{walker.name}",),
    ).fetchone()
    assert row is not None
    return row


def test_only_silent_people_are_freed(connection: psycopg.Connection[Any]) -> None:
    study = SteppedStudy(connection, instances=3, votes=2, quota=3)
    ann, bob, cyd = study.person("ann").begins(), study.person("bob").begins(), study.person("cyd")
    first = ann.next()["item"]
    bob.votes(bob.next()["item"])
    assert cyd.arrives()["word"] == "full"
    fall_silent(ann)
    assert cyd.arrives()["word"] == "ok"
    assert state_of(ann) == (0, True, None)
    assert state_of(bob) == (3, False, None)
    assert study.one("select state from assignment where id = %s", first) == "lost"
    assert study.one("select count(*) from slot where state = 'leased'") == 1
    assert study.broken() == []
    fall_silent(ann)
    assert study.person("dan").arrives()["word"] == "full", "nobody is freed twice"
    assert study.broken() == []


def test_a_silent_person_who_gave_all_is_not_away(connection: psycopg.Connection[Any]) -> None:
    study = SteppedStudy(connection, instances=1, votes=2, quota=1)
    ann, bob = study.person("ann").begins(), study.person("bob").begins()
    ann.votes(ann.next()["item"])
    fall_silent(ann)
    fall_silent(bob)
    assert study.person("cyd").arrives()["word"] == "ok"
    assert state_of(ann) == (1, False, None)
    assert ann.next()["go"] == "done" and ann.leaves()["outcome"] == "finished"
    assert study.broken() == []


def test_who_returns_is_promised_what_is_left(connection: psycopg.Connection[Any]) -> None:
    study = SteppedStudy(connection, instances=4, votes=1, quota=3)
    ann = study.person("ann").begins()
    ann.votes(ann.next()["item"])
    fall_silent(ann)
    bob = study.person("bob")
    assert bob.arrives()["word"] == "ok"  # three are left: all are promised to bob
    assert ann.next()["outcome"] == "timed_out", "the study was completed while ann was away"
    assert state_of(ann)[2] == "timed_out"
    assert study.one("select amount_minor from payout") > 0, "what ann did is paid"
    assert study.broken() == []


def test_who_returns_goes_on_where_others_fell_silent(connection: psycopg.Connection[Any]) -> None:
    study = SteppedStudy(connection, instances=4, votes=1, quota=4)
    ann, bob = study.person("ann").begins(), study.person("bob")
    ann.votes(ann.next()["item"])
    fall_silent(ann)
    assert bob.arrives()["word"] == "ok"
    fall_silent(bob)
    assert ann.next()["go"] == "item"
    assert state_of(ann) == (4, False, None) and state_of(bob) == (0, True, None)
    assert study.broken() == []
    assert bob.agrees()["word"] == "full"
    assert study.broken() == []


@pytest.mark.parametrize("left", [True, False])
def test_a_late_vote_counts_if_a_vote_is_left(
    connection: psycopg.Connection[Any], left: bool
) -> None:
    study = SteppedStudy(connection, instances=1, votes=1, quota=1)
    ann, bob = study.person("ann").begins(), study.person("bob")
    item = ann.next()["item"]
    ann.says(item)
    ann.item(item)
    fall_silent(ann)
    assert bob.arrives()["word"] == "ok"
    if left:
        bob.step("st_decline", bob.token)
    rated = ann.rates(item)
    assert (rated["word"], rated["counted"]) == ("ok", left)
    assert study.broken() == []


def test_the_first_page_counts_what_silent_people_hold(
    connection: psycopg.Connection[Any],
) -> None:
    study = SteppedStudy(connection, instances=1, votes=1, quota=1)
    ann = study.person("ann").begins()

    def landing() -> dict[str, Any]:
        return study.one("select st_landing('s')")

    assert (landing()["word"], landing()["unfilled"]) == ("full", True)
    fall_silent(ann)
    assert landing()["word"] == "ok"
    ann.votes(ann.next()["item"])
    assert (landing()["word"], landing()["unfilled"]) == ("full", False)


def test_signs_of_life_keep_people_and_items(connection: psycopg.Connection[Any]) -> None:
    study = SteppedStudy(connection, instances=1, votes=1, quota=1, lease=600)
    ann = study.person("ann").begins()
    item = ann.next()["item"]
    rest = "select extract(epoch from {} - clock_timestamp())::int from {}"
    silent = study.one(rest.format("alive_until", "participant"))
    assert 1790 < silent <= 1800, "without scripts pages cannot tell: three times as long"
    connection.execute("update participant set alive_until = clock_timestamp()")
    connection.execute("update slot set lease_expires_at = clock_timestamp()")
    assert ann.step("st_alive", ann.token, item)["lease"] is not None
    assert 590 < study.one(rest.format("alive_until", "participant")) <= 600
    assert 590 < study.one(rest.format("lease_expires_at", "slot")) <= 600
    connection.execute("update assignment set leased_at = leased_at - interval '59 minutes'")
    ann.step("st_alive", ann.token, item)
    assert 50 < study.one(rest.format("lease_expires_at", "slot")) <= 60, "an hour at most"


def test_every_seat_is_filled_once_by_people_who_come_and_go(database_url: str) -> None:
    run = Run(database_url, explanations=8, threads=4, seed=1).play()
    assert run.faults == []
    assert run.freed > 0

"""Every rule of a study is broken once, by hand and behind the guards' back, and is told."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from support.study.stepped_study import SteppedStudy
from theodolite_study.export.data_rules import RULES, find_broken_rules, find_violations
from theodolite_study.export.verify import (
    find_excess_rights,
    find_missing_guards,
    list_guards,
    verify,
)

BROKEN = {
    "no explanation has more votes than seats": "update vote set slot_id = (select min(slot_id) from vote),"
        " instance_id = (select min(instance_id) from vote)",
    "nobody voted twice on one explanation": "update vote set instance_id ="
        " (select min(instance_id) from vote), participant_id = (select participant_id from vote limit 1)",
    "each explanation has its seats": "delete from slot where state = 'open'",
    "a seat is filled exactly if it has a counted vote": "update vote set counted = false",
    "a seat and its assignment know each other": "update assignment set state = 'lost' where state = 'leased'",
    "whoever is at work holds a seat": "update slot set state = 'open', assignment_id = null,"
        " lease_expires_at = null where state = 'leased'",
    "nobody has two items at once": "update assignment set state = 'leased'",
    "own answers come before explanations, explanations before votes": "update vote set at = '2000-01-01'",
    "the log tells of no explanation before its own answer": "update log set at = '2026-01-01' where kind = 7",
    "every vote belongs to a consent": "delete from consent",
    "consents are to forms that were shown": "update consent set form_sha256 = sha256('x')",
    "no vote came after the study was over": "update study set closed_at = '2000-01-01'",
    "votes and their assignments agree": "update assignment set state = 'surplus' where state = 'submitted'",
    "ratings fit their version": "update vote set answers = '{\"q1\": 9}'",
    "own answers fit their version (of many votes, about 20,000)": "update baseline set answers = '{\"words\": \"\"}'",
    "answers about people fit their version (of many people, about 5,000)": "insert into answer (participant_id, version_id, stage, answers,"
        " payload_sha256) select id, version_id, 'about',"
        " '{\"age\": 3}', '' from participant where state = 'active'",
    "whoever withdrew left nothing": "update participant set sealed_id = 'x' where state = 'withdrawn'",
    "closed studies whose money is settled know no platform ids":
        "update study set state = 'closed'; delete from payout",
    "whoever is out has an outcome, and nobody else": "update participant set outcome = null",
    "whoever agreed and is inside has a place": "update place set state = 'open', participant_id = null",
    "places of people who voted are used, in their condition": "update place set state = 'taken' where state = 'used'",
    "the door tells what nobody was promised": "update door set available = available + 1",
    "counters say what the tables say": "update tally set n = n + 1 where what = 'votes'",
    "nobody is paid twice for one thing": "insert into payout (study_id, participant_id, kind, outcome,"
        " amount_minor, currency) select study_id, participant_id, kind, outcome, 1, currency from payout",
    "whoever is owed something is in the ledger": "delete from payout",
}  # fmt: skip
UNIQUE = (
    "vote_fills_slot, vote_once, one_live; alter table payout drop constraint payout_participant_key,"
    " drop constraint payout_submission_key"
)


@pytest.fixture(scope="module")
def study(module_database_url: str) -> Iterator[SteppedStudy]:
    with psycopg.connect(module_database_url, autocommit=True) as connection:
        made = SteppedStudy(connection, instances=4, votes=2, quota=2)
        ann = made.person("ann").begins()
        for _ in range(2):
            ann.votes(ann.next()["item"])
        ann.leaves()
        bob = made.person("bob").begins()
        bob.votes(bob.next()["item"])
        eve = made.person("eve").begins()
        eve.votes(eve.next()["item"])
        eve.step("st_withdraw", eve.code, False)
        yield made


def test_a_study_that_was_walked_is_in_order(study: SteppedStudy) -> None:
    found = verify(study.connection, study.study)
    assert found.problems == () and "All rules hold." in str(found)
    assert found.facts[1] == "3 of 8 votes (38%); 0 more are surplus."
    assert found.facts[2] == "People: 1 inside, 1 finished, 1 withdrawn."


def test_every_rule_has_its_breach() -> None:
    assert set(BROKEN) == set(RULES)


@pytest.mark.parametrize("rule", BROKEN)
def test_what_is_broken_is_told(study: SteppedStudy, rule: str) -> None:
    with Undone(study.connection) as connection:
        connection.execute(f"drop index {UNIQUE}")
        connection.execute("set local session_replication_role = replica")
        connection.execute(BROKEN[rule])
        found = [one.rule for one in find_broken_rules(connection, study.study)]
    assert rule in found
    assert find_violations(study.connection) == []


def test_guards_and_rights_that_are_gone_are_told(study: SteppedStudy) -> None:
    assert {"vote_once", "slot_seat_key", "consent_as_shown", "version_frozen"} <= list_guards()
    with Undone(study.connection) as connection:
        connection.execute("drop index vote_once; drop trigger consent_as_shown on consent")
        connection.execute("alter table vote disable trigger vote_answers_fit")
        connection.execute("grant update (answers) on vote to theodolite_steps")
        connection.execute("grant select on vote to theodolite_serve")
        connection.execute("grant delete on answer to theodolite_desk")
        gone = find_missing_guards(connection)
        assert [line.split()[4] for line in gone] == [
            "consent_as_shown", "vote_answers_fit", "vote_once"]  # fmt: skip
        assert find_excess_rights(connection) == [
            "Not so: theodolite_serve may not do this, vote: select",
            "Not so: theodolite_steps may not do this, vote: update",
            "Not so: theodolite_desk may not do this, answer: delete",
        ]


class Undone:
    """A transaction that is rolled back."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection

    def __enter__(self) -> psycopg.Connection[Any]:
        self.connection.execute("begin")
        return self.connection

    def __exit__(self, *_: object) -> None:
        self.connection.execute("rollback")

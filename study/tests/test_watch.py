"""How a study runs: counters that agree with the tables, people a page at a time, signs."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from support.study.stepped_study import SteppedStudy, Walker, digest
from theodolite_study.refusals import NotHere
from theodolite_study.watch.participants import list_people, load_timeline
from theodolite_study.watch.progress import count_by_technique, load_progress
from theodolite_study.watch.quality import WorkSummary

SCALES = {
    "door": [], "about": [], "end": [],
    "before": [{"blocks": [
        {"name": "words", "kind": "text", "least": 1, "most": 200, "required": True}]}],
    "after": [{"blocks": [
        {"name": f"q{n}", "kind": "likert", "points": 5, "required": True} for n in (1, 2, 3)]}],
}  # fmt: skip


@pytest.fixture
def study(database_url: str) -> Iterator[SteppedStudy]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield SteppedStudy(
            connection, instances=8, votes=3, quota=6, gold=1, instrument=SCALES,
            settings={"checks": {"every": 3}},
        )  # fmt: skip


def works(person: Walker, items: int, values: tuple[int, int, int], **client: Any) -> None:
    """Answers so many items, hidden checks among them."""
    for _ in range(items):
        item = person.next()["item"]
        own = {"words": "a horn"}
        person.step("st_baseline", person.token, item, own, {}, client, digest(own))
        assert person.item(item)["own"]
        given = dict(zip(("q1", "q2", "q3"), values, strict=True))
        more = {"moves": 0} if client else {}
        sent = person.step(
            "st_rate", person.token, item, given, {}, uuid4(), digest(given), {}, more
        )
        assert sent["word"] == "ok"


def test_progress_people_and_signs(study: SteppedStudy) -> None:
    works(study.person("ann").begins(), 6, (5, 4, 3))
    works(study.person("bob").begins(), 6, (2, 2, 2), pasted=True)
    study.person("cyd").begins().leaves("stopped")
    study.person("dan").arrives()
    gone = study.person("eve").begins()
    works(gone, 2, (1, 2, 3))
    gone.step("st_withdraw", gone.code, False)
    no = study.person("fay")
    no.arrives()
    no.step("st_decline", no.token)

    now = load_progress(study.connection, study.study)
    assert (now.seats, now.filled, now.surplus, now.held, now.open) == (24, 10, 0, 2, 12)
    assert (now.arrived, now.declined, now.inside) == (6, 1, 3)
    assert now.outcomes == {"stopped": 1, "withdrawn": 1}
    assert (now.checks, now.checks_failed) == (2, 1), "ann passed, bob did not, eve's is gone"
    assert now.available == study.one("select st_available(%s)", study.version)
    assert now.new_people == 1 and now.seconds_after is not None and not now.alarm
    assert count_by_technique(study.connection, study.study, now.version) == [("map", 10, 24)]
    counters = study.connection.execute(
        "select what, sum(n) from tally group by what having sum(n) <> 0 order by what").fetchall()  # fmt: skip
    counted = study.connection.execute(
        "select what, n from st_recount(%s) where n <> 0 order by what", [study.version]).fetchall()  # fmt: skip
    assert [row for row in counters if row[0] != "declined"] == counted
    with pytest.raises(NotHere):
        load_progress(study.connection, uuid4())

    first = list_people(study.connection, study.study, limit=2)
    assert [one.pseudonym for one in first.people] == ["p-ann", "p-bob"] and first.after == "p-bob"
    rest = list_people(study.connection, study.study, after="p-bob", limit=2)
    assert [one.pseudonym for one in rest.people] == ["p-cyd"] and rest.after is None
    ann, bob = (one.work for one in first.people)
    quick = ["writes within seconds", "rates within seconds"]
    assert ann.signs == quick and (ann.votes, ann.same, ann.unmoved) == (5, 0.0, None)
    assert bob.signs == [
        *quick, "gives the same rating to all questions", "pastes most texts",
        "ranks without moving anything", "failed 1 of 1 checks",
    ]  # fmt: skip
    out = list_people(study.connection, study.study, outcome="stopped").people
    assert [one.pseudonym for one in out] == ["p-cyd"] and out[0].work.signs == []
    inside = list_people(study.connection, study.study, outcome="inside").people
    assert [one.pseudonym for one in inside] == ["p-ann", "p-bob"]

    lines = load_timeline(study.connection, study.study, "p-bob")
    assert [line.what for line in lines][:2] == ["arrived", "agreed"]
    assert {line.explanation for line in lines if line.what == "vote"} <= {
        f"i{n}" for n in range(8)
    }
    assert [line.more for line in lines if line.what == "check"] == ["false"]
    assert "horn" not in str(lines)


def test_few_items_are_no_sign() -> None:
    few = WorkSummary(2, 0, 0, 0.1, 0.1, 1.0, 1.0, 1.0, 1, 1)
    assert few.signs == ["failed 1 of 1 checks"]

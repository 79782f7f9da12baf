"""The door promises what there is: many arrivals, conditions, planned designs."""

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import psycopg
import pytest

from support.study.stepped_study import SteppedStudy, Walker
from theodolite_study.store.drafts import StudyCondition, copy_version, put_conditions
from theodolite_study.store.opening import open_version


@pytest.fixture
def connection(database_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database_url, autocommit=True) as made:
        yield made


class Crowd:
    """People who come one after the other and work side by side; some go before their time."""

    def __init__(self, study: SteppedStudy, seed: int = 0) -> None:
        self.study, self.random = study, Random(seed)  # noqa: S311
        self.inside: list[Walker] = []
        self.words: Counter[str] = Counter()
        self.without_item = 0

    def comes(self, name: str) -> None:
        person = self.study.person(name)
        word = person.arrives()["word"]
        self.words[word] += 1
        if word != "ok":
            return
        if self.random.random() < 0.06:
            assert person.step("st_decline", person.token)["word"] == "ok"
            self.words["declined"] += 1
            return
        agreed = person.step(
            "st_consent", person.token, self.version, "en", self.digest, person.code
        )
        assert agreed["word"] == "ok", agreed
        assert person.step("st_begin", person.token)["state"] == "active"
        self.without_item += person.next()["go"] != "item"
        self.inside.append(person)

    @property
    def version(self) -> int:
        query = "select id from version where study_id = %s and state = 'open'"
        return int(self.study.one(query, self.study.study))

    @property
    def digest(self) -> bytes:
        query = "select digest from consent_text where language = 'en' and version_id = %s"
        return bytes(self.study.one(query, self.version))

    def works(self, person: Walker, stops: float) -> None:
        """One item, or the way out."""
        went = person.next()
        chance = self.random.random()
        if went["go"] == "item" and chance >= stops:
            person.votes(went["item"])
            return
        if went["go"] == "wait" and chance < 0.9:
            return
        left = person.leaves("stopped" if went["go"] == "item" else "finished")
        self.words[left["outcome"]] += 1
        self.inside.remove(person)

    def plays(self, arrivals: int, stops: float = 0.02) -> None:
        for number in range(arrivals):
            self.comes(f"p{number}")
            for person in self.random.sample(self.inside, min(3, len(self.inside))):
                self.works(person, stops)
        while self.inside:
            self.works(self.random.choice(self.inside), stops)


def test_200_arrivals_at_a_study_for_40(connection: psycopg.Connection[Any]) -> None:
    """Nobody agrees and finds nothing; nearly nobody runs out of items."""
    study = SteppedStudy(connection, instances=40, votes=4, quota=4, least_items=2, places=200)
    crowd = Crowd(study)
    crowd.plays(200)
    assert crowd.without_item == 0
    assert crowd.words["ran_out"] <= 2, crowd.words
    assert crowd.words["finished"] >= 30 and crowd.words["full"] >= 130, crowd.words
    assert study.broken() == []
    left = study.one("select available from door")
    assert left < 2, "what is left is less than one person is let in for"


def test_conditions_stay_balanced(connection: psycopg.Connection[Any]) -> None:
    """A fifth leave before a vote; among the others the weights hold to less than one block."""
    study = SteppedStudy(connection, instances=80, votes=4, quota=2)
    weights = {"a": 2, "b": 1, "c": 1}
    with connection.transaction():
        version = copy_version(connection, study.version)
        put_conditions(connection, version, [StudyCondition(k, w) for k, w in weights.items()])
        open_version(connection, version)
    crowd = Crowd(study, 1)
    crowd.plays(100, stops=0.2)
    used = dict(connection.execute(
        "select c.key, count(*) from place p join condition c on c.id = p.condition_id"
        " where p.state = 'used' group by 1"
    ).fetchall())  # fmt: skip
    total = sum(used.values())
    assert total > 50 and study.one("select count(*) from place where state = 'taken'") == 0
    for key, weight in weights.items():
        assert abs(used[key] - total * weight / 4) < 8, used
    assert study.broken() == []


def test_a_panel_and_who_takes_the_place_of_one(connection: psycopg.Connection[Any]) -> None:
    planned = {"design": "planned", "panel": 3}
    study = SteppedStudy(connection, instances=6, votes=2, quota=4, settings=planned)
    with connection.transaction():
        version = copy_version(connection, study.version)
        open_version(connection, version, seats="new round")
    crowd = Crowd(study)
    crowd.random.random = lambda: 0.5  # type: ignore[method-assign]  # nobody leaves by chance
    for name in ("ann", "bob", "eve", "late"):
        crowd.comes(name)
    assert crowd.words == {"ok": 3, "full": 1}
    ann, bob, eve = crowd.inside
    order = (
        "select array_agg(instance_id order by planned_position) from slot where reserved_for = %s"
    )
    row = study.one("select design_row from participant where pseudonym = 'p-ann'")
    plan = study.one(order, row)
    for instance in plan[:2]:
        item = ann.next()["item"]
        assert study.one("select instance_id from assignment where id = %s", item) == instance
        ann.votes(item)
    assert ann.leaves("stopped")["outcome"] == "stopped"
    crowd.inside.remove(ann)
    crowd.comes("dora")
    assert crowd.words["ok"] == 4 and crowd.without_item == 0, "what ann left is for somebody"
    assert study.one("select design_row from participant where pseudonym = 'p-dora'") is None
    for person in [*crowd.inside]:
        while person in crowd.inside:
            crowd.works(person, 0.0)
    assert study.one("select count(*) from slot where round = 2 and state <> 'filled'") == 0
    assert study.broken() == [] and len({bob.name, eve.name}) == 2

"""The protocol as a script: fifteen people, five votes each, in a planned study."""

import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random
from statistics import median
from uuid import UUID, uuid4

from sqlalchemy import text

from support.study.small_study import active, opened, picture, said
from theodolite.io.text import write_json
from theodolite.study_material.material import Explained, Instance, Material, write_material
from theodolite_study.answers import Ratings
from theodolite_study.assignments import reveal, store_baseline
from theodolite_study.claims import Done, next_assignment
from theodolite_study.database import Database
from theodolite_study.invariants import violations
from theodolite_study.keys import Keys
from theodolite_study.protocol import STUDY, Protocol
from theodolite_study.votes import submit

INSTANCES = int(os.environ.get("THEODOLITE_STUDY_INSTANCES", "30"))
"""2,200 is a study of full size; it takes minutes."""
PEOPLE, VOTES = 15, 5
TECHNIQUES = 6


def folder_of(folder: Path, design: str) -> Path:
    """Each picture has an explanation by each technique, or by most."""
    folder.mkdir(parents=True)
    pictures = -(-INSTANCES // TECHNIQUES)
    made = [
        Instance(
            key=f"real{n}", picture_key=f"picture{n % pictures}",
            technique=f"technique{n // pictures}",
            shown=Explained(
                picture=picture(folder, n % pictures), predicted="cat", concepts={"paw": 0.1}
            ),
        )
        for n in range(INSTANCES)
    ]  # fmt: skip
    write_material(folder, Material(instances=made))
    protocol = Protocol(
        slug="small", title="Replay", contact="ann@example.org", votes=VOTES, design=design,
        panel=PEOPLE, quota=-(-INSTANCES * VOTES // PEOPLE), same_picture_gap=1, seed=3,
    )  # fmt: skip
    write_json(folder / STUDY, protocol.model_dump(mode="json"))
    Keys.create(folder / "keys.json")
    return folder


def scripted(person: int, key: str) -> dict[str, int]:
    """What somebody answers: always the same."""
    draw = Random(f"{person} {key}")  # noqa: S311
    return {name: draw.randint(1, 5) for name in ("q1", "q2", "q3", "q4")}


def replayed(database: Database, people: list[UUID]) -> Iterator[tuple[int, str, float]]:
    """Who answered what, in turn; and how long the claim took."""
    left = list(range(len(people)))
    draw = Random(8)  # noqa: S311
    while left:
        person = draw.choice(left)
        began = time.perf_counter()
        item = next_assignment(database, people[person])
        took = time.perf_counter() - began
        if isinstance(item, Done):
            left.remove(person)
            continue
        store_baseline(database, people[person], item.id, said())
        reveal(database, people[person], item.id)
        answers = scripted(person, item.instance.key)
        assert submit(database, people[person], item.id, Ratings(answers, uuid4())).counted
        yield person, item.instance.key, took


def test_fifteen_people_give_exactly_five_votes_to_each(database: Database, tmp_path: Path) -> None:
    keys = opened(database, folder_of(tmp_path / "s", "planned"))
    people = [active(database, keys, f"p{n}") for n in range(PEOPLE)]
    shown, claims = defaultdict(list), []
    for person, key, took in replayed(database, people):
        shown[person].append(key)
        claims.append(took)
        if len(claims) % 1000 == 0:
            print(len(claims), f"claim {1000 * median(claims[-1000:]):.1f} ms")  # noqa: T201
    votes = Counter(key for keys_of in shown.values() for key in keys_of)
    assert len(votes) == INSTANCES and set(votes.values()) == {VOTES}
    assert all(len(set(keys_of)) == len(keys_of) for keys_of in shown.values())
    assert max(map(len, shown.values())) - min(map(len, shown.values())) <= 1
    with database.owning() as connection:
        planned = connection.execute(
            text("select p.id, i.key from slot s join instance i on i.id = s.instance_id "
                 "join participant p on p.design_row = s.reserved_for order by s.planned_position")
        ).all()  # fmt: skip
        stored = connection.execute(
            text("select p.id, i.key, v.q1, v.q2, v.q3, v.q4 from vote v "
                 "join instance i on i.id = v.instance_id join participant p "
                 "on p.id = v.participant_id where v.counted")
        ).all()  # fmt: skip
    for person, who in enumerate(people):
        assert shown[person] == [key for one, key in planned if one == who]
    assert sorted(map(tuple, stored)) == sorted(
        (people[person], key, *scripted(person, key).values())
        for person, keys_of in shown.items()
        for key in keys_of
    )
    assert violations(database) == []

from pathlib import Path
from uuid import uuid4

import pytest
from sqlalchemy import text

from support.study.small_study import (
    active,
    all_rated,
    answers_for,
    opened,
    rated,
    said,
    study_folder,
)
from theodolite_study.answers import Ratings
from theodolite_study.assignments import (
    asset,
    assignment,
    release,
    renew,
    reveal,
    store_baseline,
)
from theodolite_study.claims import Done, next_assignment
from theodolite_study.database import Database
from theodolite_study.invariants import violations
from theodolite_study.participants import arrive, consent, describe_oneself
from theodolite_study.platforms.identity import Identity
from theodolite_study.refusals import Conflict, NotHere, NothingNow, WrongStage
from theodolite_study.votes import submit
from theodolite_study.withdrawal import invalidate, withdraw


def counted(database: Database) -> dict[str, int]:
    with database.transaction() as connection:
        rows = connection.execute(
            text("select i.key, count(*) from vote v join instance i on i.id = v.instance_id "
                 "where counted group by i.key")
        )  # fmt: skip
        return dict(tuple(row) for row in rows)


def expire(database: Database) -> None:
    with database.owning() as connection:
        connection.execute(
            text("update slot set lease_expires_at = now() - interval '1 s' where state = 'leased'")
        )


def test_two_people_give_exactly_two_votes_each(database: Database, tmp_path: Path) -> None:
    keys = opened(database, study_folder(tmp_path / "s", instances=4))
    people = [active(database, keys, name) for name in ("ann", "bob", "cyd")]
    for who in people[:2]:
        assert len(all_rated(database, who)) == 4
    assert next_assignment(database, people[2]) == Done("nothing left")
    assert set(counted(database).values()) == {2} and len(counted(database)) == 4
    assert violations(database) == []


def test_nothing_of_the_explanation_before_the_own_answer(
    database: Database, tmp_path: Path
) -> None:
    keys = opened(database, study_folder(tmp_path / "s", instances=1))
    who = active(database, keys, "ann")
    item = next_assignment(database, who)
    assert asset(database, who, item.id, "picture").mime == "image/png"
    for role in ("map", "same_picture", "same_map", "different_picture", "different_map"):
        with pytest.raises(WrongStage):
            asset(database, who, item.id, role)
    with pytest.raises(WrongStage):
        reveal(database, who, item.id)
    with pytest.raises(WrongStage):
        submit(database, who, item.id, Ratings(answers_for(item), uuid4()))
    store_baseline(database, who, item.id, said())
    with pytest.raises(WrongStage):  # nobody rates what they have not seen
        submit(database, who, item.id, Ratings(answers_for(item), uuid4()))
    assert asset(database, who, item.id, "map").file == item.instance.shown.map
    submit(database, who, item.id, Ratings(answers_for(item), uuid4()))
    assert violations(database) == []


def test_same_answers_same_receipt_other_answers_conflict(
    database: Database, tmp_path: Path
) -> None:
    keys = opened(database, study_folder(tmp_path / "s", instances=1))
    who = active(database, keys, "ann")
    item = next_assignment(database, who)
    first = rated(database, who, item)
    again = submit(database, who, item.id, Ratings(answers_for(item), uuid4()))
    assert again == first and first.counted
    with pytest.raises(Conflict):
        submit(database, who, item.id, Ratings(answers_for(item) | {"q1": 1}, uuid4()))
    store_baseline(database, who, item.id, said())
    with pytest.raises(Conflict):
        store_baseline(database, who, item.id, said("something else"))


def test_a_late_vote_counts_until_the_seat_is_taken(database: Database, tmp_path: Path) -> None:
    keys = opened(database, study_folder(tmp_path / "s", instances=1, votes=1))
    ann, bob = active(database, keys, "ann"), active(database, keys, "bob")
    item = next_assignment(database, ann)
    with pytest.raises(NothingNow):
        next_assignment(database, bob)
    store_baseline(database, ann, item.id, said())
    reveal(database, ann, item.id)
    expire(database)
    taken = next_assignment(database, bob)
    assert assignment(database, ann, item.id).state == "lost"
    late = submit(database, ann, item.id, Ratings(answers_for(item), uuid4()))
    assert not late.counted
    assert rated(database, bob, taken).counted
    assert violations(database) == []

    with pytest.raises(NotHere):
        assignment(database, bob, item.id)


def test_late_and_not_taken_counts(database: Database, tmp_path: Path) -> None:
    keys = opened(database, study_folder(tmp_path / "s", instances=1, votes=1))
    ann = active(database, keys, "ann")
    item = next_assignment(database, ann)
    expire(database)
    assert rated(database, ann, item).counted


def test_reload_resumes_release_returns(database: Database, tmp_path: Path) -> None:
    keys = opened(database, study_folder(tmp_path / "s", instances=2, votes=1))
    ann = active(database, keys, "ann")
    item = next_assignment(database, ann)
    assert next_assignment(database, ann).id == item.id
    release(database, ann, item.id, "broken")
    other = next_assignment(database, ann)
    assert other.instance.key != item.instance.key
    rated(database, ann, other)
    assert next_assignment(database, ann) == Done("nothing left")
    assert violations(database) == []


def test_withdrawal_leaves_nothing_and_frees_the_seats(database: Database, tmp_path: Path) -> None:
    keys = opened(database, study_folder(tmp_path / "s", instances=3, votes=1))
    ann, bob = active(database, keys, "ann"), active(database, keys, "bob")
    assert len(all_rated(database, ann)) == 3
    assert next_assignment(database, bob) == Done("nothing left")
    withdraw(database, ann)
    assert counted(database) == {} and violations(database) == []
    assert len(all_rated(database, bob)) == 3
    with pytest.raises(WrongStage):
        next_assignment(database, ann)
    assert arrive(database, "small", Identity("link", "ann"), keys).participant.id != ann


def test_votes_taken_out_are_kept_and_do_not_count(database: Database, tmp_path: Path) -> None:
    keys = opened(database, study_folder(tmp_path / "s", instances=2, votes=1))
    ann = active(database, keys, "ann")
    all_rated(database, ann)
    assert invalidate(database, ann, staff="eve", reason="a machine") == 2
    assert counted(database) == {} and violations(database) == []


def test_hidden_checks_come_in_turn_and_count_nowhere(database: Database, tmp_path: Path) -> None:
    checks = {"every": 2, "allowed": 0, "then": "screen_out"}
    folder = study_folder(tmp_path / "s", instances=6, votes=1, gold=2, checks=checks)
    ann = active(database, opened(database, folder), "ann")
    kinds = []
    for _ in range(3):
        item = next_assignment(database, ann)
        kinds.append(item.instance.kind)
        rated(database, ann, item)  # gives 5 where 2 is asked for
    assert kinds == ["real", "real", "gold"]
    with pytest.raises(WrongStage):
        next_assignment(database, ann)
    assert sum(counted(database).values()) == 2 and violations(database) == []


def test_same_picture_gap_and_most(database: Database, tmp_path: Path) -> None:
    folder = study_folder(
        tmp_path / "s", instances=6, votes=1, pictures=3, same_picture_gap=1, same_picture_most=1
    )
    ann = active(database, opened(database, folder), "ann")
    assert len(all_rated(database, ann)) == 3


def test_what_was_seen_is_asked_once_for_each_picture(database: Database, tmp_path: Path) -> None:
    folder = study_folder(
        tmp_path / "s", instances=4, votes=1, pictures=2, baseline="once_per_image"
    )
    ann = active(database, opened(database, folder), "ann")
    asked = []
    while not isinstance(item := next_assignment(database, ann), Done):
        asked.append(item.before)
        if item.before:
            store_baseline(database, ann, item.id, said())
        reveal(database, ann, item.id)
        submit(database, ann, item.id, Ratings(answers_for(item), uuid4()))
    assert sorted(asked) == [False, False, True, True]
    assert violations(database) == []


def test_what_is_said_to_checks_stays_there(database: Database, tmp_path: Path) -> None:
    folder = study_folder(
        tmp_path / "s", instances=5, votes=1, pictures=1, gold=2, baseline="once_per_image",
        checks={"every": 2, "allowed": 9},
    )  # fmt: skip
    ann = active(database, opened(database, folder), "ann")
    asked = []
    while not isinstance(item := next_assignment(database, ann), Done):
        asked.append((item.instance.kind, item.before))
        if item.before:
            words = f"seen in {item.instance.kind}{len(asked)}"
            store_baseline(database, ann, item.id, said(words))
        reveal(database, ann, item.id)
        submit(database, ann, item.id, Ratings(answers_for(item), uuid4()))
    gold = [before for kind, before in asked if kind == "gold"]
    assert gold == [True, True]
    assert [before for kind, before in asked if kind == "real"] == [True] + [False] * 4
    with database.owning() as connection:
        words = connection.execute(text("select text from baseline where copied_from is not null"))
        assert set(words.scalars()) == {"seen in real1"}
    assert violations(database) == []


def test_checks_first_are_not_copied_either(database: Database, tmp_path: Path) -> None:
    """A picture whose check comes before its first real item is asked about anew."""
    folder = study_folder(
        tmp_path / "s", instances=3, votes=1, gold=1, baseline="once_per_image",
        checks={"every": 2, "allowed": 9},
    )  # fmt: skip
    keys = opened(database, folder)
    with database.owning() as connection:  # the check's picture is that of all others
        connection.execute(text("alter table instance disable trigger user"))
        connection.execute(
            text("update instance set picture_key = 'one' where kind = 'gold' or "
                 "place = (select max(place) from instance where kind = 'real')")
        )  # fmt: skip
    ann = active(database, keys, "ann")
    while not isinstance(item := next_assignment(database, ann), Done):
        assert item.before
        rated(database, ann, item)


def test_nobody_keeps_a_picture_for_ever(database: Database, tmp_path: Path) -> None:
    keys = opened(database, study_folder(tmp_path / "s", instances=1, votes=1, lease_minutes=10))
    ann, bob = active(database, keys, "ann"), active(database, keys, "bob")
    item = next_assignment(database, ann)

    def age(minutes: int) -> float:
        with database.owning() as connection:
            connection.execute(
                text(
                    "update assignment set leased_at = clock_timestamp() - :age * interval '1 min'"
                ),
                {"age": minutes},
            )
        until = renew(database, ann, item.id)
        with database.owning() as connection:
            now = connection.execute(text("select clock_timestamp()")).scalar_one()
        return (until - now).total_seconds() / 60

    assert abs(age(0) - 10) < 0.5 and abs(age(29) - 10) < 0.5
    assert abs(age(35) - 5) < 0.5
    assert age(41) < 0
    store_baseline(database, ann, item.id, said())
    reveal(database, ann, item.id)
    assert next_assignment(database, ann).id == item.id  # nobody took it
    assert next_assignment(database, bob).instance.key == item.instance.key
    assert renew(database, ann, item.id) is None
    assert assignment(database, ann, item.id).state == "lost"


def test_a_picture_is_logged_when_it_is_first_served(database: Database, tmp_path: Path) -> None:
    keys = opened(database, study_folder(tmp_path / "s", instances=1))
    who = active(database, keys, "ann")
    item = next_assignment(database, who)
    store_baseline(database, who, item.id, said())
    for role in ("map", "same_map", "map", "map", "same_map"):
        asset(database, who, item.id, role)
    with database.owning() as connection:
        lines = connection.execute(
            text(
                "select detail ->> 'role' from event where kind = 'explanation served' order by id"
            )
        ).scalars()
        assert list(lines) == ["map", "same_map"]


def test_a_planned_study_gives_each_person_their_own(database: Database, tmp_path: Path) -> None:
    folder = study_folder(tmp_path / "s", instances=6, votes=2, design="planned", panel=3, quota=4)
    keys = opened(database, folder)
    people = [active(database, keys, f"p{i}") for i in range(3)]
    assert [len(all_rated(database, who)) for who in people] == [4, 4, 4]
    assert set(counted(database).values()) == {2}
    assert violations(database) == []


def test_previews_take_no_seats(database: Database, tmp_path: Path) -> None:
    keys = opened(database, study_folder(tmp_path / "s", instances=2))
    who = arrive(database, "small", Identity("preview", "eve"), keys)
    assert who.participant.preview
    consent(database, who.participant.id, keys)
    describe_oneself(database, who.participant.id, {})
    item = next_assignment(database, who.participant.id)
    rated(database, who.participant.id, item)
    assert counted(database) == {} and violations(database) == []

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
from theodolite_study.assignments import reveal, store_baseline
from theodolite_study.claims import next_assignment
from theodolite_study.database import Database
from theodolite_study.lifecycle import lift_reservations
from theodolite_study.progress import progress
from theodolite_study.protocol import read_protocol
from theodolite_study.quality import quality
from theodolite_study.refusals import NotHere, WrongStage
from theodolite_study.sessions import begin
from theodolite_study.votes import submit
from theodolite_study.web.rendering import Pages


def lapse(database: Database) -> None:
    with database.owning() as connection:
        connection.execute(
            text("update slot set lease_expires_at = now() - interval '1 s' where state = 'leased'")
        )


def test_seats_people_and_what_is_missing(database: Database, tmp_path: Path) -> None:
    keys = opened(database, study_folder(tmp_path / "s", instances=4, votes=3))
    empty = progress(database, "small")
    assert (empty.seats, empty.filled, empty.open) == (12, 0, 12)
    assert empty.new_people == 3 and len(empty.stuck) == 4  # nobody is here

    ann = active(database, keys, "ann")
    next_assignment(database, ann)
    one = progress(database, "small")
    assert (one.held, one.open) == (1, 11)
    assert one.people == {"active": 1}
    assert one.new_people == 2
    all_rated(database, ann)
    active(database, keys, "bob")
    two = progress(database, "small")
    assert two.filled == 4 and two.new_people == 1
    assert {(name, filled, seats) for name, filled, seats in two.techniques} == {
        ("gradcam", 2, 6), ("words", 2, 6),
    }  # fmt: skip
    active(database, keys, "cyd")
    assert progress(database, "small").stuck == []
    with pytest.raises(NotHere):
        progress(database, "unknown")


def test_votes_in_vain_raise_the_alarm(database: Database, tmp_path: Path) -> None:
    keys = opened(database, study_folder(tmp_path / "s", instances=1, votes=1))
    ann, bob = active(database, keys, "ann"), active(database, keys, "bob")
    item = next_assignment(database, ann)
    store_baseline(database, ann, item.id, said())
    reveal(database, ann, item.id)
    lapse(database)
    assert progress(database, "small").lapsed == 1
    rated(database, bob, next_assignment(database, bob))
    submit(database, ann, item.id, Ratings(answers_for(item), uuid4()))
    now = progress(database, "small")
    assert now.surplus == 1 and now.surplus_share == 0.5 and now.alarm


def test_seats_of_a_panelist_who_left_are_stuck(database: Database, tmp_path: Path) -> None:
    folder = study_folder(tmp_path / "s", instances=4, votes=1, design="planned", panel=2, quota=4)
    keys = opened(database, folder)
    ann = active(database, keys, "ann")
    all_rated(database, ann)
    assert progress(database, "small").stuck
    lift_reservations(database, "small", 2, staff="eve")
    assert progress(database, "small").stuck == []
    assert len(all_rated(database, ann)) == 2


def test_ways_of_working_are_seen(database: Database, tmp_path: Path) -> None:
    keys = opened(database, study_folder(tmp_path / "s", instances=6, votes=2))
    ann, bob = active(database, keys, "ann"), active(database, keys, "bob")
    all_rated(database, ann)
    while hasattr(item := next_assignment(database, bob), "id"):
        store_baseline(database, bob, item.id, said())
        reveal(database, bob, item.id)
        same = dict.fromkeys(answers_for(item), 3)
        submit(database, bob, item.id, Ratings(same, uuid4()))
    with database.owning() as connection:
        connection.execute(
            text("update assignment set leased_at = leased_at - interval '30 s', revealed_at = "
                 "revealed_at + interval '1 ms', finished_at = finished_at + interval '60 s' "
                 "where participant_id = :who"), {"who": ann},
        )  # fmt: skip
    works = {len(one.signs): one for one in quality(database, "small")}
    assert [work.votes for work in works.values()] == [6, 6]
    assert works[0].same == 0.0 and works[0].before > 30
    assert set(works[3].signs) == {
        "writes within seconds", "rates within seconds", "gives the same rating to all questions",
    }  # fmt: skip


def test_the_place_of_somebody_who_is_there_is_theirs(database: Database, tmp_path: Path) -> None:
    folder = study_folder(tmp_path / "s", instances=4, votes=1, design="planned", panel=2, quota=4)
    keys = opened(database, folder)
    ann = active(database, keys, "ann")
    begin(database, participant_id=ann)
    work = quality(database, "small")[0]
    assert work.design_row == 1
    with pytest.raises(WrongStage, match=work.pseudonym):
        lift_reservations(database, "small", 1, staff="eve")
    assert len(all_rated(database, ann)) == 2
    with database.owning() as connection:
        connection.execute(text("update session set last_seen = now() - interval '13 h'"))
    lift_reservations(database, "small", 1, staff="eve")


def test_staff_are_told_what_follows(database: Database, tmp_path: Path) -> None:
    folder = study_folder(tmp_path / "s", instances=4, votes=1, design="planned", panel=3, quota=4)
    keys = opened(database, folder)
    active(database, keys, "ann")
    given = {"study": read_protocol(folder), "csrf": "c", "staff": "eve", "here": "", "said": "",
             "errors": []}  # fmt: skip
    page = Pages().environment.get_template
    people = page("staff_people.html.j2").render(
        works=quality(database, "small"), flagged=0, **given
    )
    assert "Places of the panel that nobody has: 2, 3." in people
    assert "Place in the panel" in people and '<td class="number">1</td>' in people
    now = progress(database, "small")
    shown = page("staff_progress.html.j2").render(
        now=now, share=0.0, planned=True, possible=[("archived", "Archive it")], **given
    )
    folded = [part.split("</details>")[0] for part in shown.split("<details>")[1:]]
    for action, told in (
        ("/admin/quota", "people who have finished stay finished"),
        ("/admin/lift", "cannot be kept for it again"),
        ("/admin/state", "cannot be opened again"),
    ):
        inside = [part for part in folded if action in part]
        assert shown.count(f'action="{action}"') == len(inside) == 1 and told in inside[0]

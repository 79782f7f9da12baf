"""Late, given back, taken out, gone, over: what becomes of seats and answers then."""

from pathlib import Path
from uuid import UUID, uuid4

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
from theodolite_study.admission import by_invitation
from theodolite_study.answers import Baseline, Ratings
from theodolite_study.assignments import (
    Assignment,
    asset,
    release,
    reveal,
    save_draft,
    store_baseline,
)
from theodolite_study.claims import Done, next_assignment
from theodolite_study.database import Database
from theodolite_study.intake import load
from theodolite_study.invariants import violations
from theodolite_study.keys import Keys
from theodolite_study.lifecycle import become, set_quota
from theodolite_study.participants import (
    Arrival,
    arrive,
    decline,
    finish,
    participant,
    screen_out,
)
from theodolite_study.people import present
from theodolite_study.platforms.identity import Identity
from theodolite_study.platforms.invites import new_invitations
from theodolite_study.practice import practice_baseline
from theodolite_study.rankings import store_rankings
from theodolite_study.refusals import Invalid, NotHere, NotOpen, WrongStage
from theodolite_study.sessions import begin
from theodolite_study.votes import submit
from theodolite_study.withdrawal import invalidate, withdraw

PLANNED = {"instances": 4, "votes": 2, "design": "planned", "panel": 2, "quota": 8}


def sql(database: Database, query: str) -> list[tuple[object, ...]]:
    with database.owning() as connection:
        found = connection.execute(text(query))
        return [tuple(row) for row in found] if found.returns_rows else []


def expire(database: Database) -> None:
    sql(database, "update slot set lease_expires_at = now() - interval '1 s' where state='leased'")


def looked(database: Database, who: UUID) -> Assignment:
    item = next_assignment(database, who)
    assert isinstance(item, Assignment)
    store_baseline(database, who, item.id, said())
    reveal(database, who, item.id)
    return item


def given(item: Assignment) -> Ratings:
    return Ratings(answers_for(item), uuid4())


def test_late_vote_counts_after_the_taker_gave_it_back(database: Database, tmp_path: Path) -> None:
    keys = opened(database, study_folder(tmp_path / "s", instances=1, votes=1))
    ann, bob = active(database, keys, "ann"), active(database, keys, "bob")
    item = looked(database, ann)
    expire(database)
    release(database, bob, next_assignment(database, bob).id, "broken")
    assert submit(database, ann, item.id, given(item)).counted
    assert violations(database) == []


def test_withdrawal_leaves_the_seat_with_whoever_took_it(
    database: Database, tmp_path: Path
) -> None:
    keys = opened(database, study_folder(tmp_path / "s", instances=1, votes=1))
    ann, bob = active(database, keys, "ann"), active(database, keys, "bob")
    looked(database, ann)
    expire(database)
    item = next_assignment(database, bob)
    withdraw(database, ann)
    assert rated(database, bob, item).counted and violations(database) == []


def test_what_staff_did_to_somebody_goes_with_them(database: Database, tmp_path: Path) -> None:
    keys = opened(database, study_folder(tmp_path / "s", instances=1))
    ann = active(database, keys, "ann")
    name = participant(database, ann).pseudonym
    set_quota(database, "small", 3, staff="eve", pseudonym=name)
    invalidate(database, ann, staff="eve", reason="a machine")
    assert len(sql(database, f"select from event where object = '{name}'")) == 2
    withdraw(database, ann)
    assert not sql(database, f"select from event where object = '{name}'")
    # that votes were taken out, by whom and why stays; of whom does not
    assert sql(
        database,
        "select actor, object, detail->>'reason' from event where kind = 'votes taken out'",
    ) == [("eve", "somebody who withdrew", "a machine")]
    with pytest.raises(NotHere):
        invalidate(database, ann, staff="eve", reason="again")
    with pytest.raises(NotHere):
        begin(database, participant_id=ann)
    assert participant(database, ann).state == "withdrawn"
    assert violations(database) == []


def came(database: Database, keys: Keys, name: str, platform: str = "link") -> Arrival:
    return arrive(database, "small", Identity(platform, name), keys)


@pytest.mark.parametrize("leave", ["screened out", "taken out"])
def test_who_was_not_to_go_on_does_not_come_back_by_withdrawing(
    leave: str, database: Database, tmp_path: Path
) -> None:
    keys = opened(database, study_folder(tmp_path / "s", instances=1))
    ann = active(database, keys, "ann")
    if leave == "taken out":
        invalidate(database, ann, staff="eve", reason="a machine")
    else:
        with database.transaction() as connection:
            screen_out(connection, present(connection, ann, lock=True), "hidden checks")
    assert came(database, keys, "ann").participant.id == ann
    assert not sql(database, "table barred")  # nobody is in it who has not withdrawn
    withdraw(database, ann)
    with pytest.raises(NotOpen, match="cannot take part in it again"):
        came(database, keys, "ann")
    assert came(database, keys, "bob").new
    assert came(database, keys, "ann", "prolific").new  # another platform's ann is another
    assert sql(database, "select token from barred") == [(keys.bar("small", "link", "ann"),)]
    assert keys.bar("small", "link", "ann") != keys.person("small", "link", "ann")
    assert violations(database) == []


def test_who_withdraws_in_good_standing_may_come_back(database: Database, tmp_path: Path) -> None:
    keys = opened(database, study_folder(tmp_path / "s", instances=1))
    for _ in range(2):
        ann = active(database, keys, "ann")
        all_rated(database, ann)
        withdraw(database, ann)
    assert not sql(database, "table barred")


def test_an_invitation_is_used_up_by_withdrawing(database: Database, tmp_path: Path) -> None:
    keys = opened(database, study_folder(tmp_path / "s", instances=1, access={"kind": "invite"}))
    code = new_invitations(1)
    with database.owning() as connection:
        invited = text("insert into invite select :digest, id from study")
        connection.execute(invited, {"digest": code.digests[0]})
    identity = by_invitation(database, "small", code.codes[0])
    withdraw(database, arrive(database, "small", identity, keys).participant.id)
    with pytest.raises(NotOpen, match="cannot take part in it again"):
        arrive(database, "small", by_invitation(database, "small", code.codes[0]), keys)


def test_the_row_of_who_withdrew_tells_nothing(database: Database, tmp_path: Path) -> None:
    keys = opened(database, study_folder(tmp_path / "s", instances=1, quota=4))
    ann = active(database, keys, "ann")
    name = participant(database, ann).pseudonym
    set_quota(database, "small", 3, staff="eve", pseudonym=name)
    withdraw(database, ann)
    assert sql(
        database,
        "select p.created_at = s.opened_at, p.quota, p.bar_token from participant p, study s",
    ) == [(True, 4, None)]


def test_votes_of_nobody_who_has_not_agreed_are_taken_out(
    database: Database, tmp_path: Path
) -> None:
    keys = opened(database, study_folder(tmp_path / "s", instances=1))
    ann, bob = (came(database, keys, name).participant.id for name in ("ann", "bob"))
    decline(database, bob)
    for who, state in ((ann, "landed"), (bob, "declined")):
        with pytest.raises(WrongStage, match="has not agreed"):
            invalidate(database, who, staff="eve", reason="a machine")
        assert participant(database, who).state == state


@pytest.mark.parametrize("stage", ["leased", "revealed"])
def test_what_somebody_sends_after_they_were_taken_out_is_kept_and_does_not_count(
    stage: str, database: Database, tmp_path: Path
) -> None:
    keys = opened(database, study_folder(tmp_path / "s", instances=1, votes=1))
    ann, bob = active(database, keys, "ann"), active(database, keys, "bob")
    item = looked(database, ann) if stage == "revealed" else next_assignment(database, ann)
    invalidate(database, ann, staff="eve", reason="a machine")
    assert sql(database, "select state from assignment") == [("lost",)]
    if stage == "leased":
        store_baseline(database, ann, item.id, said())
        reveal(database, ann, item.id)
    assert not submit(database, ann, item.id, given(item)).counted
    assert sql(database, "select counted from vote") == [(False,)]
    assert rated(database, bob, next_assignment(database, bob)).counted
    assert violations(database) == []


def test_nobody_ends_before_the_end(database: Database, tmp_path: Path) -> None:
    keys = opened(database, study_folder(tmp_path / "s", instances=2, votes=1))
    ann, bob = active(database, keys, "ann"), active(database, keys, "bob")
    with pytest.raises(WrongStage, match="more to do"):
        finish(database, ann)
    rated(database, ann, next_assignment(database, ann))
    item = next_assignment(database, ann)
    with pytest.raises(WrongStage, match="waiting"):
        finish(database, ann)
    finish(database, bob)  # the last picture is with Ann: nobody has to wait for it
    rated(database, ann, item)
    finish(database, ann)
    assert participant(database, ann).state == "finished"


def test_whoever_is_at_work_when_it_closes_can_end(database: Database, tmp_path: Path) -> None:
    keys = opened(database, study_folder(tmp_path / "s", instances=2, votes=1))
    ann = active(database, keys, "ann")
    item = looked(database, ann)
    become(database, "small", "closed", staff="eve")
    for step in (
        lambda: submit(database, ann, item.id, given(item)),
        lambda: next_assignment(database, ann),
        lambda: store_rankings(database, ann, {}),
    ):
        with pytest.raises(NotOpen):
            step()
    finish(database, ann)
    assert sql(database, "select distinct state from slot") == [("open",)]
    assert violations(database) == []


def test_no_practice_when_it_is_over(database: Database, tmp_path: Path) -> None:
    keys = opened(database, study_folder(tmp_path / "s", instances=1, training=1))
    ann = active(database, keys, "ann")
    become(database, "small", "closed", staff="eve")
    with pytest.raises(NotOpen):
        practice_baseline(database, ann, 1, said())


def test_planned_seats_that_are_given_back_are_anybodys(database: Database, tmp_path: Path) -> None:
    keys = opened(database, study_folder(tmp_path / "s", **PLANNED | {"panel": 3}))
    people = [active(database, keys, name) for name in ("ann", "bob", "cyd")]
    release(database, people[0], next_assignment(database, people[0]).id, "broken")
    for who in people:
        all_rated(database, who)
    assert sql(database, "select distinct state from slot") == [("filled",)]
    assert violations(database) == []


@pytest.mark.parametrize("leave", ["taken out", "withdrawn"])
def test_planned_places_are_free_for_somebody_else(
    leave: str, database: Database, tmp_path: Path
) -> None:
    keys = opened(database, study_folder(tmp_path / "s", **PLANNED))
    ann, bob = active(database, keys, "ann"), active(database, keys, "bob")
    assert len(all_rated(database, ann)) == 4
    with pytest.raises(NotOpen):
        active(database, keys, "cyd")
    if leave == "withdrawn":
        withdraw(database, ann)
    else:
        invalidate(database, ann, staff="eve", reason="a machine")
    assert len(all_rated(database, active(database, keys, "dan"))) == 4
    assert len(all_rated(database, bob)) == 4
    assert violations(database) == []


def test_nobody_waits_for_what_they_may_not_have(database: Database, tmp_path: Path) -> None:
    folder = study_folder(tmp_path / "s", instances=2, votes=1, pictures=1, same_picture_most=1)
    keys = opened(database, folder)
    ann, bob = active(database, keys, "ann"), active(database, keys, "bob")
    rated(database, ann, next_assignment(database, ann))
    next_assignment(database, bob)
    assert next_assignment(database, ann) == Done("nothing left")


def test_said_once_for_a_picture_that_was_lost_or_given_back(
    database: Database, tmp_path: Path
) -> None:
    folder = study_folder(
        tmp_path / "s", instances=3, votes=1, pictures=1, baseline="once_per_image"
    )
    keys = opened(database, folder)
    ann, bob = active(database, keys, "ann"), active(database, keys, "bob")
    first = next_assignment(database, ann)
    store_baseline(database, ann, first.id, said("its nose"))
    expire(database)
    while next_assignment(database, bob).instance.key != first.instance.key:
        rated(database, bob, next_assignment(database, bob))
    withdraw(database, bob)
    again = next_assignment(database, ann)
    assert again.id != first.id and again.baseline["text"] == "its nose"
    release(database, ann, again.id, "broken")
    assert next_assignment(database, ann).baseline["text"] == "its nose"
    assert violations(database) == []


def test_a_clock_that_is_set_back_changes_no_order(database: Database, tmp_path: Path) -> None:
    keys = opened(database, study_folder(tmp_path / "s", instances=1))
    ann = active(database, keys, "ann")
    item = next_assignment(database, ann)
    store_baseline(database, ann, item.id, said())
    sql(database, "update baseline set at = now() + interval '1 h'")
    sql(database, "update assignment set baseline_at = (select at from baseline)")
    reveal(database, ann, item.id)
    asset(database, ann, item.id, "map" if item.instance.shown.map else "picture")
    assert submit(database, ann, item.id, given(item)).counted
    assert violations(database) == []


def test_what_cannot_be_stored_is_left_out(database: Database, tmp_path: Path) -> None:
    keys = opened(database, study_folder(tmp_path / "s", instances=1))
    ann = active(database, keys, "ann")
    item = next_assignment(database, ann)
    strange = {"a\x00": ["\ud800", float("nan")]}
    save_draft(database, ann, item.id, strange)
    with pytest.raises(Invalid):
        store_baseline(database, ann, item.id, Baseline("\x00 \ud800"))
    store_baseline(database, ann, item.id, Baseline("ears\x00\udfff", client=strange))
    reveal(database, ann, item.id)
    submit(
        database, ann, item.id, Ratings(answers_for(item), uuid4(), {"q1": float("inf")}, strange)
    )
    release_reason = next_assignment(database, ann)
    assert isinstance(release_reason, Done)
    assert sql(database, "select text, client::text from baseline") == [
        ("ears", '{"a": ["", null]}')
    ]


def test_two_studies_with_the_same_keys_are_two(database: Database, tmp_path: Path) -> None:
    for slug in ("one", "two"):
        keys = opened(database, study_folder(tmp_path / slug, instances=1, votes=1, slug=slug))
        all_rated(database, active(database, keys, "ann", slug))
    assert violations(database) == []


def test_loading_twice_is_loading_once(database: Database, tmp_path: Path) -> None:
    folder = study_folder(tmp_path / "s")
    assert load(database, folder, Keys.read(folder)) == load(database, folder, Keys.read(folder))

"""Who gets which picture next: a seat is taken, so that nobody has to count."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Connection, insert, select, update

from theodolite_study import tables
from theodolite_study.assignments import LIVE, Assignment, lease_end, viewed
from theodolite_study.database import Database
from theodolite_study.people import Present, present
from theodolite_study.refusals import WrongStage
from theodolite_study.rows import Found
from theodolite_study.seats import free_seat, nothing_now_if_some_may_come


@dataclass(frozen=True)
class Done:
    """There is nothing more for this person."""

    why: str


def next_assignment(database: Database, participant_id: UUID) -> Assignment | Done:
    """The picture that waits for the person, or a new one.

    Everything locks in one order: the person, the slot, the assignment.
    """
    with database.transaction() as connection:
        who = present(connection, participant_id, lock=True)
        if who.participant.state == "finished":
            return Done("finished")
        if who.participant.state != "active":
            raise WrongStage("There is something to do before.")
        who.need("open", "paused")
        resumed = _resumed(connection, who)
        if resumed is not None:
            return viewed(connection, resumed)
        who.need("open")
        own = _own(connection, who)
        if _enough(who, own):
            return Done("quota")
        unseated = _check_due(connection, who, own) or _previewed(connection, who, own)
        if unseated is not None:
            return viewed(connection, _added(connection, who, own, unseated))
        if who.participant.preview:
            return Done("nothing left")
        seat = free_seat(connection, who, own)
        if seat is None:
            nothing_now_if_some_may_come(connection, who, own)
            return Done("nothing left")
        return viewed(connection, _seated(connection, who, own, seat))


def something_left(connection: Connection, who: Present) -> bool:
    """Whether the person could begin another item at this moment."""
    own = _own(connection, who)
    if _enough(who, own):
        return False
    if who.participant.preview:
        return _previewed(connection, who, own) is not None
    return free_seat(connection, who, own, lock=False) is not None


def live_item(connection: Connection, who: Present) -> Found | None:
    """What the person has begun and not ended."""
    return connection.execute(
        select(tables.assignment).where(
            tables.assignment.c.participant_id == who.participant.id,
            tables.assignment.c.state.in_(LIVE),
        )
    ).one_or_none()


def _own(connection: Connection, who: Present) -> Sequence[Found]:
    return connection.execute(
        select(tables.assignment)
        .where(tables.assignment.c.participant_id == who.participant.id)
        .order_by(tables.assignment.c.position)
    ).all()


def _enough(who: Present, own: Sequence[Found]) -> bool:
    return len([row for row in own if row.state == "submitted"]) >= who.participant.quota


def _resumed(connection: Connection, who: Present) -> Found | None:
    """A reload goes on where it was, unless the item went to somebody else meanwhile."""
    row = live_item(connection, who)
    if row is None or row.slot_id is None:
        return row
    # the slot first: whoever takes it over holds it until the assignment is lost
    connection.execute(
        update(tables.slot)
        .where(tables.slot.c.id == row.slot_id, tables.slot.c.assignment_id == row.id)
        .values(lease_expires_at=lease_end(who, row))
    )
    return live_item(connection, who)


def _seated(connection: Connection, who: Present, own: Sequence[Found], seat: Found) -> Found:
    row = _added(connection, who, own, seat, slot_id=seat.id)
    if seat.assignment_id is not None:
        connection.execute(
            update(tables.assignment)
            .where(
                tables.assignment.c.id == seat.assignment_id, tables.assignment.c.state.in_(LIVE)
            )
            .values(state="lost")
        )
    connection.execute(
        update(tables.slot)
        .where(tables.slot.c.id == seat.id)
        .values(state="leased", assignment_id=row.id, lease_expires_at=lease_end(who))
    )
    return row


def _added(
    connection: Connection,
    who: Present,
    own: Sequence[Found],
    what: Found,
    slot_id: int | None = None,
) -> Found:
    before = [row for row in own if row.picture_key == what.picture_key]
    row = connection.execute(
        insert(tables.assignment)
        .values(
            participant_id=who.participant.id, instance_id=what.instance_id, slot_id=slot_id,
            picture_key=what.picture_key, position=len(own) + 1,
            image_exposure_index=len(before) + 1,
        )
        .returning(*tables.assignment.c)
    ).one()  # fmt: skip
    seated = [one for one in before if one.slot_id is not None]
    if who.protocol.baseline == "once_per_image" and slot_id is not None and seated:
        return _answered_before(connection, row, seated)
    return row


def _answered_before(connection: Connection, row: Found, before: Sequence[Found]) -> Found:
    """The same picture again: what they saw is known already, and is not asked twice.

    Of items with a seat only: what is said to a hidden check, which may ask for something else,
    is no answer to a real item, and the other way round.
    """
    said = connection.execute(
        select(tables.baseline)
        .where(tables.baseline.c.assignment_id.in_([one.id for one in before]))
        .order_by(tables.baseline.c.at)
    ).first()
    if said is None:
        return row
    at = connection.execute(
        insert(tables.baseline)
        .values(
            assignment_id=row.id, text=said.text, boxes=said.boxes, client=said.client,
            copied_from=said.copied_from or said.assignment_id,
            payload_sha256=said.payload_sha256,
        )
        .returning(tables.baseline.c.at)
    ).scalar_one()  # fmt: skip
    return connection.execute(
        update(tables.assignment)
        .where(tables.assignment.c.id == row.id)
        .values(state="revealed", baseline_at=at)
        .returning(*tables.assignment.c)
    ).one()


def _check_due(connection: Connection, who: Present, own: Sequence[Found]) -> Found | None:
    """A hidden check, after so many real items; each of them once."""
    if who.participant.preview:
        return None
    met = {row.instance_id for row in own}
    seated = sum(row.slot_id is not None for row in own)
    due, asked = seated // who.protocol.checks.every, len(own) - seated
    if asked >= due:
        return None
    checks = _instances(connection, who, "gold")
    return next((row for row in checks if row.instance_id not in met), None)


def _previewed(connection: Connection, who: Present, own: Sequence[Found]) -> Found | None:
    """Staff who look at their own study take no seats."""
    if not who.participant.preview:
        return None
    met = {row.instance_id for row in own}
    return next(
        (row for row in _instances(connection, who, "real") if row.instance_id not in met), None
    )


def _instances(connection: Connection, who: Present, kind: str) -> Sequence[Found]:
    return list(
        connection.execute(
            select(tables.instance.c.id.label("instance_id"), tables.instance.c.picture_key)
            .where(
                tables.instance.c.study_id == who.participant.study_id,
                tables.instance.c.kind == kind,
            )
            .order_by(tables.instance.c.place)
        )
    )

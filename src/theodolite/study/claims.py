"""Who gets which picture next: a seat is taken, so that nobody has to count."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Select, and_, func, insert, or_, select, update

from theodolite.study import tables
from theodolite.study.assignments import LIVE, Assignment, lease_end, viewed
from theodolite.study.database import Database
from theodolite.study.people import Present, present
from theodolite.study.refusals import NothingNow, WrongStage
from theodolite.study.rows import Found

LONGEST_WAIT = 60


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
        resumed = _resumed(connection, who)
        if resumed is not None:
            return viewed(connection, resumed)
        who.need("open")
        own = connection.execute(
            select(tables.assignment)
            .where(tables.assignment.c.participant_id == participant_id)
            .order_by(tables.assignment.c.position)
        ).all()
        if sum(row.state == "submitted" for row in own) >= who.participant.quota:
            return Done("quota")
        unseated = _check_due(connection, who, own) or _previewed(connection, who)
        if unseated is not None:
            return viewed(connection, _added(connection, who, own, unseated))
        seat = connection.execute(_claimable(who, own)).first()
        if seat is None:
            _nothing_now_if_some_may_come(connection, who)
            return Done("nothing left")
        return viewed(connection, _seated(connection, who, own, seat))


def _resumed(connection: Connection, who: Present) -> Found | None:
    """A reload goes on where it was, unless the item went to somebody else meanwhile."""
    live = select(tables.assignment).where(
        tables.assignment.c.participant_id == who.participant.id,
        tables.assignment.c.state.in_(LIVE),
    )
    row = connection.execute(live).one_or_none()
    if row is None or row.slot_id is None:
        return row
    # the slot first: whoever takes it over holds it until the assignment is lost
    connection.execute(
        update(tables.slot)
        .where(tables.slot.c.id == row.slot_id, tables.slot.c.assignment_id == row.id)
        .values(lease_expires_at=lease_end(who))
    )
    return connection.execute(live).one_or_none()


def _claimable(who: Present, own: Sequence[Found]) -> Select[Any]:
    """A free seat, of those that others do not hold just now; breadth first, then at random."""
    recent = [row.picture_key for row in own[len(own) - who.protocol.same_picture_gap :]]
    if who.protocol.same_picture_gap == 0:
        recent = []
    met = Counter(row.picture_key for row in own)
    most = who.protocol.same_picture_most
    often = [] if most is None else [key for key, times in met.items() if times >= most]
    planned = who.protocol.design == "planned"
    order = [tables.slot.c.planned_position.nulls_last()] if planned else []
    query = (
        select(
            tables.slot.c.id,
            tables.slot.c.instance_id,
            tables.slot.c.assignment_id,
            tables.instance.c.picture_key,
        )
        .join(tables.instance, tables.instance.c.id == tables.slot.c.instance_id)
        .where(_eligible(who), _free())
        .order_by(*order, tables.slot.c.slot_no, tables.slot.c.rnd)
        .limit(1)
        .with_for_update(of=tables.slot, skip_locked=True)
    )
    avoided = sorted({*recent, *often})
    return query.where(tables.instance.c.picture_key.not_in(avoided)) if avoided else query


def _free() -> Any:
    return or_(
        tables.slot.c.state == "open",
        and_(
            tables.slot.c.state == "leased",
            tables.slot.c.lease_expires_at < func.clock_timestamp(),
        ),
    )


def _eligible(who: Present) -> Any:
    """Seats of explanations that the person has not met."""
    met = (
        select(tables.assignment.c.id)
        .where(
            tables.assignment.c.instance_id == tables.slot.c.instance_id,
            tables.assignment.c.participant_id == who.participant.id,
        )
        .exists()
    )
    reserved = tables.slot.c.reserved_for
    return and_(
        tables.slot.c.study_id == who.participant.study_id,
        tables.slot.c.state != "filled",
        or_(reserved.is_(None), reserved == who.participant.design_row),
        ~met,
    )


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
    if who.protocol.baseline == "once_per_image" and before:
        return _answered_before(connection, row, before)
    return row


def _answered_before(connection: Connection, row: Found, before: Sequence[Found]) -> Found:
    """The same picture again: what they saw is known already, and is not asked twice."""
    said = connection.execute(
        select(tables.baseline)
        .where(tables.baseline.c.assignment_id.in_([one.id for one in before]))
        .order_by(tables.baseline.c.at)
    ).first()
    if said is None:
        return row
    connection.execute(
        insert(tables.baseline).values(
            assignment_id=row.id, text=said.text, boxes=said.boxes, client=said.client,
            copied_from=said.copied_from or said.assignment_id,
            payload_sha256=said.payload_sha256,
        )
    )  # fmt: skip
    return connection.execute(
        update(tables.assignment)
        .where(tables.assignment.c.id == row.id)
        .values(state="revealed", baseline_at=func.clock_timestamp())
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


def _previewed(connection: Connection, who: Present) -> Found | None:
    """Staff who look at their own study take no seats."""
    if not who.participant.preview:
        return None
    met = set(
        connection.execute(
            select(tables.assignment.c.instance_id).where(
                tables.assignment.c.participant_id == who.participant.id
            )
        ).scalars()
    )
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


def _nothing_now_if_some_may_come(connection: Connection, who: Present) -> None:
    """All seats with others is not the end: some may come back."""
    if who.participant.preview:
        return
    held = connection.execute(
        select(
            func.count(),
            func.min(
                func.extract("epoch", tables.slot.c.lease_expires_at - func.clock_timestamp())
            ),
        ).where(
            _eligible(who),
            tables.slot.c.state == "leased",
        )
    ).one()
    if held[0]:
        wait = int(min(max(float(held[1] or 1), 1), LONGEST_WAIT))
        raise NothingNow(
            "Other people are looking at the last pictures. One may come back to you: "
            "please wait a little.",
            wait,
        )

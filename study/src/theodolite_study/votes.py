"""Ratings become a vote. A vote counts if it fills a seat; nothing that was given is lost."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, delete, func, insert, select, update

from theodolite.ext.studies import Box, Instance
from theodolite_study import tables
from theodolite_study.answers import Ratings, right, storable
from theodolite_study.assignments import LIVE, owned
from theodolite_study.database import Database
from theodolite_study.events import log, moment
from theodolite_study.participants import screen_out
from theodolite_study.people import Present, present
from theodolite_study.refusals import Conflict, WrongStage
from theodolite_study.rows import Found
from theodolite_study.shown import instance_of

TAKING_PART = ("active", "finished")
"""Whoever was taken out may still send what they had begun. It is kept, and fills no seat."""


@dataclass(frozen=True)
class Receipt:
    """Proof that answers are stored: the same for the same answers, however often they come."""

    assignment_id: int
    counted: bool
    payload_sha256: str
    at: datetime


def submit(database: Database, participant_id: UUID, assignment_id: int, given: Ratings) -> Receipt:
    """Store the ratings, once. Locks the person, the slot, the assignment."""
    with database.transaction() as connection:
        who = present(connection, participant_id, lock=True)
        row = owned(connection, participant_id, assignment_id)
        instance = instance_of(connection, row.instance_id)
        checked = given.checked(who.protocol, instance)
        known = _known(connection, row)
        if known is not None:
            if known.payload_sha256 != checked.digest():
                raise Conflict("Your ratings are stored already and stay as they were.")
            return _receipt(known, assignment_id)
        who.need("open", "paused")
        if row.state not in (*LIVE, "lost"):
            raise WrongStage("This picture is no longer waiting for you.")
        if row.baseline_at is None:
            raise WrongStage("First say what you see yourself.")
        if row.revealed_at is None:
            raise WrongStage("First look at the explanation.")
        if row.slot_id is None:
            return _receipt(_unseated(connection, who, row, instance, checked), assignment_id)
        return _receipt(_voted(connection, who, row, checked), assignment_id)


def _voted(connection: Connection, who: Present, row: Found, given: Ratings) -> Found:
    counted = _fills(connection, who, row)
    _end(connection, row, "submitted" if counted else "surplus")
    stored = connection.execute(
        insert(tables.vote)
        .values(
            assignment_id=row.id, slot_id=row.slot_id, instance_id=row.instance_id,
            participant_id=who.participant.id, counted=counted, **given.answers,
            idem_key=given.key, payload_sha256=given.digest(),
            durations=storable(given.durations), client=storable(given.client),
            at=moment(row.revealed_at),
        )
        .returning(*tables.vote.c)
    ).one()  # fmt: skip
    kind = "vote" if counted else "surplus vote"
    log(connection, who.participant.study_id, str(who.participant.id), kind, row.id)
    return stored


def _fills(connection: Connection, who: Present, row: Found) -> bool:
    """Whether the seat is still this person's, or free again: late is not too late."""
    if who.participant.state not in TAKING_PART:
        return False
    slot = connection.execute(
        select(tables.slot).where(tables.slot.c.id == row.slot_id).with_for_update()
    ).one()
    if slot.assignment_id not in (row.id, None) or slot.state == "filled":
        return False
    connection.execute(
        update(tables.slot)
        .where(tables.slot.c.id == slot.id)
        .values(state="filled", assignment_id=row.id, lease_expires_at=None)
    )
    return True


def _end(connection: Connection, row: Found, state: str) -> None:
    connection.execute(
        update(tables.assignment)
        .where(tables.assignment.c.id == row.id)
        .values(state=state, finished_at=moment(tables.assignment.c.revealed_at))
    )
    connection.execute(delete(tables.draft).where(tables.draft.c.assignment_id == row.id))


def _unseated(
    connection: Connection, who: Present, row: Found, instance: Instance, given: Ratings
) -> Found:
    """A hidden check, or staff looking at their own study: no vote."""
    boxes = connection.execute(
        select(tables.baseline.c.boxes).where(tables.baseline.c.assignment_id == row.id)
    ).scalar_one()
    drawn = [Box.model_validate(box) for box in boxes]
    passed = instance.check is None or right(instance.check, given.answers, drawn)
    _end(connection, row, "checked")
    stored = connection.execute(
        insert(tables.gold_result)
        .values(
            assignment_id=row.id, answers=dict(given.answers), passed=passed,
            payload_sha256=given.digest(), durations=storable(given.durations),
        )
        .returning(*tables.gold_result.c)
    ).one()  # fmt: skip
    if not passed:
        _too_many_failures(connection, who)
    return stored


def _too_many_failures(connection: Connection, who: Present) -> None:
    failed = connection.execute(
        select(func.count())
        .select_from(tables.gold_result.join(tables.assignment))
        .where(
            tables.assignment.c.participant_id == who.participant.id,
            ~tables.gold_result.c.passed,
        )
    ).scalar_one()
    if failed > who.protocol.checks.allowed:
        log(connection, who.participant.study_id, str(who.participant.id), "failed checks", failed)
        if who.protocol.checks.then == "screen_out":
            screen_out(connection, who, "hidden checks")


def _known(connection: Connection, row: Found) -> Found | None:
    table = tables.gold_result if row.slot_id is None else tables.vote
    return connection.execute(select(table).where(table.c.assignment_id == row.id)).one_or_none()


def _receipt(stored: Found, assignment_id: int) -> Receipt:
    counted = bool(getattr(stored, "counted", False))
    return Receipt(assignment_id, counted, stored.payload_sha256.hex(), stored.at)

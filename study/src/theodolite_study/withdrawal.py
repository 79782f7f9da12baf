"""Somebody takes back everything, or staff take votes out of the count."""

import secrets
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Table, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert

from theodolite_study import tables
from theodolite_study.answers import storable
from theodolite_study.database import Database
from theodolite_study.events import log
from theodolite_study.people import Present, leaving
from theodolite_study.platforms.invites import PLATFORM as INVITED
from theodolite_study.refusals import NotHere, WrongStage

TAKEN_OUT = "votes taken out"
SOMEBODY = "somebody who withdrew"
BEFORE_CONSENT = ("landed", "declined")


def withdraw(database: Database, participant_id: UUID) -> None:
    """Delete all that a person gave and all that names them; their seats are free again.

    A row without any trace of the person stays, so that staff see that somebody withdrew. Who was
    not to go on, or came by an invitation, does not come in again.
    """
    with database.withdrawing() as connection:
        who = leaving(connection, participant_id)
        if who.participant.state == "withdrawn":
            return
        _free_seats(connection, participant_id)
        own = select(tables.assignment.c.id).where(
            tables.assignment.c.participant_id == participant_id
        )
        by_assignment: list[Table] = [
            tables.vote, tables.gold_result, tables.baseline, tables.draft,
        ]  # fmt: skip
        for table in by_assignment:
            connection.execute(delete(table).where(table.c.assignment_id.in_(own)))
        by_person: list[Table] = [
            tables.assignment, tables.practice, tables.demographic, tables.consent,
            tables.post_study, tables.session,
        ]  # fmt: skip
        for table in by_person:
            connection.execute(delete(table).where(table.c.participant_id == participant_id))
        if who.participant.state == "screened_out" or who.participant.platform == INVITED:
            _bar(connection, participant_id)
        _leave_no_name(connection, who)
        log(connection, who.participant.study_id, "participant", "withdrawn")


def _bar(connection: Connection, participant_id: UUID) -> None:
    person = tables.participant.c
    token = select(person.study_id, person.bar_token).where(
        person.id == participant_id, person.bar_token.is_not(None)
    )
    connection.execute(
        insert(tables.barred).from_select(["study_id", "token"], token).on_conflict_do_nothing()
    )


def _leave_no_name(connection: Connection, who: Present) -> None:
    """What staff did stays in the log, without saying to whom."""
    one = who.participant
    names = (str(one.id), one.pseudonym)
    connection.execute(
        update(tables.event)
        .where(tables.event.c.object.in_(names), tables.event.c.kind == TAKEN_OUT)
        .values(object=SOMEBODY)
    )
    connection.execute(
        delete(tables.event).where(
            or_(tables.event.c.actor.in_(names), tables.event.c.object.in_(names))
        )
    )
    study = select(tables.study).where(tables.study.c.id == one.study_id).subquery()
    connection.execute(
        update(tables.participant)
        .where(tables.participant.c.id == one.id)
        .values(
            state="withdrawn", person=secrets.token_bytes(32), sealed_id=None,
            pseudonym=f"withdrawn-{secrets.token_hex(8)}", withdrawal_sha256=None, bar_token=None,
            design_row=None, flags=[], platform="", finished_at=None,
            # neither when they came nor what staff set for them
            quota=select(study.c.quota).scalar_subquery(),
            created_at=func.coalesce(
                select(study.c.opened_at).scalar_subquery(),
                func.date_trunc("day", tables.participant.c.created_at),
            ),
        )
    )  # fmt: skip


def invalidate(database: Database, participant_id: UUID, *, staff: str, reason: str) -> int:
    """The person's votes no longer count, and are kept; their seats are free again.

    So is their place in a planned study. What they still send is kept and does not count.
    """
    with database.withdrawing() as connection:
        who = leaving(connection, participant_id)
        if who.participant.state == "withdrawn":
            raise NotHere("This person has withdrawn. There is nothing to take out.")
        if who.participant.state in BEFORE_CONSENT:
            raise WrongStage("This person has not agreed to take part: nothing can be taken out.")
        _free_seats(connection, participant_id)
        votes = connection.execute(
            update(tables.vote)
            .where(tables.vote.c.participant_id == participant_id, tables.vote.c.counted)
            .values(counted=False)
        ).rowcount
        # what they are at work on is lost to them: they did not give it back
        for before, after in (("submitted", "surplus"), ("leased", "lost"), ("revealed", "lost")):
            connection.execute(
                update(tables.assignment)
                .where(
                    tables.assignment.c.participant_id == participant_id,
                    tables.assignment.c.state == before,
                )
                .values(state=after)
            )
        connection.execute(
            update(tables.participant)
            .where(tables.participant.c.id == participant_id)
            .values(state="screened_out", design_row=None)
        )
        detail = {"reason": storable(reason)[:500], "votes": votes}
        about = who.participant.pseudonym
        log(connection, who.participant.study_id, staff, TAKEN_OUT, about, detail)
        return int(votes)


def _free_seats(connection: Connection, participant_id: UUID) -> Any:
    """The slots before the assignments: everything locks in one order."""
    own = select(tables.assignment.c.id).where(tables.assignment.c.participant_id == participant_id)
    held = (
        select(tables.slot.c.id)
        .where(tables.slot.c.assignment_id.in_(own))
        .order_by(tables.slot.c.id)
        .with_for_update()
    )
    seats = list(connection.execute(held).scalars())
    connection.execute(
        update(tables.slot)
        .where(tables.slot.c.id.in_(seats))
        .values(state="open", assignment_id=None, lease_expires_at=None)
    )

"""A study opens, has a break, closes; what staff may change while it runs."""

from uuid import UUID

from sqlalchemy import Connection, func, select, update

from theodolite.errors import EvidenceError
from theodolite_study import tables
from theodolite_study.database import Database
from theodolite_study.events import log
from theodolite_study.people import held
from theodolite_study.refusals import Invalid, NotHere, WrongStage
from theodolite_study.rows import Found
from theodolite_study.sessions import PARTICIPANT_IDLE

FROM = {
    "open": ("draft", "paused"),
    "paused": ("open",),
    "closed": ("open", "paused"),
    "archived": ("closed",),
}
OVER = ("closed", "archived")


def become(database: Database, slug: str, state: str, *, staff: str) -> None:
    """Open, pause, close or archive. When it closes, platform ids are deleted for good."""
    if state not in FROM:
        raise Invalid(f"{state!r} is not one of {', '.join(FROM)}.")
    with database.transaction() as connection:
        study = _locked(connection, slug)
        if study.state == state:
            return
        if study.state not in FROM[state]:
            raise WrongStage(f"The study is {study.state}: it cannot become {state}.")
        moments = {"closed_at": func.clock_timestamp()} if state == "closed" else {}
        if state == "open" and study.opened_at is None:
            moments = {"opened_at": func.clock_timestamp()}
        connection.execute(
            update(tables.study).where(tables.study.c.id == study.id).values(state=state, **moments)
        )
        if state == "closed":
            connection.execute(
                update(tables.participant)
                .where(tables.participant.c.study_id == study.id)
                .values(sealed_id=None)
            )
        log(connection, study.id, staff, "study became", state)


def set_quota(
    database: Database, slug: str, quota: int, *, staff: str, pseudonym: str | None = None
) -> None:
    """How many explanations one person, or each of them, is asked for."""
    if quota < 0:
        raise Invalid("A quota is 0 or more.")
    with database.transaction() as connection:
        study = _locked(connection, slug)
        whose = [tables.participant.c.study_id == study.id]
        if pseudonym is not None:
            whose.append(tables.participant.c.pseudonym == pseudonym)
        else:
            connection.execute(
                update(tables.study).where(tables.study.c.id == study.id).values(quota=quota)
            )
        found = connection.execute(
            update(tables.participant).where(*whose).values(quota=quota)
        ).rowcount
        if pseudonym is not None and not found:
            raise NotHere("There is nobody of that name in this study.")
        log(connection, study.id, staff, "quota", pseudonym or "all", {"quota": quota})


def lift_reservations(database: Database, slug: str, row: int, *, staff: str) -> int:
    """Somebody of the panel left: their seats are for everybody.

    Not as long as they are here: whoever takes part keeps what was planned for them.
    """
    with database.transaction() as connection:
        study = _locked(connection, slug)
        _need_nobody_there(connection, study.id, row)
        lifted = lift(connection, study.id, row)
        log(connection, study.id, staff, "reservations lifted", row, {"slots": lifted})
        return lifted


def _need_nobody_there(connection: Connection, study_id: UUID, row: int) -> None:
    seen = func.clock_timestamp() - func.make_interval(0, 0, 0, 0, 0, 0, PARTICIPANT_IDLE)
    there = connection.execute(
        select(tables.participant.c.pseudonym)
        .join(tables.session, tables.session.c.participant_id == tables.participant.c.id)
        .where(
            tables.participant.c.study_id == study_id,
            tables.participant.c.design_row == row,
            tables.participant.c.state == "active",
            tables.session.c.last_seen > seen,
            tables.session.c.expires_at > func.clock_timestamp(),
        )
        .limit(1)
    ).scalar()
    if there is not None:
        hours = PARTICIPANT_IDLE // 3600
        raise WrongStage(
            f"Number {row} is {there}, who is taking part: seen within the last {hours} hours. "
            "Their items stay with them."
        )


def lift(connection: Connection, study_id: UUID, row: int) -> int:
    """The seats of a place of the panel that are not filled are for everybody."""
    # in the order of their numbers, as everybody does who locks several
    seats = connection.execute(
        select(tables.slot.c.id)
        .where(
            tables.slot.c.study_id == study_id,
            tables.slot.c.reserved_for == row,
            tables.slot.c.state != "filled",
        )
        .order_by(tables.slot.c.id)
        .with_for_update()
    ).scalars()
    return int(
        connection.execute(
            update(tables.slot).where(tables.slot.c.id.in_(list(seats))).values(reserved_for=None)
        ).rowcount
    )


def study_id(database: Database, slug: str) -> UUID:
    """The study's number, for whoever works on all of it."""
    with database.transaction() as connection:
        found: UUID | None = connection.execute(
            select(tables.study.c.id).where(tables.study.c.slug == slug)
        ).scalar()
    if found is None:
        raise EvidenceError(
            "study", repr(slug), "one of this database", "theodolite study serve loads it."
        )
    return found


def _locked(connection: Connection, slug: str) -> Found:
    """Waits until whoever is answering has answered; their log lines do not wait for it."""
    named = tables.study.c.slug == slug
    connection.execute(select(held(tables.study.c.id, alone=True)).where(named))
    study = connection.execute(
        select(tables.study).where(named).with_for_update(key_share=True)
    ).one_or_none()
    if study is None:
        raise NotHere(f"There is no study {slug!r}.")
    return study

"""Who is asking: long random tokens in a cookie, of which only a digest is kept."""

import hashlib
import secrets
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, delete, func, insert, or_, select, update

from theodolite_study import tables
from theodolite_study.database import Database
from theodolite_study.refusals import NotHere

PARTICIPANT_IDLE = 12 * 3600
STAFF_IDLE = 30 * 60
PARTICIPANT_LONGEST = 14 * 24 * 3600
STAFF_LONGEST = 12 * 3600
SEEN_EVERY = 60
"""Seconds: when somebody was last seen is not written more often."""


@dataclass(frozen=True)
class Session:
    """One browser of one person."""

    digest: bytes
    participant_id: UUID | None
    staff_id: int | None


def digest_of(token: str) -> bytes:
    """What is kept of a token."""
    return hashlib.sha256(token.encode()).digest()


def begin(
    database: Database, *, participant_id: UUID | None = None, staff_id: int | None = None
) -> str:
    """A new token; old ones of the same browser are ended by whoever calls."""
    token = secrets.token_urlsafe(32)
    longest = PARTICIPANT_LONGEST if staff_id is None else STAFF_LONGEST
    with database.transaction() as connection:
        if participant_id is not None and _gone(connection, participant_id):
            raise NotHere
        connection.execute(
            insert(tables.session).values(
                token_sha256=digest_of(token), participant_id=participant_id, staff_id=staff_id,
                expires_at=func.clock_timestamp() + seconds(longest),
            )
        )  # fmt: skip
        connection.execute(
            delete(tables.session).where(tables.session.c.expires_at < func.clock_timestamp())
        )
    return token


def _gone(connection: Connection, participant_id: UUID) -> bool:
    """Whether they withdrew; if not, they cannot while this runs."""
    state = connection.execute(
        select(tables.participant.c.state)
        .where(tables.participant.c.id == participant_id)
        .with_for_update(read=True)
    ).scalar()
    return state in (None, "withdrawn")


def current(database: Database, token: str) -> Session | None:
    """Whose token it is, if it still holds."""
    digest = digest_of(token)
    with database.transaction() as connection:
        now = func.clock_timestamp()
        idle = or_(
            tables.session.c.staff_id.is_(None)
            & (tables.session.c.last_seen > now - seconds(PARTICIPANT_IDLE)),
            tables.session.c.staff_id.is_not(None)
            & (tables.session.c.last_seen > now - seconds(STAFF_IDLE)),
        )
        row = connection.execute(
            select(
                tables.session,
                (tables.session.c.last_seen < now - seconds(SEEN_EVERY)).label("stale"),
            ).where(
                tables.session.c.token_sha256 == digest, tables.session.c.expires_at > now, idle
            )
        ).one_or_none()
        if row is None:
            return None
        if row.stale:
            connection.execute(
                update(tables.session)
                .where(tables.session.c.token_sha256 == digest)
                .values(last_seen=now)
            )
    return Session(digest, row.participant_id, row.staff_id)


def end(database: Database, token: str) -> None:
    """The token holds no longer."""
    with database.transaction() as connection:
        connection.execute(
            delete(tables.session).where(tables.session.c.token_sha256 == digest_of(token))
        )


def end_all(
    database: Database, *, participant_id: UUID | None = None, staff_id: int | None = None
) -> None:
    """All tokens of a person."""
    with database.transaction() as connection:
        whose = (
            tables.session.c.participant_id == participant_id
            if staff_id is None
            else tables.session.c.staff_id == staff_id
        )
        connection.execute(delete(tables.session).where(whose))


def seconds(number: float) -> Any:
    """So many, as the database adds them to a moment."""
    return func.make_interval(0, 0, 0, 0, 0, 0, number)

"""Whoever sends a request: one look into the tables for the session, the person and the study."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import delete, func, select, update

from theodolite_study import tables
from theodolite_study.assignments import LIVE
from theodolite_study.database import Database
from theodolite_study.people import Participant, participant_of
from theodolite_study.rows import Found
from theodolite_study.sessions import PARTICIPANT_IDLE, SEEN_EVERY, digest_of, seconds


@dataclass(frozen=True)
class Visit:
    """A person whose token still holds."""

    digest: bytes
    participant: Participant
    study_state: str


def visit(database: Database, token: str, slug: str) -> Visit | None:
    """Whose token it is, if it is one of a person in this study and still holds."""
    digest = digest_of(token)
    now = func.clock_timestamp()
    person, held = tables.participant.c, tables.session.c
    asked = (
        select(
            person.id, person.study_id, person.platform, person.pseudonym, person.state,
            person.quota, person.design_row, person.preview,
            tables.study.c.state.label("study_state"),
            (held.last_seen < now - seconds(SEEN_EVERY)).label("stale"),
        )
        .join(tables.session, held.participant_id == person.id)
        .join(tables.study, tables.study.c.id == person.study_id)
        .where(
            held.token_sha256 == digest, held.expires_at > now,
            held.last_seen > now - seconds(PARTICIPANT_IDLE), tables.study.c.slug == slug,
        )
    )  # fmt: skip
    with database.transaction() as connection:
        row: Found | None = connection.execute(asked).one_or_none()  # type: ignore[assignment]
        if row is None:
            return None
        if row.stale:
            connection.execute(
                update(tables.session).where(held.token_sha256 == digest).values(last_seen=now)
            )
    who = participant_of(row, slug)
    return Visit(digest, who, row.study_state)


def live_assignment(database: Database, participant_id: UUID) -> int | None:
    """The picture that waits for somebody, if one does."""
    with database.transaction() as connection:
        found: int | None = connection.execute(
            select(tables.assignment.c.id).where(
                tables.assignment.c.participant_id == participant_id,
                tables.assignment.c.state.in_(LIVE),
            )
        ).scalar()
    return found


def is_person(database: Database, participant_id: UUID, person: bytes) -> bool:
    """Whether somebody of the study is the one that a digest of a platform's id names."""
    with database.transaction() as connection:
        known = connection.execute(
            select(tables.participant.c.person).where(tables.participant.c.id == participant_id)
        ).scalar()
    return known is not None and bytes(known) == person


def votes_given(database: Database, participant_id: UUID) -> int:
    """How many explanations somebody has rated; those that came too late are votes too."""
    with database.transaction() as connection:
        return int(
            connection.execute(
                select(func.count()).where(tables.vote.c.participant_id == participant_id)
            ).scalar_one()
        )


def end_others(database: Database, participant_id: UUID, token: str) -> None:
    """All other tokens of a person hold no longer; this one does."""
    with database.transaction() as connection:
        connection.execute(
            delete(tables.session).where(
                tables.session.c.participant_id == participant_id,
                tables.session.c.token_sha256 != digest_of(token),
            )
        )


def state_of(database: Database, slug: str) -> str:
    """Draft, open, paused, closed or archived; nothing if there is no such study."""
    with database.transaction() as connection:
        found = connection.execute(
            select(tables.study.c.state).where(tables.study.c.slug == slug)
        ).scalar()
    return str(found or "")

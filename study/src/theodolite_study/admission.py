"""Proofs by which people and platforms come in: each is good for what it was made for, once."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, delete, func, select
from sqlalchemy.dialects.postgresql import insert

from theodolite_study import tables
from theodolite_study.codes import code_digest
from theodolite_study.database import Database
from theodolite_study.platforms.identity import Identity
from theodolite_study.platforms.invites import identity
from theodolite_study.platforms.prolific_events import Event
from theodolite_study.refusals import NotHere


def first_time(database: Database, token_digest: bytes, expires: datetime) -> bool:
    """Whether a signed token was not used before. From now on it was."""
    with database.transaction() as connection:
        added = connection.execute(
            insert(tables.seen_token)
            .values(token_sha256=token_digest, expires_at=expires)
            .on_conflict_do_nothing()
            .returning(tables.seen_token.c.expires_at)
        ).scalar()
        if added is not None:
            connection.execute(
                delete(tables.seen_token).where(
                    tables.seen_token.c.expires_at < func.clock_timestamp(),
                    tables.seen_token.c.token_sha256 != token_digest,
                )
            )
    return added is not None


def by_invitation(database: Database, slug: str, code: str) -> Identity:
    """The person whom an invitation of this study stands for."""
    digest = code_digest(code)
    with database.transaction() as connection:
        found = connection.execute(
            select(tables.invite.c.code_sha256)
            .join(tables.study, tables.study.c.id == tables.invite.c.study_id)
            .where(tables.invite.c.code_sha256 == digest, tables.study.c.slug == slug)
        ).scalar()
    if found is None:
        raise NotHere("There is no such invitation. Please check each letter.")
    return identity(digest)


def barred(connection: Connection, study_id: UUID, token: bytes) -> bool:
    """Whether somebody left this study for good."""
    known = select(tables.barred.c.token).where(
        tables.barred.c.study_id == study_id, tables.barred.c.token == token
    )
    return connection.execute(known).first() is not None


def note_event(database: Database, event: Event) -> bool:
    """Remember what a platform told. False if it told the same before, under whichever name."""
    rows = [
        {"event_id": f"event {event.id}", "kind": event.kind},
        {"event_id": f"delivery {event.delivery.hex()}", "kind": event.kind},
    ]
    with database.transaction() as connection:
        added = connection.execute(
            insert(tables.webhook)
            .values(rows)
            .on_conflict_do_nothing()
            .returning(tables.webhook.c.event_id)
        ).all()
    return len(added) == len(rows)

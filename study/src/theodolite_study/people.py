"""Whom a service is working for: one person, locked, and the study around them."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Select, Text, cast, func, select

from theodolite_study import tables
from theodolite_study.protocol import Protocol
from theodolite_study.refusals import NotHere, NotOpen
from theodolite_study.rows import Found

HOLD = 7203003
"""Tells these locks from others of the same study."""


@dataclass(frozen=True)
class Participant:
    """One person in one study."""

    id: UUID
    study_id: UUID
    slug: str
    platform: str
    pseudonym: str
    state: str
    quota: int
    design_row: int | None
    preview: bool


@dataclass(frozen=True)
class Present:
    """A person and the study they are in."""

    participant: Participant
    protocol: Protocol
    study_state: str
    lease_seconds: float
    legend: str

    def need(self, *states: str) -> None:
        """Refuse unless the study is in one of these states; previews need none."""
        if self.study_state not in states and not self.participant.preview:
            said = {"paused": "has a break", "closed": "is over", "archived": "is over"}
            what = said.get(self.study_state, "has not begun")
            raise NotOpen(f"The study {what}. Your answers so far are kept.")


def present(connection: Connection, participant_id: UUID, *, lock: bool = False) -> Present:
    """The person; locked before all else, so that one person does one thing at a time.

    The study comes before the person: it neither closes nor opens while somebody is answering.
    """
    study, person = _rows(participant_id)
    if lock:
        connection.execute(
            select(held(tables.participant.c.study_id)).where(
                tables.participant.c.id == participant_id
            )
        )
        person = person.with_for_update()
    around = connection.execute(study).one_or_none()
    return _together(connection.execute(person).one_or_none(), around)


def held(study_id: ColumnElement[Any], *, alone: bool = False) -> Any:
    """A lock on a study: many hold it together while people answer, staff hold it alone.

    Not a lock of its row: those who share one let no other pass as long as there are more of them.
    """
    lock = func.pg_advisory_xact_lock if alone else func.pg_advisory_xact_lock_shared
    return lock(func.hashtextextended(cast(study_id, Text), HOLD))


def staying(connection: Connection, participant_id: UUID) -> Present:
    """The person, who may do other things meanwhile, but cannot be taken out."""
    study, person = _rows(participant_id)
    row = connection.execute(person.with_for_update(read=True)).one_or_none()
    return _together(row, connection.execute(study).one_or_none())


def leaving(connection: Connection, participant_id: UUID) -> Present:
    """The person, locked; whatever the study does. For whoever takes answers out."""
    study, person = _rows(participant_id)
    row = connection.execute(person.with_for_update()).one_or_none()
    return _together(row, connection.execute(study).one_or_none())


def _rows(participant_id: UUID) -> tuple[Select[Any], Select[Any]]:
    person = select(tables.participant).where(tables.participant.c.id == participant_id)
    study = (
        select(tables.study)
        .join(tables.participant, tables.participant.c.study_id == tables.study.c.id)
        .where(tables.participant.c.id == participant_id)
    )
    return study, person


def _together(row: Found | None, study: Found | None) -> Present:
    if row is None or study is None:
        raise NotHere
    return Present(
        participant=participant_of(row, study.slug),
        protocol=Protocol.model_validate(study.protocol),
        study_state=study.state,
        lease_seconds=study.lease_seconds,
        legend=study.legend,
    )


def participant_of(row: Found, slug: str) -> Participant:
    """The person of a row of participants."""
    return Participant(
        id=row.id, study_id=row.study_id, slug=slug, platform=row.platform,
        pseudonym=row.pseudonym, state=row.state, quota=row.quota, design_row=row.design_row,
        preview=row.preview,
    )  # fmt: skip

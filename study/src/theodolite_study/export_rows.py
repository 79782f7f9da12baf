"""Everything that an export is made of, read in one moment."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, select, text

from theodolite.errors import EvidenceError
from theodolite.ext.studies import Instance
from theodolite_study import tables
from theodolite_study.database import Database
from theodolite_study.protocol import Protocol
from theodolite_study.rows import Found

SHOWN_AND_GIVEN = ("revealed", "explanation served", "vote", "surplus vote")
"""What the log says about the order of things. Other lines may come later, such as a new export."""
TAKING_PART = ("consented", "training", "active", "finished", "screened_out")
"""States of people who agreed and did not take it back."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A study as it was at one moment. People who look at their own study are nowhere in it."""

    study: Found
    protocol: Protocol
    instances: Sequence[Found]
    """All kinds, in the order of the material."""
    people: Sequence[Found]
    """Those who agreed and did not withdraw, by pseudonym, with what they told about themselves."""
    states: Mapping[str, int]
    """How many people are in which state, the withdrawn among them."""
    assignments: Sequence[Found]
    baselines: Mapping[int, Found]
    """By assignment."""
    votes: Mapping[int, Found]
    checks: Mapping[int, Found]
    practice: Sequence[Found]
    rankings: Sequence[Found]
    seats: Sequence[Found]
    pictures: Sequence[str]
    events: int
    events_sha256: str

    def pseudonyms(self) -> dict[Any, str]:
        """By the number that never leaves the database."""
        return {person.id: person.pseudonym for person in self.people}

    def of_kind(self, *kinds: str) -> dict[int, Found]:
        """The instances of some kinds by number, in their order."""
        return {row.id: row for row in self.instances if row.kind in kinds}

    def material(self) -> list[Instance]:
        """What was shown, as records."""
        return [Instance.model_validate(row.record) for row in self.instances]


def snapshot(database: Database, slug: str) -> Snapshot:
    """Read a study, all of it in one moment, however many people are at work."""
    with database.transaction() as connection:
        connection.execute(text("set transaction isolation level repeatable read, read only"))
        connection.execute(text("set local statement_timeout = 0"))
        study = connection.execute(
            select(tables.study).where(tables.study.c.slug == slug)
        ).one_or_none()
        if study is None:
            raise EvidenceError("study", repr(slug), "one of this database")
        return _read(connection, study)


def _read(connection: Connection, study: Found) -> Snapshot:
    def rows(query: Select[Any]) -> Sequence[Found]:
        return connection.execute(query).all()

    events, digest = _log(connection, study)
    people = rows(_people(study))
    return Snapshot(
        study=study,
        protocol=Protocol.model_validate(study.protocol),
        instances=rows(_of(tables.instance, study).order_by(tables.instance.c.place)),
        people=[row for row in people if row.state in TAKING_PART and row.agreed],
        states=_counted(row.state for row in people),
        assignments=rows(_assignments(study)),
        baselines={row.assignment_id: row for row in rows(_by_assignment(tables.baseline, study))},
        votes={row.assignment_id: row for row in rows(_by_assignment(tables.vote, study))},
        checks={row.assignment_id: row for row in rows(_by_assignment(tables.gold_result, study))},
        practice=rows(_by_person(tables.practice, study).order_by(tables.practice.c.id)),
        rankings=rows(_by_person(tables.post_study, study)),
        seats=rows(_of(tables.slot, study)),
        pictures=sorted(row.file for row in rows(_of(tables.asset, study))),
        events=events,
        events_sha256=digest,
    )


def _counted(states: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    for state in sorted(states):
        found[state] = found.get(state, 0) + 1
    return found


def _of(table: Any, study: Found) -> Select[Any]:
    return select(table).where(table.c.study_id == study.id)


def _people(study: Found) -> Select[Any]:
    about = tables.demographic.c
    return (
        select(
            tables.participant.c.id,
            tables.participant.c.pseudonym,
            tables.participant.c.state,
            about.age_band,
            about.gender,
            about.country,
            tables.consent.c.participant_id.is_not(None).label("agreed"),
        )
        .outerjoin(tables.consent, tables.consent.c.participant_id == tables.participant.c.id)
        .outerjoin(tables.demographic, about.participant_id == tables.participant.c.id)
        .where(tables.participant.c.study_id == study.id, ~tables.participant.c.preview)
        .order_by(tables.participant.c.pseudonym)
    )


def _real_people(study: Found) -> Select[Any]:
    return (
        select(tables.participant.c.id)
        .join(tables.consent, tables.consent.c.participant_id == tables.participant.c.id)
        .where(
            tables.participant.c.study_id == study.id,
            ~tables.participant.c.preview,
            tables.participant.c.state.in_(TAKING_PART),
        )
    )


def _by_person(table: Any, study: Found) -> Select[Any]:
    return select(table).where(table.c.participant_id.in_(_real_people(study)))


def _assignments(study: Found) -> Select[Any]:
    return _by_person(tables.assignment, study).order_by(tables.assignment.c.id)


def _by_assignment(table: Any, study: Found) -> Select[Any]:
    own = select(tables.assignment.c.id).where(
        tables.assignment.c.participant_id.in_(_real_people(study))
    )
    return select(table).where(table.c.assignment_id.in_(own))


def _log(connection: Connection, study: Found) -> tuple[int, str]:
    """How many lines say what was shown and given, and their digest."""
    event = tables.event.c
    query = (
        select(event.id, event.at, event.actor, event.kind, event.object)
        .where(event.study_id == study.id, event.kind.in_(SHOWN_AND_GIVEN))
        .order_by(event.id)
    )
    digest, lines = hashlib.sha256(), 0
    for row in connection.execute(query):
        line = "\t".join([str(row.id), row.at.isoformat(), row.actor, row.kind, row.object])
        digest.update(line.encode() + b"\n")
        lines += 1
    return lines, digest.hexdigest()

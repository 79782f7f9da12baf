"""Who is to be paid: the one thing that ids of platforms are kept for."""

from typing import Any

from sqlalchemy import Connection, case, func, select

from theodolite_study import tables
from theodolite_study.database import Database
from theodolite_study.events import log
from theodolite_study.keys import Keys
from theodolite_study.lifecycle import OVER
from theodolite_study.refusals import NotHere, WrongStage
from theodolite_study.rows import Found

PAYMENTS = (
    "participant", "platform", "platform_id", "state", "votes", "surplus_votes", "started",
    "finished",
)  # fmt: skip


def payments(database: Database, slug: str, keys: Keys) -> dict[str, list[Any]]:
    """A row for each person who agreed, with the id that the platform knows them by.

    Surplus votes were work as well. Whoever withdrew is not in it: their id is deleted. Days are
    those of UTC.
    """
    with database.transaction() as connection:
        study = connection.execute(
            select(tables.study).where(tables.study.c.slug == slug)
        ).one_or_none()
        if study is None:
            raise NotHere(f"There is no study {slug!r}.")
        if study.state in OVER:
            raise WrongStage(
                f"The study is {study.state}: ids of platforms were deleted when it closed. "
                "Payments are written before that."
            )
        rows = [_row(person, slug, keys) for person in _people(connection, study)]
        log(connection, study.id, "owner", "payments written", len(rows))
    return {name: [row[at] for row in rows] for at, name in enumerate(PAYMENTS)}


def _people(connection: Connection, study: Found) -> list[Found]:
    person, vote = tables.participant.c, tables.vote.c
    counted = func.sum(case((vote.counted, 1), else_=0))
    query = (
        select(
            person.pseudonym, person.platform, person.sealed_id, person.state,
            person.finished_at, tables.consent.c.given_at,
            counted.label("counted"), func.count(vote.id).label("given"),
        )
        .join(tables.consent, tables.consent.c.participant_id == person.id)
        .outerjoin(tables.vote, vote.participant_id == person.id)
        .where(person.study_id == study.id, ~person.preview, person.sealed_id.is_not(None))
        .group_by(person.id, tables.consent.c.participant_id)
        .order_by(person.pseudonym)
    )  # fmt: skip
    return list(connection.execute(query))


def _row(person: Found, slug: str, keys: Keys) -> tuple[Any, ...]:
    return (
        person.pseudonym, person.platform, keys.opened(person.sealed_id, slug), person.state,
        int(person.counted), int(person.given - person.counted),
        person.given_at.date().isoformat(),
        None if person.finished_at is None else person.finished_at.date().isoformat(),
    )  # fmt: skip

"""Questions after the study: things are put in order."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy import insert, select

from theodolite_study import tables
from theodolite_study.database import Database
from theodolite_study.people import present
from theodolite_study.refusals import Conflict, Invalid, WrongStage


def store_rankings(
    database: Database, participant_id: UUID, answers: Mapping[str, Sequence[int]]
) -> None:
    """Each ranking is an order of all its items, by their numbers from 0, the first one first."""
    with database.transaction() as connection:
        who = present(connection, participant_id, lock=True)
        if who.participant.state not in ("active", "finished"):
            raise WrongStage("There is something to do before.")
        who.need("open", "paused")
        asked = who.protocol.rankings
        if set(answers) != set(asked):
            raise Invalid("Please put all lists in order.")
        for name, ranking in asked.items():
            if sorted(answers[name]) != list(range(len(ranking.items))):
                raise Invalid("Please give each place once.")
        plain = {name: [int(place) for place in order] for name, order in answers.items()}
        known = connection.execute(
            select(tables.post_study.c.answers).where(
                tables.post_study.c.participant_id == participant_id
            )
        ).scalar()
        if known is not None:
            if known != plain:
                raise Conflict("Your orders are stored already and stay as they were.")
            return
        connection.execute(
            insert(tables.post_study).values(participant_id=participant_id, answers=plain)
        )


def ranked(database: Database, participant_id: UUID) -> bool:
    """Whether the person answered these questions, or there are none."""
    with database.transaction() as connection:
        who = present(connection, participant_id)
        known = connection.execute(
            select(tables.post_study.c.participant_id).where(
                tables.post_study.c.participant_id == participant_id
            )
        ).first()
        return known is not None or not who.protocol.rankings

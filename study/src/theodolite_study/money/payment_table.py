"""List the participants to pay as a table, for platforms that are paid by hand."""

from typing import Any
from uuid import UUID

from psycopg import Connection
from psycopg.types.json import Jsonb

from theodolite_study.keys import Keys
from theodolite_study.refusals import NotHere, WrongStage

PAYMENT_COLUMNS = (
    "participant", "platform", "platform_id", "outcome", "votes", "surplus_votes", "owed",
    "currency", "started", "finished",
)  # fmt: skip
PEOPLE_QUERY = """
    select p.pseudonym, p.platform, p.sealed_id, coalesce(p.outcome, p.state),
           (select count(*) from vote where participant_id = p.id and counted),
           (select count(*) from vote where participant_id = p.id and not counted),
           (select coalesce(sum(amount_minor), 0) from payout
             where participant_id = p.id and state <> 'void'),
           s.currency, min(c.given_at)::date::text, p.finished_at::date::text
      from participant p join study s on s.id = p.study_id
      join consent c on c.participant_id = p.id
     where p.study_id = %s and not p.preview and p.sealed_id is not null
     group by p.id, s.currency order by p.pseudonym"""
MAX_SHOWN_IDS = 30


def list_payments(connection: Connection[Any], study: UUID, keys: Keys) -> dict[str, list[Any]]:
    """Return a row for each participant who agreed, with their platform id.

    Surplus votes were work as well. Whoever withdrew is not in it: their id is deleted. Amounts are
    in the smallest unit of the currency; days are those of UTC.
    """
    row = connection.execute("select slug, state from study where id = %s", (study,)).fetchone()
    if row is None:
        raise NotHere("There is no such study.")
    slug, state = row
    if state in ("closed", "archived"):
        raise WrongStage(
            f"The study is {state}: ids of platforms were deleted when it closed. "
            "Payments are written before that."
        )
    people = [list(person) for person in connection.execute(PEOPLE_QUERY, (study,)).fetchall()]
    for person in people:
        person[2] = keys.decrypt(person[2], slug)
    connection.execute(
        "insert into log (study_id, kind, detail) values (%s, %s, %s)",
        (study, MAX_SHOWN_IDS, Jsonb({"people": len(people)})),
    )
    return {name: [person[at] for person in people] for at, name in enumerate(PAYMENT_COLUMNS)}

"""List the participants of a study page by page, and the events of one of them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import class_row, dict_row

from theodolite_study.watch.quality import SCALES_QUERY, WORK_QUERY, WorkSummary

PAGE_SIZE = 50
INSIDE = "inside"

PEOPLE_QUERY = f"""
    with scales as ({SCALES_QUERY}), page as (
        select p.* from participant p
         where p.study_id = %(study)s and p.pseudonym > %(after)s
           and not p.preview and p.state not in ('landed', 'withdrawn')
           and (%(outcome)s::text is null or coalesce(p.outcome, '{INSIDE}') = %(outcome)s)
         order by p.pseudonym limit %(limit)s)
    select person.id, person.pseudonym, person.state, person.outcome, version.no as version,
           person.language, condition.key as condition, person.platform, person.design_row,
           coalesce(person.promised, person.quota) as promised, work.*
      from page person left join version on version.id = person.version_id
      left join condition on condition.id = person.condition_id
      left join scales on scales.version = person.version_id
      left join lateral ({WORK_QUERY}) work on true
     order by person.pseudonym"""  # noqa: S608  only our own texts are put together

TIMELINE_QUERY = """
    select l.at, k.name as what, i.key as explanation,
           case l.kind when 12 then l.detail ->> 'outcome' when 4 then l.detail ->> 'stage'
                when 10 then l.detail ->> 'passed' when 14 then l.detail ->> 'passed' end as more
      from log l join participant p on p.id = l.participant_id
      join log_kind k on k.id = l.kind
      left join assignment a on a.id = l.object and a.participant_id = p.id and l.kind <> 14
      left join instance i on i.id = a.instance_id
     where p.study_id = %s and p.pseudonym = %s order by l.at, l.id limit 2000"""


@dataclass(frozen=True)
class PersonRow:
    """Participant as the list shows them."""

    id: UUID
    """Database id, never shown; used to exclude participants or change their quota."""
    pseudonym: str
    state: str
    outcome: str | None
    version: int | None
    language: str | None
    condition: str | None
    platform: str
    design_row: int | None
    """Row of the participant in the panel of a planned study."""
    promised: int
    work: WorkSummary


@dataclass(frozen=True)
class PeoplePage:
    """Page of participants, and the pseudonym after which the next page begins, if any."""

    people: list[PersonRow]
    after: str | None


@dataclass(frozen=True)
class TimelineEntry:
    """Event of a participant, without the answers."""

    at: datetime
    what: str
    explanation: str | None
    more: str | None


def list_people(
    connection: psycopg.Connection[Any],
    study: UUID,
    *,
    after: str = "",
    outcome: str | None = None,
    limit: int = PAGE_SIZE,
) -> PeoplePage:
    """List participants who agreed and did not withdraw, by pseudonym.

    Args:
        connection: To the database.
        study: Which study.
        after: The pseudonym that the page before ended with.
        outcome: Only those who left in this way; `inside`: those who have not left.
        limit: How many on a page.
    """
    values = {"study": study, "after": after, "outcome": outcome, "limit": limit + 1}
    rows = connection.cursor(row_factory=dict_row).execute(PEOPLE_QUERY, values).fetchall()
    more = rows[limit - 1]["pseudonym"] if len(rows) > limit else None
    return PeoplePage([_person(row) for row in rows[:limit]], more)


def _person(row: Mapping[str, Any]) -> PersonRow:
    own = {field.name: row[field.name] for field in fields(PersonRow) if field.name != "work"}
    return PersonRow(
        **own, work=WorkSummary(**{field.name: row[field.name] for field in fields(WorkSummary)})
    )


def load_timeline(
    connection: psycopg.Connection[Any], study: UUID, pseudonym: str
) -> list[TimelineEntry]:
    """List the log entries of a participant in order."""
    cursor = connection.cursor(row_factory=class_row(TimelineEntry))
    return cursor.execute(TIMELINE_QUERY, [study, pseudonym]).fetchall()

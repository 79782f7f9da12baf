"""The log as staff read it: people by their pseudonyms."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text

from theodolite_study.database import Database

LINES = """
    select e.id, e.at, coalesce(p.pseudonym, e.actor) as actor, e.kind, e.object, e.detail
    from event e
    left join study s on s.id = e.study_id
    left join participant p on p.id::text = e.actor
    where (s.slug = :slug or e.study_id is null) and e.id < :before
    order by e.id desc limit :most"""
NEWEST = 2**62


@dataclass(frozen=True)
class Line:
    """Something that happened."""

    number: int
    at: datetime
    actor: str
    kind: str
    about: str
    detail: str


def log_lines(
    database: Database, slug: str, *, before: int | None = None, most: int = 100
) -> list[Line]:
    """The newest lines, or those before a number."""
    given = {"slug": slug, "before": NEWEST if before is None else before, "most": most}
    with database.transaction() as connection:
        return [
            Line(row.id, row.at, row.actor, row.kind, row.object, _words(row.detail))
            for row in connection.execute(text(LINES), given)
        ]


def _words(detail: dict[str, object]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in detail.items())

"""How people work: signs to look at, never reasons to drop somebody unseen.

Ratings that differ from those of others are no sign: opinions are what is asked for.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import text

from theodolite_study.database import Database

FAST_BEFORE, FAST_AFTER = 5.0, 6.0
"""Seconds: nobody looks, writes and rates sooner."""
SAME_SHARE = 0.9
ENOUGH = 5
"""Items before a sign means anything."""

WORK = """
    select p.pseudonym, p.state, p.platform, p.design_row,
           count(*) filter (where a.state = 'submitted') as votes,
           count(*) filter (where a.state = 'surplus') as surplus,
           count(*) filter (where a.state = 'released') as skipped,
           percentile_cont(0.5) within group (
               order by extract(epoch from a.baseline_at - a.leased_at)) as before,
           percentile_cont(0.5) within group (
               order by extract(epoch from a.finished_at - a.revealed_at)) as after,
           avg((v.q1 = v.q2 and v.q2 = v.q3 and v.q3 = v.q4)::int) as same,
           avg((b.client ->> 'pasted' = 'true')::int) as pasted,
           avg(length(b.text)) as letters,
           count(g.assignment_id) as checks,
           count(g.assignment_id) filter (where not g.passed) as failed
    from participant p
    join study s on s.id = p.study_id
    left join assignment a on a.participant_id = p.id
    left join vote v on v.assignment_id = a.id
    left join baseline b on b.assignment_id = a.id and b.copied_from is null
    left join gold_result g on g.assignment_id = a.id
    where s.slug = :slug and not p.preview and p.state not in ('landed', 'declined', 'withdrawn')
    group by p.id order by p.pseudonym"""


@dataclass(frozen=True)
class Work:
    """One person's way of working."""

    pseudonym: str
    state: str
    platform: str
    design_row: int | None
    """Their number in the panel of a planned study."""
    votes: int
    surplus: int
    skipped: int
    before: float | None
    """Median seconds until their own answer."""
    after: float | None
    """Median seconds from the explanation to the ratings."""
    same: float | None
    """Share of items with one and the same rating for questions 1 to 4."""
    pasted: float | None
    """Share of texts that were pasted."""
    letters: float | None
    checks: int
    failed: int

    @property
    def signs(self) -> list[str]:
        """What staff may want to look at, in words."""
        if self.votes + self.surplus < ENOUGH:
            return [f"failed {self.failed} of {self.checks} checks"] if self.failed else []
        found = {
            "writes within seconds": self.before is not None and self.before < FAST_BEFORE,
            "rates within seconds": self.after is not None and self.after < FAST_AFTER,
            "gives the same rating to all questions": (self.same or 0.0) > SAME_SHARE,
            "pastes most texts": (self.pasted or 0.0) > 0.5,
            f"failed {self.failed} of {self.checks} checks": self.failed > 0,
        }
        return [sign for sign, there in found.items() if there]


def quality(database: Database, slug: str) -> list[Work]:
    """Everybody who worked on a study."""
    with database.transaction() as connection:
        rows = connection.execute(text(WORK), {"slug": slug})
        return [
            Work(**{name: _plain(value) for name, value in row._mapping.items()}) for row in rows
        ]


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value

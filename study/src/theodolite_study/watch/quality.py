"""Compute signs of careless work for staff to review; nobody is excluded automatically.

Ratings that differ from those of others are no sign: opinions are what is asked for.
"""

from dataclasses import dataclass

MIN_SECONDS_BEFORE, MIN_SECONDS_AFTER = 5.0, 6.0
"""Seconds below which answers and ratings count as too fast."""
MAX_SAME_SHARE = 0.9
MIN_ITEMS = 5
"""Minimum number of items before a sign is reported."""

SCALES_QUERY = """
    select v.id as version, array(
        select b ->> 'name' from jsonb_array_elements(v.instrument -> 'after') page,
               jsonb_array_elements(page -> 'blocks') b
         where b ->> 'kind' = 'likert'
           and not coalesce(v.settings -> 'needs' ? (b ->> 'name'), false)
    ) as names from version v where v.study_id = %(study)s"""
"""Query of the scale questions that are asked of every explanation, by version."""

WORK_QUERY = """
    select count(*) filter (where a.state = 'submitted') as votes,
           count(*) filter (where a.state = 'surplus') as surplus,
           count(*) filter (where a.state = 'released') as skipped,
           percentile_cont(0.5) within group (
               order by extract(epoch from a.baseline_at - a.leased_at)::float8) as before,
           percentile_cont(0.5) within group (
               order by extract(epoch from a.finished_at - a.revealed_at)::float8) as after,
           avg((select (count(distinct given.value) = 1)::int from jsonb_each(v.answers) given
                 where given.key = any (scales.names) having count(*) >= 3))::float8 as same,
           avg((coalesce(b.client -> 'pasted', 'false')
                not in ('false', '0', 'null', '[]', '{}'))::int)::float8 as pasted,
           greatest(avg((v.client ->> 'moves' = '0')::int), (
               select max((w.client ->> 'moves' = '0')::int) from answer w
                where w.participant_id = person.id))::float8 as unmoved,
           count(g.assignment_id) as checks,
           count(g.assignment_id) filter (where not g.passed) as failed
      from assignment a left join vote v on v.assignment_id = a.id
      left join baseline b on b.assignment_id = a.id and b.copied_from is null
      left join gold_result g on g.assignment_id = a.id
     where a.participant_id = person.id"""
"""Query of the work of a row `person`, next to the row `scales` of their version."""


@dataclass(frozen=True)
class WorkSummary:
    """Summary of how one participant works."""

    votes: int
    surplus: int
    skipped: int
    before: float | None
    """Median seconds until the own answer."""
    after: float | None
    """Median seconds from the explanation to the ratings."""
    same: float | None
    """Fraction of items with the same rating on all scale questions."""
    pasted: float | None
    """Fraction of own answers that contain pasted text."""
    unmoved: float | None
    """Fraction of items whose ranking was sent without a move; 1 if one asked once was."""
    checks: int
    failed: int

    @property
    def signs(self) -> list[str]:
        """Signs that staff may want to review, in words."""
        checks = f"failed {self.failed} of {self.checks} checks"
        if self.votes + self.surplus < MIN_ITEMS:
            return [checks] if self.failed else []
        signs = {
            "writes within seconds": self.before is not None and self.before < MIN_SECONDS_BEFORE,
            "rates within seconds": self.after is not None and self.after < MIN_SECONDS_AFTER,
            "gives the same rating to all questions": (self.same or 0.0) > MAX_SAME_SHARE,
            "pastes most texts": (self.pasted or 0.0) > 0.5,
            "ranks without moving anything": (self.unmoved or 0.0) > 0.5,
            checks: self.failed > 0,
        }
        return [sign for sign, there in signs.items() if there]

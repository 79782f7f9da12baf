"""Compute the progress of a study from counters, without reading the votes."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import dict_row

from theodolite_study.refusals import NotHere

MAX_SURPLUS_SHARE = 0.05
"""Maximum fraction of surplus votes; above it, leases are too short for how long people take."""
RECENT_LOG_LINES = 3000
"""Number of recent log lines from which durations are computed."""

ROUND = """
    select s.slug, s.title, s.state, v.id as version, v.no, v.round, v.state as version_state,
           v.n_votes, v.quota, v.least_items, v.lease_seconds,
           coalesce(d.available, 0) as available,
           case when v.settings ->> 'votes_per' = 'explanation_and_condition'
                then (select count(*) from condition c where c.version_id = v.id) else 1 end
             * v.n_votes * (select count(*) from instance i
                             where i.study_id = s.id and i.kind = 'real') as seats
      from study s join version v on v.study_id = s.id
      left join door d on d.version_id = st_door(v.id)
     where s.id = %s order by v.state in ('pilot', 'open') desc, v.state <> 'draft' desc, v.no desc
     limit 1"""

COUNTS = """
    select t.what, sum(t.n)::bigint as n from tally t join version v on v.id = t.version_id
     where v.study_id = %s and v.round = %s group by t.what"""

LIVE = """
    select count(*) filter (where s.lease_expires_at >= now()) as held,
           count(*) filter (where s.lease_expires_at < now()) as lapsed
      from assignment a join slot s on s.assignment_id = a.id
     where a.state in ('leased', 'revealed') and s.study_id = %s and s.round = %s"""

SECONDS = """
    with last as (
        select object from (select kind, object from log where study_id = %s
                             order by id desc limit %s) lines where kind in (8, 9))
    select percentile_cont(0.5) within group (
               order by extract(epoch from a.baseline_at - a.leased_at)) as before,
           percentile_cont(0.5) within group (
               order by extract(epoch from a.finished_at - a.revealed_at)) as after
      from last join assignment a on a.id = last.object"""

TECHNIQUES = """
    select i.technique, count(*) filter (where s.state = 'filled') as filled, count(*) as seats
      from slot s join instance i on i.id = s.instance_id
     where s.study_id = %s and s.round = (select round from version where id = %s)
     group by i.technique order by i.technique"""


@dataclass(frozen=True)
class StudyProgress:
    """Progress of a study in the round of its newest version that admits people."""

    slug: str
    title: str | None
    state: str
    version: int
    version_no: int
    version_state: str
    round: int
    seats: int
    filled: int
    surplus: int
    held: int
    """Number of seats reserved for active participants."""
    lapsed: int
    """Number of seats whose reservation lapsed; the next participant gets them."""
    available: int
    """Number of votes that are not promised to anybody."""
    least_items: int
    quota: int
    lease_seconds: float
    outcomes: Mapping[str, int]
    """Number of participants by outcome."""
    arrived: int
    declined: int
    checks: int
    checks_failed: int
    seconds_before: float | None
    """Median seconds of recent votes until the own answer."""
    seconds_after: float | None
    """Median seconds of recent votes from the explanation to the ratings."""

    @property
    def open(self) -> int:
        """Number of seats that nobody holds."""
        return self.seats - self.filled - self.held - self.lapsed

    @property
    def inside(self) -> int:
        """Number of participants who began and have no outcome yet."""
        return self.arrived - self.declined - sum(self.outcomes.values())

    @property
    def surplus_share(self) -> float:
        """Fraction of all votes that came too late to count."""
        return self.surplus / max(self.filled + self.surplus, 1)

    @property
    def alarm(self) -> bool:
        """Whether too many votes are surplus."""
        return self.surplus_share > MAX_SURPLUS_SHARE

    @property
    def new_people(self) -> int:
        """Minimum number of further participants that are needed."""
        return ceil(self.available / max(self.quota, 1))


def load_progress(connection: psycopg.Connection[Any], study: UUID) -> StudyProgress:
    """Read the progress of a study from counters, which `study verify` recounts."""
    cursor = connection.cursor(row_factory=dict_row)
    here = cursor.execute(ROUND, [study]).fetchone()
    if here is None:
        raise NotHere("There is no such study, or it has no version.")
    of_round = [study, here["round"]]
    n: dict[str, int] = {row["what"]: row["n"] for row in cursor.execute(COUNTS, of_round)}
    live = cursor.execute(LIVE, of_round).fetchone() or {}
    seconds = cursor.execute(SECONDS, [study, RECENT_LOG_LINES]).fetchone() or {}
    outcomes = {what[4:]: many for what, many in sorted(n.items()) if what.startswith("out ")}
    return StudyProgress(
        slug=here["slug"], title=here["title"], state=here["state"], version=here["version"],
        version_no=here["no"], version_state=here["version_state"], round=here["round"],
        seats=here["seats"], filled=n.get("votes", 0), surplus=n.get("surplus", 0),
        held=live["held"], lapsed=live["lapsed"], available=here["available"],
        least_items=here["least_items"], quota=here["quota"], lease_seconds=here["lease_seconds"],
        outcomes={way: many for way, many in outcomes.items() if many},
        arrived=n.get("arrived", 0), declined=n.get("declined", 0), checks=n.get("checks", 0),
        checks_failed=n.get("checks failed", 0),
        seconds_before=_seconds(seconds["before"]), seconds_after=_seconds(seconds["after"]),
    )  # fmt: skip


def _seconds(value: Any) -> float | None:
    return None if value is None else round(float(value), 1)


def count_by_technique(
    connection: psycopg.Connection[Any], study: UUID, version: int
) -> list[tuple[str, int, int]]:
    """Return technique, votes and wanted votes of a version's round. Reads every seat."""
    rows = connection.cursor(row_factory=dict_row).execute(TECHNIQUES, [study, version])
    return [(row["technique"], row["filled"], row["seats"]) for row in rows]

"""How far a study is, what holds it up, and how many people it still needs."""

from dataclasses import dataclass
from math import ceil
from uuid import UUID

from sqlalchemy import Connection, text

from theodolite_study.database import Database
from theodolite_study.refusals import NotHere

ALARM = 0.05
"""Of all votes, so many in vain: leases are too short for how long people take."""

SEATS = """
    select count(*) as seats,
           count(*) filter (where state = 'filled') as filled,
           count(*) filter (where state = 'leased' and lease_expires_at >= now()) as held,
           count(*) filter (where state = 'leased' and lease_expires_at < now()) as lapsed
    from slot where study_id = :study"""

PEOPLE = """
    select state, count(*) from participant where study_id = :study and not preview
    group by state order by state"""

TECHNIQUES = """
    select i.technique, count(*) filter (where s.state = 'filled') as filled, count(*) as seats
    from slot s join instance i on i.id = s.instance_id where s.study_id = :study
    group by i.technique order by i.technique"""

VOTES = """
    select count(*) filter (where v.counted) as counted, count(*) filter (where not v.counted)
    from vote v join instance i on i.id = v.instance_id where i.study_id = :study"""

# an explanation is stuck where more seats are free than people at work who have not met it
STUCK = """
    with working as (
        select p.id, p.design_row from participant p
        where p.study_id = :study and p.state = 'active' and not p.preview
          and p.quota > (select count(*) from assignment a
                         where a.participant_id = p.id and a.state = 'submitted')
    ), free as (
        select instance_id, count(*) as seats,
               count(*) filter (where reserved_for is not null and reserved_for not in
                   (select design_row from working where design_row is not null)) as reserved
        from slot where study_id = :study
          and (state = 'open' or (state = 'leased' and lease_expires_at < now()))
        group by instance_id
    ), met as (
        select a.instance_id, count(*) as people from assignment a
        join working w on w.id = a.participant_id group by a.instance_id
    )
    select i.key, greatest(f.seats - ((select count(*) from working) - coalesce(m.people, 0)),
                           f.reserved) as missing
    from free f join instance i on i.id = f.instance_id
    left join met m on m.instance_id = f.instance_id
    order by missing desc, i.key"""


@dataclass(frozen=True)
class Stuck:
    """An explanation that nobody who is here can still rate."""

    key: str
    missing: int
    """So many people more."""


@dataclass(frozen=True)
class StudyProgress:
    """Where a study stands."""

    slug: str
    title: str
    state: str
    seats: int
    filled: int
    held: int
    """With somebody just now."""
    lapsed: int
    """Left by somebody; the next one gets it."""
    surplus: int
    people: dict[str, int]
    techniques: list[tuple[str, int, int]]
    """Technique, votes, votes wanted."""
    stuck: list[Stuck]
    quota: int

    @property
    def open(self) -> int:
        """Seats that nobody has."""
        return self.seats - self.filled - self.held - self.lapsed

    @property
    def surplus_share(self) -> float:
        """Votes that came too late to count, of all."""
        given = self.filled + self.surplus
        return self.surplus / given if given else 0.0

    @property
    def alarm(self) -> bool:
        """Whether too much work is in vain."""
        return self.surplus_share > ALARM

    @property
    def new_people(self) -> int:
        """How many more people are needed at least, as things are."""
        most = max((one.missing for one in self.stuck), default=0)
        work = ceil(sum(one.missing for one in self.stuck) / max(self.quota, 1))
        return max(most, work)


def progress(database: Database, slug: str) -> StudyProgress:
    """Everything at one moment."""
    with database.transaction() as connection:
        study = connection.execute(
            text("select id, slug, protocol ->> 'title' as title, state, quota from study "
                 "where slug = :slug"), {"slug": slug},
        ).one_or_none()  # fmt: skip
        if study is None:
            raise NotHere(f"There is no study {slug!r}.")
        seats = connection.execute(text(SEATS), {"study": study.id}).one()
        votes = connection.execute(text(VOTES), {"study": study.id}).one()
        people = connection.execute(text(PEOPLE), {"study": study.id})
        techniques = connection.execute(text(TECHNIQUES), {"study": study.id})
        return StudyProgress(
            slug=study.slug, title=study.title, state=study.state, seats=seats.seats,
            filled=seats.filled, held=seats.held, lapsed=seats.lapsed, surplus=votes[1],
            people={row[0]: row[1] for row in people},
            techniques=[(row[0], row[1], row[2]) for row in techniques],
            stuck=stuck(connection, study.id), quota=study.quota,
        )  # fmt: skip


def stuck(connection: Connection, study_id: UUID) -> list[Stuck]:
    """Explanations that need people who are not here yet, the worst first."""
    rows = connection.execute(text(STUCK), {"study": study_id})
    return [Stuck(row.key, int(row.missing)) for row in rows if row.missing > 0]

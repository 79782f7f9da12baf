"""What must hold at every moment, asked of the tables themselves."""

from dataclasses import dataclass

from sqlalchemy import Connection, text

from theodolite_study.database import Database

CHECKS = {
    "no explanation has more votes than asked for": """
        select i.key from vote v join instance i on i.id = v.instance_id
        join study s on s.id = i.study_id
        where v.counted group by i.id, s.n_votes having count(*) > s.n_votes""",
    "nobody voted twice on one explanation": """
        select i.key from vote v join instance i on i.id = v.instance_id
        where v.counted group by i.id, v.participant_id having count(*) > 1""",
    "each explanation has its seats": """
        select i.key from instance i join study s on s.id = i.study_id
        left join slot on slot.instance_id = i.id
        group by i.id, s.n_votes
        having count(slot.id) <> case when i.kind = 'real' then s.n_votes else 0 end""",
    "a seat is filled exactly if it has a counted vote": """
        select slot.id::text from slot
        left join vote v on v.slot_id = slot.id and v.counted
        where (slot.state = 'filled') <> (v.id is not null)
           or (v.id is not null and v.assignment_id <> slot.assignment_id)""",
    "a seat and its assignment know each other": """
        select slot.id::text from slot join assignment a on a.id = slot.assignment_id
        where a.slot_id <> slot.id or a.instance_id <> slot.instance_id
           or (slot.state = 'leased') <> (a.state in ('leased', 'revealed'))
           or (slot.state = 'filled') <> (a.state = 'submitted')""",
    "whoever is at work holds a seat": """
        select a.id::text from assignment a
        left join slot on slot.assignment_id = a.id
        where a.state in ('leased', 'revealed', 'submitted') and a.slot_id is not null
          and slot.id is null""",
    "nobody has two items at once": """
        select participant_id::text from assignment where state in ('leased', 'revealed')
        group by participant_id having count(*) > 1""",
    "own answers come before explanations, explanations before votes": """
        select a.id::text from assignment a
        left join baseline b on b.assignment_id = a.id
        left join vote v on v.assignment_id = a.id
        where a.baseline_at is distinct from b.at
           or (a.revealed_at is not null and (b.at is null or b.at >= a.revealed_at))
           or (v.id is not null and (a.revealed_at is null or v.at < a.revealed_at))""",
    "no explanation was served before its own answer": """
        select e.object from event e
        left join baseline b on b.assignment_id = e.object::bigint
        where e.kind in ('revealed', 'explanation served') and (b.at is null or b.at >= e.at)""",
    "every vote belongs to a consent": """
        select v.id::text from vote v
        left join consent c on c.participant_id = v.participant_id
        where c.participant_id is null or c.given_at > v.at""",
    "no vote came after the study was over": """
        select v.id::text from vote v join participant p on p.id = v.participant_id
        join study s on s.id = p.study_id where v.at > s.closed_at""",
    "votes and their assignments agree": """
        select v.id::text from vote v join assignment a on a.id = v.assignment_id
        where v.participant_id <> a.participant_id or v.instance_id <> a.instance_id
           or v.slot_id is distinct from a.slot_id
           or a.state <> case when v.counted then 'submitted' else 'surplus' end""",
    "whoever withdrew left nothing": """
        select p.id::text from participant p
        where p.state = 'withdrawn' and (
            p.sealed_id is not null or p.withdrawal_sha256 is not null or p.bar_token is not null
            or exists (select from assignment a where a.participant_id = p.id)
            or exists (select from vote v where v.participant_id = p.id)
            or exists (select from consent c where c.participant_id = p.id)
            or exists (select from demographic d where d.participant_id = p.id)
            or exists (select from practice t where t.participant_id = p.id)
            or exists (select from post_study q where q.participant_id = p.id)
            or exists (select from session s where s.participant_id = p.id)
            or exists (select from event e where p.id::text in (e.actor, e.object)))""",
    "closed studies know no platform ids": """
        select p.id::text from participant p join study s on s.id = p.study_id
        where s.state in ('closed', 'archived') and p.sealed_id is not null""",
}


@dataclass(frozen=True)
class Violation:
    """Something that must not be."""

    rule: str
    where: tuple[str, ...]

    def __str__(self) -> str:
        shown = ", ".join(self.where[:5]) + (" …" if len(self.where) > 5 else "")
        return f"Not so: {self.rule} ({shown})"


def violations(database: Database) -> list[Violation]:
    """All rules that do not hold, asked in one moment."""
    with database.owning() as connection:
        connection.execute(text("set transaction isolation level repeatable read, read only"))
        return broken(connection)


def broken(connection: Connection) -> list[Violation]:
    """The same in a transaction that runs already."""
    found = []
    for rule, query in CHECKS.items():
        where = tuple(str(value) for value in connection.execute(text(query)).scalars())
        if where:
            found.append(Violation(rule, where))
    return found

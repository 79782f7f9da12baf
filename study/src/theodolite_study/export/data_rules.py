"""Define the rules that the data must satisfy at every moment, as queries for violations."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg

SEATS: dict[str, str] = {
    "no explanation has more votes than seats": """
        select i.key from vote v join instance i on i.id = v.instance_id
          join slot s on s.id = v.slot_id join version o on o.id = v.version_id
         where i.study_id = %(study)s and v.counted
         group by i.key, s.round, s.condition_id having count(*) > max(o.n_votes)""",
    "nobody voted twice on one explanation": """
        select i.key from vote v join instance i on i.id = v.instance_id
         where i.study_id = %(study)s and v.counted
         group by i.key, v.participant_id having count(*) > 1""",
    "each explanation has its seats": """
        with opened as (
            select round, max(n_votes) as n, max(case when settings ->> 'votes_per' =
                       'explanation_and_condition' then (select count(*) from condition c
                           where c.version_id = v.id) else 1 end) as conditions
              from version v where study_id = %(study)s and state <> 'draft' group by round),
        seats as (select instance_id, round, count(*) as n from slot
                   where study_id = %(study)s group by instance_id, round)
        select i.key from instance i cross join opened o
          left join seats s on s.instance_id = i.id and s.round = o.round
         where i.study_id = %(study)s and case
             when i.kind <> 'real' then s.n is not null
             when o.round = (select max(round) from opened)
                  then s.n is distinct from o.n * o.conditions
             else s.n <> o.n * o.conditions end""",
    "a seat is filled exactly if it has a counted vote": """
        select s.id::text from slot s left join vote v on v.slot_id = s.id and v.counted
         where s.study_id = %(study)s and ((s.state = 'filled') <> (v.id is not null)
            or (v.id is not null and v.assignment_id <> s.assignment_id))""",
    "a seat and its assignment know each other": """
        select s.id::text from slot s join assignment a on a.id = s.assignment_id
         where s.study_id = %(study)s and (a.slot_id <> s.id or a.instance_id <> s.instance_id
            or (s.state = 'leased') <> (a.state in ('leased', 'revealed'))
            or (s.state = 'filled') <> (a.state = 'submitted'))""",
    "whoever is at work holds a seat": """
        select a.id::text from assignment a join instance i on i.id = a.instance_id
          left join slot s on s.assignment_id = a.id
         where i.study_id = %(study)s and a.slot_id is not null and s.id is null
           and a.state in ('leased', 'revealed', 'submitted')""",
    "nobody has two items at once": """
        select p.id::text from assignment a join participant p on p.id = a.participant_id
         where p.study_id = %(study)s and a.state in ('leased', 'revealed')
         group by p.id having count(*) > 1""",
}

ANSWERS: dict[str, str] = {
    "own answers come before explanations, explanations before votes": """
        select a.id::text from assignment a join instance i on i.id = a.instance_id
          left join baseline b on b.assignment_id = a.id
          left join vote v on v.assignment_id = a.id
         where i.study_id = %(study)s and (a.baseline_at is distinct from b.at
            or (a.revealed_at is not null and (b.at is null or b.at >= a.revealed_at))
            or (v.id is not null and (a.revealed_at is null or v.at < a.revealed_at)))""",
    "the log tells of no explanation before its own answer": """
        select l.object::text from log l left join baseline b on b.assignment_id = l.object
         where l.study_id = %(study)s and l.kind = 7 and (b.at is null or b.at >= l.at)""",
    "every vote belongs to a consent": """
        select v.id::text from vote v join participant p on p.id = v.participant_id
          left join consent c on c.participant_id = v.participant_id and c.version_id = v.version_id
         where p.study_id = %(study)s and (c.participant_id is null or c.given_at > v.at)""",
    "consents are to forms that were shown": """
        select c.participant_id::text from consent c join participant p on p.id = c.participant_id
          left join consent_text t on t.version_id = c.version_id and t.language = c.language
         where p.study_id = %(study)s and t.digest is distinct from c.form_sha256""",
    "no vote came after the study was over": """
        select v.id::text from vote v join participant p on p.id = v.participant_id
          join study s on s.id = p.study_id where s.id = %(study)s and v.at > s.closed_at""",
    "votes and their assignments agree": """
        select v.id::text from vote v join assignment a on a.id = v.assignment_id
          join instance i on i.id = a.instance_id
         where i.study_id = %(study)s and (v.participant_id <> a.participant_id
            or v.instance_id <> a.instance_id or v.slot_id is distinct from a.slot_id
            or a.state <> case when v.counted then 'submitted' else 'surplus' end)""",
    "ratings fit their version": """
        select min(id)::text from (
            select v.id, v.answers, v.version_id, v.participant_id, (
                       select coalesce(jsonb_object_agg(
                           n.value, case when i.shown -> n.value <> 'null' then true end), '{}')
                         from jsonb_each_text(o.settings -> 'needs') n) || jsonb_build_object(
                       'shown', jsonb_build_object('image', case
                           when i.shown #> '{shown,image}' <> 'null' then true end)) as shown,
                   case when jsonb_path_exists(o.instrument -> 'after', '$[*].blocks[*].show_if')
                        then v.participant_id end as rules_about
              from vote v join instance i on i.id = v.instance_id
              join version o on o.id = v.version_id
             where i.study_id = %(study)s) every
         group by version_id, answers, shown, rules_about
        having why_not_fit(
            version_id, 'after', (array_agg(participant_id))[1], shown, answers) <> ''""",
    "own answers fit their version (of many votes, about 20,000)": """
        select b.assignment_id::text from baseline b join assignment a on a.id = b.assignment_id
          join participant p on p.id = a.participant_id join instance i on i.id = a.instance_id
         where p.study_id = %(study)s and b.copied_from is null and a.id %% greatest(1, (
                   select sum(t.n) from tally t where t.version_id = a.version_id
                      and t.what = 'votes')::bigint / 20000) = 0
           and why_not_fit(a.version_id, 'before', p.id, i.shown, b.answers) <> ''""",
    "answers about people fit their version (of many people, about 5,000)": """
        select a.participant_id::text from answer a join participant p on p.id = a.participant_id
         where p.study_id = %(study)s and get_byte(p.person, 0) %% greatest(1, (
                   select sum(t.n) from tally t where t.version_id = p.version_id
                      and t.what = 'arrived')::integer / 5000) = 0
           and why_not_fit(a.version_id, a.stage, p.id, null, a.answers) <> ''""",
}

PEOPLE: dict[str, str] = {
    "whoever withdrew left nothing": """
        select p.id::text from participant p
         where p.study_id = %(study)s and p.state = 'withdrawn' and (
               p.sealed_id is not null or p.withdrawal_sha256 is not null or p.bar_token is not null
            or p.submission is not null or p.submission_digest is not null
            or exists (select from assignment a where a.participant_id = p.id)
            or exists (select from vote v where v.participant_id = p.id)
            or exists (select from consent c where c.participant_id = p.id)
            or exists (select from answer a where a.participant_id = p.id)
            or exists (select from practice t where t.participant_id = p.id)
            or exists (select from session s where s.participant_id = p.id)
            or exists (select from place q where q.participant_id = p.id)
            or exists (select from payout o where o.participant_id = p.id)
            or exists (select from log l where l.participant_id = p.id))""",
    "closed studies whose money is settled know no platform ids": """
        select p.id::text from participant p join study s on s.id = p.study_id
         where s.id = %(study)s and s.state in ('closed', 'archived') and p.sealed_id is not null
           and not exists (select from payout o where o.study_id = s.id
                              and o.state in ('owed', 'sending', 'sent', 'failed'))""",
    "whoever is out has an outcome, and nobody else": """
        select id::text from participant where study_id = %(study)s and not preview
           and (outcome is null) <> (state in ('landed', 'consented', 'training', 'active'))""",
    "whoever agreed and is inside has a place": """
        select p.id::text from participant p left join place q on q.participant_id = p.id
         where p.study_id = %(study)s and not p.preview and p.outcome is null
           and p.state in ('consented', 'training', 'active')
           and coalesce(q.state not in ('taken', 'used'), true)""",
    "places of people who voted are used, in their condition": """
        select p.id::text from participant p join place q on q.participant_id = p.id
         where p.study_id = %(study)s and (p.condition_id is distinct from q.condition_id
            or q.state <> 'used' and exists (select from vote v where v.participant_id = p.id))""",
    "the door tells what nobody was promised": """
        select 'version ' || v.no from door d join version v on v.id = d.version_id
         where v.study_id = %(study)s and v.state <> 'draft'
           and d.available <> st_available(v.id)""",
    "counters say what the tables say": """
        with counted as (select r.what, sum(r.n) as n from version v, st_recount(v.id) r
                          where v.study_id = %(study)s group by r.what),
        kept as (select t.what, sum(t.n) as n from tally t join version v on v.id = t.version_id
                  where v.study_id = %(study)s and t.what <> 'declined' group by t.what)
        select what || ': ' || coalesce(kept.n, 0) || ' for ' || coalesce(counted.n, 0)
          from counted full join kept using (what)
         where coalesce(counted.n, 0) <> coalesce(kept.n, 0)""",
}

MONEY: dict[str, str] = {
    "nobody is paid twice for one thing": """
        select min(id::text) from payout where study_id = %(study)s and participant_id is not null
         group by participant_id, kind having count(*) > 1
        union all
        select min(id::text) from payout
         where study_id = %(study)s and submission_digest is not null
         group by submission_digest, kind having count(*) > 1""",
    "whoever is owed something is in the ledger": """
        select p.id::text from participant p
         where p.study_id = %(study)s and not p.preview and p.outcome <> 'withdrawn'
           and st_amount(p.version_id, p.outcome, (
                   select count(*)::integer from vote v
                    where v.participant_id = p.id and v.at <= p.outcome_at),
               coalesce(p.promised, p.quota)) > 0
           and not exists (select from payout o where o.participant_id = p.id)""",
}

RULES: dict[str, str] = {**SEATS, **ANSWERS, **PEOPLE, **MONEY}
MAX_LISTED_VIOLATIONS = 100
"""Maximum number of listed violations of a rule."""


@dataclass(frozen=True)
class Violation:
    """Broken rule, and where it is broken."""

    rule: str
    where: tuple[str, ...]

    def __str__(self) -> str:
        places = ", ".join(self.where[:5]) + (" …" if len(self.where) > 5 else "")
        return f"Not so: {self.rule} ({places})"


def find_violations(
    connection: psycopg.Connection[Any], study: UUID | None = None
) -> list[Violation]:
    """List all broken rules in one transaction; of all studies, if none is named."""
    with connection.transaction():
        connection.execute("set transaction isolation level repeatable read, read only")
        connection.execute("set local statement_timeout = 0")
        connection.execute("set local work_mem = '64MB'")
        studies = [study]
        if study is None:
            rows = connection.execute("select id from study order by slug").fetchall()
            studies = [row[0] for row in rows]
        return [
            violation
            for study_id in studies
            for violation in find_broken_rules(connection, study_id)
        ]


def find_broken_rules(connection: psycopg.Connection[Any], study: UUID | None) -> list[Violation]:
    """List the broken rules of one study within the caller's transaction."""
    broken = []
    for rule, query in RULES.items():
        rows = connection.execute(query, {"study": study}).fetchmany(MAX_LISTED_VIOLATIONS)
        if rows:
            broken.append(Violation(rule, tuple(str(row[0]) for row in rows)))
    return broken

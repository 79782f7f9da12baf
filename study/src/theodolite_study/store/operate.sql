-- What whoever runs the server asks for: figures that name nobody, what was done when, and exports
-- that wait to be written. It runs after money.sql.

-- The last time of everything that has to be done again and again.
create table operation (
    what text not null,
    at timestamptz not null default clock_timestamp(),
    detail jsonb not null default '{}',
    constraint operation_pkey primary key (what),
    constraint operation_what check (what in ('backup', 'restore', 'verify', 'jobs', 'figures'))
);

-- Exports that the desk asks for and the job writes, one after the other.
create table export_request (
    id bigint generated always as identity,
    study_id uuid not null constraint export_request_study_id_fkey references study (id),
    staff_id bigint constraint export_request_staff_id_fkey references staff (id),
    requested_at timestamptz not null default clock_timestamp(),
    state text not null default 'waiting',
    ended_at timestamptz,
    manifest_sha256 bytea,
    why text,
    constraint export_request_pkey primary key (id),
    constraint export_request_state check (state in ('waiting', 'running', 'done', 'failed')),
    constraint export_request_ended check ((state in ('done', 'failed')) = (ended_at is not null)),
    constraint export_request_digest check ((state = 'done') = (manifest_sha256 is not null))
);
create index export_request_open on export_request (id) where state in ('waiting', 'running');

create function op_note(what_ text, detail_ jsonb) returns void
language sql security definer set search_path = public, pg_temp as $$
    insert into operation (what, detail) values (what_, detail_)
    on conflict (what) do update set at = clock_timestamp(), detail = excluded.detail
$$;

-- Which form the tables have: a process of another release refuses to work on them.
create function op_revision() returns text
language sql stable security definer set search_path = public, pg_temp as $$
    select version_num::text from alembic_version
$$;

-- What has no counter is counted by the job, once in a while, not by whoever looks.
create function op_count() returns void
language sql security definer set search_path = public, pg_temp as $$
    select op_note('figures', jsonb_build_object(
        'seats', (select coalesce(jsonb_object_agg(slug, n), '{}') from (
            select s.slug, jsonb_object_agg(c.state, c.n) as n from study s join (
                select study_id, state, count(*) as n from slot group by 1, 2) c on c.study_id = s.id
             group by s.slug) every),
        'payouts', (select coalesce(jsonb_object_agg(slug, n), '{}') from (
            select s.slug, jsonb_object_agg(c.state, c.n) as n from study s join (
                select study_id, state, count(*) as n from payout group by 1, 2) c on c.study_id = s.id
             group by s.slug) every)))
$$;

-- All figures in one call, from counters and small indexes.
create function op_figures() returns jsonb
language sql stable security definer set search_path = public, pg_temp as $$
    select jsonb_build_object(
        'revision', op_revision(),
        'counted', (select detail from operation where what = 'figures'),
        'ages', (select coalesce(jsonb_object_agg(what, extract(epoch from clock_timestamp() - at)), '{}')
                   from operation),
        'verified', (select detail -> 'problems' from operation where what = 'verify'),
        'events', (select jsonb_build_object('waiting', count(*), 'lag', coalesce(
                        extract(epoch from clock_timestamp() - min(received_at)), 0))
                     from platform_event where applied_at is null),
        'payout_wait', (select coalesce(extract(epoch from clock_timestamp() - min(at)), 0)
                          from payout where state in ('owed', 'sending', 'failed')),
        'exports', (select count(*) from export_request where state in ('waiting', 'running')),
        'studies', (select coalesce(jsonb_agg(jsonb_build_object('slug', slug, 'state', state,
                'available', available, 'tally', counts) order by slug), '[]') from (
            select s.slug, s.state,
                   (select sum(d.available) from door d join version v on v.id = d.version_id
                     where v.study_id = s.id and v.state in ('pilot', 'open')) as available,
                   (select coalesce(jsonb_object_agg(what, n), '{}') from (
                        select t.what, sum(t.n) as n from tally t join version v on v.id = t.version_id
                         where v.study_id = s.id group by t.what) summed) as counts
              from study s) every))
$$;

grant select on alembic_version to theodolite_steps;
grant select, insert, update on operation to theodolite_steps;
grant select on export_request to theodolite_steps, theodolite_jobs;
-- what an export is made of; no account, no session, no sealed id
grant select on version, wording, consent_text, condition, outcome, place, instance, slot, consent,
    answer, assignment, baseline, gold_result, vote, practice, log, log_kind, tally, image
    to theodolite_jobs;
grant select (id, study_id, platform, pseudonym, state, quota, design_row, preview, flags, created_at,
    finished_at, version_id, language, condition_id, promised, outcome, outcome_at)
    on participant to theodolite_jobs;
grant insert on export_run to theodolite_jobs;
grant update (state, ended_at, manifest_sha256, why) on export_request to theodolite_jobs;
grant create on schema public to theodolite_steps;
do $$
declare
    f record;
begin
    for f in select p.oid::regprocedure as name, p.proname from pg_proc p
              where p.pronamespace = 'public'::regnamespace and p.proname like 'op\_%'
    loop
        execute format('revoke execute on function %s from public', f.name);
        execute format('alter function %s owner to theodolite_steps', f.name);
        execute format('grant execute on function %s to theodolite_jobs', f.name);
    end loop;
end $$;
grant execute on function op_figures() to theodolite_serve;
grant execute on function op_revision() to public;  -- whoever connects asks it first
revoke create on schema public from theodolite_steps;

-- The steps that people take, one function each: one call is one transaction. Expected refusals are
-- words in what is returned, not errors: nobody, not here, stage, conflict, not open, full, old form.
--
-- Locks are taken in one order: study (shared), person, slot, assignment, door, place. Each statement
-- of a function sees what was committed when it began, so that what is read after a lock is true.

create function st_log(study uuid, person uuid, what smallint, thing bigint, more jsonb)
returns void language sql set search_path = public, pg_temp as $$
    insert into log (study_id, participant_id, kind, object, detail)
    values (study, person, what, thing, coalesce(more, '{}'))
$$;

create function st_count(version bigint, what_ text, by_ bigint) returns void
language sql set search_path = public, pg_temp as $$
    insert into tally values (version, what_, pg_backend_pid() % 16, by_)
    on conflict (version_id, what, shard) do update set n = tally.n + excluded.n
$$;

-- What the counters of a version must say, counted from the tables. Whoever declined is in no table.
create function st_recount(version_ bigint) returns table (what text, n bigint) language sql stable
set search_path = public, pg_temp as $$
    select case when counted then 'votes' else 'surplus' end, count(*) from vote
     where version_id = version_ group by 1
    union all
    select unnest(array['checks', 'checks failed']), unnest(array[count(*), count(*) filter (where not g.passed)])
      from gold_result g join assignment a on a.id = g.assignment_id
      join participant p on p.id = a.participant_id where a.version_id = version_ and not p.preview
    union all
    select 'out ' || outcome, count(*) from participant
     where version_id = version_ and outcome is not null and not preview group by outcome
    union all
    select 'arrived', count(*) + coalesce((
        select sum(t.n) from tally t where t.version_id = version_ and t.what = 'declined'), 0)::bigint
      from participant where version_id = version_ and not preview
$$;

create type step_person as (
    person uuid, study uuid, study_state text, state text, version bigint, version_state text,
    round smallint, n_votes smallint, lease double precision, settings jsonb, promised integer,
    design_row integer, preview boolean, condition bigint, language text, outcome text, away boolean
);

-- Seconds without a sign of life after which somebody's promise may go to somebody else. A page
-- without scripts gives no signs between its forms.
create function st_patience(v version, state_ text, heard_ boolean) returns double precision
language sql stable set search_path = public, pg_temp as $$
    select case when state_ = 'landed' then coalesce((v.settings #>> '{patience,before}')::float8, 300)
                when heard_ then v.lease_seconds else 3 * v.lease_seconds end
$$;

-- Somebody, locked, and the study around them, held by all who answer.
create function st_held(person_ uuid) returns step_person language plpgsql
set search_path = public, pg_temp as $$
declare
    w step_person; study_ uuid;
begin
    select study_id into study_ from participant where id = person_;
    if not found then return null; end if;
    perform pg_advisory_xact_lock_shared(hashtextextended(study_::text, 7203003));
    perform 1 from participant where id = person_ for update;
    select p.id, p.study_id, s.state, p.state, v.id, v.state, v.round, v.n_votes,
           st_patience(v, p.state, p.heard), v.settings, coalesce(p.promised, p.quota), p.design_row,
           p.preview, p.condition_id, p.language, p.outcome, p.away_at is not null
      into w
      from participant p join study s on s.id = p.study_id join version v on v.id = p.version_id
     where p.id = person_;
    return w;
end $$;

-- Who is asking: the person of a session, held.
create function st_lock(tok bytea) returns step_person language plpgsql
set search_path = public, pg_temp as $$
declare
    w step_person; person_ uuid;
begin
    select participant_id into person_ from session
     where token_sha256 = tok and expires_at > clock_timestamp() and participant_id is not null;
    if not found then return null; end if;
    w := st_held(person_);
    update participant set alive_until = clock_timestamp() + make_interval(secs => w.lease)
     where id = person_ and outcome is null
       and alive_until < clock_timestamp() + make_interval(secs => 0.9 * w.lease);
    update session set last_seen = clock_timestamp()
     where token_sha256 = tok and last_seen < clock_timestamp() - interval '5 minutes';
    return w;
end $$;

create function st_takes_answers(w step_person) returns boolean language sql
set search_path = public, pg_temp as $$ select w.preview or w.study_state in ('open', 'paused') $$;

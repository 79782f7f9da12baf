-- What the job does: tells a platform whom to pay, hears what became of people there, and ends what
-- lapsed. It runs after rights.sql. Nothing here is called within a participant's request, but for
-- hook_event, which stores what a platform says.

-- How a study is joined to a platform. Token and secret are sealed by the study's keys.
create table platform_link (
    study_id uuid not null constraint platform_link_study_id_fkey references study (id),
    platform text not null default 'prolific',
    external_id text not null,
    sealed_token bytea not null,
    sealed_secret bytea,
    partial_codes boolean not null default false,
    read_at timestamptz,
    difference jsonb not null default '{}',
    paused_at timestamptz,
    constraint platform_link_pkey primary key (study_id),
    constraint platform_link_external_key unique (platform, external_id),
    constraint platform_link_platform check (platform = 'prolific')
);

-- What is owed is not changed on the way, and what was paid stays paid.
create function payout_moves() returns trigger language plpgsql as $$
begin
    if (new.study_id, new.submission_digest, new.kind, new.amount_minor, new.currency)
       is distinct from (old.study_id, old.submission_digest, old.kind, old.amount_minor, old.currency)
       or (old.state in ('confirmed', 'void') and new.state <> old.state)
       or (old.state = 'owed' and new.state in ('sent', 'confirmed'))
    then
        raise exception 'payout %: not from % to %', old.id, old.state, new.state
            using errcode = 'integrity_constraint_violation';
    end if;
    return new;
end $$;
create trigger payout_moves before update on payout for each row execute function payout_moves();

-- A delivery is stored once, whatever its id or its signature say the second time. What belongs to
-- nobody here is another study's, and is not stored.
create function hook_event(event_ text, delivery_ bytea, digest_ bytea, status_ text, at_ timestamptz)
returns text language plpgsql security definer set search_path = public, pg_temp as $$
begin
    if not exists (select from participant where submission_digest = digest_)
       and not exists (select from payout where submission_digest = digest_) then
        return 'not ours';
    end if;
    insert into platform_event (event_id, delivery, submission_digest, status, event_at)
    values (event_, delivery_, digest_, status_, at_) on conflict do nothing;
    return case when found then 'stored' else 'known' end;
end $$;

-- Secrets by which webhooks are signed, each sealed for its study: the server opens them by its keys.
create function hook_secrets() returns jsonb language sql stable security definer
set search_path = public, pg_temp as $$
    select coalesce(jsonb_agg(jsonb_build_array(s.slug, encode(l.sealed_secret, 'hex')) order by s.slug), '[]')
      from platform_link l join study s on s.id = l.study_id where l.sealed_secret is not null
$$;

-- The platform says that somebody went: their seat, place and promise are free, what they did is
-- owed as the version says. Who was out already stays out as they were.
create function job_out(digest_ bytea, outcome_ text) returns text language plpgsql security definer
set search_path = public, pg_temp as $$
declare
    w step_person; person_ uuid;
begin
    if outcome_ not in ('returned', 'timed_out') then
        raise exception 'no outcome of a platform: %', outcome_ using errcode = 'check_violation';
    end if;
    select id into person_ from participant where submission_digest = digest_ order by created_at limit 1;
    w := st_held(person_);
    if w.person is null then return 'not here'; end if;
    if w.outcome is not null then return 'out'; end if;
    perform st_out(w, outcome_);
    return 'ok';
end $$;

-- One stored event: applied, unless a later one of the same submission was applied before it.
create function job_event(event_ text) returns text language plpgsql security definer
set search_path = public, pg_temp as $$
declare
    e platform_event; went text := 'noted'; way text;
begin
    select * into e from platform_event where event_id = event_;
    if not found or e.applied_at is not null then return 'known'; end if;
    if exists (select from platform_event o where o.submission_digest = e.submission_digest
                 and o.event_at > e.event_at and o.applied_at is not null and not o.passed_over) then
        update platform_event set applied_at = clock_timestamp(), passed_over = true
         where event_id = event_;
        return 'older';
    end if;
    way := case e.status when 'RETURNED' then 'returned' when 'TIMED-OUT' then 'timed_out' end;
    if way is not null then went := job_out(e.submission_digest, way); end if;
    update platform_event set applied_at = clock_timestamp() where event_id = event_;
    -- money of this submission is looked at now: it may be read back as paid
    update payout set due_at = clock_timestamp()
     where submission_digest = e.submission_digest and state in ('owed', 'sending', 'sent');
    return went;
end $$;

-- One person of whom nothing was heard for a day is out, so that they are paid for what they did.
-- False when there is nobody left. Places and promises need no job: see st_freed.
create function job_expire() returns boolean language plpgsql security definer
set search_path = public, pg_temp as $$
declare
    w step_person; person_ uuid; silent interval := interval '24 hours';
begin
    select id into person_ from participant
     where outcome is null and not preview and state in ('consented', 'training', 'active')
       and alive_until < clock_timestamp() - silent limit 1;
    if not found then return false; end if;
    w := st_held(person_);
    perform 1 from participant where id = person_ and outcome is null
        and alive_until < clock_timestamp() - silent;
    if found then perform st_out(w, 'timed_out'); end if;
    return true;
end $$;

-- Ids that were left only to pay somebody who withdrew are forgotten after 30 days.
create function job_forget() returns integer language plpgsql security definer
set search_path = public, pg_temp as $$
declare
    n integer;
begin
    update payout set sealed_submission = null,
           state = case when state in ('owed', 'failed') then 'void' else state end
     where participant_id is null and sealed_submission is not null
       and state <> 'sending' and at < clock_timestamp() - interval '30 days';
    get diagnostics n = row_count;
    return n;
end $$;

create function job_months() returns integer language sql security definer
set search_path = public, pg_temp as $$ select log_months(3) $$;

-- Rights: the job has its own login, which writes money and events and nothing that people answered.

do $$
begin
    if not exists (select from pg_roles where rolname = 'theodolite_jobs') then
        create role theodolite_jobs nologin;
    end if;
exception when duplicate_object or unique_violation then null;  -- another database, just now
end $$;
grant usage on schema public to theodolite_jobs;
grant select on study, version, outcome, door, payout, platform_event, platform_link to theodolite_jobs;
grant select (id, study_id, submission_digest, outcome, state, preview) on participant to theodolite_jobs;
grant update (state, batch, tries, due_at, paying_at, why) on payout to theodolite_jobs;
grant update (read_at, difference, paused_at) on platform_link to theodolite_jobs;
grant select on platform_event, platform_link to theodolite_steps;
grant insert, update on platform_event to theodolite_steps;

grant create on schema public to theodolite_steps;
do $$
declare
    f record;
begin
    for f in select p.oid::regprocedure as name, p.proname from pg_proc p
              where p.pronamespace = 'public'::regnamespace
                and (p.proname like 'job\_%' or p.proname like 'hook\_%')
    loop
        execute format('revoke execute on function %s from public', f.name);
        if f.proname <> 'job_months' then  -- it makes tables, so it stays its maker's
            execute format('alter function %s owner to theodolite_steps', f.name);
        end if;
        execute format('grant execute on function %s to %I', f.name,
            case when f.proname like 'hook\_%' then 'theodolite_serve' else 'theodolite_jobs' end);
    end loop;
end $$;
revoke create on schema public from theodolite_steps;

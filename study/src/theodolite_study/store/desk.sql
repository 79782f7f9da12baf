-- The desk: accounts of the server, delays after failed attempts to sign in, and the desk's own login.

-- Accounts are the server's, so a name is one account.
create unique index staff_name on staff (name);

-- Failed attempts by account and network, or by account and device; keys are digests, so that the
-- table says neither who nor from where.
create table sign_in_failure (
    key bytea not null,
    failures integer not null,
    until timestamptz not null,
    at timestamptz not null default clock_timestamp(),
    constraint sign_in_failure_pkey primary key (key),
    constraint sign_in_failure_key check (octet_length(key) = 32)
);

-- Browsers in which somebody signed in: others' failures never delay them.
create table device (
    token_sha256 bytea not null,
    staff_id bigint not null constraint device_staff_id_fkey references staff (id) on delete cascade,
    expires_at timestamptz not null,
    constraint device_pkey primary key (token_sha256)
);

-- Somebody's votes no longer count, and their seats are free again. What they answered stays.
create function desk_take_out(person_ uuid, staff_ bigint, reason text) returns integer
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    study_ uuid; taken integer;
begin
    select study_id into study_ from participant where id = person_;
    perform pg_advisory_xact_lock_shared(hashtextextended(study_::text, 7203003));
    perform 1 from participant where id = person_ for update;
    -- seats in the order of their numbers, as everybody does who locks several
    update slot set state = 'open', assignment_id = null, lease_expires_at = null where id in (
        select s.id from slot s join vote v on v.slot_id = s.id
         where v.participant_id = person_ and v.counted order by s.id for update of s);
    update assignment set state = 'surplus' where id in (
        select assignment_id from vote where participant_id = person_ and counted);
    update door d set layer = 0, available = d.available + seats.n from (
        select st_door(version_id) as door, count(*) as n
          from vote where participant_id = person_ and counted group by 1) seats
     where d.version_id = seats.door;
    perform st_count(version_id, 'votes', -count(*)), st_count(version_id, 'surplus', count(*))
       from vote where participant_id = person_ and counted group by version_id;
    update vote set counted = false where participant_id = person_ and counted;
    get diagnostics taken = row_count;
    insert into log (study_id, participant_id, staff_id, kind, detail)
    values (study_, person_, staff_, 24, jsonb_build_object('votes', taken, 'reason', reason));
    return taken;
end $$;

-- How many items somebody who is inside is asked for; the door gives them or gets them back. False
-- if there are not so many that nobody was promised.
create function desk_promise(person_ uuid, items integer) returns boolean
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    w step_person; given integer; change integer; left_ integer;
begin
    w := st_held(person_);
    if w.person is null or w.outcome is not null or w.preview then return false; end if;
    select count(*) into given from vote where participant_id = person_;
    change := greatest(0, items - given) - greatest(0, w.promised - given);
    select available into left_ from door where version_id = st_door(w.version) for update;
    if change > left_ then return false; end if;
    update door set available = available - change where version_id = st_door(w.version);
    update participant set promised = items, away_at = null where id = person_;
    return true;
end $$;

-- Before a study closes: whoever is inside is out, and is owed what they are owed.
create function desk_let_go(study_ uuid) returns void
language sql security definer set search_path = public, pg_temp as $$
    select st_out(st_held(id), 'ran_out') from participant where study_id = study_
       and outcome is null and state in ('consented', 'training', 'active') order by id
$$;

do $$
begin
    if not exists (select from pg_roles where rolname = 'theodolite_desk') then
        create role theodolite_desk nologin;
    end if;
exception when duplicate_object or unique_violation then null;  -- another database, just now
end $$;
do $$
begin
    if not pg_has_role(current_user, 'theodolite_desk', 'member') then
        execute format('grant theodolite_desk to %I', current_user);
    end if;
end $$;

-- The desk sees all and sets studies up. What people answered and agreed to it cannot change.
grant usage on schema public to theodolite_desk;
grant select on all tables in schema public to theodolite_desk;
grant insert on study, version, wording, consent_text, condition, outcome, image, instance, slot,
    place, door, member, session, device, sign_in_failure, invite, platform_link, export_run,
    export_request, log to theodolite_desk;
grant insert (name, totp_sealed, enroll_sha256, enroll_expires_at) on staff to theodolite_desk;
grant update on version, wording, consent_text, condition, outcome, image, instance, place, door,
    member, sign_in_failure, platform_link to theodolite_desk;
grant update (state, title, protocol, currency, origin, legend, opened_at, closed_at) on study to theodolite_desk;
grant update (password_hash, totp_sealed, totp_last_step, enroll_sha256, enroll_expires_at,
    disabled, last_success) on staff to theodolite_desk;
grant update (last_seen) on session to theodolite_desk;
grant update (reserved_for, planned_position) on slot to theodolite_desk;
grant update (sealed_id, submission, submission_digest) on participant to theodolite_desk;
grant update (state, due_at, why, tries, batch, paying_at, sealed_submission) on payout to theodolite_desk;
grant delete on wording, consent_text, condition, outcome, instance, slot, door, member, session, device,
    sign_in_failure, invite, declined, barred to theodolite_desk;

grant execute on function st_door(bigint), st_available(bigint), missing_texts(bigint),
    text_keys(jsonb, text[]), block_text_parts(jsonb) to theodolite_desk;
grant create on schema public to theodolite_withdraw, theodolite_steps;
alter function desk_take_out(uuid, bigint, text) owner to theodolite_withdraw;
alter function desk_promise(uuid, integer) owner to theodolite_steps;
alter function desk_let_go(uuid) owner to theodolite_steps;
revoke create on schema public from theodolite_withdraw, theodolite_steps;
revoke execute on function desk_take_out(uuid, bigint, text), desk_promise(uuid, integer),
    desk_let_go(uuid) from public;
grant execute on function desk_take_out(uuid, bigint, text), desk_promise(uuid, integer),
    desk_let_go(uuid) to theodolite_desk;

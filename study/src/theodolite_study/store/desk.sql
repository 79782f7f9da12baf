-- The desk: accounts of the server, delays after failed attempts to sign in, and the desk's own login.

-- Accounts are the server's, so a name is one account. Of 0.1.0 two studies may have had the same.
update staff a set name = a.name || ' (' || s.slug || ')' from study s
 where s.id = a.study_id and exists (select from staff b where b.name = a.name and b.id < a.id);
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
    staff_id bigint not null references staff (id) on delete cascade,
    expires_at timestamptz not null,
    constraint device_pkey primary key (token_sha256)
);

-- Somebody's votes no longer count, and their seats are free again. What they answered stays.
create function desk_take_out(person_ uuid, staff_ bigint, reason text) returns integer
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    p participant; taken integer;
begin
    select * into p from participant where id = person_;
    perform pg_advisory_xact_lock_shared(hashtextextended(p.study_id::text, 7203003));
    select * into p from participant where id = person_ for update;
    -- seats in the order of their numbers, as everybody does who locks several
    update slot set state = 'open', assignment_id = null, lease_expires_at = null where id in (
        select s.id from slot s join vote v on v.slot_id = s.id
         where v.participant_id = person_ and v.counted order by s.id for update of s);
    update assignment set state = 'surplus' where participant_id = person_ and state = 'submitted';
    update vote set counted = false where participant_id = person_ and counted;
    get diagnostics taken = row_count;
    update door set layer = 1, available = available + taken where version_id = p.version_id;
    insert into log (study_id, participant_id, staff_id, kind, detail)
    values (p.study_id, person_, staff_, 24, jsonb_build_object('votes', taken, 'reason', reason));
    return taken;
end $$;

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
grant insert on study, version, wording, consent_text, condition, outcome, picture, instance, slot,
    place, door, member, session, device, sign_in_failure, invite, platform_link, export_run,
    log to theodolite_desk;
grant insert (name, totp_sealed, enrol_sha256, enrol_expires_at) on staff to theodolite_desk;
grant update on version, wording, consent_text, condition, outcome, picture, instance, place, door,
    member, sign_in_failure, platform_link to theodolite_desk;
grant update (state, title, currency, origin, legend, opened_at, closed_at) on study to theodolite_desk;
grant update (password_hash, totp_sealed, totp_last_step, enrol_sha256, enrol_expires_at, failures,
    locked_until, disabled, last_success) on staff to theodolite_desk;
grant update (last_seen) on session to theodolite_desk;
grant update (reserved_for, planned_position) on slot to theodolite_desk;
grant update (quota, promised, sealed_id, submission, flags) on participant to theodolite_desk;
grant update (state, due_at, why, tries, batch, paying_at, sealed_submission) on payout to theodolite_desk;
grant delete on wording, consent_text, condition, outcome, instance, slot, door, member, session, device,
    sign_in_failure, invite, declined, barred to theodolite_desk;

grant create on schema public to theodolite_withdraw;
alter function desk_take_out(uuid, bigint, text) owner to theodolite_withdraw;
revoke create on schema public from theodolite_withdraw;
revoke execute on function desk_take_out(uuid, bigint, text) from public;
grant execute on function desk_take_out(uuid, bigint, text) to theodolite_desk;
-- A version opens with all its texts, and its door is counted.
grant execute on function missing_texts(bigint), text_keys(jsonb, text[]), block_text_parts(jsonb),
    st_available(bigint) to theodolite_desk;

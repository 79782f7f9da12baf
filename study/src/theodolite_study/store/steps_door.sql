-- The door -----------------------------------------------------------------------------------------

-- The version whose row of the door is that of a round: versions of one round share their seats, so
-- promises to people of all of them are counted in one row.
create function st_door(version_ bigint) returns bigint language sql stable
set search_path = public, pg_temp as $$
    select d.version_id from version v
      join version o on o.study_id = v.study_id and o.round = v.round
      join door d on d.version_id = o.id
     where v.id = version_ order by d.version_id desc limit 1
$$;

create function door_of_round() returns trigger language plpgsql security definer
set search_path = public, pg_temp as $$
begin
    delete from door where version_id in (
        select o.id from version v join version o on o.study_id = v.study_id and o.round = v.round
         where v.id = new.version_id and o.id < v.id);
    return null;
end $$;
create trigger door_of_round after insert on door for each row execute function door_of_round();

-- What the first page needs, whether there is room, and where whoever asks is already.
create function st_landing(slug_ text, own_ bytea default null) returns jsonb
language plpgsql stable security definer set search_path = public, pg_temp as $$
declare
    s study; v version; left_ integer; places boolean; own_state text;
begin
    select * into s from study where slug = slug_;
    if not found then return jsonb_build_object('word', 'not here'); end if;
    select p.state into own_state from session e join participant p on p.id = e.participant_id
     where e.token_sha256 = own_ and e.expires_at > clock_timestamp() and p.study_id = s.id;
    select * into v from version where study_id = s.id and state in ('pilot', 'open');
    if not found then
        return jsonb_build_object('word', 'not open', 'study_state', s.state, 'own', own_state);
    end if;
    select available into left_ from door where version_id = st_door(v.id);
    if left_ < v.least_items then  -- what inactive people hold is freed for whoever begins
        select left_ + coalesce(sum(p.promised - (
                   select count(*) from vote where participant_id = p.id)), 0) into left_
          from st_inactive(v.study_id, v.round) p;
    end if;
    places := exists (select from place where version_id = v.id and state = 'open')
        or exists (select from place q join st_inactive(v.study_id, v.round) p
                       on p.id = q.participant_id and p.state = 'landed' where q.version_id = v.id);
    return jsonb_build_object(
        'word', case when s.state <> 'open' then 'not open'
                     when left_ < v.least_items or not places then 'full' else 'ok' end,
        'unfilled', exists (select from slot where study_id = s.id and round = v.round
                               and state <> 'filled'),
        'study_state', s.state, 'version', v.id, 'languages', v.languages,
        'default_language', v.default_language, 'own', own_state);
end $$;

-- Somebody comes. The same id of a platform is the same person.
--
-- own_: the session that the browser has. link_: digest of a signed link, which is good for one browser
-- until link_until. vouched_: whether somebody says who comes; if not, whoever began under this id must
-- show their code. instead_: whether whoever takes part in this browser is to be left. invite_: digest
-- of an invitation. condition_: its key, for previews.
create function st_arrive(
    slug_ text, platform_ text, person_ bytea, sealed bytea, bar bytea, pseudonym_ text,
    submission_ bytea, submission_digest_ bytea, language_ text, tok bytea, ends timestamptz,
    preview_ boolean, version_ bigint, own_ bytea default null, link_ bytea default null,
    link_until timestamptz default null, vouched_ boolean default true,
    instead_ boolean default true, invite_ bytea default null, condition_ text default null
) returns jsonb language plpgsql security definer set search_path = public, pg_temp as $$
declare
    s study; v version; p participant; o participant; new_id uuid;
begin
    select * into s from study where slug = slug_;
    if not found then return jsonb_build_object('word', 'not here'); end if;
    perform pg_advisory_xact_lock_shared(hashtextextended(s.id::text, 7203003));
    select * into s from study where id = s.id;
    if invite_ is not null
       and not exists (select from invite where code_sha256 = invite_ and study_id = s.id) then
        return jsonb_build_object('word', 'code');
    end if;
    select q.* into o from session e join participant q on q.id = e.participant_id
     where e.token_sha256 = own_ and e.expires_at > clock_timestamp() and q.study_id = s.id;
    if o.id is not null and o.person <> person_ and not instead_ then
        return jsonb_build_object('word', case when platform_ = 'link' then 'ok' else 'somebody else' end,
                                  'new', false, 'own', true, 'state', o.state);
    end if;
    select * into p from participant
     where study_id = s.id and platform = platform_ and person = person_ for update;
    if found then return st_known(p, tok, ends, own_, link_, link_until, vouched_); end if;
    if exists (select from barred where study_id = s.id and token = bar)
       or exists (select from declined where study_id = s.id and token = bar) then
        return jsonb_build_object('word', 'barred');
    end if;
    if exists (select from seen_token where token_sha256 = link_) then
        return jsonb_build_object('word', 'used link');  -- by somebody who is gone
    end if;
    select * into v from version where study_id = s.id
       and (id = version_ and preview_ or version_ is null and state in ('pilot', 'open'));
    if not found or (s.state <> 'open' and not preview_) then
        return jsonb_build_object('word', 'not open', 'study_state', s.state);
    end if;
    new_id := gen_random_uuid();
    insert into participant (id, study_id, platform, person, sealed_id, pseudonym, quota, preview,
        bar_token, version_id, language, submission, submission_digest, condition_id, alive_until)
    values (new_id, s.id, platform_, person_, case when preview_ then null else sealed end, pseudonym_,
        v.quota, preview_, bar, v.id,
        case when language_ = any (v.languages) then language_ else v.default_language end,
        submission_, submission_digest_,
        (select id from condition where version_id = v.id and key = condition_ and preview_),
        clock_timestamp() + make_interval(secs => st_patience(v, 'landed', false)))
    on conflict on constraint participant_study_id_platform_person_key do nothing;
    if not found then  -- a second click, at the same moment
        select * into p from participant
         where study_id = s.id and platform = platform_ and person = person_ for update;
        return st_known(p, tok, ends, own_, link_, link_until, vouched_);
    end if;
    if not preview_ and st_take_place(v.id, new_id) is null then
        delete from participant where id = new_id;
        return jsonb_build_object('word', 'full', 'version', v.id);
    end if;
    if link_ is not null and not st_first_use(link_, link_until) then
        raise exception 'a link of somebody else' using errcode = 'integrity_constraint_violation';
    end if;
    delete from session where token_sha256 = own_;
    insert into session (token_sha256, participant_id, expires_at) values (tok, new_id, ends);
    perform st_log(s.id, new_id, 1::smallint, null, null);
    if not preview_ then perform st_count(v.id, 'arrived', 1); end if;
    return jsonb_build_object('word', 'ok', 'new', true, 'state', 'landed', 'version', v.id);
end $$;

-- Somebody who was here before comes again, perhaps with another browser.
create function st_known(
    p participant, tok bytea, ends timestamptz, own_ bytea, link_ bytea, link_until timestamptz,
    vouched_ boolean
) returns jsonb language plpgsql set search_path = public, pg_temp as $$
declare
    same boolean := exists (
        select from session where token_sha256 = own_ and participant_id = p.id
           and expires_at > clock_timestamp());
begin
    if link_ is not null then
        if not st_first_use(link_, link_until) and not same then
            return jsonb_build_object('word', 'used link');
        end if;
    elsif not same and not vouched_ then
        if p.state <> 'landed' then return jsonb_build_object('word', 'code needed'); end if;
        -- somebody else may have come under this id before, to be there when the person agrees
        delete from session where participant_id = p.id;
    end if;
    delete from session where token_sha256 = own_;
    insert into session (token_sha256, participant_id, expires_at) values (tok, p.id, ends);
    update participant set alive_until = greatest(alive_until, clock_timestamp() + interval '1 minute')
     where id = p.id and outcome is null;
    return jsonb_build_object('word', 'ok', 'new', false, 'state', p.state, 'outcome', p.outcome);
end $$;

-- Whether a signed link was not used before; from now on it was.
create function st_first_use(link_ bytea, until_ timestamptz) returns boolean language plpgsql
set search_path = public, pg_temp as $$
begin
    insert into seen_token (token_sha256, expires_at) values (link_, until_) on conflict do nothing;
    if not found then return false; end if;
    delete from seen_token where expires_at < clock_timestamp();
    return true;
end $$;

-- Somebody goes on with another browser: the code that they got is the proof.
create function st_again(slug_ text, code bytea, tok bytea, ends timestamptz) returns jsonb
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    p participant;
begin
    select q.* into p from participant q join study s on s.id = q.study_id
     where q.withdrawal_sha256 = code and s.slug = slug_ for update of q;
    if not found then return jsonb_build_object('word', 'code'); end if;
    insert into session (token_sha256, participant_id, expires_at) values (tok, p.id, ends);
    return jsonb_build_object('word', 'ok', 'state', p.state);
end $$;

-- People of a round who gave no sign of life for the length of their patience and hold a promise.
create function st_inactive(study_ uuid, round_ smallint) returns setof participant language sql stable
set search_path = public, pg_temp as $$
    select p.* from participant p join version v on v.id = p.version_id
     where v.study_id = study_ and v.round = round_ and p.outcome is null and not p.preview
       and p.away_at is null and p.alive_until < clock_timestamp()
       and p.promised > (select count(*) from vote where participant_id = p.id)
$$;

-- Frees promises of inactive people for whoever needs them, the longest silent first, until so many
-- are free. Persons are locked (nobody waits), then their slots, then the door: the one order of locks.
create function st_freed(version_ bigint, wanted integer) returns integer language plpgsql
set search_path = public, pg_temp as $$
declare
    v version; q record; given integer; freed integer := 0; low smallint; gone bigint[] := '{}';
    a assignment;
begin
    select * into v from version where id = version_;
    for q in select p.id, p.promised, p.state from participant p
              where p.version_id in (select o.id from version o
                                      where o.study_id = v.study_id and o.round = v.round)
                and p.outcome is null and not p.preview and p.away_at is null
                and p.alive_until < clock_timestamp()
                and p.promised > (select count(*) from vote where participant_id = p.id)
              order by p.alive_until limit 20 for update of p skip locked
    loop
        exit when freed >= wanted;
        select count(*) into given from vote where participant_id = q.id;  -- after the lock
        select * into a from assignment
         where participant_id = q.id and state in ('leased', 'revealed') and slot_id is not null;
        if found then
            update slot set state = 'open', assignment_id = null, lease_expires_at = null
             where id = a.slot_id and assignment_id = a.id and state = 'leased';
            if found then
                low := least(low, (select slot_no from slot where id = a.slot_id));
            end if;
            update assignment set state = 'lost' where id = a.id and state in ('leased', 'revealed');
        end if;
        update participant set promised = given, away_at = clock_timestamp(),
               condition_id = case when q.state = 'landed' then null else condition_id end
         where id = q.id;
        freed := freed + q.promised - given;
        if q.state = 'landed' then
            gone := gone || array(select id from place where participant_id = q.id);
        end if;
    end loop;
    if freed = 0 then return 0; end if;
    update door set available = available + freed, layer = least(layer, coalesce(low, layer))
     where version_id = st_door(version_);
    update place set state = 'open', participant_id = null where id = any (gone);
    return freed;
end $$;

-- Somebody who was away is promised what is left for them. Their row is locked.
create function st_back(w step_person) returns step_person language plpgsql
set search_path = public, pg_temp as $$
declare
    rest integer; left_ integer;
begin
    select p.quota - count(v.id) into rest from participant p left join vote v on v.participant_id = p.id
     where p.id = w.person group by p.quota;
    select available into left_ from door where version_id = st_door(w.version);
    if left_ < rest then perform st_freed(w.version, rest - left_); end if;
    select available into left_ from door where version_id = st_door(w.version) for update;
    rest := least(rest, left_);
    if rest > 0 then
        update door set available = available - rest where version_id = st_door(w.version);
        update participant set promised = promised + rest, away_at = null where id = w.person
        returning promised into w.promised;
        w.away := false;
    end if;
    return w;
end $$;

-- A place, and as many votes as are left, at most the quota, are promised to somebody. Null where
-- there is no room.
create function st_take_place(version_ bigint, person_ uuid) returns integer language plpgsql
set search_path = public, pg_temp as $$
declare
    v version; d door; seat place; promise integer;
begin
    select * into v from version where id = version_;
    select * into d from door where version_id = st_door(version_);
    if not exists (select from place where version_id = v.id and state = 'open') then
        perform st_freed(version_, v.n_votes * v.quota);
    elsif d.available < v.quota then
        perform st_freed(version_, v.quota - d.available);
    end if;
    select * into d from door where version_id = st_door(version_) for update;
    if d.version_id is null or d.available < v.least_items then return null; end if;
    select * into seat from place where version_id = v.id and state = 'open'
     order by no limit 1 for update skip locked;
    if not found then return null; end if;
    promise := least(v.quota, d.available);
    update door set available = d.available - promise where version_id = d.version_id;
    update place set state = 'held', participant_id = person_ where id = seat.id;
    update participant set promised = promise, condition_id = seat.condition_id, away_at = null
     where id = person_;
    return promise;
end $$;

-- Votes that nobody has been promised, counted from the seats and the people inside: what the row
-- of the door must say at every moment, and says when a version opens.
create function st_available(version_ bigint) returns integer language sql
set search_path = public, pg_temp as $$
    select greatest(0, (
        select count(*) from slot where study_id = v.study_id and round = v.round and state <> 'filled'
    ) - coalesce((
        select sum(greatest(0, coalesce(p.promised, p.quota) - (
            select count(*) from vote where vote.participant_id = p.id)))
          from participant p
         where p.version_id in (select id from version o where o.study_id = v.study_id and o.round = v.round)
           and not p.preview and p.outcome is null
    ), 0))::integer
    from version v where v.id = version_
$$;

create function st_place_back(person_ uuid) returns void language sql
set search_path = public, pg_temp as $$
    update place set state = 'open', participant_id = null
     where participant_id = person_
$$;

-- Answers of the stages door, about and end. The server says whether the door turns somebody away,
-- as it knows the rule that a version names in its settings.
create function st_answer(
    tok bytea, stage_ text, answers_ jsonb, shown_ jsonb, digest_ bytea, away text,
    client_ jsonb default '{}'
) returns jsonb language plpgsql security definer set search_path = public, pg_temp as $$
declare
    w step_person; known bytea;
begin
    w := st_lock(tok);
    if w.person is null then return jsonb_build_object('word', 'nobody'); end if;
    select payload_sha256 into known from answer where participant_id = w.person and stage = stage_;
    if found then
        return jsonb_build_object('word', case when known = digest_ then 'ok' else 'conflict' end,
                                  'state', w.state);
    end if;
    if not st_takes_answers(w) then
        return jsonb_build_object('word', 'not open', 'study_state', w.study_state);
    end if;
    if w.outcome is not null
       or not (case stage_ when 'end' then w.state in ('active', 'finished') else w.state = 'consented' end)
    then return jsonb_build_object('word', 'stage', 'state', w.state); end if;
    insert into answer (participant_id, version_id, stage, answers, shown, client, payload_sha256)
    values (w.person, w.version, stage_, answers_, coalesce(shown_, '{}'), client_, digest_);
    perform st_log(w.study, w.person, 4::smallint, null, jsonb_build_object('stage', stage_));
    if away is not null then
        return jsonb_build_object('word', 'ok') || st_out(w, away);
    end if;
    return jsonb_build_object('word', 'ok', 'state', w.state);
end $$;

-- All that comes before the first item is done: practice, if there is some, else the items.
create function st_begin(tok bytea) returns jsonb language plpgsql security definer
set search_path = public, pg_temp as $$
declare
    w step_person; missing text;
begin
    w := st_lock(tok);
    if w.person is null then return jsonb_build_object('word', 'nobody'); end if;
    if w.state <> 'consented' then
        return jsonb_build_object('word', case when w.state = 'landed' then 'stage' else 'ok' end,
                                  'state', w.state);
    end if;
    select stage into missing from unnest(array['door', 'about']) as stages(stage), version v
     where v.id = w.version and jsonb_array_length(coalesce(v.instrument -> stage, '[]')) > 0
       and not exists (select from answer a where a.participant_id = w.person and a.stage = stages.stage)
     limit 1;
    if missing is not null then return jsonb_build_object('word', 'stage', 'missing', missing); end if;
    if exists (select from instance where study_id = w.study and kind = 'training') then
        update participant set state = 'training' where id = w.person;
        return jsonb_build_object('word', 'ok', 'state', 'training');
    end if;
    return st_activate(w);
end $$;

-- The person may rate now. In a planned study they get the next free row of the panel, or what somebody
-- left who stopped; where there is neither, they are out, and paid for having come so far.
create function st_activate(w step_person) returns jsonb language plpgsql
set search_path = public, pg_temp as $$
declare
    row_ integer;
begin
    if w.settings ->> 'design' = 'planned' and not w.preview then
        perform pg_advisory_xact_lock(hashtextextended(w.study::text, 0));
        select r into row_ from generate_series(1 + 10000 * (w.round - 1), 10000 * (w.round - 1) +
                (w.settings ->> 'panel')::integer) r  -- a panel of its own in each round
         where not exists (select from participant where study_id = w.study and design_row = r)
         order by r limit 1;
        if row_ is null and not exists (
            select from slot where study_id = w.study and round = w.round and state <> 'filled'
               and reserved_for is null) then
            return jsonb_build_object('word', 'ok') || st_out(w, 'full');
        end if;
    end if;
    update participant set state = 'active', design_row = row_ where id = w.person;
    return jsonb_build_object('word', 'ok', 'state', 'active');
end $$;

-- Where somebody is, for pages that change nothing.
create function st_here(tok bytea) returns jsonb language plpgsql stable security definer
set search_path = public, pg_temp as $$
declare
    p participant; s study; v version; given integer; missing_ text; waiting bigint;
begin
    select q.* into p from session e join participant q on q.id = e.participant_id
     where e.token_sha256 = tok and e.expires_at > clock_timestamp();
    if not found then return jsonb_build_object('word', 'nobody'); end if;
    select * into s from study where id = p.study_id;
    select * into v from version where id = p.version_id;
    select count(*) into given from vote where participant_id = p.id;
    select id into waiting from assignment
     where participant_id = p.id and state in ('leased', 'revealed');
    select stage into missing_
      from unnest(array['door', 'about', 'end']) with ordinality as stages(stage, n)
     where jsonb_array_length(coalesce(v.instrument -> stage, '[]')) > 0
       and not exists (select from answer a where a.participant_id = p.id and a.stage = stages.stage)
     order by n limit 1;
    return jsonb_build_object(
        'word', 'ok', 'person', p.id, 'slug', s.slug, 'study_state', s.state, 'state', p.state,
        'version', p.version_id, 'language', p.language, 'outcome', p.outcome,
        'away', p.away_at is not null, 'preview', p.preview,
        'promised', coalesce(p.promised, p.quota), 'done', given, 'missing', missing_,
        'waiting', waiting, 'platform', p.platform, 'currency', s.currency,
        'earlier', earlier_answers(p.id),
        'newer', st_newer(s.id, v.id, v.state, p.language, p.preview),
        'submission', case p.platform when 'mturk' then encode(p.submission, 'hex') end,
        'if_stopped', st_amount(v.id, 'stopped', given, coalesce(p.promised, p.quota)),
        'amount', (select coalesce(sum(amount_minor), 0) from payout where participant_id = p.id));
end $$;

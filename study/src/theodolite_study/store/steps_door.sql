-- The door -----------------------------------------------------------------------------------------

-- What the first page needs, and whether there is room.
create function st_landing(slug_ text) returns jsonb language plpgsql stable security definer
set search_path = public, pg_temp as $$
declare
    s study; v version; d door; free integer;
begin
    select * into s from study where slug = slug_;
    if not found then return jsonb_build_object('word', 'not here'); end if;
    select * into v from version where study_id = s.id and state in ('pilot', 'open');
    if not found then return jsonb_build_object('word', 'not open', 'study_state', s.state); end if;
    select * into d from door where version_id = v.id;
    select count(*) into free from (
        select from place where version_id = v.id
           and (state = 'open' or (state = 'held' and held_until < clock_timestamp())) limit 1) any_place;
    return jsonb_build_object(
        'word', case when s.state <> 'open' then 'not open'
                     when d.available < v.least_items or free = 0 then 'full' else 'ok' end,
        'study_state', s.state, 'version', v.id, 'languages', v.languages,
        'default_language', v.default_language);
end $$;

-- Somebody comes. The same id of a platform is the same person. A place and as many votes as are
-- left, at most the quota, are promised to them.
create function st_arrive(
    slug_ text, platform_ text, person_ bytea, sealed bytea, bar bytea, pseudonym_ text,
    submission_ bytea, submission_digest_ bytea, language_ text, tok bytea, ends timestamptz,
    preview_ boolean, version_ bigint
) returns jsonb language plpgsql security definer set search_path = public, pg_temp as $$
declare
    s study; v version; p participant; d door; seat place; promise integer; new_id uuid;
begin
    select * into s from study where slug = slug_;
    if not found then return jsonb_build_object('word', 'not here'); end if;
    perform pg_advisory_xact_lock_shared(hashtextextended(s.id::text, 7203003));
    select * into s from study where id = s.id;
    select * into p from participant
     where study_id = s.id and platform = platform_ and person = person_ for update;
    if found then
        insert into session (token_sha256, participant_id, expires_at) values (tok, p.id, ends);
        return jsonb_build_object('word', 'ok', 'new', false, 'state', p.state, 'outcome', p.outcome);
    end if;
    if exists (select from barred where study_id = s.id and token = bar)
       or exists (select from declined where study_id = s.id and token = bar) then
        return jsonb_build_object('word', 'barred');
    end if;
    select * into v from version where study_id = s.id
       and (id = version_ and preview_ or version_ is null and state in ('pilot', 'open'));
    if not found or (s.state <> 'open' and not preview_) then
        return jsonb_build_object('word', 'not open', 'study_state', s.state);
    end if;
    new_id := gen_random_uuid();
    insert into participant (id, study_id, platform, person, sealed_id, pseudonym, quota, preview,
        bar_token, version_id, language, submission, submission_digest)
    values (new_id, s.id, platform_, person_, case when preview_ then null else sealed end, pseudonym_,
        v.quota, preview_, bar, v.id,
        case when language_ = any (v.languages) then language_ else v.default_language end,
        submission_, submission_digest_)
    on conflict on constraint participant_study_id_platform_person_key do nothing;
    if not found then  -- a second click, at the same moment
        select * into p from participant
         where study_id = s.id and platform = platform_ and person = person_ for update;
        insert into session (token_sha256, participant_id, expires_at) values (tok, p.id, ends);
        return jsonb_build_object('word', 'ok', 'new', false, 'state', p.state, 'outcome', p.outcome);
    end if;
    if not preview_ then
        select * into d from door where version_id = v.id for update;
        if d.available < v.least_items then
            delete from participant where id = new_id;
            return jsonb_build_object('word', 'full', 'version', v.id);
        end if;
        select * into seat from place where version_id = v.id and state = 'open'
         order by no limit 1 for update skip locked;
        if not found then  -- a place that somebody held too long; nobody is waited for
            select q.* into seat from place q join participant o on o.id = q.participant_id
             where q.version_id = v.id and q.state = 'held' and q.held_until < clock_timestamp()
               and o.state = 'landed'
             order by q.no limit 1 for update skip locked;
            if not found then
                delete from participant where id = new_id;
                return jsonb_build_object('word', 'full', 'version', v.id);
            end if;
            d.available := d.available + st_unpromised(seat.participant_id);
        end if;
        promise := least(v.quota, d.available);
        update door set available = d.available - promise where version_id = v.id;
        update place set state = 'held', participant_id = new_id,
               held_until = clock_timestamp() + interval '10 minutes' where id = seat.id;
        update participant set promised = promise, condition_id = seat.condition_id where id = new_id;
    end if;
    insert into session (token_sha256, participant_id, expires_at) values (tok, new_id, ends);
    perform st_log(s.id, new_id, 1::smallint, null, null);
    if not preview_ then perform st_count(v.id, 'arrived', 1); end if;
    return jsonb_build_object('word', 'ok', 'new', true, 'state', 'landed', 'version', v.id);
end $$;

-- Somebody who held a place and never agreed: how much had been promised to them. They may come again.
create function st_unpromised(old_person uuid) returns integer language plpgsql
set search_path = public, pg_temp as $$
declare
    promise integer;
begin
    select promised into promise from participant where id = old_person;
    update participant set promised = 0, condition_id = null where id = old_person;
    return coalesce(promise, 0);
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

create function st_consent(tok bytea, version_ bigint, language_ text, digest_ bytea, code bytea)
returns jsonb language plpgsql security definer set search_path = public, pg_temp as $$
declare
    w step_person; d door; seat place; promise integer; v version;
begin
    w := st_lock(tok);
    if w.person is null then return jsonb_build_object('word', 'nobody'); end if;
    if w.outcome is not null then return jsonb_build_object('word', 'stage', 'state', w.state); end if;
    if version_ is distinct from w.version or language_ is distinct from w.language or not exists (
        select from consent_text where version_id = w.version and language = w.language
           and digest = digest_) then
        return jsonb_build_object('word', 'old form');
    end if;
    if exists (select from consent where participant_id = w.person and version_id = w.version) then
        return jsonb_build_object('word', 'ok', 'state', w.state);
    end if;
    if not w.preview and w.study_state <> 'open' then
        return jsonb_build_object('word', 'not open', 'study_state', w.study_state);
    end if;
    if not w.preview and w.promised = 0 then  -- the place went to somebody else meanwhile
        select * into v from version where id = w.version;
        select * into d from door where version_id = w.version for update;
        select * into seat from place where version_id = w.version and state = 'open'
         order by no limit 1 for update skip locked;
        if seat.id is null or d.available < v.least_items then
            return jsonb_build_object('word', 'full', 'version', w.version);
        end if;
        promise := least(v.quota, d.available);
        update door set available = available - promise where version_id = w.version;
        update participant set promised = promise, condition_id = seat.condition_id where id = w.person;
        update place set state = 'taken', participant_id = w.person where id = seat.id;
    end if;
    update place set state = 'taken', held_until = null
     where participant_id = w.person and state = 'held';
    insert into consent (participant_id, version_id, language, form, form_sha256)
    values (w.person, w.version, w.language, 'shown', digest_);
    update participant set state = 'consented', withdrawal_sha256 = code
     where id = w.person and state = 'landed';
    perform st_log(w.study, w.person, 2::smallint, null, null);
    return jsonb_build_object('word', 'ok', 'state', 'consented');
end $$;

-- The person does not agree. A keyed fingerprint of 32 bytes stays, so that they are not asked again.
create function st_decline(tok bytea) returns jsonb language plpgsql security definer
set search_path = public, pg_temp as $$
declare
    w step_person; token_ bytea;
begin
    w := st_lock(tok);
    if w.person is null then return jsonb_build_object('word', 'nobody'); end if;
    if w.state <> 'landed' then return jsonb_build_object('word', 'stage', 'state', w.state); end if;
    select bar_token into token_ from participant where id = w.person;
    perform st_place_back(w.person);
    delete from session where participant_id = w.person;
    delete from log where participant_id = w.person;
    delete from participant where id = w.person;
    if not w.preview then
        insert into declined (study_id, token) values (w.study, token_) on conflict do nothing;
        update door set available = available + w.promised where version_id = w.version;
        perform st_count(w.version, 'declined', 1);
    end if;
    perform st_log(w.study, null, 3::smallint, null, null);
    return jsonb_build_object('word', 'ok', 'outcome', 'declined', 'version', w.version);
end $$;

create function st_place_back(person_ uuid) returns void language sql
set search_path = public, pg_temp as $$
    update place set state = 'open', participant_id = null, held_until = null
     where participant_id = person_
$$;

-- Answers of the stages door, about and end. The server says whether the door turns somebody away,
-- as it knows the rule that a version names in its settings.
create function st_answer(
    tok bytea, stage_ text, answers_ jsonb, shown_ jsonb, digest_ bytea, away text
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
    insert into answer (participant_id, version_id, stage, answers, shown, payload_sha256)
    values (w.person, w.version, stage_, answers_, coalesce(shown_, '{}'), digest_);
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
    return jsonb_build_object('word', st_activate(w), 'state', 'active');
end $$;

-- The person may rate now. In a planned study they get the next free row of the panel.
create function st_activate(w step_person) returns text language plpgsql
set search_path = public, pg_temp as $$
declare
    row_ integer;
begin
    if w.settings ->> 'design' = 'planned' and not w.preview then
        perform pg_advisory_xact_lock(hashtextextended(w.study::text, 0));
        select r into row_ from generate_series(1, (w.settings ->> 'panel')::integer) r
         where not exists (select from participant where study_id = w.study and design_row = r)
         order by r limit 1;
        if row_ is null then return 'full'; end if;
    end if;
    update participant set state = 'active', design_row = row_ where id = w.person;
    return 'ok';
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
        'version', p.version_id, 'language', p.language, 'outcome', p.outcome, 'preview', p.preview,
        'promised', coalesce(p.promised, p.quota), 'done', given, 'missing', missing_,
        'waiting', waiting, 'platform', p.platform, 'currency', s.currency,
        'earlier', earlier_answers(p.id),
        'if_stopped', st_amount(v.id, 'stopped', given, coalesce(p.promised, p.quota)),
        'amount', (select coalesce(sum(amount_minor), 0) from payout where participant_id = p.id));
end $$;

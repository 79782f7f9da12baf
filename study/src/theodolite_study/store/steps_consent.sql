-- Consent --------------------------------------------------------------------------------------------

-- The version whose consent somebody of an earlier one is asked for before the next item, if there is
-- one. Who does not speak its languages stays where they are.
create function st_newer(study_ uuid, version_ bigint, state_ text, language_ text, preview_ boolean)
returns bigint language sql stable set search_path = public, pg_temp as $$
    select v.id from version v join consent_text t on t.version_id = v.id and t.language = language_
     where state_ = 'finishing' and not preview_ and v.study_id = study_
       and v.state in ('pilot', 'open') and v.id > version_ and t.reconsent
$$;

create function st_consent(tok bytea, version_ bigint, language_ text, digest_ bytea, code bytea)
returns jsonb language plpgsql security definer set search_path = public, pg_temp as $$
declare
    w step_person; newer bigint;
begin
    w := st_lock(tok);
    if w.person is null then return jsonb_build_object('word', 'nobody'); end if;
    if w.outcome is not null then return jsonb_build_object('word', 'stage', 'state', w.state); end if;
    if w.state = 'landed' and not w.preview and w.study_state <> 'open' then
        return jsonb_build_object('word', 'not open', 'study_state', w.study_state);
    end if;
    if w.state = 'landed' and not w.preview and w.version_state not in ('pilot', 'open') then
        return st_moved(w);  -- another version was opened meanwhile: its text is asked about
    end if;
    newer := st_newer(w.study, w.version, w.version_state, w.language, w.preview);
    if not (version_ is not distinct from w.version or version_ is not distinct from newer)
       or language_ is distinct from w.language or not exists (
        select from consent_text where version_id = version_ and language = w.language
           and digest = digest_) then
        return jsonb_build_object('word', 'old form');
    end if;
    if exists (select from consent where participant_id = w.person and version_id = version_) then
        return jsonb_build_object('word', 'ok', 'state', w.state);
    end if;
    if version_ = newer then
        if not st_goes_over(w, newer) then
            return jsonb_build_object('word', 'stage', 'state', w.state);
        end if;
    elsif not w.preview and w.promised = 0 and st_take_place(w.version, w.person) is null then
        return st_no_room(w);  -- the place went to somebody else meanwhile
    end if;
    update place set state = 'taken'
     where participant_id = w.person and state = 'held';
    insert into consent (participant_id, version_id, language, form_sha256)
    values (w.person, version_, w.language, digest_);
    update participant p set state = 'consented', withdrawal_sha256 = code,
           alive_until = clock_timestamp() + (
               select make_interval(secs => st_patience(v, 'consented', p.heard))
                 from version v where v.id = p.version_id)
     where id = w.person and state = 'landed';
    if found then  -- nobody else goes on in their name
        delete from session where participant_id = w.person and token_sha256 <> tok;
    end if;
    perform st_log(w.study, w.person, 2::smallint, null, null);
    return jsonb_build_object('word', 'ok', 'state',
                              case when version_ = newer then w.state else 'consented' end);
end $$;

-- There is no room for somebody who has not agreed yet: nothing of them is kept.
create function st_no_room(w step_person) returns jsonb language plpgsql
set search_path = public, pg_temp as $$
begin
    perform st_forgotten(w);
    perform st_count(w.version, 'arrived', -1);
    return jsonb_build_object('word', 'full', 'version', w.version);
end $$;

create function st_forgotten(w step_person) returns void language plpgsql
set search_path = public, pg_temp as $$
begin
    perform st_place_back(w.person);
    delete from session where participant_id = w.person;
    delete from log where participant_id = w.person;
    delete from participant where id = w.person;
end $$;

-- Somebody who has not agreed yet belongs to the version that is open, and reads its text.
create function st_moved(w step_person) returns jsonb language plpgsql
set search_path = public, pg_temp as $$
declare
    v version;
begin
    select * into v from version where study_id = w.study and state in ('pilot', 'open');
    if not found then
        return jsonb_build_object('word', 'not open', 'study_state', w.study_state);
    end if;
    perform st_freed(v.id, v.quota);  -- before the door is locked
    perform st_place_back(w.person);
    update door set available = available + w.promised where version_id = st_door(w.version);
    update participant set version_id = v.id, promised = 0, quota = v.quota, condition_id = null,
           language = case when w.language = any (v.languages) then w.language else v.default_language end
     where id = w.person;
    perform st_count(w.version, 'arrived', -1);
    perform st_count(v.id, 'arrived', 1);
    if st_take_place(v.id, w.person) is null then
        w.version := v.id;
        return st_no_room(w);
    end if;
    return jsonb_build_object('word', 'old form');
end $$;

-- Somebody who agreed to a newer version takes what was promised to them along. An item that waits is
-- finished before.
create function st_goes_over(w step_person, newer bigint) returns boolean language plpgsql
set search_path = public, pg_temp as $$
declare
    given integer; rest integer; left_ integer; old_door bigint := st_door(w.version);
    new_door bigint := st_door(newer);
begin
    if exists (select from assignment where participant_id = w.person and state in ('leased', 'revealed'))
    then return false; end if;
    select count(*) into given from vote where participant_id = w.person;
    rest := greatest(0, w.promised - given);
    if old_door is distinct from new_door then  -- a new round has seats of its own
        update door set available = available + rest where version_id = old_door;
        select available into left_ from door where version_id = new_door for update;
        rest := least(rest, left_);
        update door set available = available - rest where version_id = new_door;
    end if;
    -- seats of a condition name its row in the round's first version
    update participant set version_id = newer, promised = given + rest, condition_id = case
        when old_door = new_door and w.settings ->> 'votes_per' = 'explanation_and_condition'
        then w.condition else (
            select n.id from condition o join condition n on n.key = o.key and n.version_id = newer
             where o.id = w.condition) end where id = w.person;
    return true;
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
    perform st_forgotten(w);
    if not w.preview then
        insert into declined (study_id, token) values (w.study, token_) on conflict do nothing;
        update door set available = available + w.promised where version_id = st_door(w.version);
        perform st_count(w.version, 'declined', 1);
    end if;
    perform st_log(w.study, null, 3::smallint, null, null);
    return jsonb_build_object('word', 'ok', 'outcome', 'declined', 'version', w.version);
end $$;

-- All that pages of a preview say, also of a draft: whoever has a preview's session may see it.
create function st_preview(tok bytea) returns jsonb language plpgsql stable security definer
set search_path = public, pg_temp as $$
declare
    v version;
begin
    select o.* into v from session e join participant p on p.id = e.participant_id
      join version o on o.id = p.version_id
     where e.token_sha256 = tok and e.expires_at > clock_timestamp() and p.preview;
    if not found then return jsonb_build_object('word', 'nobody'); end if;
    return jsonb_build_object(
        'word', 'ok', 'id', v.id, 'instrument', v.instrument, 'settings', v.settings - 'pay',
        'languages', v.languages,
        'wording', (select jsonb_agg(jsonb_build_array(key, language, body)) from wording
                     where version_id = v.id),
        'consent', (select jsonb_agg(jsonb_build_array(language, encode(shown, 'hex'),
                                                       encode(digest, 'hex')))
                      from consent_text where version_id = v.id),
        'outcomes', (select jsonb_agg(to_jsonb(o)) from outcome o where version_id = v.id));
end $$;

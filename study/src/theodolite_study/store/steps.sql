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

create type step_person as (
    person uuid, study uuid, study_state text, state text, version bigint, version_state text,
    round smallint, n_votes smallint, lease double precision, settings jsonb, promised integer,
    design_row integer, preview boolean, condition bigint, language text, outcome text
);

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
    select p.id, p.study_id, s.state, p.state, v.id, v.state, v.round, v.n_votes, v.lease_seconds,
           v.settings, coalesce(p.promised, p.quota), p.design_row, p.preview, p.condition_id,
           p.language, p.outcome
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
    update session set last_seen = clock_timestamp()
     where token_sha256 = tok and last_seen < clock_timestamp() - interval '5 minutes';
    return w;
end $$;

create function st_takes_answers(w step_person) returns boolean language sql
set search_path = public, pg_temp as $$ select w.preview or w.study_state in ('open', 'paused') $$;

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
    perform st_count(v.id, 'arrived', 1);
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
    end if;
    perform st_log(w.study, null, 3::smallint, null, null);
    perform st_count(w.version, 'declined', 1);
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

-- Items --------------------------------------------------------------------------------------------

create function st_lease_end(w step_person, since timestamptz) returns timestamptz language sql
set search_path = public, pg_temp as $$
    select least(clock_timestamp() + make_interval(secs => w.lease),
                 coalesce(since, clock_timestamp()) + make_interval(secs => 4 * w.lease))
$$;

-- Pictures that this person met just before, or often enough.
create function st_avoided(w step_person) returns text[] language sql stable
set search_path = public, pg_temp as $$
    select coalesce(array_agg(distinct picture_key), '{}') from (
        select picture_key, row_number() over (order by position desc) as back,
               count(*) over (partition by picture_key) as times
          from assignment where participant_id = w.person) own
     where back <= coalesce((w.settings ->> 'same_picture_gap')::integer, 0)
        or times >= (w.settings ->> 'same_picture_most')::integer
$$;

create type free_seat as (id bigint, instance_id bigint, assignment_id bigint, picture_key text);

-- A seat that nobody holds, of an explanation that the person has not met: breadth first, beginning
-- at random within a layer, so that dead entries of the index lie apart and claimers seldom meet.
create function st_seat(w step_person) returns free_seat language plpgsql
set search_path = public, pg_temp as $$
declare
    seat free_seat; start double precision := random(); avoided text[] := st_avoided(w);
    layer_ smallint; first smallint;
begin
    if w.design_row is not null then
        select s.id, s.instance_id, s.assignment_id, i.picture_key into seat
          from slot s join instance i on i.id = s.instance_id
         where s.study_id = w.study and s.round = w.round and s.reserved_for = w.design_row
           and (s.state = 'open' or s.state = 'leased' and s.lease_expires_at < clock_timestamp())
           and i.picture_key <> all (avoided)
           and not exists (select from assignment a
                            where a.instance_id = s.instance_id and a.participant_id = w.person)
         order by s.planned_position limit 1 for update of s skip locked;
        if found then return seat; end if;
    end if;
    select layer into first from door where version_id = w.version;
    for layer_ in coalesce(first, 1) .. w.n_votes loop
        for half in 1 .. 2 loop
            select s.id, s.instance_id, s.assignment_id, i.picture_key into seat
              from slot s join instance i on i.id = s.instance_id
             where s.study_id = w.study and s.round = w.round and s.slot_no = layer_
               and case half when 1 then s.rnd >= start else s.rnd < start end
               and s.state <> 'filled' and s.reserved_for is null
               and s.condition_id is not distinct from
                   case when w.settings ->> 'votes_per' = 'explanation_and_condition' then w.condition end
               and (s.state = 'open' or s.lease_expires_at < clock_timestamp())
               and i.picture_key <> all (avoided)
               and not exists (select from assignment a
                                where a.instance_id = s.instance_id and a.participant_id = w.person)
               and (w.design_row is null or not exists (
                   select from slot own where own.instance_id = s.instance_id
                      and own.reserved_for = w.design_row and own.state <> 'filled'))
             order by s.rnd limit 1 for update of s skip locked;
            if found then return seat; end if;
        end loop;
        -- a hint only: a layer without a single unfilled seat need not be looked at again
        if layer_ = coalesce(first, 1) and not exists (
            select from slot s where s.study_id = w.study and s.round = w.round
               and s.slot_no = layer_ and s.state <> 'filled') then
            update door set layer = greatest(layer, layer_ + 1) where version_id = w.version;
            first := layer_ + 1;
        end if;
    end loop;
    return null;
end $$;

create function st_added(w step_person, instance_ bigint, picture text, slot_ bigint)
returns bigint language plpgsql set search_path = public, pg_temp as $$
declare
    item bigint; said baseline;
begin
    insert into assignment (participant_id, instance_id, slot_id, picture_key, position,
                            image_exposure_index, version_id)
    select w.person, instance_, slot_, picture, 1 + count(*),
           1 + count(*) filter (where picture_key = picture), w.version
      from assignment where participant_id = w.person
    returning id into item;
    if w.settings ->> 'baseline' = 'once_per_image' and slot_ is not null then
        -- the same picture again: what they saw is known, and is not asked twice
        select b.* into said from baseline b join assignment a on a.id = b.assignment_id
         where a.participant_id = w.person and a.picture_key = picture and a.slot_id is not null
           and a.id <> item order by b.at limit 1;
        if found then
            insert into baseline (assignment_id, answers, shown, client, copied_from, payload_sha256)
            values (item, said.answers, said.shown, said.client,
                    coalesce(said.copied_from, said.assignment_id), said.payload_sha256);
            update assignment set state = 'revealed',
                   baseline_at = (select at from baseline where assignment_id = item)
             where id = item;
        end if;
    end if;
    return item;
end $$;

-- What the person does next: an item that waits, a new one, or the end.
create function st_claim(w step_person) returns jsonb language plpgsql
set search_path = public, pg_temp as $$
declare
    item bigint; slot_ bigint; since timestamptz; seat free_seat; own integer; seated integer;
    given integer; check_ record; wait double precision; left_ integer;
begin
    if w.outcome is not null then
        return jsonb_build_object('go', 'end', 'outcome', w.outcome, 'state', w.state);
    end if;
    if w.state <> 'active' then return jsonb_build_object('go', 'stage', 'state', w.state); end if;
    if not st_takes_answers(w) then
        return jsonb_build_object('go', 'not open', 'study_state', w.study_state);
    end if;
    select id, slot_id, leased_at into item, slot_, since from assignment
     where participant_id = w.person and state in ('leased', 'revealed');
    if found then
        if slot_ is null then return jsonb_build_object('go', 'item', 'item', item); end if;
        -- the slot first: whoever takes it over holds it until the assignment is lost
        update slot set lease_expires_at = st_lease_end(w, since)
         where id = slot_ and assignment_id = item and state = 'leased';
        perform 1 from assignment where id = item and state in ('leased', 'revealed');
        if found then return jsonb_build_object('go', 'item', 'item', item); end if;
    end if;
    if not w.preview and w.study_state <> 'open' then
        return jsonb_build_object('go', 'not open', 'study_state', w.study_state);
    end if;
    select count(*), count(*) filter (where slot_id is not null),
           count(*) filter (where state in ('submitted', 'surplus'))
      into own, seated, given from assignment where participant_id = w.person;
    if given >= w.promised and not w.preview then return jsonb_build_object('go', 'done'); end if;
    if w.preview then
        select i.id, i.picture_key into check_ from instance i
         where i.study_id = w.study and i.kind = 'real' and not exists (
             select from assignment a where a.instance_id = i.id and a.participant_id = w.person)
         order by i.place limit 1;
        if not found then return jsonb_build_object('go', 'done'); end if;
        return jsonb_build_object('go', 'item', 'item', st_added(w, check_.id, check_.picture_key, null));
    end if;
    if own - seated < seated / coalesce((w.settings -> 'checks' ->> 'every')::integer, 7) then
        select i.id, i.picture_key into check_ from instance i
         where i.study_id = w.study and i.kind = 'gold' and not exists (
             select from assignment a where a.instance_id = i.id and a.participant_id = w.person)
         order by i.place limit 1;
        if found then
            return jsonb_build_object('go', 'item',
                                      'item', st_added(w, check_.id, check_.picture_key, null));
        end if;
    end if;
    seat := st_seat(w);
    if seat.id is null then
        select count(*), min(extract(epoch from s.lease_expires_at - clock_timestamp()))
          into left_, wait
          from slot s join instance i on i.id = s.instance_id
         where s.study_id = w.study and s.round = w.round and s.state <> 'filled'
           and (s.reserved_for is null or s.reserved_for = w.design_row)
           and s.condition_id is not distinct from
               case when w.settings ->> 'votes_per' = 'explanation_and_condition' then w.condition end
           and i.picture_key <> all (st_avoided(w))
           and not exists (select from assignment a
                            where a.instance_id = s.instance_id and a.participant_id = w.person);
        if left_ > 0 then
            return jsonb_build_object('go', 'wait', 'seconds', least(greatest(coalesce(wait, 1), 1), 60));
        end if;
        return jsonb_build_object('go', 'ran out');
    end if;
    item := st_added(w, seat.instance_id, seat.picture_key, seat.id);
    if seat.assignment_id is not null then
        update assignment set state = 'lost'
         where id = seat.assignment_id and state in ('leased', 'revealed');
    end if;
    update slot set state = 'leased', assignment_id = item, lease_expires_at = st_lease_end(w, null)
     where id = seat.id;
    return jsonb_build_object('go', 'item', 'item', item);
end $$;

create function st_next(tok bytea) returns jsonb language plpgsql security definer
set search_path = public, pg_temp as $$
declare
    w step_person;
begin
    w := st_lock(tok);
    if w.person is null then return jsonb_build_object('word', 'nobody'); end if;
    return jsonb_build_object('word', 'ok') || st_claim(w);
end $$;

-- All that the page of an item needs. Once there is an own answer, the explanation may be shown from
-- this moment on, which is kept; before, nothing but the picture is named by the server. Whoever only
-- takes in a form does not look.
create function st_item(tok bytea, item bigint, looking boolean) returns jsonb
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    found_person uuid; a assignment; b baseline; i instance; slot_end timestamptz; p participant;
    first timestamptz; v version; done integer;
begin
    select s.participant_id into found_person from session s
     where s.token_sha256 = tok and s.expires_at > clock_timestamp() and s.participant_id is not null;
    if not found then return jsonb_build_object('word', 'nobody'); end if;
    select * into a from assignment where id = item and participant_id = found_person;
    if not found then return jsonb_build_object('word', 'not here'); end if;
    select * into p from participant where id = found_person;
    select * into v from version where id = p.version_id;
    select * into b from baseline where assignment_id = item;
    if looking and b.assignment_id is not null and a.revealed_at is null then
        perform 1 from participant where id = found_person for share;  -- nobody takes them out now
        update assignment set revealed_at = greatest(clock_timestamp(), baseline_at + interval '1 microsecond')
         where id = item and revealed_at is null returning revealed_at into first;
        if first is not null then
            insert into log (study_id, participant_id, kind, object, at)
            values (p.study_id, found_person, 7, item, first);
        end if;
    end if;
    select lease_expires_at into slot_end from slot where assignment_id = item;
    select * into i from instance where id = a.instance_id;
    select count(*) into done from assignment
     where participant_id = found_person and state in ('submitted', 'surplus');
    return jsonb_build_object(
        'word', 'ok', 'item', item, 'state', a.state, 'instance', i.id, 'position', a.position,
        'exposure', a.image_exposure_index, 'version', v.id, 'language', p.language,
        'condition', p.condition_id, 'lease', slot_end, 'done', done,
        'promised', coalesce(p.promised, p.quota), 'person', p.id, 'preview', p.preview,
        'own', case when b.assignment_id is null then null else b.answers end,
        'earlier', earlier_answers(found_person),
        'draft', (select content from draft where assignment_id = item),
        'shown', i.shown);
end $$;

create function st_keep(w step_person, a assignment) returns void language sql
set search_path = public, pg_temp as $$
    update slot set lease_expires_at = st_lease_end(w, a.leased_at)
     where id = a.slot_id and assignment_id = a.id and state = 'leased'
$$;

-- The own answer, before anything of the explanation is shown.
create function st_baseline(
    tok bytea, item bigint, answers_ jsonb, shown_ jsonb, client_ jsonb, digest_ bytea
) returns jsonb language plpgsql security definer set search_path = public, pg_temp as $$
declare
    w step_person; a assignment; known bytea; at_ timestamptz;
begin
    w := st_lock(tok);
    if w.person is null then return jsonb_build_object('word', 'nobody'); end if;
    select * into a from assignment where id = item and participant_id = w.person;
    if not found then return jsonb_build_object('word', 'not here'); end if;
    select payload_sha256 into known from baseline where assignment_id = item;
    if found then
        return jsonb_build_object('word', case when known = digest_ then 'ok' else 'conflict' end);
    end if;
    if not st_takes_answers(w) then
        return jsonb_build_object('word', 'not open', 'study_state', w.study_state);
    end if;
    if a.state not in ('leased', 'lost') then return jsonb_build_object('word', 'stage'); end if;
    perform st_keep(w, a);
    insert into baseline (assignment_id, answers, shown, client, payload_sha256)
    values (item, answers_, coalesce(shown_, '{}'), coalesce(client_, '{}'), digest_) returning at into at_;
    delete from draft where assignment_id = item;
    update assignment set baseline_at = at_,
           state = case when state = 'leased' then 'revealed' else state end where id = item;
    return jsonb_build_object('word', 'ok');
end $$;

-- Whether an item with one right answer was answered so: ratings, and a box that overlaps enough.
create function st_right(check_ jsonb, answers_ jsonb, own jsonb) returns boolean language sql immutable
set search_path = pg_catalog, public, pg_temp as $$
    select check_ is null or jsonb_typeof(check_) = 'null' or (
        coalesce((select bool_and(answers_ -> key = value)
                    from jsonb_each(coalesce(check_ -> 'ratings', '{}'))), true)
        and (coalesce(check_ -> 'box', 'null') = 'null' or exists (
            select from jsonb_array_elements(coalesce(own -> 'regions', '[]')) r,
                 lateral (select (r ->> 'x')::float8 x, (r ->> 'y')::float8 y,
                                 coalesce((r ->> 'width')::float8, 0) w,
                                 coalesce((r ->> 'height')::float8, 0) h) one,
                 lateral (select (check_ #>> '{box,x}')::float8 x, (check_ #>> '{box,y}')::float8 y,
                                 (check_ #>> '{box,width}')::float8 w,
                                 (check_ #>> '{box,height}')::float8 h) two,
                 lateral (select greatest(least(one.x + one.w, two.x + two.w) - greatest(one.x, two.x), 0)
                               * greatest(least(one.y + one.h, two.y + two.h) - greatest(one.y, two.y), 0)
                               as both_) inside
             where both_ >= coalesce((check_ ->> 'overlap')::float8, 0.5)
                 * (one.w * one.h + two.w * two.h - both_))))
$$;

-- Ratings become a vote. It counts if it fills a seat; nothing that was given is lost. The next item
-- is claimed in the same transaction.
create function st_rate(
    tok bytea, item bigint, answers_ jsonb, shown_ jsonb, key uuid, digest_ bytea, seconds jsonb,
    client_ jsonb
) returns jsonb language plpgsql security definer set search_path = public, pg_temp as $$
declare
    w step_person; a assignment; s slot; known bytea; counts boolean := false; at_ timestamptz;
begin
    w := st_lock(tok);
    if w.person is null then return jsonb_build_object('word', 'nobody'); end if;
    select * into a from assignment where id = item and participant_id = w.person;
    if not found then return jsonb_build_object('word', 'not here'); end if;
    if a.slot_id is null then
        select payload_sha256 into known from gold_result where assignment_id = item;
    else
        select payload_sha256 into known from vote where assignment_id = item;
    end if;
    if found then  -- sent again: the same receipt, or refused
        if known <> digest_ then return jsonb_build_object('word', 'conflict'); end if;
        return jsonb_build_object('word', 'ok', 'again', true) || st_claim(w);
    end if;
    if not st_takes_answers(w) then
        return jsonb_build_object('word', 'not open', 'study_state', w.study_state);
    end if;
    if a.state not in ('leased', 'revealed', 'lost') or a.baseline_at is null or a.revealed_at is null
    then return jsonb_build_object('word', 'stage'); end if;
    if a.slot_id is null then
        return jsonb_build_object('word', 'ok') || st_checked(w, a, answers_, digest_, seconds);
    end if;
    select * into s from slot where id = a.slot_id for update;
    -- whoever was taken out may still send what they had begun: it is kept, and fills no seat
    if w.outcome is null and w.state = 'active' and s.state <> 'filled'
       and (s.assignment_id = item or s.assignment_id is null) then
        update slot set state = 'filled', assignment_id = item, lease_expires_at = null where id = s.id;
        counts := true;
    end if;
    update assignment set state = case when counts then 'submitted' else 'surplus' end,
           finished_at = greatest(clock_timestamp(), revealed_at) where id = item
    returning finished_at into at_;
    delete from draft where assignment_id = item;
    insert into vote (assignment_id, slot_id, instance_id, participant_id, version_id, counted,
                      answers, shown, idem_key, payload_sha256, durations, client, at)
    values (item, a.slot_id, a.instance_id, w.person, w.version, counts, answers_,
            coalesce(shown_, '{}'), key, digest_, coalesce(seconds, '{}'), coalesce(client_, '{}'), at_);
    if not counts and w.outcome is null and w.version is not null then
        update door set available = available + 1 where version_id = w.version;
    end if;
    update place set state = 'used', held_until = null
     where participant_id = w.person and state in ('held', 'taken');
    perform st_log(w.study, w.person, (case when counts then 8 else 9 end)::smallint, item, null);
    perform st_count(w.version, case when counts then 'votes' else 'surplus' end, 1);
    return jsonb_build_object('word', 'ok', 'counted', counts) || st_claim(w);
end $$;

-- A hidden check, or somebody of the staff who looks at the study: no vote.
create function st_checked(w step_person, a assignment, answers_ jsonb, digest_ bytea, seconds jsonb)
returns jsonb language plpgsql set search_path = public, pg_temp as $$
declare
    passed_ boolean; failed integer; own jsonb; i instance;
begin
    select answers into own from baseline where assignment_id = a.id;
    select * into i from instance where id = a.instance_id;
    perform need_fit(w.version, 'after', w.person, i.shown, answers_);
    passed_ := st_right(i.record -> 'check', answers_, own);
    update assignment set state = 'checked', finished_at = greatest(clock_timestamp(), revealed_at)
     where id = a.id;
    delete from draft where assignment_id = a.id;
    insert into gold_result (assignment_id, answers, passed, payload_sha256, durations)
    values (a.id, answers_, passed_, digest_, coalesce(seconds, '{}'));
    perform st_log(w.study, w.person, 10::smallint, a.id, jsonb_build_object('passed', passed_));
    if not passed_ and not w.preview then
        select count(*) into failed from gold_result g join assignment o on o.id = g.assignment_id
         where o.participant_id = w.person and not g.passed;
        if failed > coalesce((w.settings -> 'checks' ->> 'allowed')::integer, 1)
           and w.settings -> 'checks' ->> 'then' = 'screen_out' then
            return jsonb_build_object('go', 'end') || st_out(w, 'failed_checks');
        end if;
    end if;
    return st_claim(w);
end $$;

-- Half an answer, so that a reload loses nothing. No commit waits for the disk.
create function st_draft(tok bytea, item bigint, content_ jsonb) returns jsonb
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    found_person uuid; a assignment; w step_person;
begin
    perform set_config('synchronous_commit', 'off', true);
    select s.participant_id into found_person from session s
     where s.token_sha256 = tok and s.expires_at > clock_timestamp() and s.participant_id is not null;
    if not found then return jsonb_build_object('word', 'nobody'); end if;
    select * into a from assignment where id = item and participant_id = found_person;
    if not found then return jsonb_build_object('word', 'not here'); end if;
    if a.state not in ('leased', 'revealed', 'lost') then return jsonb_build_object('word', 'ok'); end if;
    select v.lease_seconds into w.lease from version v where v.id = a.version_id;
    perform st_keep(w, a);
    if content_ is not null then
        insert into draft (assignment_id, content, at) values (item, content_, clock_timestamp())
        on conflict (assignment_id) do update set content = excluded.content, at = excluded.at;
    end if;
    return jsonb_build_object('word', 'ok', 'lease', (
        select lease_expires_at from slot where assignment_id = item));
end $$;

-- The page is open: the item stays.
create function st_beat(tok bytea, item bigint) returns jsonb language sql security definer
set search_path = public, pg_temp as $$ select st_draft(tok, item, null) $$;

-- The item goes back, and the person does not meet it again.
create function st_release(tok bytea, item bigint, why text) returns jsonb
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    w step_person; a assignment;
begin
    w := st_lock(tok);
    if w.person is null then return jsonb_build_object('word', 'nobody'); end if;
    select * into a from assignment where id = item and participant_id = w.person;
    if not found then return jsonb_build_object('word', 'not here'); end if;
    if a.state = 'released' then return jsonb_build_object('word', 'ok') || st_claim(w); end if;
    if a.state not in ('leased', 'revealed', 'lost') then return jsonb_build_object('word', 'stage'); end if;
    perform st_give_back(w, a, why);
    return jsonb_build_object('word', 'ok') || st_claim(w);
end $$;

create function st_give_back(w step_person, a assignment, why text) returns void
language plpgsql set search_path = public, pg_temp as $$
begin
    update slot set state = 'open', assignment_id = null, lease_expires_at = null
     where id = a.slot_id and assignment_id = a.id and state = 'leased';
    if found then
        update door set layer = least(layer, (select slot_no from slot where id = a.slot_id))
         where version_id = w.version;
    end if;
    update assignment set state = 'released', reason = why where id = a.id;
    delete from draft where assignment_id = a.id;
    perform st_log(w.study, w.person, 11::smallint, a.id, null);
end $$;

-- Practice: the same steps with feedback, as often as the version allows ------------------------------

create type practice_item as (instance bigint, number integer, of integer, attempt integer, row_id bigint);

-- The practice item of a number, if the person may be there; a null instance if not.
create function st_practised(w step_person, number_ integer) returns practice_item language plpgsql
set search_path = public, pg_temp as $$
declare
    item practice_item; answered integer;
begin
    select coalesce(max(substr(flag, 10)::integer), 1) into item.attempt
      from participant p, jsonb_array_elements_text(p.flags) flag
     where p.id = w.person and flag like 'practice %';
    select count(*) into item.of from instance where study_id = w.study and kind = 'training';
    select count(*) into answered from practice
     where participant_id = w.person and attempt = item.attempt and answers is not null;
    item.number := least(coalesce(number_, answered + 1), item.of);
    if w.state not in ('training', 'active', 'finished') or item.number < 1
       or item.number > answered + 1 then return null; end if;
    select id into item.instance from instance where study_id = w.study and kind = 'training'
     order by place offset item.number - 1 limit 1;
    select id into item.row_id from practice
     where participant_id = w.person and instance_id = item.instance and attempt = item.attempt;
    return item;
end $$;

-- A practice item; without a number, the one that comes next.
create function st_practice(tok bytea, number_ integer) returns jsonb language plpgsql security definer
set search_path = public, pg_temp as $$
declare
    w step_person; item practice_item; t practice; v version;
begin
    w := st_lock(tok);
    if w.person is null then return jsonb_build_object('word', 'nobody'); end if;
    item := st_practised(w, number_);
    if item.instance is null then return jsonb_build_object('word', 'not here', 'state', w.state); end if;
    update practice set revealed_at = greatest(clock_timestamp(), baseline_at + interval '1 microsecond')
     where id = item.row_id and revealed_at is null;
    select * into t from practice where id = item.row_id;
    select * into v from version where id = w.version;
    return jsonb_build_object(
        'word', 'ok', 'number', item.number, 'of', item.of, 'attempt', item.attempt,
        'attempts', coalesce((v.settings #>> '{training,attempts}')::integer, 3),
        'instance', item.instance, 'own', t.baseline, 'answers', t.answers, 'passed', t.passed,
        'version', w.version, 'language', w.language, 'state', w.state,
        'earlier', earlier_answers(w.person),
        'shown', (select shown from instance where id = item.instance),
        'right', (select count(*) from practice
                   where participant_id = w.person and attempt = item.attempt and passed));
end $$;

create function st_practice_own(tok bytea, number_ integer, answers_ jsonb) returns jsonb
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    w step_person; item practice_item; known jsonb;
begin
    w := st_lock(tok);
    if w.person is null then return jsonb_build_object('word', 'nobody'); end if;
    if not st_takes_answers(w) then
        return jsonb_build_object('word', 'not open', 'study_state', w.study_state);
    end if;
    item := st_practised(w, number_);
    if item.instance is null or item.number <> number_ then
        return jsonb_build_object('word', 'not here', 'state', w.state);
    end if;
    if item.row_id is not null then
        select baseline into known from practice where id = item.row_id;
        return jsonb_build_object('word', case when known = answers_ then 'ok' else 'conflict' end);
    end if;
    perform need_fit(w.version, 'before', w.person, null, answers_);
    insert into practice (participant_id, instance_id, attempt, baseline, version_id)
    values (w.person, item.instance, item.attempt, answers_, w.version);
    return jsonb_build_object('word', 'ok');
end $$;

create function st_practice_rate(tok bytea, number_ integer, answers_ jsonb) returns jsonb
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    w step_person; item practice_item; t practice; i instance;
begin
    w := st_lock(tok);
    if w.person is null then return jsonb_build_object('word', 'nobody'); end if;
    if not st_takes_answers(w) then
        return jsonb_build_object('word', 'not open', 'study_state', w.study_state);
    end if;
    item := st_practised(w, number_);
    if item.instance is null or item.number <> number_ then
        return jsonb_build_object('word', 'not here', 'state', w.state);
    end if;
    select * into t from practice where id = item.row_id;
    if t.answers is not null then
        return jsonb_build_object('word', case when t.answers = answers_ then 'ok' else 'conflict' end,
                                  'passed', t.passed);
    end if;
    if t.revealed_at is null then return jsonb_build_object('word', 'stage'); end if;
    select * into i from instance where id = item.instance;
    perform need_fit(w.version, 'after', w.person, i.shown, answers_);
    update practice set answers = answers_, answered_at = clock_timestamp(),
           passed = st_right(i.record -> 'check', answers_, t.baseline) where id = t.id returning * into t;
    perform st_log(w.study, w.person, 14::smallint, t.id, jsonb_build_object('passed', t.passed));
    return jsonb_build_object('word', 'ok', 'passed', t.passed);
end $$;

-- After the feedback of the last item: the person goes on, practises again, or does not go on.
create function st_practice_end(tok bytea) returns jsonb language plpgsql security definer
set search_path = public, pg_temp as $$
declare
    w step_person; item practice_item; right_ integer; answered integer;
begin
    w := st_lock(tok);
    if w.person is null then return jsonb_build_object('word', 'nobody'); end if;
    if w.state <> 'training' then return jsonb_build_object('word', 'ok', 'state', w.state); end if;
    if not st_takes_answers(w) then
        return jsonb_build_object('word', 'not open', 'study_state', w.study_state);
    end if;
    item := st_practised(w, null);
    select count(*), count(*) filter (where passed) into answered, right_ from practice
     where participant_id = w.person and attempt = item.attempt and answers is not null;
    if answered < item.of then return jsonb_build_object('word', 'stage', 'state', w.state); end if;
    if right_ >= coalesce((w.settings #>> '{training,pass_mark}')::numeric, 0.5) * item.of then
        return jsonb_build_object('word', st_activate(w), 'state', 'active');
    elsif item.attempt >= coalesce((w.settings #>> '{training,attempts}')::integer, 3) then
        return jsonb_build_object('word', 'ok') || st_out(w, 'failed_practice');
    end if;
    update participant set flags = jsonb_build_array('practice ' || (item.attempt + 1))
     where id = w.person;
    return jsonb_build_object('word', 'ok', 'state', 'training', 'attempt', item.attempt + 1);
end $$;

-- Ways out -----------------------------------------------------------------------------------------

-- What somebody is owed who leaves in this way, in minor units of the study's currency.
create function st_amount(version_ bigint, outcome_ text, given integer, promised_ integer)
returns integer language sql stable set search_path = public, pg_temp as $$
    select case coalesce((select pay from outcome where version_id = version_ and key = outcome_), 'none')
        when 'reward' then coalesce((v.settings #>> '{pay,reward}')::integer, 0)
        when 'part' then case when given = 0 then 0 else greatest(
            coalesce((v.settings #>> '{pay,floor}')::integer, 0),
            floor(coalesce((v.settings #>> '{pay,reward}')::numeric, 0) * least(given, promised_)
                  / greatest(promised_, 1))::integer) end
        when 'fee' then coalesce((v.settings #>> '{pay,screenout}')::integer, 0)
        else 0 end
    from version v where v.id = version_
$$;

-- One way out for each person, once: outcome, pay, seats, place and door in one transaction.
create function st_out(w step_person, outcome_ text) returns jsonb language plpgsql
set search_path = public, pg_temp as $$
declare
    given integer; amount integer; new_state text; live assignment; p participant; s study;
begin
    select count(*) into given from vote where participant_id = w.person;
    select * into live from assignment where participant_id = w.person and state in ('leased', 'revealed');
    if found then perform st_give_back(w, live, outcome_); end if;
    new_state := case when outcome_ in ('screened_out', 'failed_practice', 'wrong_device', 'full')
                      then 'screened_out' else 'finished' end;
    update participant set outcome = outcome_, outcome_at = clock_timestamp(), state = new_state,
           finished_at = clock_timestamp(),
           design_row = case when new_state = 'screened_out' then null else design_row end
     where id = w.person returning * into p;
    if w.design_row is not null then
        update slot set reserved_for = null where id in (
            select id from slot where study_id = w.study and reserved_for = w.design_row
               and state <> 'filled' order by id for update);
    end if;
    if w.preview then
        return jsonb_build_object('outcome', outcome_, 'amount', 0, 'state', new_state);
    end if;
    if given = 0 then perform st_place_back(w.person); end if;
    update door set available = available + greatest(0, w.promised - given) where version_id = w.version;
    amount := st_amount(w.version, outcome_, given, w.promised);
    if amount > 0 then
        select * into s from study where id = w.study;
        insert into payout (study_id, participant_id, sealed_submission, submission_digest, kind,
                            outcome, amount_minor, currency)
        values (w.study, w.person, p.submission, p.submission_digest,
            case (select pay from outcome where version_id = w.version and key = outcome_)
                when 'reward' then 'reward' when 'part' then 'partial' else 'screenout' end,
            outcome_, amount, s.currency)
        on conflict do nothing;
    end if;
    perform st_log(w.study, w.person, 12::smallint, null, jsonb_build_object('outcome', outcome_));
    perform st_count(w.version, 'out ' || outcome_, 1);
    return jsonb_build_object('outcome', outcome_, 'amount', amount, 'state', new_state, 'votes', given);
end $$;

-- The person goes: at the end, because nothing is left, or because they stop.
create function st_leave(tok bytea, how text) returns jsonb language plpgsql security definer
set search_path = public, pg_temp as $$
declare
    w step_person; next_ jsonb; given integer; outcome_ text;
begin
    w := st_lock(tok);
    if w.person is null then return jsonb_build_object('word', 'nobody'); end if;
    if w.outcome is not null then
        return jsonb_build_object('word', 'ok', 'outcome', w.outcome, 'state', w.state, 'amount', (
            select coalesce(sum(amount_minor), 0) from payout where participant_id = w.person));
    end if;
    select count(*) into given from vote where participant_id = w.person;
    if how = 'stopped' then
        if w.state in ('landed', 'withdrawn') then return jsonb_build_object('word', 'stage'); end if;
        return jsonb_build_object('word', 'ok') || st_out(w, 'stopped');
    end if;
    if w.state <> 'active' then return jsonb_build_object('word', 'stage', 'state', w.state); end if;
    if w.study_state in ('closed', 'archived') then
        outcome_ := 'ran_out';
    else
        next_ := st_claim(w);
        if next_ ->> 'go' not in ('done', 'ran out', 'wait') then
            return jsonb_build_object('word', 'stage') || next_;
        end if;
        outcome_ := case next_ ->> 'go' when 'done' then 'finished' else 'ran_out' end;
    end if;
    if exists (select from version v where v.id = w.version
                 and jsonb_array_length(coalesce(v.instrument -> 'end', '[]')) > 0)
       and w.study_state not in ('closed', 'archived')
       and not exists (select from answer where participant_id = w.person and stage = 'end') then
        return jsonb_build_object('word', 'stage', 'missing', 'end');
    end if;
    return jsonb_build_object('word', 'ok') || st_out(w, outcome_);
end $$;

-- Everything that a person gave goes; their seats are free again. A row without any trace of the
-- person stays, so that staff see that somebody withdrew. If they want to be paid for what they did,
-- the payout, be it new or owed already, keeps the sealed id and no link to the person.
create function st_withdraw(code bytea, paid boolean) returns jsonb language plpgsql security definer
set search_path = public, pg_temp as $$
declare
    p participant; given integer; counted_ integer; amount integer; kept integer; s study;
begin
    select * into p from participant where withdrawal_sha256 = code for update;
    if not found then return jsonb_build_object('word', 'not here'); end if;
    select * into s from study where id = p.study_id;
    select count(*), count(*) filter (where counted) into given, counted_ from vote where participant_id = p.id;
    amount := coalesce(st_amount(p.version_id, 'stopped', given, coalesce(p.promised, p.quota)), 0);
    if not paid then delete from payout where participant_id = p.id and state = 'owed'; end if;
    select coalesce(sum(amount_minor), 0) into kept from payout where participant_id = p.id;
    update payout set participant_id = null where participant_id = p.id;
    if paid and amount > 0 and p.outcome is null then
        insert into payout (study_id, sealed_submission, submission_digest, kind, outcome,
                            amount_minor, currency)
        values (p.study_id, p.submission, p.submission_digest, 'partial', 'withdrawn', amount, s.currency)
        on conflict do nothing;
    end if;
    -- seats in the order of their numbers, as everybody does who locks several
    update slot set state = 'open', assignment_id = null, lease_expires_at = null where id in (
        select sl.id from slot sl join assignment a on a.id = sl.assignment_id
         where a.participant_id = p.id order by sl.id for update of sl);
    delete from vote where participant_id = p.id;
    delete from gold_result where assignment_id in (select id from assignment where participant_id = p.id);
    delete from baseline where assignment_id in (select id from assignment where participant_id = p.id);
    delete from draft where assignment_id in (select id from assignment where participant_id = p.id);
    delete from assignment where participant_id = p.id;
    delete from practice where participant_id = p.id;
    delete from answer where participant_id = p.id;
    delete from consent where participant_id = p.id;
    delete from session where participant_id = p.id;
    delete from log where participant_id = p.id;
    perform st_place_back(p.id);
    if p.state = 'screened_out' or p.platform = 'invite' then
        insert into barred (study_id, token) values (p.study_id, p.bar_token) on conflict do nothing;
    end if;
    update participant set state = 'withdrawn', outcome = 'withdrawn', outcome_at = null,
           person = sha256(gen_random_uuid()::text::bytea), sealed_id = null, platform = '',
           pseudonym = 'withdrawn-' || replace(gen_random_uuid()::text, '-', ''),
           withdrawal_sha256 = null, bar_token = null, design_row = null, flags = '[]',
           finished_at = null, language = null, condition_id = null, promised = null,
           submission = null, submission_digest = null, created_at = date_trunc('day', s.created_at)
     where id = p.id;
    update door set layer = 1, available = available + counted_ + case when p.outcome is null and not p.preview
        then greatest(0, coalesce(p.promised, p.quota) - given) else 0 end
     where version_id = p.version_id;
    perform st_log(p.study_id, null, 13::smallint, null, null);
    perform st_count(p.version_id, 'withdrawn', 1);
    return jsonb_build_object('word', 'ok', 'outcome', 'withdrawn', 'version', p.version_id,
        'amount', case when paid and p.outcome is null then amount when paid then kept else 0 end);
end $$;

-- Limits -------------------------------------------------------------------------------------------

-- A bucket of tokens shared by all workers: whether there is one more.
create function st_allowed(key_ bytea, per_second double precision, most double precision)
returns boolean language plpgsql security definer set search_path = public, pg_temp as $$
declare
    left_ double precision;
begin
    perform set_config('synchronous_commit', 'off', true);
    insert into bucket as b values (key_, most - 1, clock_timestamp())
    on conflict (key) do update set
        tokens = least(most, b.tokens + per_second * extract(epoch from clock_timestamp() - b.at)) - 1,
        at = clock_timestamp()
    where least(most, b.tokens + per_second * extract(epoch from clock_timestamp() - b.at)) >= 1
    returning tokens into left_;
    return left_ is not null;
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

-- Items: own answer, reveal, ratings, drafts ---------------------------------------------------

-- All that the page of an item needs. Once there is an own answer, the explanation may be shown from
-- this moment on, which is kept; before, nothing but the image is named by the server. Whoever only
-- takes in a form does not look.
create function st_item(tok bytea, item bigint, looking boolean) returns jsonb
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    found_person uuid; a assignment; b baseline; i instance; slot_end timestamptz; p participant;
    first timestamptz; v version; t study; done integer;
begin
    select s.participant_id into found_person from session s
     where s.token_sha256 = tok and s.expires_at > clock_timestamp() and s.participant_id is not null;
    if not found then return jsonb_build_object('word', 'nobody'); end if;
    select * into a from assignment where id = item and participant_id = found_person;
    if not found then return jsonb_build_object('word', 'not here'); end if;
    select * into p from participant where id = found_person;
    select * into v from version where id = p.version_id;
    select * into t from study where id = p.study_id;
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
        'if_stopped', case when coalesce((v.settings #>> '{pay,reward}')::integer, 0) > 0
            then st_amount(v.id, 'stopped', done, coalesce(p.promised, p.quota)) end,
        'currency', t.currency, 'legend', t.legend,
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
    owed boolean;
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
    select count(*) < w.promised into owed from vote where participant_id = w.person;
    -- whoever was taken out may still send what they had begun: it is kept, and fills no seat
    if w.outcome is null and w.state = 'active' and s.state <> 'filled'
       and (s.assignment_id = item or s.assignment_id is null) then
        counts := owed;
        if not owed then  -- what was promised to them is somebody else's, unless some is left
            update door set available = available - 1
             where version_id = st_door(w.version) and available >= 1;
            counts := found;
        end if;
    end if;
    if counts then
        update slot set state = 'filled', assignment_id = item, lease_expires_at = null where id = s.id;
        if not owed then
            update participant set promised = promised + 1 where id = w.person
            returning promised into w.promised;
        end if;
    end if;
    update assignment set state = case when counts then 'submitted' else 'surplus' end,
           finished_at = greatest(clock_timestamp(), revealed_at) where id = item
    returning finished_at into at_;
    delete from draft where assignment_id = item;
    insert into vote (assignment_id, slot_id, instance_id, participant_id, version_id, counted,
                      answers, shown, idem_key, payload_sha256, durations, client, at)
    values (item, a.slot_id, a.instance_id, w.person, w.version, counts, answers_,
            coalesce(shown_, '{}'), key, digest_, coalesce(seconds, '{}'), coalesce(client_, '{}'), at_);
    if w.outcome is not null and not w.preview then  -- work of somebody who was taken out without any
        perform st_owe(w, w.outcome, 1);
    end if;
    if not counts and owed and w.outcome is null and w.version is not null then
        update door set available = available + 1 where version_id = st_door(w.version);
    end if;
    update place set state = 'used'
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
    if not w.preview then
        perform st_count(w.version, 'checks', 1);
        if not passed_ then perform st_count(w.version, 'checks failed', 1); end if;
    end if;
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
    alive jsonb;
begin
    alive := st_alive(tok, item);
    if alive ->> 'word' <> 'ok' then return alive; end if;
    insert into draft (assignment_id, content, at)
    select id, content_, clock_timestamp() from assignment
     where id = item and state in ('leased', 'revealed', 'lost')
    on conflict (assignment_id) do update set content = excluded.content, at = excluded.at;
    return alive;
end $$;

-- A sign of life, and the item of the page if it shows one: both are kept for the length of the
-- patience. No commit waits for the disk.
create function st_alive(tok bytea, item bigint) returns jsonb
language plpgsql security definer set search_path = public, pg_temp as $$
declare
    p participant; a assignment; w step_person;
begin
    perform set_config('synchronous_commit', 'off', true);
    select q.* into p from session s join participant q on q.id = s.participant_id
     where s.token_sha256 = tok and s.expires_at > clock_timestamp();
    if not found then return jsonb_build_object('word', 'nobody'); end if;
    select st_patience(v, p.state, true) into w.lease from version v where v.id = p.version_id;
    update participant set heard = true,
           alive_until = clock_timestamp() + make_interval(secs => w.lease)
     where id = p.id and outcome is null and (not heard
        or alive_until < clock_timestamp() + make_interval(secs => 0.9 * w.lease));
    if item is null then return jsonb_build_object('word', 'ok'); end if;
    select * into a from assignment where id = item and participant_id = p.id;
    if not found then return jsonb_build_object('word', 'not here'); end if;
    perform st_keep(w, a);
    return jsonb_build_object('word', 'ok', 'lease', (
        select lease_expires_at from slot where assignment_id = item));
end $$;

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
         where version_id = st_door(w.version);
    end if;
    update assignment set state = 'released', reason = why where id = a.id;
    delete from draft where assignment_id = a.id;
    perform st_log(w.study, w.person, 11::smallint, a.id, null);
end $$;

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
        'version', w.version, 'language', w.language, 'state', w.state, 'preview', w.preview,
        'legend', (select legend from study where id = w.study),
        'earlier', earlier_answers(w.person),
        'shown', (select shown from instance where id = item.instance),
        'feedback', (select case when t.answers is not null then record #>> '{check,feedback}' end
                       from instance where id = item.instance),
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
    perform need_fit(w.version, 'before', w.person,
                     (select shown from instance where id = item.instance), answers_);
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

-- After the feedback of the last item: the person goes on, practices again, or does not go on.
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
        return st_activate(w);
    elsif item.attempt >= coalesce((w.settings #>> '{training,attempts}')::integer, 3) then
        return jsonb_build_object('word', 'ok') || st_out(w, 'failed_practice');
    end if;
    update participant set flags = jsonb_build_array('practice ' || (item.attempt + 1))
     where id = w.person;
    return jsonb_build_object('word', 'ok', 'state', 'training', 'attempt', item.attempt + 1);
end $$;

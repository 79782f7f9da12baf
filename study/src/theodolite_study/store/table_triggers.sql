-- Triggers: an opened version does not change, a consent names what was shown, answers fit the
-- version that asked for them.

-- Once a version was opened, what people are asked and told stays as it is.
create function version_frozen() returns trigger language plpgsql as $$
begin
    if old.state <> 'draft' and (to_jsonb(new) - array['state', 'opened_at', 'closed_at', 'least_items', 'pilot'])
       is distinct from (to_jsonb(old) - array['state', 'opened_at', 'closed_at', 'least_items', 'pilot']) then
        raise exception 'version % is %: it cannot be changed', old.no, old.state
            using errcode = 'integrity_constraint_violation';
    end if;
    if new.state = 'draft' and old.state <> 'draft' then
        raise exception 'version % was opened: it is no draft again', old.no
            using errcode = 'integrity_constraint_violation';
    end if;
    return new;
end $$;
create trigger version_frozen before update on version
    for each row execute function version_frozen();

create function version_part_frozen() returns trigger language plpgsql as $$
declare
    row_ jsonb := case when tg_op = 'DELETE' then to_jsonb(old) else to_jsonb(new) end;
    state_ text;
begin
    select state into state_ from version where id = (row_ ->> 'version_id')::bigint for share;
    if state_ <> 'draft' then
        raise exception '% of a version that is %', tg_table_name, state_
            using errcode = 'integrity_constraint_violation';
    end if;
    return case when tg_op = 'DELETE' then old else new end;
end $$;
create trigger wording_frozen before insert or update or delete on wording
    for each row execute function version_part_frozen();
create trigger consent_text_frozen before insert or update or delete on consent_text
    for each row execute function version_part_frozen();
create trigger condition_frozen before insert or update or delete on condition
    for each row execute function version_part_frozen();
create trigger outcome_frozen before insert or update or delete on outcome
    for each row execute function version_part_frozen();

-- What was agreed to is what was shown, byte for byte.
create function consent_as_shown() returns trigger language plpgsql as $$
begin
    if not exists (
        select from consent_text t where t.version_id = new.version_id
           and t.language = new.language and t.digest = new.form_sha256) then
        raise exception 'no such form was shown' using errcode = 'integrity_constraint_violation';
    end if;
    return new;
end $$;
create trigger consent_as_shown before insert or update on consent
    for each row execute function consent_as_shown();

create function earlier_answers(person uuid) returns jsonb language sql stable
set search_path = public, pg_temp as $$
    select coalesce((select answers from answer where participant_id = person and stage = 'door'), '{}')
        || coalesce((select answers from answer where participant_id = person and stage = 'about'), '{}')
$$;

-- Pages of a stage without the blocks that ask for what an explanation does not have: a block names
-- what it needs by the setting `needs` of the version, {"q5": "same", "q6": "different"}; places are
-- marked in images alone.
create function asked_of(pages jsonb, settings jsonb, shown jsonb) returns jsonb
language sql immutable set search_path = pg_catalog, public, pg_temp as $$
    select case when shown is null
                  or settings -> 'needs' is null and coalesce(shown #> '{shown,image}', 'null') <> 'null'
    then coalesce(pages, '[]') else (
        select coalesce(jsonb_agg(jsonb_set(page, '{blocks}', (
            select coalesce(jsonb_agg(b order by q), '[]')
              from jsonb_array_elements(page -> 'blocks') with ordinality as inside(b, q)
             where (coalesce(shown -> (settings -> 'needs' ->> (b ->> 'name')), 'null') <> 'null'
                    or settings -> 'needs' -> (b ->> 'name') is null)
               and (b ->> 'kind' <> 'regions' or coalesce(shown #> '{shown,image}', 'null') <> 'null')
            )) order by p), '[]')
          from jsonb_array_elements(pages) with ordinality as every(page, p)) end
$$;

-- Why answers are not what a version asks for in this way, of this explanation, after what the person
-- answered before; empty where they are.
create function why_not_fit(version_ bigint, stage_ text, person uuid, explanation jsonb, answers_ jsonb)
returns text language sql stable set search_path = public, pg_temp as $$
    select coalesce((select coalesce(answers_fit(
        asked_of(v.instrument -> stage_, v.settings, explanation),
        case stage_ when 'door' then '{}' else earlier_answers(person) end, answers_), '')
      from version v where v.id = version_), 'no version')
$$;

create function need_fit(version_ bigint, stage_ text, person uuid, explanation jsonb, answers_ jsonb)
returns void language plpgsql stable set search_path = public, pg_temp as $$
declare
    why text := why_not_fit(version_, stage_, person, explanation, answers_);
begin
    if why <> '' then
        raise exception 'answers do not fit: %', why using errcode = 'check_violation';
    end if;
end $$;

-- Nothing else is stored, whoever writes.
create function stored_answers_fit() returns trigger language plpgsql
set search_path = public, pg_temp as $$
declare
    person uuid; which bigint; stage_ text; explanation jsonb;
begin
    if new.answers is null then return new; end if;
    if tg_table_name = 'answer' then
        person := new.participant_id; which := new.version_id; stage_ := new.stage;
    else
        stage_ := case tg_table_name when 'baseline' then 'before' else 'after' end;
        select a.participant_id, a.version_id, i.shown
          into person, which, explanation
          from assignment a join instance i on i.id = a.instance_id where a.id = new.assignment_id;
    end if;
    perform need_fit(which, stage_, person, explanation, new.answers);
    return new;
end $$;

create trigger answer_answers_fit before insert or update on answer
    for each row execute function stored_answers_fit();
create trigger baseline_answers_fit before insert or update of answers on baseline
    for each row execute function stored_answers_fit();
create trigger vote_answers_fit before insert or update of answers on vote
    for each row execute function stored_answers_fit();

-- Whether answers fit the blocks of a stage: the same rules as in theodolite_study.model, so that
-- nothing else is ever stored, whoever writes. Answers are checked in the form in which they are
-- stored. Returned is null, or what does not fit.

create function rule_holds(rule jsonb, answers jsonb) returns boolean
language plpgsql immutable parallel safe set search_path = pg_catalog, public, pg_temp as $$
declare
    part jsonb; answer jsonb; value jsonb; op text;
begin
    if rule is null then return true; end if;
    if rule ? 'all' then
        for part in select * from jsonb_array_elements(rule -> 'all') loop
            if not rule_holds(part, answers) then return false; end if;
        end loop;
        return true;
    elsif rule ? 'any' then
        for part in select * from jsonb_array_elements(rule -> 'any') loop
            if rule_holds(part, answers) then return true; end if;
        end loop;
        return false;
    elsif rule ? 'not' then
        return not rule_holds(rule -> 'not', answers);
    end if;
    answer := answers -> (rule ->> 'block');
    if answer is null then return false; end if;
    op := rule ->> 'op';
    value := rule -> 'value';
    if op = 'answered' then return true; end if;
    if op = 'in' then
        return exists (
            select from jsonb_array_elements(
                case jsonb_typeof(value) when 'array' then value else jsonb_build_array(value) end
            ) v, jsonb_array_elements(
                case jsonb_typeof(answer) when 'array' then answer else jsonb_build_array(answer) end
            ) a where v = a);
    end if;
    if op = 'eq' then return coalesce(value = answer, false); end if;
    if op = 'ne' then return value is distinct from answer; end if;
    if jsonb_typeof(value) is distinct from 'number' or jsonb_typeof(answer) <> 'number' then
        return false;
    end if;
    return case op
        when 'lt' then (answer #>> '{}')::numeric < (value #>> '{}')::numeric
        when 'le' then (answer #>> '{}')::numeric <= (value #>> '{}')::numeric
        when 'gt' then (answer #>> '{}')::numeric > (value #>> '{}')::numeric
        else (answer #>> '{}')::numeric >= (value #>> '{}')::numeric end;
end $$;

create function text_fits(value jsonb, lowest numeric, highest numeric) returns boolean
language sql immutable parallel safe set search_path = pg_catalog, public, pg_temp as $$
    select jsonb_typeof(value) = 'string'
       and length(value #>> '{}') between lowest and highest
       and btrim(value #>> '{}', E' \t\n\r\f\v') = value #>> '{}'
$$;

create function number_fits(value jsonb, lowest numeric, highest numeric, step numeric) returns boolean
language sql immutable parallel safe set search_path = pg_catalog, public, pg_temp as $$
    select case when jsonb_typeof(value) = 'number' then
        (value #>> '{}')::numeric between lowest and highest
        and mod((value #>> '{}')::numeric - lowest, step) = 0 else false end
$$;

create function choice_fits(block jsonb, value jsonb) returns boolean
language plpgsql immutable parallel safe set search_path = pg_catalog, public, pg_temp as $$
declare
    keys jsonb := block -> 'options'; chosen jsonb := value; words jsonb; n int;
begin
    if coalesce((block ->> 'other')::boolean, false) then
        keys := keys || '["other"]';
        if jsonb_typeof(value) = 'object' then
            if (select count(*) from jsonb_object_keys(value)) <> 2
               or not value ?& array['chosen', 'other'] then return false; end if;
            chosen := value -> 'chosen';
            words := value -> 'other';
            if not text_fits(words, 1, 500) then return false; end if;
        end if;
    end if;
    if coalesce((block ->> 'several')::boolean, false) then
        if jsonb_typeof(chosen) <> 'array' then return false; end if;
        n := jsonb_array_length(chosen);
        if n < coalesce((block ->> 'least')::int, 1)
           or n > coalesce((block ->> 'most')::int, jsonb_array_length(keys)) then return false;
        end if;
        -- each is an option, and they stand in the order of the options, so none is there twice
        if chosen <> coalesce((
            select jsonb_agg(key order by place)
            from jsonb_array_elements(keys) with ordinality as every(key, place)
            where chosen @> jsonb_build_array(key)), '[]') then return false; end if;
        return (chosen @> '["other"]') = (words is not null);
    end if;
    if jsonb_typeof(chosen) <> 'string' or not keys @> jsonb_build_array(chosen) then
        return false;
    end if;
    return (chosen = '"other"') = (words is not null);
end $$;

create function regions_fit(block jsonb, value jsonb) returns boolean
language plpgsql immutable parallel safe set search_path = pg_catalog, public, pg_temp as $$
declare
    shape jsonb; n int; parts int; part record;
begin
    if jsonb_typeof(value) <> 'array' then return false; end if;
    n := jsonb_array_length(value);
    if n = 0 and coalesce((block ->> 'nothing')::boolean, true) then return true; end if;
    if n < greatest(coalesce((block ->> 'least')::int, 1), 1)
       or n > coalesce((block ->> 'most')::int, 20) then return false; end if;
    for shape in select * from jsonb_array_elements(value) loop
        if jsonb_typeof(shape) <> 'object' then return false; end if;
        parts := (select count(*) from jsonb_object_keys(shape));
        if not (parts = 4 and shape ?& array['x', 'y', 'width', 'height']
                and block -> 'shapes' @> '["box"]')
           and not (parts = 2 and shape ?& array['x', 'y'] and block -> 'shapes' @> '["point"]')
        then return false; end if;
        for part in select * from jsonb_each(shape) loop
            if jsonb_typeof(part.value) <> 'number' then return false; end if;
            if (part.value #>> '{}')::numeric not between 0 and 1000000
               or (part.key in ('width', 'height') and (part.value #>> '{}')::numeric = 0) then
                return false;
            end if;
        end loop;
    end loop;
    return true;
end $$;

create function answer_fits(block jsonb, value jsonb) returns boolean
language plpgsql immutable parallel safe set search_path = pg_catalog, public, pg_temp as $$
begin
    case block ->> 'kind'
    when 'likert' then
        return number_fits(value, 1, (block ->> 'points')::numeric, 1);
    when 'choice' then return choice_fits(block, value);
    when 'text' then
        return text_fits(value, (block ->> 'least')::numeric, (block ->> 'most')::numeric);
    when 'comment' then return text_fits(value, 1, (block ->> 'most')::numeric);
    when 'number', 'slider' then
        return number_fits(value, (block ->> 'least')::numeric, (block ->> 'most')::numeric,
                           (block ->> 'step')::numeric);
    when 'comparison' then
        return jsonb_typeof(value) = 'string' and (
            block -> 'of' @> jsonb_build_array(value)
            or (value = '"tie"' and coalesce((block ->> 'tie')::boolean, false)));
    when 'ranking' then
        if jsonb_typeof(value) <> 'array' then return false; end if;
        return (select jsonb_agg(item order by item) from jsonb_array_elements(value) item)
             = (select jsonb_agg(item order by item) from jsonb_array_elements(block -> 'items') item);
    when 'regions' then return regions_fit(block, value);
    else return false;  -- a note, or a kind of a later release
    end case;
end $$;

-- earlier: answers of the stages door and about
create function answers_fit(pages jsonb, earlier jsonb, answers jsonb) returns text
language plpgsql immutable parallel safe set search_path = pg_catalog, public, pg_temp as $$
declare
    block jsonb; name text; known jsonb := coalesce(earlier, '{}'); met int := 0;
begin
    if jsonb_typeof(answers) <> 'object' then return 'answers: no object'; end if;
    for block in
        select b from jsonb_array_elements(pages) with ordinality as every(page, p),
             jsonb_array_elements(page -> 'blocks') with ordinality as inside(b, q) order by p, q
    loop
        name := block ->> 'name';
        if not rule_holds(block -> 'show_if', known) then
            if answers ? name then return name || ': not shown'; end if;
        elsif answers ? name then
            if not coalesce(answer_fits(block, answers -> name), false) then
                return name || ': does not fit';
            end if;
            known := known || jsonb_build_object(name, answers -> name);
            met := met + 1;
        elsif coalesce((block ->> 'required')::boolean, true) then
            return name || ': missing';
        end if;
    end loop;
    if met <> (select count(*) from jsonb_object_keys(answers)) then
        return 'answers: something that is not asked';
    end if;
    return null;
end $$;

-- Texts of a version: which ones it needs, and that it opens only with all of them in each language.
-- The same rules as model/texts.py; a property test compares.

create function block_text_parts(block jsonb) returns setof text language sql immutable
set search_path = pg_catalog, public, pg_temp as $$
    select 'text'
    union all select 'point.' || n
      from generate_series(1, coalesce((block ->> 'points')::integer, 5)) n
     where block ->> 'kind' = 'likert' and block ->> 'labels' = 'all'
    union all select part from unnest(array['low', 'high']) part
     where block ->> 'kind' = 'slider'
        or (block ->> 'kind' = 'likert' and coalesce(block ->> 'labels', 'ends') = 'ends')
    union all select 'option.' || key from jsonb_array_elements_text(block -> 'options') key
     where block ->> 'kind' = 'choice'
    union all select 'option.other'
     where block ->> 'kind' = 'choice' and (block ->> 'other')::boolean
    union all select 'item.' || key from jsonb_array_elements_text(block -> 'items') key
     where block ->> 'kind' = 'ranking'
    union all select 'option.' || key from jsonb_array_elements_text(block -> 'of') key
     where block ->> 'kind' = 'comparison'
    union all select 'option.tie'
     where block ->> 'kind' = 'comparison' and (block ->> 'tie')::boolean
$$;

create function text_keys(instrument jsonb, outcomes text[]) returns setof text
language sql immutable set search_path = pg_catalog, public, pg_temp as $$
    select unnest(array['title', 'welcome', 'consent', 'instructions', 'thanks', 'contact'])
    union all select 'outcome.' || key from unnest(outcomes) key
    union all select (block ->> 'name') || '.' || part
      from unnest(array['door', 'about', 'before', 'after', 'end']) stage,
           jsonb_array_elements(coalesce(instrument -> stage, '[]')) page,
           jsonb_array_elements(page -> 'blocks') block, block_text_parts(block) part
$$;

-- The consent has words when its bytes are there: they are what people read.
create function missing_texts(version_ bigint) returns table (language text, key text)
language sql stable set search_path = pg_catalog, public, pg_temp as $$
    select l, k from version v, unnest(v.languages) l,
        text_keys(v.instrument, array(select o.key from outcome o where o.version_id = v.id)) k
     where v.id = version_ and not case k
        when 'consent' then exists (select from consent_text c
            where c.version_id = v.id and c.language = l
              and btrim(convert_from(c.shown, 'UTF8'), E' \t\n\r\f\x0b') <> '')
        else exists (select from wording w
            where w.version_id = v.id and w.key = k and w.language = l
              and btrim(w.body, E' \t\n\r\f\x0b') <> '') end
$$;

create function version_says_all() returns trigger language plpgsql
set search_path = pg_catalog, public, pg_temp as $$
declare
    missing text; n integer;
begin
    select min(m.language || ' ' || m.key), count(*) into missing, n from missing_texts(new.id) m;
    if n > 0 then
        raise exception 'version % cannot open: % texts are missing, such as %', new.no, n, missing
            using errcode = 'integrity_constraint_violation';
    end if;
    return new;
end $$;
-- After the row has changed, as the languages may change in the same statement.
create constraint trigger version_says_all after update of state on version
    for each row when (old.state = 'draft' and new.state in ('pilot', 'open'))
    execute function version_says_all();

revoke execute on function block_text_parts(jsonb), text_keys(jsonb, text[]), missing_texts(bigint),
    version_says_all() from public;

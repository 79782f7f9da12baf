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

-- Somebody new: first the bucket of their part of the network, then that of everybody together, who
-- wait for a moment where the first ones are sent away.
create function st_newcomer(
    key_ bytea, per_second double precision, most double precision, all_per_second double precision,
    all_most double precision
) returns jsonb language plpgsql security definer set search_path = public, pg_temp as $$
begin
    if not st_allowed(key_, per_second, most) then return jsonb_build_object('word', 'quick'); end if;
    if not st_allowed('newcomers', all_per_second, all_most) then
        return jsonb_build_object('word', 'busy');
    end if;
    if random() < 0.01 then
        delete from bucket where at < clock_timestamp() - interval '1 day';
    end if;
    return jsonb_build_object('word', 'ok');
end $$;

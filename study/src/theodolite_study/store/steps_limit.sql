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

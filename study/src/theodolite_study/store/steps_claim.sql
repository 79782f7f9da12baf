-- Claims --------------------------------------------------------------------------------------------

create function st_lease_end(w step_person, since timestamptz) returns timestamptz language sql
set search_path = public, pg_temp as $$
    select least(clock_timestamp() + make_interval(secs => w.lease),
                 coalesce(since, clock_timestamp()) + interval '60 minutes')
$$;

-- Images that this person met just before, or often enough.
create function st_avoided(w step_person) returns text[] language sql stable
set search_path = public, pg_temp as $$
    select coalesce(array_agg(distinct image_key), '{}') from (
        select image_key, row_number() over (order by position desc) as back,
               count(*) over (partition by image_key) as times
          from assignment where participant_id = w.person) own
     where back <= coalesce((w.settings ->> 'same_image_gap')::integer, 0)
        or times >= (w.settings ->> 'same_image_most')::integer
$$;

create type free_seat as (id bigint, instance_id bigint, assignment_id bigint, image_key text);

-- A seat that nobody holds, of an explanation that the person has not met: breadth first, beginning
-- at random within a layer, so that dead entries of the index lie apart and claimers seldom meet.
create function st_seat(w step_person) returns free_seat language plpgsql
set search_path = public, pg_temp as $$
declare
    seat free_seat; start double precision := random(); avoided text[] := st_avoided(w);
    layer_ smallint; first smallint; door_ bigint; low_ double precision; high_ double precision;
begin
    if w.design_row is not null then
        select s.id, s.instance_id, s.assignment_id, i.image_key into seat
          from slot s join instance i on i.id = s.instance_id
         where s.study_id = w.study and s.round = w.round and s.reserved_for = w.design_row
           and (s.state = 'open' or s.state = 'leased' and s.lease_expires_at < clock_timestamp())
           and i.image_key <> all (avoided)
           and not exists (select from assignment a
                            where a.instance_id = s.instance_id and a.participant_id = w.person)
         order by s.planned_position limit 1 for update of s skip locked;
        if found then return seat; end if;
    end if;
    select version_id, layer into door_, first from door where version_id = st_door(w.version);
    for layer_ in coalesce(first, 0) .. w.n_votes loop
        for half in 1 .. 2 loop  -- bounds, as an index finds them
            low_ := case half when 1 then start else -1 end;
            high_ := case half when 1 then 2 else start end;
            select s.id, s.instance_id, s.assignment_id, i.image_key into seat
              from slot s join instance i on i.id = s.instance_id
             where s.study_id = w.study and s.round = w.round and s.slot_no = layer_
               and s.rnd >= low_ and s.rnd < high_
               and s.state <> 'filled' and s.reserved_for is null
               and s.condition_id is not distinct from
                   case when w.settings ->> 'votes_per' = 'explanation_and_condition' then w.condition end
               and (s.state = 'open' or s.lease_expires_at < clock_timestamp())
               and i.image_key <> all (avoided)
               and not exists (select from assignment a
                                where a.instance_id = s.instance_id and a.participant_id = w.person)
               and (w.design_row is null or not exists (
                   select from slot own where own.instance_id = s.instance_id
                      and own.reserved_for = w.design_row and own.state <> 'filled'))
             order by s.rnd limit 1 for update of s skip locked;
            if found then return seat; end if;
        end loop;
        -- a hint only: a layer without a single unfilled seat need not be looked at again
        if layer_ = coalesce(first, 0) and not exists (
            select from slot s where s.study_id = w.study and s.round = w.round
               and s.slot_no = layer_ and s.state <> 'filled') then
            update door set layer = greatest(layer, layer_ + 1) where version_id in (
                select version_id from door where version_id = door_ for update skip locked);
            first := layer_ + 1;
        end if;
    end loop;
    return null;
end $$;

create function st_added(w step_person, instance_ bigint, image text, slot_ bigint)
returns bigint language plpgsql set search_path = public, pg_temp as $$
declare
    item bigint; said baseline;
begin
    insert into assignment (participant_id, instance_id, slot_id, image_key, position,
                            image_exposure_index, version_id)
    select w.person, instance_, slot_, image, 1 + count(*),
           1 + count(*) filter (where image_key = image), w.version
      from assignment where participant_id = w.person
    returning id into item;
    if w.settings ->> 'baseline' = 'once_per_image' and slot_ is not null then
        -- the same image again: what they saw is known, and is not asked twice
        select b.* into said from baseline b join assignment a on a.id = b.assignment_id
         where a.participant_id = w.person and a.image_key = image and a.slot_id is not null
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
    if given >= w.promised and not w.preview then
        return jsonb_build_object('go', case when w.away then 'back' else 'done' end);
    end if;
    if st_newer(w.study, w.version, w.version_state, w.language, w.preview) is not null then
        return jsonb_build_object('go', 'consent');
    end if;
    if w.preview then
        select i.id, i.image_key into check_ from instance i
         where i.study_id = w.study and i.kind = 'real' and not exists (
             select from assignment a where a.instance_id = i.id and a.participant_id = w.person)
         order by i.place limit 1;
        if not found then return jsonb_build_object('go', 'done'); end if;
        return jsonb_build_object('go', 'item', 'item', st_added(w, check_.id, check_.image_key, null));
    end if;
    if own - seated < seated / coalesce((w.settings -> 'checks' ->> 'every')::integer, 7) then
        select i.id, i.image_key into check_ from instance i
         where i.study_id = w.study and i.kind = 'gold' and not exists (
             select from assignment a where a.instance_id = i.id and a.participant_id = w.person)
         order by i.place limit 1;
        if found then
            return jsonb_build_object('go', 'item',
                                      'item', st_added(w, check_.id, check_.image_key, null));
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
           and i.image_key <> all (st_avoided(w))
           and not exists (select from assignment a
                            where a.instance_id = s.instance_id and a.participant_id = w.person);
        if left_ > 0 then
            return jsonb_build_object('go', 'wait', 'seconds', least(greatest(coalesce(wait, 1), 1), 60));
        end if;
        return jsonb_build_object('go', 'ran out');
    end if;
    item := st_added(w, seat.instance_id, seat.image_key, seat.id);
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
    -- before anything else is locked: others are freed for somebody who returns
    if w.away and w.outcome is null and w.state = 'active' and w.study_state = 'open' then
        w := st_back(w);
        if w.away then return jsonb_build_object('word', 'ok', 'go', 'end') || st_out(w, case
            when (select count(*) from vote where participant_id = w.person) >= (
                select quota from participant where id = w.person) then 'finished'
            else 'timed_out' end); end if;
    end if;
    return jsonb_build_object('word', 'ok') || st_claim(w);
end $$;

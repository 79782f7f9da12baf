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

-- What somebody who is out is owed, written down once.
create function st_owe(w step_person, outcome_ text, given integer) returns integer
language plpgsql set search_path = public, pg_temp as $$
declare
    amount integer := st_amount(w.version, outcome_, given, w.promised);
begin
    if amount > 0 then
        insert into payout (study_id, participant_id, sealed_submission, submission_digest, kind,
                            outcome, amount_minor, currency)
        select w.study, w.person, p.submission, p.submission_digest,
               case (select pay from outcome where version_id = w.version and key = outcome_)
                   when 'reward' then 'reward' when 'part' then 'partial' else 'screenout' end,
               outcome_, amount, s.currency
          from participant p join study s on s.id = p.study_id where p.id = w.person
        on conflict do nothing;
    end if;
    return amount;
end $$;

-- One way out for each person, once: outcome, pay, seats, place and door in one transaction.
create function st_out(w step_person, outcome_ text) returns jsonb language plpgsql
set search_path = public, pg_temp as $$
declare
    given integer; amount integer; new_state text; live assignment;
begin
    select count(*) into given from vote where participant_id = w.person;
    select * into live from assignment where participant_id = w.person and state in ('leased', 'revealed');
    if found then perform st_give_back(w, live, outcome_); end if;
    new_state := case when outcome_ in ('screened_out', 'failed_practice', 'wrong_device', 'full')
                      then 'screened_out' else 'finished' end;
    update participant set outcome = outcome_, outcome_at = clock_timestamp(), state = new_state,
           finished_at = clock_timestamp(),
           design_row = case when new_state = 'screened_out' then null else design_row end
     where id = w.person;
    if w.design_row is not null then
        update slot set reserved_for = null where id in (
            select id from slot where study_id = w.study and reserved_for = w.design_row
               and state <> 'filled' order by id for update);
    end if;
    if w.preview then
        return jsonb_build_object('outcome', outcome_, 'amount', 0, 'state', new_state);
    end if;
    if given = 0 then perform st_place_back(w.person); end if;
    update door set available = available + greatest(0, w.promised - given)
     where version_id = st_door(w.version);
    amount := st_owe(w, outcome_, given);
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
        -- nobody is sent away by a link of somebody else: not to wait is said by a form
        if next_ ->> 'go' = 'wait' and how <> 'not waiting' and not exists (
            select from answer where participant_id = w.person and stage = 'end') then
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

-- Counters without what somebody gave who withdraws.
create function st_uncount(p participant) returns void language sql
set search_path = public, pg_temp as $$
    select st_count(version_id, case when counted then 'votes' else 'surplus' end, -count(*))
      from vote where participant_id = p.id group by version_id, counted;
    select st_count(a.version_id, 'checks', -count(*)),
           st_count(a.version_id, 'checks failed', -count(*) filter (where not g.passed))
      from gold_result g join assignment a on a.id = g.assignment_id
     where a.participant_id = p.id and not p.preview group by a.version_id;
    select st_count(p.version_id, 'out ' || p.outcome, -1) where p.outcome is not null and not p.preview;
    select st_count(p.version_id, 'out withdrawn', 1) where not p.preview;
$$;

-- Everything that a person gave goes; their seats are free again. A row without any trace of the
-- person stays, so that staff see that somebody withdrew. If they want to be paid for what they did,
-- the payout, be it new or owed already, keeps the sealed id and no link to the person.
create function st_withdraw(code bytea, paid boolean) returns jsonb language plpgsql security definer
set search_path = public, pg_temp as $$
declare
    p participant; given integer; amount integer; kept integer; s study;
begin
    select * into p from participant where withdrawal_sha256 = code for update;
    if not found then return jsonb_build_object('word', 'not here'); end if;
    select * into s from study where id = p.study_id;
    select count(*) into given from vote where participant_id = p.id;
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
    perform st_uncount(p);
    update door d set layer = 0, available = d.available + seats.n from (
        select st_door(version_id) as door, count(*) filter (where counted) as n
          from vote where participant_id = p.id group by 1) seats where d.version_id = seats.door;
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
    if p.outcome is null and not p.preview then
        update door set layer = 0,
               available = available + greatest(0, coalesce(p.promised, p.quota) - given)
         where version_id = st_door(p.version_id);
    end if;
    perform st_log(p.study_id, null, 13::smallint, null, null);
    return jsonb_build_object('word', 'ok', 'outcome', 'withdrawn', 'version', p.version_id,
        'amount', case when paid and p.outcome is null then amount when paid then kept else 0 end);
end $$;

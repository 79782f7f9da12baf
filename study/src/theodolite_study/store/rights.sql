-- Who may do what. The steps belong to a role that nobody logs in as; the server's login may call
-- them and see what is the same for everybody, and touches no table.

do $$
declare
    role_ text;
begin
    foreach role_ in array array['theodolite_steps', 'theodolite_serve', 'theodolite_withdraw'] loop
        begin
            if not exists (select from pg_roles where rolname = role_) then
                execute format('create role %I nologin', role_);
            end if;
        exception when duplicate_object or unique_violation then null;  -- another database, just now
        end;
        if not pg_has_role(current_user, role_, 'member') then
            execute format('grant %I to %I', role_, current_user);
        end if;
    end loop;
end $$;

create view version_public as
    select id, study_id, no, round, instrument, settings - 'pay' as settings, n_votes, quota, languages,
           default_language, digest from version where state <> 'draft';
create view wording_public as
    select w.* from wording w join version v on v.id = w.version_id where v.state <> 'draft';
create view consent_public as
    select c.* from consent_text c join version v on v.id = c.version_id where v.state <> 'draft';
create view outcome_public as
    select o.* from outcome o join version v on v.id = o.version_id where v.state <> 'draft';

grant usage on schema public to theodolite_steps, theodolite_serve, theodolite_withdraw;
grant select on version_public, wording_public, consent_public, outcome_public to theodolite_serve;

grant select on all tables in schema public to theodolite_steps;
grant insert on participant, session, consent, declined, answer, assignment, baseline, draft,
    gold_result, vote, practice, payout, barred, log, tally, bucket, seen_token to theodolite_steps;
grant update on participant, session, draft, place, door, practice, tally, bucket, payout
    to theodolite_steps;
grant update (state, assignment_id, lease_expires_at, reserved_for) on slot to theodolite_steps;
grant update (state, baseline_at, revealed_at, finished_at, reason) on assignment to theodolite_steps;
grant delete on participant, session, draft, log, seen_token, bucket to theodolite_steps;

-- Taking answers out again is one function's right alone.
grant select on all tables in schema public to theodolite_withdraw;
grant update on participant, place, door, tally, payout to theodolite_withdraw;
grant update (state, assignment_id, lease_expires_at) on slot to theodolite_withdraw;
grant update (state) on assignment to theodolite_withdraw;
grant update (counted) on vote to theodolite_withdraw;
grant insert on log, tally, payout, barred to theodolite_withdraw;
grant delete on vote, gold_result, baseline, draft, assignment, practice, answer, consent, session,
    log, payout to theodolite_withdraw;

grant create on schema public to theodolite_steps, theodolite_withdraw;
do $$
declare
    f record;
begin
    for f in select p.oid::regprocedure as name, p.proname, p.prosecdef
               from pg_proc p where p.pronamespace = 'public'::regnamespace
                and (p.proname like 'st\_%' or p.proname like '%\_fit%' or p.proname in
                    ('rule_holds', 'earlier_answers', 'asked_of'))
    loop
        execute format('revoke execute on function %s from public', f.name);
        if f.proname = 'st_withdraw' then
            execute format('alter function %s owner to theodolite_withdraw', f.name);
        elsif f.prosecdef then
            execute format('alter function %s owner to theodolite_steps', f.name);
        end if;
        if f.prosecdef then
            execute format('grant execute on function %s to theodolite_serve', f.name);
        else
            execute format('grant execute on function %s to theodolite_steps, theodolite_withdraw', f.name);
        end if;
    end loop;
end $$;
revoke create on schema public from theodolite_steps, theodolite_withdraw;

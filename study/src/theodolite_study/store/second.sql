-- The second form of the tables: the database is the study. Built on the first form by additions;
-- data are moved by moved.sql. Constraints of the first form keep their names, but for two that are
-- replaced by stronger ones: slot_instance_id_slot_no_key by slot_seat_key, vote_q1 to vote_q6 by the
-- trigger vote_answers_fit.

-- Studies, and the people who run them ------------------------------------------------------------

alter table study
    add title text, add currency char(3) not null default 'GBP',
    add created_at timestamptz not null default clock_timestamp(),
    alter protocol drop not null, alter protocol_sha256 drop not null, alter origin drop not null,
    alter legend drop not null, alter n_votes drop not null, alter lease_seconds drop not null,
    alter quota drop not null;

alter table staff add operator boolean not null default false, alter study_id drop not null,
    add last_success timestamptz;

create table member (
    study_id uuid not null references study (id),
    staff_id bigint not null references staff (id),
    role text not null,
    constraint member_pkey primary key (study_id, staff_id),
    constraint member_role check (role in ('owner', 'researcher', 'viewer'))
);

-- Versions: what is asked, in which words --------------------------------------------------------

create table version (
    id bigint generated always as identity,
    study_id uuid not null references study (id),
    no integer not null,
    round smallint not null default 1,
    state text not null default 'draft',
    instrument jsonb not null,
    settings jsonb not null default '{}',
    n_votes smallint not null,
    quota integer not null,
    least_items integer not null default 1,
    lease_seconds double precision not null,
    languages text[] not null,
    default_language text not null,
    digest bytea,
    edited_no integer not null default 0,
    opened_at timestamptz,
    closed_at timestamptz,
    pilot boolean not null default false,  -- its votes are no part of the results
    constraint version_pkey primary key (id),
    constraint version_study_id_no_key unique (study_id, no),
    constraint version_state check (state in ('draft', 'pilot', 'open', 'finishing', 'closed')),
    constraint version_n_votes check (n_votes between 1 and 50),
    constraint version_quota check (quota >= 1),
    constraint version_least_items check (least_items >= 1),
    constraint version_lease check (lease_seconds > 0),
    constraint version_languages check (cardinality(languages) >= 1),
    constraint version_default_language check (default_language = any (languages)),
    constraint version_sealed check (state = 'draft' or digest is not null)
);

create unique index one_taking on version (study_id) where state in ('pilot', 'open');

create table wording (
    version_id bigint not null references version (id),
    key text not null,
    language text not null,
    body text not null,
    constraint wording_pkey primary key (version_id, key, language),
    constraint wording_body check (length(body) between 1 and 20000)
);

create table consent_text (
    version_id bigint not null references version (id),
    language text not null,
    shown bytea not null,
    digest bytea not null,
    reconsent boolean not null default false,
    constraint consent_text_pkey primary key (version_id, language),
    constraint consent_text_digest check (digest = sha256(shown))
);

create table condition (
    id bigint generated always as identity,
    version_id bigint not null references version (id),
    key text not null,
    weight smallint not null,
    overrides jsonb not null default '{}',
    constraint condition_pkey primary key (id),
    constraint condition_version_id_key_key unique (version_id, key),
    constraint condition_weight check (weight >= 1)
);

create table outcome (
    version_id bigint not null references version (id),
    key text not null,
    code text,
    redirect text,
    pay text not null default 'none',
    constraint outcome_pkey primary key (version_id, key),
    constraint outcome_key check (key in ('finished', 'ran_out', 'stopped', 'declined',
        'screened_out', 'failed_practice', 'failed_checks', 'full', 'wrong_device', 'timed_out',
        'returned', 'withdrawn')),
    constraint outcome_pay check (pay in ('reward', 'part', 'fee', 'none')),
    constraint outcome_redirect check (redirect ~ '^https://[^{}]+$')
);

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

-- Material and seats ------------------------------------------------------------------------------

create table picture (
    sha256 bytea not null,
    mime text not null,
    width integer not null,
    height integer not null,
    bytes bigint not null,
    constraint picture_pkey primary key (sha256),
    constraint picture_sha256 check (octet_length(sha256) = 32),
    constraint picture_mime check (mime in ('image/png', 'image/jpeg', 'image/webp'))
);

alter table instance add shown jsonb, add meta jsonb not null default '{}';
alter table instance drop constraint instance_modality;
alter table instance add constraint instance_modality
    check (modality in ('saliency', 'concept', 'text', 'table'));
-- hidden checks and practice are few among many explanations
create index instance_kind on instance (study_id, kind, place);

alter table slot add round smallint not null default 1, add condition_id bigint references condition (id);
alter table slot drop constraint slot_instance_id_slot_no_key;
alter table slot add constraint slot_seat_key
    unique nulls not distinct (instance_id, round, condition_id, slot_no);
drop index slot_claim;
create index slot_claim on slot (study_id, round, slot_no, rnd) where state <> 'filled';
alter table slot set (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
alter table assignment set (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
alter table session set (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
alter table draft set (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

-- How many votes are not yet promised to anybody: changed by whoever comes and goes, not by votes.
-- A round has one door, that of the version which takes people: st_door.
create table door (
    version_id bigint not null references version (id),
    available integer not null,
    layer smallint not null default 0,
    constraint door_pkey primary key (version_id),
    constraint door_available check (available >= 0)
);

-- Places for people, with a condition each: nobody has to count.
create table place (
    id bigint generated always as identity,
    version_id bigint not null references version (id),
    no integer not null,
    condition_id bigint references condition (id),
    state text not null default 'open',
    participant_id uuid references participant (id),
    held_until timestamptz,
    constraint place_pkey primary key (id),
    constraint place_version_id_no_key unique (version_id, no),
    constraint place_participant_id_key unique (participant_id),
    constraint place_state check (state in ('open', 'held', 'taken', 'used')),
    constraint place_open_is_nobodys check ((state = 'open') = (participant_id is null)),
    constraint place_held_ends check ((state = 'held') = (held_until is not null))
);
create index place_open on place (version_id, no) where state in ('open', 'held');

-- People and what they answer ---------------------------------------------------------------------

alter table participant
    add version_id bigint references version (id), add language text,
    add condition_id bigint references condition (id), add promised integer,
    add outcome text, add outcome_at timestamptz,
    add submission bytea, add submission_digest bytea;
create index participant_submission on participant (submission_digest)
    where submission_digest is not null;

create table declined (
    study_id uuid not null references study (id),
    token bytea not null,
    constraint declined_pkey primary key (study_id, token),
    constraint declined_token check (octet_length(token) = 32)
);

alter table consent add version_id bigint references version (id), add language text,
    add form text not null default 'text-0.1';
alter table consent add constraint consent_form check (form in ('shown', 'text-0.1'));

-- What was agreed to is what was shown, byte for byte.
create function consent_as_shown() returns trigger language plpgsql as $$
begin
    if new.form = 'shown' and not exists (
        select from consent_text t where t.version_id = new.version_id
           and t.language = new.language and t.digest = new.form_sha256) then
        raise exception 'no such form was shown' using errcode = 'integrity_constraint_violation';
    end if;
    return new;
end $$;
create trigger consent_as_shown before insert or update on consent
    for each row execute function consent_as_shown();

create table answer (
    participant_id uuid not null references participant (id),
    version_id bigint not null references version (id),
    stage text not null,
    answers jsonb not null,
    shown jsonb not null default '{}',
    payload_sha256 bytea not null,
    at timestamptz not null default clock_timestamp(),
    client jsonb not null default '{}',
    constraint answer_pkey primary key (participant_id, stage),
    constraint answer_stage check (stage in ('door', 'about', 'end'))
);

alter table assignment add version_id bigint references version (id);
alter table baseline add answers jsonb, add shown jsonb not null default '{}',
    alter text drop not null, alter boxes drop not null;
alter table vote add answers jsonb, add shown jsonb not null default '{}',
    add version_id bigint references version (id);
alter table practice add version_id bigint references version (id);

create function earlier_answers(person uuid) returns jsonb language sql stable
set search_path = public, pg_temp as $$
    select coalesce((select answers from answer where participant_id = person and stage = 'door'), '{}')
        || coalesce((select answers from answer where participant_id = person and stage = 'about'), '{}')
$$;

-- Pages of a stage without the blocks that ask for what an explanation does not have: a block names
-- what it needs by the setting `needs` of the version, {"q5": "same", "q6": "different"}; places are
-- marked in pictures alone.
create function asked_of(pages jsonb, settings jsonb, shown jsonb) returns jsonb
language sql immutable set search_path = pg_catalog, public, pg_temp as $$
    select case when shown is null
                  or settings -> 'needs' is null and coalesce(shown #> '{shown,picture}', 'null') <> 'null'
    then coalesce(pages, '[]') else (
        select coalesce(jsonb_agg(jsonb_set(page, '{blocks}', (
            select coalesce(jsonb_agg(b order by q), '[]')
              from jsonb_array_elements(page -> 'blocks') with ordinality as inside(b, q)
             where (coalesce(shown -> (settings -> 'needs' ->> (b ->> 'name')), 'null') <> 'null'
                    or settings -> 'needs' -> (b ->> 'name') is null)
               and (b ->> 'kind' <> 'regions' or coalesce(shown #> '{shown,picture}', 'null') <> 'null')
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

-- Money -------------------------------------------------------------------------------------------

create table payout (
    id uuid not null default gen_random_uuid(),
    study_id uuid not null references study (id),
    participant_id uuid references participant (id),
    sealed_submission bytea,
    submission_digest bytea,
    kind text not null,
    outcome text not null,
    amount_minor integer not null,
    currency char(3) not null,
    state text not null default 'owed',
    batch text,
    tries integer not null default 0,
    at timestamptz not null default clock_timestamp(),
    constraint payout_pkey primary key (id),
    constraint payout_kind check (kind in ('reward', 'partial', 'screenout', 'bonus')),
    constraint payout_amount check (amount_minor > 0),
    constraint payout_state check (state in ('owed', 'sending', 'sent', 'confirmed', 'failed', 'void')),
    constraint payout_submission_key unique (study_id, submission_digest, kind),
    constraint payout_participant_key unique (participant_id, kind)
);
create index payout_waiting on payout (state, at) where state in ('owed', 'sending', 'failed');

create table platform_event (
    event_id text not null,
    delivery bytea not null,
    submission_digest bytea not null,
    status text not null,
    event_at timestamptz not null,
    received_at timestamptz not null default clock_timestamp(),
    applied_at timestamptz,
    constraint platform_event_pkey primary key (event_id),
    constraint platform_event_delivery_key unique (delivery)
);
create index platform_event_waiting on platform_event (event_at) where applied_at is null;

-- What happened, and how much of it ---------------------------------------------------------------

create table log_kind (
    id smallint not null,
    name text not null,
    constraint log_kind_pkey primary key (id),
    constraint log_kind_name_key unique (name)
);
insert into log_kind values
    (1, 'arrived'), (2, 'agreed'), (3, 'declined'), (4, 'answered'), (5, 'claimed'), (6, 'own answer'),
    (7, 'revealed'), (8, 'vote'), (9, 'surplus vote'), (10, 'check'), (11, 'released'), (12, 'left'),
    (13, 'withdrawn'), (14, 'practice'), (20, 'study became'), (21, 'version became'),
    (22, 'draft changed'), (23, 'member'), (24, 'votes taken out'), (25, 'exported'), (26, 'paid'),
    (27, 'signed in'), (28, 'sign-in failed'), (29, 'platform event'), (30, 'ids shown'), (99, 'older');

create table log (
    id bigint generated always as identity,
    study_id uuid,
    at timestamptz not null default clock_timestamp(),
    participant_id uuid,
    staff_id bigint,
    kind smallint not null,
    object bigint,
    detail jsonb not null default '{}'
) partition by range (at);
create index log_person on log (participant_id) where participant_id is not null;
create index log_recent on log (study_id, id desc);
create table log_rest partition of log default;

-- A partition a month; lines of months without one go to log_rest.
create function log_months(ahead integer) returns integer language plpgsql
set search_path = public, pg_temp as $$
declare
    first date; made integer := 0; name text;
begin
    for i in 0 .. ahead loop
        first := date_trunc('month', clock_timestamp())::date + make_interval(months => i);
        name := 'log_' || to_char(first, 'YYYY_MM');
        if to_regclass(name) is null then
            execute format('create table %I partition of log for values from (%L) to (%L)',
                           name, first, first + interval '1 month');
            made := made + 1;
        end if;
    end loop;
    return made;
end $$;
select log_months(3);

create table tally (
    version_id bigint not null references version (id),
    what text not null,
    shard smallint not null,
    n bigint not null,
    constraint tally_pkey primary key (version_id, what, shard)
) with (fillfactor = 50);

-- Shared limits of rate: lost when the server of the database crashes, and that does no harm.
create unlogged table bucket (
    key bytea not null,
    tokens double precision not null,
    at timestamptz not null default clock_timestamp(),
    constraint bucket_pkey primary key (key)
);

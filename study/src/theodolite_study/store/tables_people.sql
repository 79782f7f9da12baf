-- Participants, what they answer, what they are paid, and the log.

-- People ------------------------------------------------------------------------------------------

create table participant (
    id uuid not null,
    study_id uuid not null constraint participant_study_id_fkey references study (id),
    platform text not null,
    person bytea not null,
    sealed_id bytea,
    pseudonym text not null,
    state text not null default 'landed',
    quota integer not null,
    design_row integer,
    preview boolean not null default false,
    withdrawal_sha256 bytea,
    bar_token bytea,
    flags jsonb not null default '[]',
    created_at timestamptz not null default clock_timestamp(),
    finished_at timestamptz,
    version_id bigint constraint participant_version_id_fkey references version (id),
    language text,
    condition_id bigint constraint participant_condition_id_fkey references condition (id),
    promised integer,
    outcome text,
    outcome_at timestamptz,
    submission bytea,
    submission_digest bytea,
    heard boolean not null default false,
    alive_until timestamptz not null default clock_timestamp(),
    away_at timestamptz,
    constraint participant_pkey primary key (id),
    constraint participant_study_id_platform_person_key unique (study_id, platform, person),
    constraint participant_study_id_pseudonym_key unique (study_id, pseudonym),
    constraint participant_study_id_design_row_key unique (study_id, design_row),
    constraint participant_withdrawal_sha256_key unique (withdrawal_sha256),
    constraint participant_state check (state in ('landed', 'consented', 'training', 'active',
        'finished', 'screened_out', 'declined', 'withdrawn'))
);
-- Without alive_until, so that its updates need no new entry. Who was freed is not looked at again.
create index participant_inside on participant (version_id)
    where outcome is null and not preview and away_at is null;
create index participant_submission on participant (submission_digest)
    where submission_digest is not null;

-- Places for people, with a condition each: nobody has to count.
create table place (
    id bigint generated always as identity,
    version_id bigint not null constraint place_version_id_fkey references version (id),
    no integer not null,
    condition_id bigint constraint place_condition_id_fkey references condition (id),
    state text not null default 'open',
    participant_id uuid constraint place_participant_id_fkey references participant (id),
    constraint place_pkey primary key (id),
    constraint place_version_id_no_key unique (version_id, no),
    constraint place_participant_id_key unique (participant_id),
    constraint place_state check (state in ('open', 'held', 'taken', 'used')),
    constraint place_open_is_nobodys check ((state = 'open') = (participant_id is null))
);
create index place_open on place (version_id, no) where state = 'open';

create table session (
    token_sha256 bytea not null,
    participant_id uuid constraint session_participant_id_fkey references participant (id)
        on delete cascade,
    staff_id bigint constraint session_staff_id_fkey references staff (id) on delete cascade,
    created_at timestamptz not null default clock_timestamp(),
    last_seen timestamptz not null default clock_timestamp(),
    expires_at timestamptz not null,
    constraint session_pkey primary key (token_sha256),
    constraint session_one_owner check ((participant_id is null) <> (staff_id is null))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
create index session_participant_id_idx on session (participant_id);

create table seen_token (
    token_sha256 bytea not null,
    expires_at timestamptz not null,
    constraint seen_token_pkey primary key (token_sha256)
);

create table barred (
    study_id uuid not null constraint barred_study_id_fkey references study (id),
    token bytea not null,
    constraint barred_pkey primary key (study_id, token)
);

create table declined (
    study_id uuid not null constraint declined_study_id_fkey references study (id),
    token bytea not null,
    constraint declined_pkey primary key (study_id, token),
    constraint declined_token check (octet_length(token) = 32)
);

-- What people answer ------------------------------------------------------------------------------

create table consent (
    participant_id uuid not null constraint consent_participant_id_fkey references participant (id),
    form_sha256 bytea not null,
    given_at timestamptz not null default clock_timestamp(),
    version_id bigint not null constraint consent_version_id_fkey references version (id),
    language text,
    constraint consent_pkey primary key (participant_id, version_id),
    constraint consent_text_fkey foreign key (version_id, language)
        references consent_text (version_id, language)
);

create table answer (
    participant_id uuid not null constraint answer_participant_id_fkey references participant (id),
    version_id bigint not null constraint answer_version_id_fkey references version (id),
    stage text not null,
    answers jsonb not null,
    shown jsonb not null default '{}',
    payload_sha256 bytea not null,
    at timestamptz not null default clock_timestamp(),
    client jsonb not null default '{}',
    constraint answer_pkey primary key (participant_id, stage),
    constraint answer_stage check (stage in ('door', 'about', 'end'))
);

create table practice (
    id bigint generated always as identity,
    participant_id uuid not null constraint practice_participant_id_fkey references participant (id),
    instance_id bigint not null constraint practice_instance_id_fkey references instance (id),
    attempt smallint not null,
    baseline jsonb not null,
    answers jsonb,
    passed boolean,
    baseline_at timestamptz not null default clock_timestamp(),
    revealed_at timestamptz,
    answered_at timestamptz,
    version_id bigint constraint practice_version_id_fkey references version (id),
    constraint practice_pkey primary key (id),
    constraint practice_participant_id_instance_id_attempt_key
        unique (participant_id, instance_id, attempt),
    constraint practice_order check (revealed_at is null or baseline_at < revealed_at),
    constraint practice_then_the_answers check (answers is null or revealed_at is not null)
);

create table assignment (
    id bigint generated always as identity,
    participant_id uuid not null constraint assignment_participant_id_fkey references participant (id),
    instance_id bigint not null constraint assignment_instance_id_fkey references instance (id),
    slot_id bigint constraint assignment_slot_id_fkey references slot (id),
    image_key text not null,
    position integer not null,
    image_exposure_index integer not null,
    state text not null default 'leased',
    leased_at timestamptz not null default clock_timestamp(),
    baseline_at timestamptz,
    revealed_at timestamptz,
    finished_at timestamptz,
    reason text,
    version_id bigint constraint assignment_version_id_fkey references version (id),
    constraint assignment_pkey primary key (id),
    constraint assignment_instance_id_participant_id_key unique (instance_id, participant_id),
    constraint assignment_participant_id_position_key unique (participant_id, position),
    constraint assignment_state check (state in ('leased', 'revealed', 'submitted', 'lost',
        'surplus', 'released', 'checked')),
    constraint assignment_own_answer_first check (
        state not in ('revealed', 'submitted', 'surplus', 'checked') or baseline_at is not null),
    constraint assignment_then_the_explanation check (
        revealed_at is null or coalesce(baseline_at < revealed_at, false)),
    constraint assignment_then_the_ratings check (
        state not in ('submitted', 'surplus', 'checked') or coalesce(revealed_at <= finished_at, false))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
create unique index one_live on assignment (participant_id) where state in ('leased', 'revealed');
alter table slot add constraint slot_assignment_id_fkey
    foreign key (assignment_id) references assignment (id) deferrable initially deferred;

create table draft (
    assignment_id bigint not null constraint draft_assignment_id_fkey references assignment (id),
    content jsonb not null,
    at timestamptz not null default clock_timestamp(),
    constraint draft_pkey primary key (assignment_id)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);

create table baseline (
    assignment_id bigint not null constraint baseline_assignment_id_fkey references assignment (id),
    client jsonb not null,
    copied_from bigint,
    payload_sha256 bytea not null,
    at timestamptz not null default clock_timestamp(),
    answers jsonb,
    shown jsonb not null default '{}',
    constraint baseline_pkey primary key (assignment_id)
);

create table gold_result (
    assignment_id bigint not null constraint gold_result_assignment_id_fkey references assignment (id),
    answers jsonb not null,
    passed boolean not null,
    payload_sha256 bytea not null,
    durations jsonb not null,
    at timestamptz not null default clock_timestamp(),
    constraint gold_result_pkey primary key (assignment_id)
);

create table vote (
    id bigint generated always as identity,
    assignment_id bigint not null constraint vote_assignment_id_fkey references assignment (id),
    slot_id bigint not null constraint vote_slot_id_fkey references slot (id),
    instance_id bigint not null constraint vote_instance_id_fkey references instance (id),
    participant_id uuid not null constraint vote_participant_id_fkey references participant (id),
    counted boolean not null,
    idem_key uuid not null,
    payload_sha256 bytea not null,
    durations jsonb not null,
    client jsonb not null,
    at timestamptz not null default clock_timestamp(),
    answers jsonb,
    shown jsonb not null default '{}',
    version_id bigint constraint vote_version_id_fkey references version (id),
    constraint vote_pkey primary key (id),
    constraint vote_assignment_id_key unique (assignment_id)
);
create unique index vote_fills_slot on vote (slot_id) where counted;
create unique index vote_once on vote (instance_id, participant_id) where counted;
create index vote_participant_id_idx on vote (participant_id);

-- Money -------------------------------------------------------------------------------------------

-- due_at: not looked at before. paying_at: the platform was about to be told to pay the batch, which
-- it must never be told twice. why: what a person has to look at.
create table payout (
    id uuid not null default gen_random_uuid(),
    study_id uuid not null constraint payout_study_id_fkey references study (id),
    participant_id uuid constraint payout_participant_id_fkey references participant (id),
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
    due_at timestamptz not null default clock_timestamp(),
    paying_at timestamptz,
    why text,
    constraint payout_pkey primary key (id),
    constraint payout_kind check (kind in ('reward', 'partial', 'screenout', 'bonus')),
    constraint payout_amount check (amount_minor > 0),
    constraint payout_state check (state in ('owed', 'sending', 'sent', 'confirmed', 'failed', 'void')),
    constraint payout_batch_first check (paying_at is null or batch is not null),
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
    passed_over boolean not null default false,
    constraint platform_event_pkey primary key (event_id),
    constraint platform_event_delivery_key unique (delivery)
);
create index platform_event_waiting on platform_event (event_at) where applied_at is null;
create index platform_event_submission on platform_event (submission_digest, event_at);

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
    (27, 'signed in'), (28, 'sign-in failed'), (29, 'platform event'), (30, 'ids shown'),
    (31, 'items changed'), (32, 'results looked at');

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
-- The log is read by kind. Kinds with a line for each item are found soon without an index.
create index log_seldom on log (study_id, kind, id desc) where kind not in (4, 5, 6, 7, 8, 10, 11);
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
    version_id bigint not null constraint tally_version_id_fkey references version (id),
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

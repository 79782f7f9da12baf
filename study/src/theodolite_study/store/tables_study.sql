-- Studies, staff, versions, material and seats. Foreign keys have names so that `study verify` can
-- report one that is missing.

-- Studies, and the people who run them ------------------------------------------------------------

create table study (
    id uuid not null,
    slug text not null,
    state text not null default 'draft',
    protocol jsonb,
    origin jsonb,
    legend text,
    keys_id text not null,
    opened_at timestamptz,
    closed_at timestamptz,
    title text,
    currency char(3) not null default 'GBP',
    created_at timestamptz not null default clock_timestamp(),
    constraint study_pkey primary key (id),
    constraint study_slug_key unique (slug),
    constraint study_state check (state in ('draft', 'open', 'paused', 'closed', 'archived'))
);

create table staff (
    id bigint generated always as identity,
    name text not null,
    password_hash text,
    totp_sealed bytea,
    totp_last_step bigint not null default 0,
    enroll_sha256 bytea,
    enroll_expires_at timestamptz,
    disabled boolean not null default false,
    operator boolean not null default false,
    last_success timestamptz,
    constraint staff_pkey primary key (id),
    constraint staff_enroll_sha256_key unique (enroll_sha256)
);

create table member (
    study_id uuid not null constraint member_study_id_fkey references study (id),
    staff_id bigint not null constraint member_staff_id_fkey references staff (id),
    role text not null,
    constraint member_pkey primary key (study_id, staff_id),
    constraint member_role check (role in ('owner', 'researcher', 'viewer'))
);

create table invite (
    code_sha256 bytea not null,
    study_id uuid not null constraint invite_study_id_fkey references study (id),
    constraint invite_pkey primary key (code_sha256)
);

create table export_run (
    id bigint generated always as identity,
    study_id uuid not null constraint export_run_study_id_fkey references study (id),
    manifest_sha256 bytea not null,
    at timestamptz not null default clock_timestamp(),
    constraint export_run_pkey primary key (id)
);

-- Versions: what is asked, in which words --------------------------------------------------------

create table version (
    id bigint generated always as identity,
    study_id uuid not null constraint version_study_id_fkey references study (id),
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
    version_id bigint not null constraint wording_version_id_fkey references version (id),
    key text not null,
    language text not null,
    body text not null,
    constraint wording_pkey primary key (version_id, key, language),
    constraint wording_body check (length(body) between 1 and 20000)
);

create table consent_text (
    version_id bigint not null constraint consent_text_version_id_fkey references version (id),
    language text not null,
    shown bytea not null,
    digest bytea not null,
    reconsent boolean not null default false,
    constraint consent_text_pkey primary key (version_id, language),
    constraint consent_text_digest check (digest = sha256(shown))
);

create table condition (
    id bigint generated always as identity,
    version_id bigint not null constraint condition_version_id_fkey references version (id),
    key text not null,
    weight smallint not null,
    overrides jsonb not null default '{}',
    constraint condition_pkey primary key (id),
    constraint condition_version_id_key_key unique (version_id, key),
    constraint condition_weight check (weight >= 1)
);

create table outcome (
    version_id bigint not null constraint outcome_version_id_fkey references version (id),
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

-- Material and seats ------------------------------------------------------------------------------

create table image (
    sha256 bytea not null,
    mime text not null,
    width integer not null,
    height integer not null,
    bytes bigint not null,
    constraint image_pkey primary key (sha256),
    constraint image_sha256 check (octet_length(sha256) = 32),
    constraint image_mime check (mime in ('image/png', 'image/jpeg', 'image/webp'))
);

create table instance (
    id bigint generated always as identity,
    study_id uuid not null constraint instance_study_id_fkey references study (id),
    key text not null,
    image_key text not null,
    technique text not null,
    modality text not null,
    kind text not null,
    place integer not null,
    record jsonb not null,
    shown jsonb,
    meta jsonb not null default '{}',
    constraint instance_pkey primary key (id),
    constraint instance_study_id_key_key unique (study_id, key),
    constraint instance_modality check (modality in ('saliency', 'concept', 'text', 'table')),
    constraint instance_kind check (kind in ('real', 'training', 'gold'))
);
-- hidden checks and practice are few among many explanations
create index instance_kind on instance (study_id, kind, place);

create table slot (
    id bigint generated always as identity,
    study_id uuid not null constraint slot_study_id_fkey references study (id),
    instance_id bigint not null constraint slot_instance_id_fkey references instance (id),
    slot_no smallint not null,
    rnd double precision not null,
    state text not null default 'open',
    assignment_id bigint,  -- a foreign key: tables_people.sql adds it after the table assignment
    lease_expires_at timestamptz,
    reserved_for integer,
    planned_position integer,
    round smallint not null default 1,
    condition_id bigint constraint slot_condition_id_fkey references condition (id),
    constraint slot_pkey primary key (id),
    constraint slot_seat_key unique nulls not distinct (instance_id, round, condition_id, slot_no),
    constraint slot_state check (state in ('open', 'leased', 'filled')),
    constraint slot_open_is_nobodys check ((state = 'open') = (assignment_id is null)),
    constraint slot_lease_ends check ((state = 'leased') = (lease_expires_at is not null))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
create index slot_claim on slot (study_id, round, slot_no, rnd) where state <> 'filled';
create unique index slot_held on slot (assignment_id);
create index slot_planned on slot (study_id, reserved_for, planned_position) where state <> 'filled';

-- How many votes are not yet promised to anybody: changed by whoever comes and goes, not by votes.
-- A round has one door, that of the version which takes people: st_door.
create table door (
    version_id bigint not null constraint door_version_id_fkey references version (id),
    available integer not null,
    layer smallint not null default 0,
    constraint door_pkey primary key (version_id),
    constraint door_available check (available >= 0)
);

-- The first form of the tables, as tables.py described them then. Not to be edited.

CREATE TABLE seen_token (
	token_sha256 BYTEA NOT NULL,
	expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT seen_token_pkey PRIMARY KEY (token_sha256)
);

CREATE TABLE study (
	id UUID NOT NULL,
	slug TEXT NOT NULL,
	state TEXT DEFAULT 'draft' NOT NULL,
	protocol JSONB NOT NULL,
	protocol_sha256 BYTEA NOT NULL,
	origin JSONB NOT NULL,
	legend TEXT NOT NULL,
	n_votes SMALLINT NOT NULL,
	lease_seconds DOUBLE PRECISION NOT NULL,
	quota INTEGER NOT NULL,
	keys_id TEXT NOT NULL,
	opened_at TIMESTAMP WITH TIME ZONE,
	closed_at TIMESTAMP WITH TIME ZONE,
	CONSTRAINT study_pkey PRIMARY KEY (id),
	CONSTRAINT study_state CHECK (state in ('draft', 'open', 'paused', 'closed', 'archived')),
	CONSTRAINT study_n_votes CHECK (n_votes between 1 and 50),
	CONSTRAINT study_lease CHECK (lease_seconds > 0),
	CONSTRAINT study_slug_key UNIQUE (slug)
);

CREATE TABLE webhook (
	event_id TEXT NOT NULL,
	kind TEXT NOT NULL,
	at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT webhook_pkey PRIMARY KEY (event_id)
);

CREATE TABLE asset (
	id BIGINT GENERATED ALWAYS AS IDENTITY,
	study_id UUID NOT NULL,
	file TEXT NOT NULL,
	mime TEXT NOT NULL,
	width INTEGER NOT NULL,
	height INTEGER NOT NULL,
	CONSTRAINT asset_pkey PRIMARY KEY (id),
	CONSTRAINT asset_study_id_file_key UNIQUE (study_id, file),
	CONSTRAINT asset_mime CHECK (mime in ('image/png', 'image/jpeg', 'image/webp')),
	CONSTRAINT asset_file CHECK (file ~ '^[0-9a-f]{64}[.](png|jpg|webp)$'),
	CONSTRAINT asset_study_id_fkey FOREIGN KEY(study_id) REFERENCES study (id)
);

CREATE TABLE event (
	id BIGINT GENERATED ALWAYS AS IDENTITY,
	study_id UUID,
	at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
	actor TEXT NOT NULL,
	kind TEXT NOT NULL,
	object TEXT DEFAULT '' NOT NULL,
	detail JSONB DEFAULT '{}' NOT NULL,
	CONSTRAINT event_pkey PRIMARY KEY (id),
	CONSTRAINT event_study_id_fkey FOREIGN KEY(study_id) REFERENCES study (id)
);

CREATE INDEX event_study_id_kind_idx ON event (study_id, kind);

CREATE TABLE export_run (
	id BIGINT GENERATED ALWAYS AS IDENTITY,
	study_id UUID NOT NULL,
	manifest_sha256 BYTEA NOT NULL,
	at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT export_run_pkey PRIMARY KEY (id),
	CONSTRAINT export_run_study_id_fkey FOREIGN KEY(study_id) REFERENCES study (id)
);

CREATE TABLE instance (
	id BIGINT GENERATED ALWAYS AS IDENTITY,
	study_id UUID NOT NULL,
	key TEXT NOT NULL,
	picture_key TEXT NOT NULL,
	technique TEXT NOT NULL,
	modality TEXT NOT NULL,
	kind TEXT NOT NULL,
	place INTEGER NOT NULL,
	record JSONB NOT NULL,
	CONSTRAINT instance_pkey PRIMARY KEY (id),
	CONSTRAINT instance_study_id_key_key UNIQUE (study_id, key),
	CONSTRAINT instance_modality CHECK (modality in ('saliency', 'concept')),
	CONSTRAINT instance_kind CHECK (kind in ('real', 'training', 'gold')),
	CONSTRAINT instance_study_id_fkey FOREIGN KEY(study_id) REFERENCES study (id)
);

CREATE TABLE invite (
	code_sha256 BYTEA NOT NULL,
	study_id UUID NOT NULL,
	CONSTRAINT invite_pkey PRIMARY KEY (code_sha256),
	CONSTRAINT invite_study_id_fkey FOREIGN KEY(study_id) REFERENCES study (id)
);

CREATE TABLE participant (
	id UUID NOT NULL,
	study_id UUID NOT NULL,
	platform TEXT NOT NULL,
	person BYTEA NOT NULL,
	sealed_id BYTEA,
	pseudonym TEXT NOT NULL,
	state TEXT DEFAULT 'landed' NOT NULL,
	quota INTEGER NOT NULL,
	design_row INTEGER,
	preview BOOLEAN DEFAULT false NOT NULL,
	withdrawal_sha256 BYTEA,
	bar_token BYTEA,
	flags JSONB DEFAULT '[]' NOT NULL,
	created_at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
	finished_at TIMESTAMP WITH TIME ZONE,
	CONSTRAINT participant_pkey PRIMARY KEY (id),
	CONSTRAINT participant_study_id_platform_person_key UNIQUE (study_id, platform, person),
	CONSTRAINT participant_study_id_pseudonym_key UNIQUE (study_id, pseudonym),
	CONSTRAINT participant_study_id_design_row_key UNIQUE (study_id, design_row),
	CONSTRAINT participant_state CHECK (state in ('landed', 'consented', 'training', 'active', 'finished', 'screened_out', 'declined', 'withdrawn')),
	CONSTRAINT participant_study_id_fkey FOREIGN KEY(study_id) REFERENCES study (id),
	CONSTRAINT participant_withdrawal_sha256_key UNIQUE (withdrawal_sha256)
);

CREATE TABLE staff (
	id BIGINT GENERATED ALWAYS AS IDENTITY,
	study_id UUID NOT NULL,
	name TEXT NOT NULL,
	password_hash TEXT,
	totp_sealed BYTEA,
	totp_last_step BIGINT DEFAULT '0' NOT NULL,
	enrol_sha256 BYTEA,
	enrol_expires_at TIMESTAMP WITH TIME ZONE,
	failures INTEGER DEFAULT '0' NOT NULL,
	locked_until TIMESTAMP WITH TIME ZONE,
	disabled BOOLEAN DEFAULT false NOT NULL,
	CONSTRAINT staff_pkey PRIMARY KEY (id),
	CONSTRAINT staff_study_id_name_key UNIQUE (study_id, name),
	CONSTRAINT staff_enrol_sha256_key UNIQUE (enrol_sha256),
	CONSTRAINT staff_study_id_fkey FOREIGN KEY(study_id) REFERENCES study (id)
);

CREATE TABLE barred (
	study_id UUID NOT NULL,
	token BYTEA NOT NULL,
	CONSTRAINT barred_pkey PRIMARY KEY (study_id, token),
	CONSTRAINT barred_study_id_fkey FOREIGN KEY(study_id) REFERENCES study (id)
);

CREATE TABLE consent (
	participant_id UUID NOT NULL,
	form_sha256 BYTEA NOT NULL,
	given_at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT consent_pkey PRIMARY KEY (participant_id),
	CONSTRAINT consent_participant_id_fkey FOREIGN KEY(participant_id) REFERENCES participant (id)
);

CREATE TABLE demographic (
	participant_id UUID NOT NULL,
	age_band TEXT,
	gender TEXT,
	country TEXT,
	CONSTRAINT demographic_pkey PRIMARY KEY (participant_id),
	CONSTRAINT demographic_participant_id_fkey FOREIGN KEY(participant_id) REFERENCES participant (id)
);

CREATE TABLE post_study (
	participant_id UUID NOT NULL,
	answers JSONB NOT NULL,
	at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT post_study_pkey PRIMARY KEY (participant_id),
	CONSTRAINT post_study_participant_id_fkey FOREIGN KEY(participant_id) REFERENCES participant (id)
);

CREATE TABLE practice (
	id BIGINT GENERATED ALWAYS AS IDENTITY,
	participant_id UUID NOT NULL,
	instance_id BIGINT NOT NULL,
	attempt SMALLINT NOT NULL,
	baseline JSONB NOT NULL,
	answers JSONB,
	passed BOOLEAN,
	baseline_at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
	revealed_at TIMESTAMP WITH TIME ZONE,
	answered_at TIMESTAMP WITH TIME ZONE,
	CONSTRAINT practice_pkey PRIMARY KEY (id),
	CONSTRAINT practice_participant_id_instance_id_attempt_key UNIQUE (participant_id, instance_id, attempt),
	CONSTRAINT practice_order CHECK (revealed_at is null or baseline_at < revealed_at),
	CONSTRAINT practice_then_the_answers CHECK (answers is null or revealed_at is not null),
	CONSTRAINT practice_participant_id_fkey FOREIGN KEY(participant_id) REFERENCES participant (id),
	CONSTRAINT practice_instance_id_fkey FOREIGN KEY(instance_id) REFERENCES instance (id)
);

CREATE TABLE session (
	token_sha256 BYTEA NOT NULL,
	participant_id UUID,
	staff_id BIGINT,
	created_at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
	last_seen TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
	expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT session_pkey PRIMARY KEY (token_sha256),
	CONSTRAINT session_one_owner CHECK ((participant_id is null) <> (staff_id is null)),
	CONSTRAINT session_participant_id_fkey FOREIGN KEY(participant_id) REFERENCES participant (id) ON DELETE CASCADE,
	CONSTRAINT session_staff_id_fkey FOREIGN KEY(staff_id) REFERENCES staff (id) ON DELETE CASCADE
);

CREATE INDEX session_participant_id_idx ON session (participant_id);

CREATE TABLE slot (
	id BIGINT GENERATED ALWAYS AS IDENTITY,
	study_id UUID NOT NULL,
	instance_id BIGINT NOT NULL,
	slot_no SMALLINT NOT NULL,
	rnd DOUBLE PRECISION NOT NULL,
	state TEXT DEFAULT 'open' NOT NULL,
	assignment_id BIGINT,
	lease_expires_at TIMESTAMP WITH TIME ZONE,
	reserved_for INTEGER,
	planned_position INTEGER,
	CONSTRAINT slot_pkey PRIMARY KEY (id),
	CONSTRAINT slot_instance_id_slot_no_key UNIQUE (instance_id, slot_no),
	CONSTRAINT slot_state CHECK (state in ('open', 'leased', 'filled')),
	CONSTRAINT slot_open_is_nobodys CHECK ((state = 'open') = (assignment_id is null)),
	CONSTRAINT slot_lease_ends CHECK ((state = 'leased') = (lease_expires_at is not null)),
	CONSTRAINT slot_study_id_fkey FOREIGN KEY(study_id) REFERENCES study (id),
	CONSTRAINT slot_instance_id_fkey FOREIGN KEY(instance_id) REFERENCES instance (id)
);

CREATE INDEX slot_claim ON slot (study_id, slot_no, rnd) WHERE state <> 'filled';

CREATE UNIQUE INDEX slot_held ON slot (assignment_id);

CREATE INDEX slot_planned ON slot (study_id, reserved_for, planned_position) WHERE state <> 'filled';

CREATE TABLE assignment (
	id BIGINT GENERATED ALWAYS AS IDENTITY,
	participant_id UUID NOT NULL,
	instance_id BIGINT NOT NULL,
	slot_id BIGINT,
	picture_key TEXT NOT NULL,
	position INTEGER NOT NULL,
	image_exposure_index INTEGER NOT NULL,
	state TEXT DEFAULT 'leased' NOT NULL,
	leased_at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
	baseline_at TIMESTAMP WITH TIME ZONE,
	revealed_at TIMESTAMP WITH TIME ZONE,
	finished_at TIMESTAMP WITH TIME ZONE,
	reason TEXT,
	CONSTRAINT assignment_pkey PRIMARY KEY (id),
	CONSTRAINT assignment_instance_id_participant_id_key UNIQUE (instance_id, participant_id),
	CONSTRAINT assignment_participant_id_position_key UNIQUE (participant_id, position),
	CONSTRAINT assignment_state CHECK (state in ('leased', 'revealed', 'submitted', 'lost', 'surplus', 'released', 'checked')),
	CONSTRAINT assignment_own_answer_first CHECK (state not in ('revealed', 'submitted', 'surplus', 'checked') or baseline_at is not null),
	CONSTRAINT assignment_then_the_explanation CHECK (revealed_at is null or coalesce(baseline_at < revealed_at, false)),
	CONSTRAINT assignment_then_the_ratings CHECK (state not in ('submitted', 'surplus', 'checked') or coalesce(revealed_at <= finished_at, false)),
	CONSTRAINT assignment_participant_id_fkey FOREIGN KEY(participant_id) REFERENCES participant (id),
	CONSTRAINT assignment_instance_id_fkey FOREIGN KEY(instance_id) REFERENCES instance (id),
	CONSTRAINT assignment_slot_id_fkey FOREIGN KEY(slot_id) REFERENCES slot (id)
);

CREATE UNIQUE INDEX one_live ON assignment (participant_id) WHERE state in ('leased', 'revealed');

CREATE TABLE baseline (
	assignment_id BIGINT NOT NULL,
	text TEXT NOT NULL,
	boxes JSONB NOT NULL,
	client JSONB NOT NULL,
	copied_from BIGINT,
	payload_sha256 BYTEA NOT NULL,
	at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT baseline_pkey PRIMARY KEY (assignment_id),
	CONSTRAINT baseline_text CHECK (length(text) between 1 and 4000),
	CONSTRAINT baseline_assignment_id_fkey FOREIGN KEY(assignment_id) REFERENCES assignment (id)
);

CREATE TABLE draft (
	assignment_id BIGINT NOT NULL,
	content JSONB NOT NULL,
	at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT draft_pkey PRIMARY KEY (assignment_id),
	CONSTRAINT draft_assignment_id_fkey FOREIGN KEY(assignment_id) REFERENCES assignment (id)
);

CREATE TABLE gold_result (
	assignment_id BIGINT NOT NULL,
	answers JSONB NOT NULL,
	passed BOOLEAN NOT NULL,
	payload_sha256 BYTEA NOT NULL,
	durations JSONB NOT NULL,
	at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT gold_result_pkey PRIMARY KEY (assignment_id),
	CONSTRAINT gold_result_assignment_id_fkey FOREIGN KEY(assignment_id) REFERENCES assignment (id)
);

CREATE TABLE vote (
	id BIGINT GENERATED ALWAYS AS IDENTITY,
	assignment_id BIGINT NOT NULL,
	slot_id BIGINT NOT NULL,
	instance_id BIGINT NOT NULL,
	participant_id UUID NOT NULL,
	counted BOOLEAN NOT NULL,
	q1 SMALLINT,
	q2 SMALLINT,
	q3 SMALLINT,
	q4 SMALLINT,
	q5 SMALLINT,
	q6 SMALLINT,
	idem_key UUID NOT NULL,
	payload_sha256 BYTEA NOT NULL,
	durations JSONB NOT NULL,
	client JSONB NOT NULL,
	at TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
	CONSTRAINT vote_pkey PRIMARY KEY (id),
	CONSTRAINT vote_q1 CHECK (q1 between 1 and 5),
	CONSTRAINT vote_q2 CHECK (q2 between 1 and 5),
	CONSTRAINT vote_q3 CHECK (q3 between 1 and 5),
	CONSTRAINT vote_q4 CHECK (q4 between 1 and 5),
	CONSTRAINT vote_q5 CHECK (q5 between 1 and 5),
	CONSTRAINT vote_q6 CHECK (q6 between 1 and 5),
	CONSTRAINT vote_assignment_id_key UNIQUE (assignment_id),
	CONSTRAINT vote_assignment_id_fkey FOREIGN KEY(assignment_id) REFERENCES assignment (id),
	CONSTRAINT vote_slot_id_fkey FOREIGN KEY(slot_id) REFERENCES slot (id),
	CONSTRAINT vote_instance_id_fkey FOREIGN KEY(instance_id) REFERENCES instance (id),
	CONSTRAINT vote_participant_id_fkey FOREIGN KEY(participant_id) REFERENCES participant (id)
);

CREATE UNIQUE INDEX vote_fills_slot ON vote (slot_id) WHERE counted;

CREATE UNIQUE INDEX vote_once ON vote (instance_id, participant_id) WHERE counted;

CREATE INDEX vote_participant_id_idx ON vote (participant_id);

ALTER TABLE slot ADD CONSTRAINT slot_assignment_id_fkey FOREIGN KEY(assignment_id) REFERENCES assignment (id) DEFERRABLE INITIALLY DEFERRED;

do $$ begin
    if not exists (select from pg_roles where rolname = 'theodolite_app') then create role theodolite_app nologin; end if;
    if not exists (select from pg_roles where rolname = 'theodolite_withdraw') then
        create role theodolite_withdraw nologin;
    end if;
exception when duplicate_object or unique_violation then null;  -- another database of this server
end $$;
do $$
declare wanted text;
begin
    foreach wanted in array array['theodolite_app', 'theodolite_withdraw'] loop
        if not pg_has_role(current_user, wanted, 'member') then
            execute format('grant %I to %I', wanted, current_user);
        end if;
    end loop;
end $$;

grant usage on schema public to theodolite_app, theodolite_withdraw;

grant select on seen_token, staff, barred, study, webhook, asset, event, export_run, instance, invite, participant, consent, demographic, post_study, practice, session, slot, assignment, baseline, draft, gold_result, vote to theodolite_app, theodolite_withdraw;

grant insert on seen_token, webhook, event, export_run, participant, consent, demographic, post_study, practice, session, assignment, baseline, draft, gold_result, vote to theodolite_app;

grant update on participant, session, draft to theodolite_app;
grant update (password_hash, totp_last_step, enrol_sha256, enrol_expires_at, failures, locked_until) on staff to theodolite_app;
grant update (state, opened_at, closed_at, quota) on study to theodolite_app;
grant update (state, assignment_id, lease_expires_at, reserved_for) on slot to theodolite_app;
grant update (state, baseline_at, revealed_at, finished_at, reason) on assignment to theodolite_app;
grant update (answers, passed, revealed_at, answered_at) on practice to theodolite_app;

grant delete on draft, session, seen_token to theodolite_app;

grant update on participant to theodolite_withdraw;
grant update (state, assignment_id, lease_expires_at) on slot to theodolite_withdraw;
grant update (state) on assignment to theodolite_withdraw;
grant update (counted) on vote to theodolite_withdraw;
grant delete on vote, baseline, draft, demographic, practice, gold_result, post_study, consent,
    assignment, session, event to theodolite_withdraw;
grant insert on event, barred to theodolite_withdraw;
grant update (object) on event to theodolite_withdraw;

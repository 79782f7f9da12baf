"""Every unique index, check and trigger of the tables, with something that it alone forbids."""

VOTE = (
    "insert into vote (assignment_id, slot_id, instance_id, participant_id, counted, idem_key, "
    "payload_sha256, durations, client) select {values}, gen_random_uuid(), '', '[]', '[]' "
    "from assignment d, assignment l where d.id = {done} and l.id = {live}"
)
ITEM = (
    "insert into assignment (participant_id, instance_id, image_key, position, "
    "image_exposure_index, state) select {values} from assignment d where d.id = {done}"
)
PEOPLE = (
    "insert into participant (id, study_id, platform, person, pseudonym, quota, design_row, "
    "withdrawal_sha256) select gen_random_uuid(), study_id, {values} from participant "
    "where id = '{ann}'"
)
PAYOUT = (
    "insert into payout (study_id, participant_id, submission_digest, kind, outcome, amount_minor, "
    "currency) select study_id, {values}, kind, outcome, amount_minor, currency from payout limit 1"
)
VERSION = (
    "insert into version (study_id, no, state, instrument, n_votes, quota, lease_seconds, languages,"
    " default_language, digest) select study_id, {values}, '[]', 1, 1, 1, '{{en}}', 'en', 'x'"
    " from version where id = {version}"
)
MORE = """
    insert into study (id, slug, title, state, keys_id)
        values ('{other}', 'other', 'T', 'draft', 'k');
    insert into version (study_id, no, instrument, n_votes, quota, lease_seconds, languages,
        default_language) values ('{other}', 1, '{{"door": []}}', 1, 1, 1, '{{en}}', 'en');
    insert into wording select id, 'title', 'en', 'x' from version where study_id = '{other}';
    insert into consent_text select id, 'en', 'x', sha256('x') from version where study_id = '{other}';
    insert into condition (version_id, key, weight)
        select id, 'k', 1 from version where study_id = '{other}';
    insert into outcome (version_id, key) select id, 'finished' from version where study_id = '{other}';
    insert into practice (participant_id, instance_id, attempt, baseline)
        select '{ann}', id, 1, '[]' from instance limit 1;
    insert into answer (participant_id, version_id, stage, answers, payload_sha256)
        values ('{ann}', {version}, 'about', '{{}}', '');
    insert into gold_result (assignment_id, answers, passed, payload_sha256, durations)
        values ({done}, '[]', true, '', '[]');
    insert into staff (name, enroll_sha256) values ('eve', '');
    insert into member select (select id from study limit 1), id, 'owner' from staff;
    insert into barred select id, '' from study limit 1;
    insert into declined select id, sha256('x') from study limit 1;
    insert into invite select '', id from study limit 1;
    insert into seen_token values ('', now());
    insert into bucket values ('x', 1);
    insert into sign_in_failure (key, failures, until) values (sha256('x'), 1, now());
    insert into device select 'x', id, now() from staff;
    insert into operation (what) values ('backup');
    insert into export_request (study_id) values ('{other}');
    insert into image values (sha256('x'), 'image/png', 1, 1, 1);
    insert into payout (study_id, participant_id, submission_digest, kind, outcome, amount_minor,
        currency) select study_id, id, sha256('s'), 'reward', 'finished', 1, 'GBP' from participant
        where id = '{ann}';
    insert into platform_event (event_id, delivery, submission_digest, status, event_at)
        values ('e', 'd', 's', 'ACTIVE', now());
    insert into platform_link (study_id, external_id, sealed_token)
        select id, 'x', '' from study where id <> '{other}'"""


def _vote(values: str) -> str:
    return VOTE.replace("{values}", values)


def _item(values: str) -> str:
    return ITEM.replace("{values}", values)


def _person(values: str) -> str:
    return PEOPLE.replace("{values}", values)


def _version(values: str) -> str:
    return VERSION.replace("{values}", values)


def _payout(values: str) -> str:
    return PAYOUT.replace("{values}", values)


def _again(table: str, where: str = "true") -> str:
    return (
        f"insert into {table} overriding system value select * from {table} where {where} limit 1"
    )


DRAFT = "version_id = {draft}"
UNIQUE: dict[str, tuple[str, ...]] = {
    "vote_fills_slot": (_vote("l.id, d.slot_id, l.instance_id, l.participant_id, true"),),
    "vote_once": (_vote("l.id, {free}, d.instance_id, d.participant_id, true"),),
    "vote_assignment_id_key": (_vote("d.id, d.slot_id, d.instance_id, d.participant_id, false"),),
    "assignment_instance_id_participant_id_key": (
        _item("participant_id, instance_id, '', 50, 1, 'released'"),
    ),
    "assignment_participant_id_position_key": (
        _item("participant_id, {unmet}, '', 1, 1, 'released'"),
    ),
    "one_live": (_item("'{bob}', {unmet}, '', 50, 1, 'leased'"),),
    "slot_held": ("update slot set state = 'filled', assignment_id = {done} where id = {free}",),
    "slot_seat_key": (
        "insert into slot (study_id, instance_id, slot_no, rnd)"
        " select study_id, instance_id, slot_no, 0 from slot where id = {free}",
    ),
    "baseline_pkey": (
        "insert into baseline (assignment_id, client, payload_sha256) values ({done}, '[]', '')",
    ),
    "practice_participant_id_instance_id_attempt_key": (
        "insert into practice (participant_id, instance_id, attempt, baseline)"
        " select participant_id, instance_id, attempt, '[]' from practice",
    ),
    "participant_study_id_platform_person_key": (
        _person("platform, person, 'other', 1, null, null"),
    ),
    "participant_study_id_pseudonym_key": (_person("platform, '', pseudonym, 1, null, null"),),
    "participant_study_id_design_row_key": ("update participant set design_row = 1",),
    "participant_withdrawal_sha256_key": (
        _person("platform, '', 'other', 1, null, withdrawal_sha256"),
    ),
    "place_version_id_no_key": (
        "insert into place (version_id, no) select version_id, no from place limit 1",
    ),
    "place_participant_id_key": (
        "update place set state = 'taken', participant_id = '{ann}' where state = 'open'"
        " and no = (select max(no) from place)",
    ),
    "payout_participant_key": (_payout("participant_id, null"),),
    "payout_submission_key": (_payout("null, submission_digest"),),
    "platform_event_delivery_key": (
        "insert into platform_event (event_id, delivery, submission_digest, status, event_at)"
        " values ('other', 'd', 's', 'ACTIVE', now())",
    ),
    "platform_event_pkey": (
        "insert into platform_event (event_id, delivery, submission_digest, status, event_at)"
        " values ('e', 'other', 's', 'ACTIVE', now())",
    ),
    "platform_link_external_key": (
        "insert into platform_link (study_id, external_id, sealed_token) values ('{other}', 'x', '')",
    ),
    "platform_link_pkey": (
        "insert into platform_link (study_id, external_id, sealed_token)"
        " select study_id, 'y', '' from platform_link",
    ),
    "one_taking": (_version("9, 'open'"),),
    "version_study_id_no_key": (_version("1, 'closed'"),),
    "condition_version_id_key_key": (
        "insert into condition (version_id, key, weight) values ({draft}, 'k', 2)",
    ),
    "study_slug_key": (
        "insert into study (id, slug, state, keys_id) values (gen_random_uuid(), 'other', 'draft', 'k')",
    ),
    "instance_study_id_key_key": (
        "insert into instance (study_id, key, image_key, technique, modality, kind, place, record)"
        " select study_id, key, '', '', modality, kind, 0, '[]' from instance limit 1",
    ),
    "staff_name": ("insert into staff (name) select name from staff",),
    "staff_enroll_sha256_key": (
        "insert into staff (name, enroll_sha256) select 'other', enroll_sha256 from staff",
    ),
    "log_kind_name_key": ("insert into log_kind values (98, 'arrived')",),
    **{f"{table}_pkey": (_again(table, DRAFT),) for table in ("wording", "consent_text", "outcome")},
    **{
        f"{table}_pkey": (_again(table),) for table in (
            "consent", "answer", "draft", "gold_result", "session", "invite", "barred", "declined",
            "seen_token", "door", "tally", "bucket", "operation", "member", "image", "device",
            "sign_in_failure")
    },
}  # fmt: skip


def _row(table: str, change: str, where: str) -> tuple[str, ...]:
    return (f"update {table} set {change} where {where}",)


OF_DRAFT = "id = {draft}"
CHECKS: dict[str, tuple[str, ...]] = {
    "assignment_state": _row("assignment", "state = 'gone'", "id = {done}"),
    "assignment_own_answer_first": _row("assignment", "state = 'revealed'", "id = {waiting}"),
    "assignment_then_the_explanation": (
        "update assignment set revealed_at = baseline_at where id = {live}",
        "update assignment set revealed_at = now() where id = {waiting}",
    ),
    "assignment_then_the_ratings": (
        "update assignment set finished_at = revealed_at - interval '1 s' where id = {done}",
        "update assignment set finished_at = null where id = {done}",
        "update assignment set revealed_at = null where id = {done}",
    ),
    "sign_in_failure_key": ("update sign_in_failure set key = 'short'",),
    "slot_state": _row("slot", "state = 'gone'", "assignment_id = {done}"),
    "slot_open_is_nobodys": (
        "update slot set state = 'filled' where id = {free}",
        "update slot set state = 'open' where assignment_id = {done}",
    ),
    "slot_lease_ends": (
        "update slot set lease_expires_at = null where assignment_id = {live}",
        "update slot set lease_expires_at = now() where assignment_id = {done}",
    ),
    "practice_order": ("update practice set revealed_at = baseline_at",),
    "practice_then_the_answers": ("update practice set answers = '[]'",),
    "participant_state": ("update participant set state = 'gone'",),
    "session_one_owner": ("update session set participant_id = null",),
    "study_state": ("update study set state = 'gone'",),
    "instance_modality": ("update instance set modality = 'gone'",),
    "instance_kind": ("update instance set kind = 'gone'",),
    "answer_stage": ("update answer set stage = 'before', answers = '{{\"words\": \"x\"}}'",),
    "condition_weight": _row("condition", "weight = 0", DRAFT),
    "consent_text_digest": _row("consent_text", "shown = 'y'", DRAFT),
    "declined_token": ("update declined set token = 'short'",),
    "door_available": ("update door set available = -1",),
    "export_request_digest": ("update export_request set state = 'done', ended_at = now()",),
    "export_request_ended": ("update export_request set state = 'failed'",),
    "export_request_state": ("update export_request set state = 'gone'",),
    "member_role": ("update member set role = 'god'",),
    "operation_what": ("update operation set what = 'gone'",),
    "outcome_key": _row("outcome", "key = 'gone'", DRAFT),
    "outcome_pay": _row("outcome", "pay = 'gone'", DRAFT),
    "outcome_redirect": _row("outcome", "redirect = 'http://x'", DRAFT),
    "payout_amount": (_payout("null, null").replace("amount_minor, currency from", "0, currency from"),),
    "payout_batch_first": ("update payout set paying_at = now()",),
    "payout_kind": (_payout("null, null").replace("kind, outcome, amount_minor, currency from",
                                                  "'gift', outcome, amount_minor, currency from"),),
    "payout_state": ("update payout set state = 'gone'",),
    "image_mime": ("update image set mime = 'image/svg+xml'",),
    "image_sha256": ("update image set sha256 = 'short'",),
    "place_open_is_nobodys": ("update place set state = 'taken' where state = 'open'",),
    "place_state": ("update place set state = 'gone' where participant_id is not null",),
    "platform_link_platform": ("update platform_link set platform = 'other'",),
    "version_default_language": _row("version", "default_language = 'de'", OF_DRAFT),
    "version_lease": _row("version", "lease_seconds = 0", OF_DRAFT),
    "version_least_items": _row("version", "least_items = 0", OF_DRAFT),
    "version_n_votes": _row("version", "n_votes = 51", OF_DRAFT),
    "version_quota": _row("version", "quota = 0", OF_DRAFT),
    "version_sealed": _row("version", "state = 'closed'", OF_DRAFT),
    "version_state": _row("version", "state = 'gone', digest = 'x'", OF_DRAFT),
    "wording_body": _row("wording", "body = ''", DRAFT),
}  # fmt: skip
TRIGGERS: dict[str, str] = {
    "answer_answers_fit": "update answer set answers = '{{\"x\": 1}}'",
    "baseline_answers_fit": "update baseline set answers = '{{}}'",
    "vote_answers_fit": "update vote set answers = '{{\"q1\": 9}}'",
    "condition_frozen": "insert into condition (version_id, key, weight) values ({version}, 'k', 1)",
    "consent_as_shown": "update consent set form_sha256 = sha256('x')",
    "consent_text_frozen": "update consent_text set reconsent = true where version_id = {version}",
    "outcome_frozen": "delete from outcome where version_id = {version}",
    "wording_frozen": "update wording set body = 'x' where version_id = {version}",
    "version_frozen": "update version set quota = quota + 1 where id = {version}",
    "version_says_all": "update version set state = 'open', digest = 'x' where id = {draft}",
    "payout_moves": "update payout set amount_minor = amount_minor + 1",
}
ELSEWHERE: dict[str, str] = {
    "version_languages": "version_default_language: no language is one of none",
    "door_of_round": "forbids nothing: test_guards_bite has a test of its own",
}
"""Guards that no statement meets alone, and what stands behind each."""

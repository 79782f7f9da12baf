"""Every unique index and every check of the tables, with something that it forbids."""

VOTE = (
    "insert into vote (assignment_id, slot_id, instance_id, participant_id, counted, idem_key, "
    "payload_sha256, durations, client) select {values}, gen_random_uuid(), '', '[]', '[]' "
    "from assignment d, assignment l where d.id = {done} and l.id = {live}"
)
ITEM = (
    "insert into assignment (participant_id, instance_id, picture_key, position, "
    "image_exposure_index, state) select {values} from assignment d where d.id = {done}"
)
BASELINE = (
    "insert into baseline (assignment_id, text, boxes, client, payload_sha256) "
    "values ({values}, '[]', '[]', '')"
)
PEOPLE = (
    "insert into participant (id, study_id, platform, person, pseudonym, quota, design_row, "
    "withdrawal_sha256) select gen_random_uuid(), study_id, {values} from participant "
    "where id = '{ann}'"
)


def _vote(values: str) -> str:
    return VOTE.replace("{values}", values)


def _item(values: str) -> str:
    return ITEM.replace("{values}", values)


def _person(values: str) -> str:
    return PEOPLE.replace("{values}", values)


def _again(table: str) -> str:
    return f"insert into {table} overriding system value select * from {table} limit 1"


GUARDS: dict[str, tuple[str, ...]] = {
    "vote_fills_slot": (
        _vote("l.id, d.slot_id, l.instance_id, l.participant_id, true"),
    ),
    "vote_once": (_vote("l.id, {free}, d.instance_id, d.participant_id, true"),),
    "vote_assignment_id_key": (
        _vote("d.id, d.slot_id, d.instance_id, d.participant_id, false"),
    ),
    **{
        f"vote_q{n}": (f"update vote set q{n} = 6", f"update vote set q{n} = 0")
        for n in range(1, 7)
    },
    "assignment_instance_id_participant_id_key": (
        _item("participant_id, instance_id, '', 50, 1, 'released'"),
    ),
    "assignment_participant_id_position_key": (
        _item("participant_id, {unmet}, '', 1, 1, 'released'"),
    ),
    "one_live": (_item("'{bob}', {unmet}, '', 50, 1, 'leased'"),),
    "assignment_state": ("update assignment set state = 'gone' where id = {done}",),
    "assignment_own_answer_first": (
        "update assignment set state = 'revealed' where id = {waiting}",
    ),
    "assignment_then_the_explanation": (
        "update assignment set revealed_at = baseline_at where id = {live}",
        "update assignment set revealed_at = now() where id = {waiting}",
    ),
    "assignment_then_the_ratings": (
        "update assignment set finished_at = revealed_at - interval '1 s' where id = {done}",
        "update assignment set finished_at = null where id = {done}",
        "update assignment set revealed_at = null where id = {done}",
    ),
    "slot_held": (
        "update slot set state = 'filled', assignment_id = {done} where id = {free}",
    ),
    "slot_instance_id_slot_no_key": (
        "insert into slot (study_id, instance_id, slot_no, rnd) "
        "select study_id, instance_id, slot_no, 0 from slot where id = {free}",
    ),
    "slot_state": ("update slot set state = 'gone' where assignment_id = {done}",),
    "slot_open_is_nobodys": (
        "update slot set state = 'filled' where id = {free}",
        "update slot set state = 'open' where assignment_id = {done}",
    ),
    "slot_lease_ends": (
        "update slot set lease_expires_at = null where assignment_id = {live}",
        "update slot set lease_expires_at = now() where assignment_id = {done}",
    ),
    "baseline_pkey": (BASELINE.replace("{values}", "{done}, 'again'"),),
    "baseline_text": (
        BASELINE.replace("{values}", "{waiting}, ''"),
        BASELINE.replace("{values}", "{waiting}, repeat('x', 4001)"),
    ),
    "practice_order": ("update practice set revealed_at = baseline_at",),
    "practice_then_the_answers": ("update practice set answers = '[]'",),
    "practice_participant_id_instance_id_attempt_key": (
        "insert into practice (participant_id, instance_id, attempt, baseline) "
        "select participant_id, instance_id, attempt, '[]' from practice",
    ),
    "participant_study_id_platform_person_key": (
        _person("platform, person, 'other', 1, null, null"),
    ),
    "participant_study_id_pseudonym_key": (
        _person("platform, '', pseudonym, 1, null, null"),
    ),
    "participant_study_id_design_row_key": (
        "update participant set design_row = 1",
    ),
    "participant_withdrawal_sha256_key": (
        _person("platform, '', 'other', 1, null, withdrawal_sha256"),
    ),
    "participant_state": ("update participant set state = 'gone'",),
    "consent_pkey": (_again("consent"),),
    "demographic_pkey": (_again("demographic"),),
    "post_study_pkey": (_again("post_study"),),
    "draft_pkey": (_again("draft"),),
    "gold_result_pkey": (_again("gold_result"),),
    "session_pkey": (_again("session"),),
    "session_one_owner": ("update session set participant_id = null",),
    "invite_pkey": (_again("invite"),),
    "barred_pkey": (_again("barred"),),
    "seen_token_pkey": (_again("seen_token"),),
    "webhook_pkey": (_again("webhook"),),
    "study_slug_key": (
        "insert into study select gen_random_uuid(), slug, state, protocol, protocol_sha256, "
        "origin, legend, n_votes, lease_seconds, quota, keys_id from study",
    ),
    "study_state": ("update study set state = 'gone'",),
    "study_n_votes": ("update study set n_votes = 0", "update study set n_votes = 51"),
    "study_lease": ("update study set lease_seconds = 0",),
    "asset_study_id_file_key": (
        "insert into asset (study_id, file, mime, width, height) "
        "select study_id, file, mime, 1, 1 from asset limit 1",
    ),
    "asset_mime": ("update asset set mime = 'image/svg+xml'",),
    "asset_file": ("update asset set file = '../keys.json' where id = (select min(id) from asset)",),
    "instance_study_id_key_key": (
        "insert into instance (study_id, key, picture_key, technique, modality, kind, place, "
        "record) select study_id, key, '', '', modality, kind, 0, '[]' from instance limit 1",
    ),
    "instance_modality": ("update instance set modality = 'gone'",),
    "instance_kind": ("update instance set kind = 'gone'",),
    "staff_study_id_name_key": (
        "insert into staff (study_id, name) select study_id, name from staff",
    ),
    "staff_enrol_sha256_key": (
        "insert into staff (study_id, name, enrol_sha256) "
        "select study_id, 'other', enrol_sha256 from staff",
    ),
}  # fmt: skip

"""Rows of a large study, made by the database itself: a few statements, no step a vote."""

# ruff: noqa: E501  SQL reads better in long lines

import hashlib
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import psycopg
from psycopg.types.json import Jsonb

from theodolite_study.model.pasta import NEEDS, RANKED, build_pasta

EACH, QUOTA = 5, 20
"""Votes for each explanation, and of each person."""
CONSENT = b"<p>You can stop at any time.</p>"
FIRST = "date_trunc('day', clock_timestamp()) - interval '90 days'"
ROWS = f"""
    insert into instance (id, study_id, key, image_key, technique, modality, kind, place, record, shown)
        overriding system value
    select n, %(study)s, 'e' || lpad(n::text, 8, '0'), 'p' || n / 4, 'technique ' || n %% 4, 'saliency',
           'real', n, '{{}}', jsonb_build_object('shown', jsonb_build_object('predicted', 'class ' || n %% 37,
               'image', encode(sha256(('p' || n / 4)::bytea), 'hex') || '.png',
               'map', encode(sha256(('m' || n)::bytea), 'hex') || '.png'))
      from generate_series(1, %(instances)s) n;
    insert into participant (id, study_id, platform, person, sealed_id, pseudonym, state, quota, version_id,
        language, promised, outcome, outcome_at, withdrawal_sha256, bar_token, created_at, finished_at)
    select person(n), %(study)s, 'link', sha256(n::text::bytea), 'x', 'p' || lpad(n::text, 7, '0'),
           'finished', {QUOTA}, %(version)s, 'en', {QUOTA}, 'finished', clock_timestamp(),
           sha256(('code ' || n)::bytea), sha256(n::text::bytea), {FIRST}, clock_timestamp()
      from generate_series(0, %(people)s - 1) n;
    insert into consent (participant_id, version_id, language, form_sha256, given_at)
    select id, version_id, 'en', sha256(%(consent)s), created_at from participant;
    insert into answer (participant_id, version_id, stage, answers, payload_sha256, at)
    select id, version_id, stage, case stage when 'about' then jsonb_build_object('age_band', '25-34',
               'gender', (array['woman', 'man'])[1 + get_byte(person, 0) %% 2]) else %(ranks)s end, '', created_at
      from participant, unnest(array['about', 'end']) stage;
    insert into place (version_id, no, state, participant_id)
    select %(version)s, n + 1, case when n < %(people)s then 'used' else 'open' end,
           case when n < %(people)s then person(n) end
      from generate_series(0, %(people)s + 999) n;
    insert into payout (study_id, participant_id, submission_digest, kind, outcome, amount_minor, currency, state)
    select study_id, id, person, 'reward', 'finished', 400, 'GBP', 'confirmed' from participant;
    insert into slot (id, study_id, instance_id, slot_no, rnd, state, assignment_id) overriding system value
    select n, %(study)s, (n - 1) / {EACH} + 1, (n - 1) %% {EACH} + 1, random(),
           case when n <= %(votes)s then 'filled' else 'open' end, case when n <= %(votes)s then n end
      from generate_series(1, %(instances)s * {EACH}) n;
    create temp table given as
    select n, person(((n - 1) %% %(people)s)::int) as person, (n - 1) / {EACH} + 1 as instance,
           (n - 1) / %(people)s + 1 as position,
           {FIRST} + interval '1 hour' + n * interval '80 days' / %(votes)s as began
      from generate_series(1, %(votes)s) n;
    insert into assignment (id, participant_id, instance_id, slot_id, image_key, position,
        image_exposure_index, state, leased_at, baseline_at, revealed_at, finished_at, version_id)
        overriding system value
    select n, person, instance, n, 'p' || instance / 4, position, 1, 'submitted', began,
           began + interval '20 s', began + interval '21 s', began + interval '50 s', %(version)s from given;
    insert into baseline (assignment_id, answers, client, payload_sha256, at)
    select n, jsonb_build_object('words', 'what I see in explanation ' || instance, 'regions',
               jsonb_build_array(jsonb_build_object('x', n %% 100, 'y', 5, 'width', 40, 'height', 30))),
           '{{"seconds": 19.5}}', sha256(n::text::bytea), began + interval '20 s' from given;
    insert into vote (id, assignment_id, slot_id, instance_id, participant_id, version_id, counted, answers,
        idem_key, payload_sha256, durations, client, at) overriding system value
    select n, n, n, instance, person, %(version)s, true, jsonb_build_object('q1', rated(n, 1),
               'q2', rated(n, 2), 'q3', rated(n, 3), 'q4', rated(n, 4)), gen_random_uuid(),
           sha256(n::text::bytea), '{{"visible": 28.5}}', '{{"width": 1280, "height": 720, "pointer": "fine"}}',
           began + interval '50 s' from given;
    insert into log (study_id, participant_id, at, kind, object)
    select %(study)s, person, began + s * interval '7 s', (array[7, 8, 5, 6, 4, 4, 4])[k], n
      from given, unnest(array[3.0, 7.14, 0, 2.8, 0.1, 0.2, 0.3]) with ordinality as every(s, k) order by n, s;
    drop table given"""  # noqa: S608  only our own numbers are put in
HELPERS = """
    create function pg_temp.person(n integer) returns uuid language sql immutable as
        $$ select md5('person ' || n)::uuid $$;
    create function pg_temp.rated(n bigint, q integer) returns integer language sql immutable as
        $$ select 1 + (get_byte(sha256(((n - 1) / 5 * 7 + q)::text::bytea), 0)
                       + get_byte(sha256((n * 7 + q)::text::bytea), 1)) / 2 * 5 / 256 $$"""
COUNTED = ("instance", "slot", "assignment", "vote")


@dataclass(frozen=True)
class LargeStudy:
    """What was made."""

    study: UUID
    version: int
    votes: int
    people: int


def make_rows(connection: psycopg.Connection[Any], votes: int, left: int) -> LargeStudy:
    """A study with so many votes of {QUOTA} a person, and so many seats left.

    Args:
        connection: In autocommit, of an owner.
        votes: Votes that were given; a multiple of 100.
        left: Seats that are open, a multiple of 5.
    """
    study, people = uuid4(), votes // QUOTA
    connection.execute("set session_replication_role = replica")
    for month in range(1, 5):  # partitions of the months that were
        connection.execute(
            "do $$ declare first date := date_trunc('month', clock_timestamp()) - make_interval(months => "
            f"{month}); begin execute format('create table %I partition of log for values from (%L) to (%L)',"
            " 'log_' || to_char(first, 'YYYY_MM'), first, first + interval '1 month'); end $$"
        )
    version = _version(connection, study)
    values = {
        "study": study, "version": version, "votes": votes, "people": people, "consent": CONSENT,
        "instances": (votes + left) // EACH,
        "ranks": Jsonb({name: [f"i{n}" for n in range(items)] for name, items in RANKED.items()}),
    }  # fmt: skip
    connection.execute(HELPERS)
    filled = ROWS.replace("person(", "pg_temp.person(").replace("rated(", "pg_temp.rated(")
    for statement in filled.split(";\n"):
        connection.execute(psycopg.ClientCursor(connection).mogrify(statement, values))
    for table in COUNTED:
        connection.execute(
            f"select setval(pg_get_serial_sequence('{table}', 'id'), max(id)) from {table}"  # noqa: S608
        )
    connection.execute(
        "insert into tally select %s, what, 0, n from st_recount(%s)", [version, version]
    )
    connection.execute(
        "insert into door (version_id, available) values (%s, st_available(%s))", [version, version]
    )
    connection.execute("set session_replication_role = default")
    connection.execute("vacuum analyze")
    return LargeStudy(study, version, votes, people)


def _version(connection: psycopg.Connection[Any], study: UUID) -> int:
    run = connection.execute
    run("insert into study (id, slug, title, state, keys_id) values (%s, 'large', 'L', 'open', 'k')",
        [study])  # fmt: skip
    row = run(
        "insert into version (study_id, no, state, instrument, settings, n_votes, quota, lease_seconds,"
        " languages, default_language, digest, opened_at) values"
        " (%s, 1, 'open', %s, %s, %s, %s, 600, '{en}', 'en', sha256('x'), clock_timestamp()) returning id",
        [study, Jsonb(build_pasta().stored()), Jsonb({"needs": NEEDS, "pay": {"reward": 400}}), EACH, QUOTA],
    ).fetchone()  # fmt: skip
    version = int(row[0]) if row else 0
    run("insert into consent_text values (%s, 'en', %s, %s)",
        [version, CONSENT, hashlib.sha256(CONSENT).digest()])  # fmt: skip
    run("insert into outcome (version_id, key, pay) values (%s, 'finished', 'reward'),"
        " (%s, 'stopped', 'part')", [version, version])  # fmt: skip
    run(
        "insert into wording select %s, key, language, key from missing_texts(%s)",
        [version, version],
    )
    return version

"""Texts of a version: model and database name the same ones, and none is missing when it opens."""

import json
from collections.abc import Iterator
from itertools import count
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from support.study.stepped_study import template_database
from theodolite_study.local_postgres import LocalPostgres, create_database
from theodolite_study.model.instrument import Instrument
from theodolite_study.model.required_texts import GENERAL, find_missing_texts, iterate_text_keys

KEYS = ["a", "b", "c"]
BEFORE = [{"blocks": [{"name": "words", "kind": "text"}]}]
LANGUAGES = ["en", "de", "ar"]
OUTCOMES = ["finished", "declined", "full"]
_numbers = count()


@pytest.fixture(scope="module")
def connection(cluster: LocalPostgres) -> Iterator[psycopg.Connection[Any]]:
    name = "texts"
    create_database(cluster, name, template_database(cluster))
    with psycopg.connect(cluster.database(name), autocommit=True) as opened:
        yield opened


blocks = st.one_of(
    st.builds(
        lambda p, labels: {"kind": "likert", "points": p, "labels": labels},
        st.integers(2, 11), st.sampled_from(["ends", "all"]),
    ),
    st.builds(
        lambda n, o: {"kind": "choice", "options": KEYS[:n], "other": o},
        st.integers(2, 3), st.booleans(),
    ),
    st.builds(lambda k: {"kind": k}, st.sampled_from(["text", "number", "slider", "regions"])),
    st.builds(lambda k: {"kind": k, "required": False}, st.sampled_from(["comment", "note"])),
    st.builds(lambda t: {"kind": "comparison", "of": KEYS[:2], "tie": t}, st.booleans()),
    st.builds(lambda n: {"kind": "ranking", "items": KEYS[:n]}, st.integers(2, 3)),
)  # fmt: skip


@st.composite
def instruments(draw: st.DrawFn) -> Instrument:
    every = [b | {"name": f"b{n}"} for n, b in enumerate(draw(st.lists(blocks, max_size=6)))]
    parts: dict[str, list[Any]] = {"door": [], "about": [], "end": []}
    for block in every:
        parts[draw(st.sampled_from(sorted(parts)))].append({"blocks": [block]})
    after = [{"blocks": [draw(blocks) | {"name": "x"}, {"name": "last", "kind": "likert"}]}]
    return Instrument.model_validate({"before": BEFORE, "after": after} | parts)


def drafted(
    connection: psycopg.Connection[Any],
    instrument: dict[str, Any],
    languages: list[str],
    wording: dict[str, dict[str, str]],
    outcomes: list[str],
) -> int:
    """A draft in the database."""
    run = connection.execute
    study = uuid4()
    run(
        "insert into study (id, slug, title, state, keys_id) values (%s, %s, 'T', 'draft', 'k')",
        (study, f"s{next(_numbers)}"),
    )
    (version,) = run(
        "insert into version (study_id, no, instrument, n_votes, quota, lease_seconds, languages,"
        " default_language) values (%s, 1, %s, 2, 3, 60, %s, %s) returning id",
        (study, Jsonb(instrument), languages, languages[0]),
    ).fetchone()  # type: ignore[misc]
    for language, texts in wording.items():
        for key, body in texts.items():
            if key == "consent":
                run("insert into consent_text (version_id, language, shown, digest)"
                    " values (%s, %s, %s, sha256(%s))", (version, language, body.encode(), body.encode()))  # fmt: skip
            else:
                run("insert into wording values (%s, %s, %s, %s)", (version, key, language, body))
    for outcome in outcomes:
        run("insert into outcome (version_id, key) values (%s, %s)", (version, outcome))
    return int(version)


def missing(connection: psycopg.Connection[Any], version: int) -> list[tuple[str, str]]:
    return connection.execute("select * from missing_texts(%s)", (version,)).fetchall()


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_model_and_database_miss_the_same(
    connection: psycopg.Connection[Any], data: st.DataObject
) -> None:
    instrument = data.draw(instruments())
    languages = data.draw(st.lists(st.sampled_from(LANGUAGES), min_size=1, unique=True))
    outcomes = data.draw(st.lists(st.sampled_from(OUTCOMES), unique=True))
    keys = list(iterate_text_keys(instrument, outcomes))
    assert len(set(keys)) == len(keys)
    wording: dict[str, dict[str, str]] = {}
    for language in LANGUAGES:
        left = data.draw(st.sets(st.sampled_from(keys), max_size=3))
        blank = data.draw(st.sets(st.sampled_from(keys), max_size=1))
        texts = {key: " \n\x0b\t" if key in blank else f"{key} {language}" for key in keys}
        wording[language] = {key: body for key, body in texts.items() if key not in left}
    version = drafted(connection, instrument.stored(), languages, wording, outcomes)
    here = find_missing_texts(instrument, languages, wording, outcomes)
    assert sorted(missing(connection, version)) == sorted(here)


def test_settings_left_out_mean_what_the_model_says(connection: psycopg.Connection[Any]) -> None:
    """Check an instrument that names neither `labels` nor `other`."""
    likert = {"name": "q1", "kind": "likert"}
    choice = {"name": "c", "kind": "choice", "options": ["f", "m"]}
    bare = {"before": BEFORE, "after": [{"blocks": [likert, choice]}]}
    (there,) = connection.execute(
        "select array(select text_keys(%s, '{full}'))", (json.dumps(bare),)
    ).fetchone()  # type: ignore[misc]
    assert there == [
        *GENERAL, "outcome.full", "words.text", "q1.text", "q1.low", "q1.high",
        "c.text", "c.option.f", "c.option.m",
    ]  # fmt: skip
    assert there == list(iterate_text_keys(Instrument.model_validate(bare), ["full"]))


def test_every_kind_has_its_parts() -> None:
    every = [
        {"name": "all", "kind": "likert", "points": 3, "labels": "all"},
        {"name": "sex", "kind": "choice", "options": ["f", "m"], "other": True},
        {"name": "how", "kind": "slider"}, {"name": "n", "kind": "number"},
        {"name": "q7", "kind": "ranking", "items": ["i0", "i1"]},
        {"name": "better", "kind": "comparison", "of": ["shown", "rival"], "tie": True},
    ]  # fmt: skip
    whole = Instrument.model_validate({"before": BEFORE, "after": [{"blocks": every}]})
    assert list(iterate_text_keys(whole))[len(GENERAL) + 1 :] == [
        "all.text", "all.point.1", "all.point.2", "all.point.3",
        "sex.text", "sex.option.f", "sex.option.m", "sex.option.other",
        "how.text", "how.low", "how.high", "n.text", "q7.text", "q7.item.i0", "q7.item.i1",
        "better.text", "better.option.shown", "better.option.rival", "better.option.tie",
    ]  # fmt: skip


def test_a_version_opens_only_with_all_its_texts(connection: psycopg.Connection[Any]) -> None:
    instrument = Instrument.model_validate(
        {"before": BEFORE, "after": [{"blocks": [{"name": "q", "kind": "likert"}]}]}
    )
    texts = dict.fromkeys(iterate_text_keys(instrument, ["finished"]), "words")
    short = {key: body for key, body in texts.items() if key != "q.high"}
    wording = {"en": texts, "de": short}
    version = drafted(connection, instrument.stored(), ["en", "de"], wording, ["finished"])
    opened = "update version set state = %s, digest = sha256('x') where id = %s"
    assert missing(connection, version) == [("de", "q.high")]
    for state in ("pilot", "open"):
        with pytest.raises(psycopg.errors.IntegrityConstraintViolation, match=r"de q\.high"):
            connection.execute(opened, (state, version))
    connection.execute("insert into wording values (%s, 'q.high', 'de', 'ganz')", (version,))
    connection.execute(opened, ("open", version))
    assert connection.execute("select state from version where id = %s", (version,)).fetchone() == (
        "open",
    )

"""The shipped instrument: the questions of paper 004, its texts in three languages, its schema."""

import json
from pathlib import Path

import jsonschema
import pytest

from theodolite_study.folder_import import get_settings, load_instrument
from theodolite_study.locale.default_texts import (
    CASE,
    LABEL,
    fill_gaps,
    list_default_languages,
    load_default_texts,
)
from theodolite_study.locale.translations import list_languages
from theodolite_study.model.instrument import STAGES, Instrument
from theodolite_study.model.markdown import GAP, render_html
from theodolite_study.model.pasta import NEEDS, OUTCOMES, build_pasta
from theodolite_study.model.required_texts import find_missing_texts, iterate_text_keys
from theodolite_study.model.schema import SCHEMA, format_schema
from theodolite_study.protocol import Ethics, Protocol

TEXTS = {language: load_default_texts(language) for language in list_default_languages()}
FACTS = {*Ethics.model_fields, "minutes", "pay"}
DEBRIEFED = {"methods", "publish", "contact"}
MORE = {
    "debriefing",
    "ethics.none",
    "ethics.legal_basis.consent",
    "ethics.legal_basis.public_interest",
}


def test_texts_are_complete_and_nothing_more() -> None:
    assert sorted(TEXTS) == sorted(list_languages())
    missing = find_missing_texts(build_pasta(), sorted(TEXTS), TEXTS, OUTCOMES)
    assert missing == [(language, "contact") for language in sorted(TEXTS)]
    for texts in TEXTS.values():
        assert texts.keys() - MORE == set(iterate_text_keys(build_pasta(), OUTCOMES)) - {"contact"}
        assert texts.keys() >= MORE


def test_gaps_are_the_same_in_every_language() -> None:
    for key, english in TEXTS["en"].items():
        gaps = sorted(GAP.findall(english))
        assert all(sorted(GAP.findall(texts[key])) == gaps for texts in TEXTS.values()), key
        cases = [case for case, _ in CASE.findall(english)]
        assert all([c for c, _ in CASE.findall(x[key])] == cases for x in TEXTS.values()), key
        wanted = {"consent": FACTS, "words.text": {LABEL}, "debriefing": DEBRIEFED}
        assert {gap[1:-1] for gap in gaps} == wanted.get(key, set()), key


def test_every_text_is_translated() -> None:
    for language in {"de", "fr"}:
        for key, text in TEXTS[language].items():
            assert text != TEXTS["en"][key], key


def test_what_fills_a_gap_stays_plain() -> None:
    hostile = {"contact": "*us* [x](https://evil.org)\n\n# <b>a_b_c</b> &amp; <https://evil.org>"}
    shown = render_html(fill_gaps("Write to {contact}, {until}.", hostile | {"until": "2027"}))
    assert shown == (
        "<p>Write to *us* [x](https://evil.org) # &lt;b&gt;a_b_c&lt;/b&gt; &amp;amp; "
        "&lt;https://evil.org&gt;, 2027.</p>\n"
    )
    assert fill_gaps("Is it {label}?", hostile) == "Is it {label}?"
    with pytest.raises(LookupError):
        load_default_texts("../en")


def test_instrument_of_a_default_protocol_is_pasta(tmp_path: Path) -> None:
    protocol = Protocol(slug="new", title="New", contact="x")
    assert load_instrument(tmp_path, protocol) == build_pasta()
    assert get_settings(protocol)["needs"] == NEEDS
    assert [len(build_pasta().blocks(stage)) for stage in STAGES] == [0, 3, 2, 6, 3]


def test_the_schema_is_that_of_the_model() -> None:
    assert SCHEMA.read_text() == format_schema(), "run theodolite_study.model.schema"
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    stored = build_pasta().stored()
    assert validator.is_valid(stored)
    assert Instrument.model_validate(stored) == build_pasta()
    for part, value in (
        ("after", []),
        ("extra", []),
        ("before", [{"blocks": [{"name": "a", "kind": "dance"}]}]),
    ):
        assert not validator.is_valid(stored | {part: value})

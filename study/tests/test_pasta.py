"""The shipped instrument: the questions of paper 004, its texts in three languages, its schema."""

import json
from pathlib import Path

import jsonschema
import pytest

from theodolite_study.folder_import import get_settings, load_instrument
from theodolite_study.locale.default_texts import (
    CONSENT_GAPS,
    LABEL,
    fill_gaps,
    list_default_languages,
    load_default_texts,
)
from theodolite_study.locale.translations import list_languages
from theodolite_study.model.instrument import STAGES, Instrument
from theodolite_study.model.markdown import GAP, render_consent, render_html
from theodolite_study.model.pasta import NEEDS, OUTCOMES, build_pasta
from theodolite_study.model.required_texts import find_missing_texts, iterate_text_keys
from theodolite_study.model.schema import SCHEMA, format_schema
from theodolite_study.protocol import Protocol

TEXTS = {language: load_default_texts(language) for language in list_default_languages()}
VALUES = {"contact": "study_team@example.org", "pay": "£4.00", "until": "2027-03-31"}
SAYS = {
    "en": ("deleted", "withdraw", "paid", "fingerprint", "secret key", "not offered to you twice"),
    "de": ("gelöscht", "widerrufen", "bezahlt", "Fingerabdruck", "geheimen Schlüssel", "nicht zweimal angeboten"),
    "fr": ("supprimé", "retirer", "payé", "empreinte", "clé secrète", "pas proposée deux fois"),
}  # fmt: skip


def test_texts_are_complete_and_nothing_more() -> None:
    assert sorted(TEXTS) == sorted(list_languages())
    missing = find_missing_texts(build_pasta(), sorted(TEXTS), TEXTS, OUTCOMES)
    assert missing == [(language, "contact") for language in sorted(TEXTS)]
    for texts in TEXTS.values():
        assert texts.keys() == set(iterate_text_keys(build_pasta(), OUTCOMES)) - {"contact"}


def test_gaps_are_the_same_in_every_language() -> None:
    for key, english in TEXTS["en"].items():
        gaps = sorted(GAP.findall(english))
        assert all(sorted(GAP.findall(texts[key])) == gaps for texts in TEXTS.values()), key
        wanted = {"consent": set(CONSENT_GAPS), "words.text": {LABEL}}
        assert {gap[1:-1] for gap in gaps} == wanted.get(key, set()), key


def test_every_text_is_translated() -> None:
    same = {"q8.item", "q9.item"}
    for language in {"de", "fr"}:
        for key, text in TEXTS[language].items():
            assert text != TEXTS["en"][key] or (
                language == "fr" and key.rpartition(".")[0] in same
            ), key


@pytest.mark.parametrize("language", sorted(TEXTS))
def test_the_consent_says_what_is_kept(language: str) -> None:
    with pytest.raises(ValueError, match="gap"):
        render_consent(TEXTS[language]["consent"])
    shown = render_consent(fill_gaps(TEXTS[language]["consent"], VALUES)).decode()
    assert shown.count("<h2>") == 6 and shown.count("<li>") == 3
    for words in (*SAYS[language], *VALUES.values(), "30"):
        assert words in shown, words
    declined = render_html(TEXTS[language]["outcome.declined"])
    assert all(words in declined for words in SAYS[language][3:]), "as the page says afterwards"


def test_what_fills_a_gap_stays_plain() -> None:
    hostile = VALUES | {
        "contact": "*us* [x](https://evil.org)\n\n# <b>a_b_c</b> &amp; <https://evil.org>"
    }
    shown = render_html(fill_gaps("Write to {contact}, {pay}, {until}.", hostile))
    assert shown == (
        "<p>Write to *us* [x](https://evil.org) # &lt;b&gt;a_b_c&lt;/b&gt; &amp;amp; "
        "&lt;https://evil.org&gt;, £4.00, 2027-03-31.</p>\n"
    )
    for values in ({}, VALUES | {"more": "x"}):
        with pytest.raises(ValueError, match="gaps"):
            fill_gaps(TEXTS["en"]["consent"], values)
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

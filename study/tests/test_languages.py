"""Languages of our own texts: complete, with equal gaps, and ready for longer words and other scripts."""

import json
import re

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import read_po

from theodolite_study.locale.extraction import extract_texts, format_po
from theodolite_study.locale.messages import translate_message
from theodolite_study.locale.refusal_messages import REFUSALS
from theodolite_study.locale.script_messages import SCRIPTS
from theodolite_study.locale.translations import (
    LOCALE_FOLDER,
    PSEUDO_LANGUAGES,
    SOURCE_LANGUAGE,
    get_direction,
    get_script_texts,
    list_languages,
    load_catalog,
    load_translations,
    pseudo_translate,
)
from theodolite_study.locale.unfit_messages import describe_requirement
from theodolite_study.model.blocks import ChoiceBlock, LikertBlock, NumberBlock, RegionsBlock
from theodolite_study.serve.pages import get_translator

OTHERS = [language for language in list_languages() if language != SOURCE_LANGUAGE]
GAP = re.compile(r"\{[^{}]*\}|%\([^()]*\)s")
SAME_WORD = {"de": set(), "fr": {"Concept", "Image"}}
"""Words that are the same in English."""


@pytest.fixture(scope="module")
def template() -> Catalog:
    with (LOCALE_FOLDER / "messages.pot").open("rb") as file:
        return read_po(file)


def told(catalog: Catalog) -> dict[tuple[str, ...], Message]:
    return {_all(message.id): message for message in catalog if message.id}


def _all(text: str | tuple[str, ...] | list[str]) -> tuple[str, ...]:
    return (text,) if isinstance(text, str) else tuple(text)


def test_three_languages() -> None:
    assert list_languages() == ("en", "de", "fr")


def test_the_template_is_what_code_and_pages_say(template: Catalog) -> None:
    assert told(template).keys() == told(extract_texts()).keys(), (
        "run theodolite_study.locale.extraction"
    )
    assert (LOCALE_FOLDER / "messages.pot").read_bytes() == format_po(extract_texts())


@pytest.mark.parametrize("language", OTHERS)
def test_nothing_is_missing_fuzzy_or_left_over(language: str, template: Catalog) -> None:
    catalog = load_catalog(language)
    there = told(catalog)
    assert there.keys() == told(template).keys() and not catalog.obsolete
    for key, message in there.items():
        words = _all(message.string)
        assert not message.fuzzy and all(word.strip() for word in words), key
        assert len(words) == (catalog.num_plurals if len(key) > 1 else 1), key
        assert words[0] != key[0] or GAP.sub("", key[0]).strip(": .") == "" or (
            key[0] in SAME_WORD[language]
        ), f"{key} is not translated"  # fmt: skip


@pytest.mark.parametrize("language", OTHERS)
def test_gaps_are_the_same(language: str) -> None:
    for key, message in told(load_catalog(language)).items():
        for words in _all(message.string):
            assert sorted(GAP.findall(words)) == sorted(GAP.findall(key[-1])), key


@pytest.mark.parametrize(
    ("language", "one", "none"), [("de", "1 Minute ", "0 Minuten "), ("fr", "1 minute", "0 minute")]
)
def test_a_message_in_words(language: str, one: str, none: str) -> None:
    words, minutes = load_translations(language), SCRIPTS["kept_for"]
    said = [translate_message(words, minutes, {"minutes": n}, n) for n in (1, 0, 40)]
    assert one in said[0] and none in said[1] and re.search("40 [Mm]inute[ns]", said[2])


def test_regions_of_a_language_and_unknown_ones() -> None:
    assert load_translations("de-AT").gettext("I agree") == "Ich stimme zu"
    with pytest.raises(LookupError, match="nl"):
        load_translations("nl")
    assert get_translator("nl")("I agree") == "I agree"
    assert get_translator("fr")("I agree") == "J’accepte"


@pytest.mark.parametrize(
    ("language", "way"),
    [("ar", "rtl"), ("ar-EG", "rtl"), ("he", "rtl"), ("fa", "rtl"), ("ur-PK", "rtl"), ("de", "ltr"),
     ("fr-CA", "ltr"), ("ja", "ltr"), ("en-XA", "ltr"), ("ar-XB", "rtl")],
)  # fmt: skip
def test_where_lines_begin(language: str, way: str) -> None:
    assert get_direction(language) == way


def test_words_of_the_test_language_are_longer(template: Catalog) -> None:
    for language in PSEUDO_LANGUAGES:
        words = load_translations(language)
        for key in told(template):
            said = words.gettext(key[0]) if len(key) == 1 else words.ngettext(key[0], key[1], 2)
            assert GAP.findall(said) == GAP.findall(key[-1]), key
            for short, long in zip(
                GAP.sub("", key[-1]).split(), GAP.sub("", said).split(), strict=True
            ):
                letters = sum(letter.isalnum() or letter == "_" for letter in short)
                assert len(long) - len(short) >= 0.4 * letters, key
    assert pseudo_translate("Frame {number}: %(of)s") == "Frámééé {number}: %(of)s"


@pytest.mark.parametrize("language", [*list_languages(), *PSEUDO_LANGUAGES])
def test_scripts_get_their_words(language: str) -> None:
    words = get_script_texts(language)
    assert words.keys() == SCRIPTS.keys() and json.loads(json.dumps(words)) == words
    kept = words["kept_for"]
    assert (
        isinstance(kept, dict) and kept.keys() == {"one", "other"} and kept["one"] != kept["other"]
    )
    assert isinstance(words["saved"], str)


def test_every_word_of_a_step_has_a_sentence() -> None:
    from theodolite_study.store import STEPS, read_sql  # noqa: PLC0415

    said = set(re.findall(r"'(?:word|go)', '([a-z ]+)'", "".join(map(read_sql, STEPS))))
    ways = {"ok", "item", "done", "end", "consent"}
    assert said - ways <= REFUSALS.keys() and {"nobody", "full", "barred"} <= said


def test_what_a_block_needs() -> None:
    german, english = load_translations("de"), load_translations("en")
    assert (
        describe_requirement(german, LikertBlock(name="q", points=7))
        == "Bitte wählen Sie eine Zahl von 1 bis 7."
    )
    number = NumberBlock(name="n", least=0.5, most=2, step=0.25)
    assert (
        describe_requirement(english, number)
        == "Please give a number from 0.5 to 2, in steps of 0.25."
    )
    several = ChoiceBlock(name="c", options=["a", "b"], several=True, other=True)
    assert describe_requirement(english, several) == "Please choose 1 to 3 options."
    marked = describe_requirement(english, RegionsBlock(name="r", least=0, most=5))
    assert marked.startswith("Please mark 1 to 5 places") and "nothing to mark" in marked

"""Load the translations of our own texts from PO files when they are first needed."""

import re
from datetime import date
from decimal import Decimal
from functools import cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, TypeAlias

from babel import Locale, UnknownLocaleError
from babel.dates import format_date
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_currency, get_currency_precision

from theodolite_study.locale.messages import Message
from theodolite_study.locale.script_messages import SCRIPTS

Direction: TypeAlias = Literal["ltr", "rtl"]
LOCALE_FOLDER = Path(__file__).parent
SOURCE_LANGUAGE = "en"
PSEUDO_LANGUAGES: dict[str, Direction] = {"en-XA": "ltr", "ar-XB": "rtl"}
"""Pseudo-languages for tests: English with longer words, and the same from right to left."""
GAP_PATTERN = re.compile(r"(\{[^{}]*\}|%\([^()]*\)s)")
ACCENTS = str.maketrans("aceinouyACEINOUY", "áçéíñóúýÁÇÉÍÑÓÚÝ")
MAX_NUMBER = 200
"""Largest number tried to find every plural form of a language."""


@cache
def list_languages() -> tuple[str, ...]:
    """Return the languages that our texts are written in."""
    translations = sorted(
        path.parts[-3] for path in LOCALE_FOLDER.glob("*/LC_MESSAGES/messages.po")
    )
    return (SOURCE_LANGUAGE, *translations)


@cache
def load_translations(language: str) -> NullTranslations:
    """Return our texts in a language; `de-AT` falls back to `de`.

    Raises:
        LookupError: For a language that we have no texts in: nobody is shown half of a page in
            English without being asked.
    """
    if language in PSEUDO_LANGUAGES:
        return PseudoTranslations()
    name = language.partition("-")[0]
    if name == SOURCE_LANGUAGE:
        return NullTranslations()
    if name not in list_languages():
        raise LookupError(f"our texts are not there in {language!r}: {', '.join(list_languages())}")
    compiled = BytesIO()
    write_mo(compiled, load_catalog(name))
    compiled.seek(0)
    return GNUTranslations(compiled)


def load_catalog(language: str) -> Catalog:
    """Read the PO file of a language."""
    with (LOCALE_FOLDER / language / "LC_MESSAGES" / "messages.po").open("rb") as file:
        return read_po(file, locale=language, abort_invalid=True)


def get_direction(language: str) -> Direction:
    """Return the writing direction of a language, including ones without texts of ours."""
    if language in PSEUDO_LANGUAGES:
        return PSEUDO_LANGUAGES[language]
    return "rtl" if _get_locale(language).text_direction == "rtl" else "ltr"


def get_own_name(language: str) -> str:
    """Return the name of a language in that language."""
    locale = _get_locale(language)
    return locale.get_display_name(locale) or language


def format_money(language: str, minor: int, currency: str) -> str:
    """Format an amount in the conventions of a language.

    Args:
        language: Theirs.
        minor: In the smallest unit of the currency: 400 pence, 400 yen.
        currency: Three letters.
    """
    amount = Decimal(minor).scaleb(-get_currency_precision(currency))
    return format_currency(amount, currency, locale=_get_locale(language))


def format_day(language: str, day: str) -> str:
    """Write a date such as 2027-12-31 in a language; other words stay as they are."""
    try:
        return format_date(date.fromisoformat(day), "long", locale=_get_locale(language))
    except ValueError:
        return day


def get_script_texts(language: str) -> dict[str, str | dict[str, str]]:
    """Return the texts of scripts by name; those with a number by plural form as well.

    Names of plurals are those of `Intl.PluralRules`, which a script asks for its number.
    """
    words = load_translations(language)
    return {name: _get_plural_forms(words, message, language) for name, message in SCRIPTS.items()}


def _get_plural_forms(
    words: NullTranslations, message: Message, language: str
) -> str | dict[str, str]:
    if isinstance(message, str):
        return words.gettext(message)
    name = _get_locale(SOURCE_LANGUAGE if language in PSEUDO_LANGUAGES else language).plural_form
    forms: dict[str, str] = {}
    for n in range(MAX_NUMBER):
        forms.setdefault(name(n), words.ngettext(*message, n))
    # millions and fractions, which French has a name for, are said like many
    return {"other": words.ngettext(*message, MAX_NUMBER)} | forms


def _get_locale(language: str) -> Locale:
    try:
        return Locale.parse(language, sep="-")
    except UnknownLocaleError:
        return Locale.parse(language.partition("-")[0])


class PseudoTranslations(NullTranslations):
    """English that reveals unmarked texts and layouts that longer words break."""

    def gettext(self, message: str) -> str:
        """Return the text with accents and more letters."""
        return pseudo_translate(message)

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        """Return the English plural with accents and more letters."""
        return pseudo_translate(msgid1 if n == 1 else msgid2)


def pseudo_translate(text: str) -> str:
    """Lengthen words by at least 40 percent with accents; gaps stay unchanged.

    >>> pseudo_translate("Send {item}")
    'Séñdéé {item}'
    """
    parts: list[Any] = GAP_PATTERN.split(text)
    parts[::2] = [re.sub(r"\w+", lambda word: _lengthen(word[0]), part) for part in parts[::2]]
    return "".join(parts)


def _lengthen(word: str) -> str:
    accented = word.translate(ACCENTS)
    return accented + "é" * -(-2 * len(word) // 5)

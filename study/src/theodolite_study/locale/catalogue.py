"""Catalogues of our own texts: read from PO when first needed; the standard library looks up."""

import re
from decimal import Decimal
from functools import cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, TypeAlias

from babel import Locale, UnknownLocaleError
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_currency, get_currency_precision

from theodolite_study.locale.messages import Message
from theodolite_study.locale.script_messages import SCRIPTS

Direction: TypeAlias = Literal["ltr", "rtl"]
HERE = Path(__file__).parent
SOURCE = "en"
PSEUDO: dict[str, Direction] = {"en-XA": "ltr", "ar-XB": "rtl"}
"""Not for people: English with longer words, and the same from right to left."""
GAPS = re.compile(r"(\{[^{}]*\}|%\([^()]*\)s)")
ACCENTS = str.maketrans("aceinouyACEINOUY", "áçéíñóúýÁÇÉÍÑÓÚÝ")
LARGEST_NUMBER = 200
"""Among the numbers up to it every plural of a language occurs."""


@cache
def languages() -> tuple[str, ...]:
    """Those that our texts are written in."""
    translations = sorted(path.parts[-3] for path in HERE.glob("*/LC_MESSAGES/messages.po"))
    return (SOURCE, *translations)


@cache
def catalogue(language: str) -> NullTranslations:
    """Our texts in a language; `de-AT` is served by `de`.

    Raises:
        LookupError: For a language that we have no texts in: nobody is shown half of a page in
            English without being asked.
    """
    if language in PSEUDO:
        return PseudoTranslations()
    name = language.partition("-")[0]
    if name == SOURCE:
        return NullTranslations()
    if name not in languages():
        raise LookupError(f"our texts are not there in {language!r}: {', '.join(languages())}")
    compiled = BytesIO()
    write_mo(compiled, translated(name))
    compiled.seek(0)
    return GNUTranslations(compiled)


def translated(language: str) -> Catalog:
    """The PO file of a language."""
    with (HERE / language / "LC_MESSAGES" / "messages.po").open("rb") as file:
        return read_po(file, locale=language, abort_invalid=True)


def direction(language: str) -> Direction:
    """Where lines begin, also for languages that only researchers' texts are in."""
    if language in PSEUDO:
        return PSEUDO[language]
    return "rtl" if _locale(language).text_direction == "rtl" else "ltr"


def own_name(language: str) -> str:
    """What a language calls itself, for whoever looks for it in a list."""
    locale = _locale(language)
    return locale.get_display_name(locale) or language


def money(language: str, minor: int, currency: str) -> str:
    """An amount as people of a language write it.

    Args:
        language: Theirs.
        minor: In the smallest unit of the currency: 400 pence, 400 yen.
        currency: Three letters.
    """
    amount = Decimal(minor).scaleb(-get_currency_precision(currency))
    return format_currency(amount, currency, locale=_locale(language))


def script_words(language: str) -> dict[str, str | dict[str, str]]:
    """What scripts say: a sentence by name; those with a number by the plural's name as well.

    Names of plurals are those of `Intl.PluralRules`, which a script asks for its number.
    """
    words = catalogue(language)
    return {name: _forms(words, message, language) for name, message in SCRIPTS.items()}


def _forms(words: NullTranslations, message: Message, language: str) -> str | dict[str, str]:
    if isinstance(message, str):
        return words.gettext(message)
    name = _locale(SOURCE if language in PSEUDO else language).plural_form
    forms: dict[str, str] = {}
    for n in range(LARGEST_NUMBER):
        forms.setdefault(name(n), words.ngettext(*message, n))
    # millions and fractions, which French has a name for, are said like many
    return {"other": words.ngettext(*message, LARGEST_NUMBER)} | forms


def _locale(language: str) -> Locale:
    try:
        return Locale.parse(language, sep="-")
    except UnknownLocaleError:
        return Locale.parse(language.partition("-")[0])


class PseudoTranslations(NullTranslations):
    """English that shows what was not marked, and what does not fit when words are longer."""

    def gettext(self, message: str) -> str:
        """With accents, and longer."""
        return pseudo(message)

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        """As English has it, with accents, and longer."""
        return pseudo(msgid1 if n == 1 else msgid2)


def pseudo(text: str) -> str:
    """Words that are at least 40 percent longer; gaps stay as they are.

    >>> pseudo("Send {item}")
    'Séñdéé {item}'
    """
    parts: list[Any] = GAPS.split(text)
    parts[::2] = [re.sub(r"\w+", lambda word: _longer(word[0]), part) for part in parts[::2]]
    return "".join(parts)


def _longer(word: str) -> str:
    accented = word.translate(ACCENTS)
    return accented + "é" * -(-2 * len(word) // 5)

"""Read and write the texts of a study as PO and CSV files."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from babel.messages.catalog import Catalog
from babel.messages.pofile import PoFileError, read_po, write_po

from theodolite_study.model.blocks import BLANKS
from theodolite_study.refusals import Invalid

MAX_BYTES = 2_000_000
MAX_ROWS = 20_000
MAX_TEXT_CHARACTERS = 20_000
Texts = Mapping[tuple[str, str], str]
"""Texts by key and language."""


@dataclass(frozen=True)
class TextRow:
    """Text in all languages."""

    key: str
    bodies: Mapping[str, str]
    missing: tuple[str, ...]


def get_text_rows(keys: Iterable[str], languages: Sequence[str], texts: Texts) -> list[TextRow]:
    """Return all texts that a version needs, first those that lack a language."""
    rows = []
    for key in dict.fromkeys(keys):
        bodies = {language: texts.get((key, language), "") for language in languages}
        missing = tuple(name for name, body in bodies.items() if not body.strip(BLANKS))
        rows.append(TextRow(key, bodies, missing))
    return sorted(rows, key=lambda row: not row.missing)


def copy_missing_texts(
    texts: Texts, keys: Iterable[str], source: str, to: str
) -> dict[tuple[str, str], str]:
    """Copy texts that one language lacks from another, on request only."""
    return {
        (key, to): texts[key, source]
        for key in keys
        if (key, source) in texts and not texts.get((key, to), "").strip(BLANKS)
    }


def format_po(keys: Iterable[str], source: str, language: str, texts: Texts) -> bytes:
    """Write a PO file: the source text for translators, with the key as context."""
    catalogue = Catalog(locale=language.replace("-", "_"), fuzzy=False)
    for key in dict.fromkeys(keys):
        words = texts.get((key, source), "") or key
        catalogue.add(words, texts.get((key, language), ""), context=key)
    file = io.BytesIO()
    write_po(file, catalogue, width=0, omit_header=False)
    return file.getvalue()


def parse_po(content: bytes, language: str, keys: Iterable[str]) -> dict[tuple[str, str], str]:
    """Read the texts of a PO file; untranslated ones are skipped."""
    _need_small(content)
    try:
        catalogue = read_po(io.BytesIO(content), charset="utf-8", abort_invalid=True)
    except (PoFileError, UnicodeDecodeError, ValueError) as error:
        raise Invalid(f"This is no PO file: {error}") from error
    texts: dict[tuple[str, str], str] = {}
    for message in catalogue:
        if not message.id:
            continue
        if isinstance(message.string, tuple | list):
            raise Invalid(f"{message.context}: plural forms are not used here.")
        texts[str(message.context or ""), language] = str(message.string or "")
    return select_known_texts(texts, keys, [language])


def format_csv(keys: Iterable[str], languages: Sequence[str], texts: Texts) -> bytes:
    """Write a CSV file with a row per key and a column per language."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(["key", *languages])
    for key in dict.fromkeys(keys):
        writer.writerow([key, *(texts.get((key, language), "") for language in languages)])
    return b"\xef\xbb\xbf" + file.getvalue().encode()


def parse_csv(
    content: bytes, languages: Sequence[str], keys: Iterable[str]
) -> dict[tuple[str, str], str]:
    """Read the texts of such a CSV file; empty cells are skipped."""
    _need_small(content)
    try:
        lines = io.StringIO(content.decode("utf-8-sig"), newline="")
        rows = list(csv.reader(lines, strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise Invalid(f"This is no CSV file in UTF-8: {error}") from error
    if not rows or rows[0][:1] != ["key"] or len(rows) > MAX_ROWS:
        raise Invalid(f"The first row says “key” and languages; at most {MAX_ROWS:,} rows.")
    named = rows[0][1:]
    if len(set(named)) < len(named):
        raise Invalid("A language is there twice.")
    texts: dict[tuple[str, str], str] = {}
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(rows[0]):
            raise Invalid(f"Row {number} has {len(row)} cells; {len(rows[0])} are needed.")
        if (row[0], *named[:1]) in texts:
            raise Invalid(f"Row {number}: the key “{row[0]}” is there twice.")
        texts |= {(row[0], language): body for language, body in zip(named, row[1:], strict=True)}
    return select_known_texts(texts, keys, languages)


def select_known_texts(
    texts: Texts, keys: Iterable[str], languages: Sequence[str]
) -> dict[tuple[str, str], str]:
    """Return the non-empty texts, or refuse unknown keys and languages by name."""
    known = set(keys)
    strange = sorted({key for key, _ in texts if key not in known})
    if strange:
        more = f" and {len(strange) - 20} more" if len(strange) > 20 else ""
        raise Invalid(f"Keys that this version does not have: {', '.join(strange[:20])}{more}.")
    others = sorted({language for _, language in texts if language not in languages})
    if others:
        raise Invalid(f"Languages that this version does not have: {', '.join(others)}.")
    long = [key for (key, _), body in texts.items() if len(body) > MAX_TEXT_CHARACTERS]
    if long:
        raise Invalid(f"{long[0]}: at most {MAX_TEXT_CHARACTERS:,} characters.")
    return {
        pair: body.replace("\r\n", "\n").replace("\x00", "")
        for pair, body in texts.items()
        if body.strip(BLANKS)
    }


def _need_small(content: bytes) -> None:
    if len(content) > MAX_BYTES:
        raise Invalid(f"The file is larger than {MAX_BYTES:,} bytes.")

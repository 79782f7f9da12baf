"""The papers that scores come from, read from the bibliography beside the metrics."""

import functools
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

import theodolite.metrics
from theodolite.errors import UnsafeInputError
from theodolite.report.words import joined

BIBLIOGRAPHY = Path(theodolite.metrics.__file__).parent / "references.bib"
KINDS = ("article", "inproceedings", "book", "misc")
FIELDS = (
    "title", "author", "year", "journal", "booktitle", "publisher", "edition", "volume", "number",
    "pages", "doi", "eprint", "note",
)  # fmt: skip
ENTRY = re.compile(r"@(\w+)\{([^\s,{}]+),\n(.*?)\n\}(?=\n|$)", re.DOTALL)
FIELD = re.compile(r"^  (\w+)\s*= \{(.*)\},?$")
ACCENT = re.compile(r"\\([\"'`^~c])\{?([A-Za-z])\}?")
MARKS = {'"': "\u0308", "'": "\u0301", "`": "\u0300", "^": "\u0302", "~": "\u0303", "c": "\u0327"}


@dataclass(frozen=True)
class Reference:
    """One paper or book."""

    key: str
    kind: str
    fields: dict[str, str]

    @property
    def authors(self) -> tuple[tuple[str, str], ...]:
        """Family and given names, in the order of the title page."""
        names = (name.partition(", ") for name in self.fields["author"].split(" and "))
        return tuple((family, forename) for family, _, forename in names)

    @property
    def short(self) -> str:
        """As in a running text.

        >>> references()["mu2020compositional"].short
        'Mu and Andreas (2020)'
        """
        families = [family for family, _ in self.authors]
        named = families[0] if len(families) > 2 else " and ".join(families)
        return f"{named}{' et al.' if len(families) > 2 else ''} ({self.fields['year']})"

    @property
    def full(self) -> str:
        """As in a list of references.

        >>> references()["linfoot1957informational"].full
        'E. H. Linfoot. An Informational Measure of Correlation. Information and Control, 1957.'
        """
        people = joined([f"{forename} {family}".strip() for family, forename in self.authors])
        ends = "" if self.fields["title"].endswith(("?", "!")) else "."
        where = ", ".join([*self._where(), self.fields["year"]])
        return f"{people.removesuffix('.')}. {self.fields['title']}{ends} {where}.{self._numbers()}"

    def _where(self) -> list[str]:
        """Journal, conference or publisher, with volume and edition."""
        fields = self.fields
        venue = fields.get("journal") or fields.get("booktitle") or fields.get("publisher") or ""
        if "volume" in fields:
            venue += f" {fields['volume']}" + (
                f"({fields['number']})" if "number" in fields else ""
            )
        edition = [f"edition {fields['edition']}"] if "edition" in fields else []
        pages = [f"pages {fields['pages']}"] if "pages" in fields else []
        return [*([venue] if venue else []), *edition, *pages]

    def _numbers(self) -> str:
        """Identifiers as text: a printed page has no links."""
        identifiers = {"DOI": self.fields.get("doi"), "arXiv": self.fields.get("eprint")}
        return "".join(f" {name} {number}." for name, number in identifiers.items() if number)


@functools.cache
def references() -> dict[str, Reference]:
    """Every entry of our bibliography by key."""
    return read_references(BIBLIOGRAPHY.read_text("utf-8"))


def read_references(text: str) -> dict[str, Reference]:
    """Read what we write ourselves, and nothing else: anything unknown is refused."""
    left = ENTRY.sub("", text).strip()
    if left:
        raise UnsafeInputError(
            "bibliography", left[:60], "entries as `@article{key, field = {…}, }`"
        )
    entries: dict[str, Reference] = {}
    for kind, key, body in ENTRY.findall(text):
        if kind not in KINDS or key in entries:
            raise UnsafeInputError(
                f"bibliography {key}", kind, f"one of {', '.join(KINDS)}, each key once"
            )
        entries[key] = Reference(key, kind, _fields(key, body))
    return entries


def _fields(key: str, body: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in body.splitlines():
        match = FIELD.match(line)
        if match is None or match[1] not in FIELDS or match[1] in fields:
            raise UnsafeInputError(f"bibliography {key}", line.strip()[:60], "a known field, once")
        fields[match[1]] = plain_text(match[2])
    lacking = [name for name in ("title", "author", "year") if not fields.get(name)]
    if lacking or not fields["year"].isdigit():
        raise UnsafeInputError(
            f"bibliography {key}", f"no {', '.join(lacking) or 'year'}", "title, author and year"
        )
    return fields


def plain_text(latex: str) -> str:
    r"""A field without its markup.

    >>> plain_text(r"Cad{\`e}ne, R{\'e}mi"), plain_text(r"{CRAFT}: Fran{\c{c}}ois")
    ('Cadène, Rémi', 'CRAFT: François')
    """
    text = ACCENT.sub(lambda match: match[2] + MARKS[match[1]], latex)
    text = text.replace("{", "").replace("}", "").replace("``", "“").replace("''", "”")
    text = text.replace("\\&", "&").replace("--", "–")
    if "\\" in text or "$" in text:
        raise UnsafeInputError("bibliography", latex[:60], "accents as the only markup")
    return unicodedata.normalize("NFC", text)

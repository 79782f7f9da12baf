"""The papers that scores come from, read from the bibliography beside the metrics."""

import functools
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

import theodolite.metrics
from theodolite._verdicts.words import joined

BIBLIOGRAPHY = Path(theodolite.metrics.__file__).parent / "references.bib"
ENTRY = re.compile(r"@\w+\{([^\s,{}]+),\n(.*?)\n\}(?=\n|$)", re.DOTALL)
FIELD = re.compile(r"^  (\w+)\s*= \{(.*)\},?$", re.MULTILINE)
ACCENT = re.compile(r"\\([\"'`^~c])\{?([A-Za-z])\}?")
MARKS = {'"': "\u0308", "'": "\u0301", "`": "\u0300", "^": "\u0302", "~": "\u0303", "c": "\u0327"}


@dataclass(frozen=True)
class Reference:
    """One paper or book."""

    key: str
    fields: dict[str, str]

    @property
    def authors(self) -> tuple[tuple[str, str], ...]:
        """Family and given names, in the order of the title page."""
        names = (name.partition(", ") for name in self.fields["author"].split(" and "))
        return tuple((family, forename) for family, _, forename in names)

    @property
    def short(self) -> str:
        """Format the reference as in running text.

        >>> references()["mu2020compositional"].short
        'Mu and Andreas (2020)'
        """
        families = [family for family, _ in self.authors]
        named = families[0] if len(families) > 2 else " and ".join(families)
        return f"{named}{' et al.' if len(families) > 2 else ''} ({self.fields['year']})"

    @property
    def full(self) -> str:
        """Format the reference as in a bibliography.

        >>> references()["linfoot1957informational"].full
        'E. H. Linfoot. An Informational Measure of Correlation. Information and Control, 1957.'
        """
        people = joined([f"{forename} {family}".strip() for family, forename in self.authors])
        ends = "" if self.fields["title"].endswith(("?", "!")) else "."
        where = ", ".join([*self._where(), self.fields["year"]])
        return f"{people.removesuffix('.')}. {self.fields['title']}{ends} {where}.{self._numbers()}"

    def _where(self) -> list[str]:
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
    """Read entries in the format of our own file, which a test checks."""
    return {
        key: Reference(key, {name: plain_text(value) for name, value in FIELD.findall(body)})
        for key, body in ENTRY.findall(text)
    }


def plain_text(latex: str) -> str:
    r"""Return a field without its markup, of which accents are the only kind.

    >>> plain_text(r"Cad{\`e}ne, R{\'e}mi"), plain_text(r"{CRAFT}: Fran{\c{c}}ois")
    ('Cadène, Rémi', 'CRAFT: François')
    """
    text = ACCENT.sub(lambda match: match[2] + MARKS[match[1]], latex)
    text = text.replace("{", "").replace("}", "").replace("``", "“").replace("''", "”")
    return unicodedata.normalize("NFC", text.replace("\\&", "&").replace("--", "–"))

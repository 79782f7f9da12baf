"""Material of studies on latents: texts with marked words, and a label.

The server of studies shows images; these records are for platforms that show texts, and their
votes come home as ratings of items by key. Marks are never told by color alone: each text can be
had as plain text and as HTML, both with the strength of every mark in words.
"""

import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from markupsafe import Markup, escape
from pydantic import Field, model_validator

from theodolite._storage.text import write_json
from theodolite.datasets.study_material.material import Name, StrictRecord, read_checked

TEXT_INSTANCES = "text_instances.json"
GRADES = 5
HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


class Mark(StrictRecord):
    """Some characters of a text in a row, and how strong the latent is there."""

    start: Annotated[int, Field(ge=0)]
    end: Annotated[int, Field(gt=0)]
    """The character after the last."""
    strength: Annotated[int, Field(ge=1, le=GRADES)]


class MarkedText(StrictRecord):
    """A text in which words are marked, from left to right."""

    text: Annotated[str, Field(min_length=1, max_length=20_000)]
    marks: Annotated[list[Mark], Field(max_length=1000)]

    @model_validator(mode="after")
    def _marks_lie_inside(self) -> "MarkedText":
        last = 0
        for mark in self.marks:
            if not last <= mark.start < mark.end <= len(self.text):
                raise ValueError("marks have to lie in the text, in order, side by side at most")
            last = mark.end
        if any(unicodedata.category(letter) in HIDDEN for letter in self.text):
            raise ValueError("letters that cannot be seen have to be written out")
        return self

    def pieces(self) -> list[tuple[str, int]]:
        """Parts of the text, each with its strength; 0 where it is not marked."""
        pieces, last = [], 0
        for mark in self.marks:
            pieces += [(self.text[last : mark.start], 0)]
            pieces += [(self.text[mark.start : mark.end], mark.strength)]
            last = mark.end
        return [piece for piece in [*pieces, (self.text[last:], 0)] if piece[0]]


class TextInstance(StrictRecord):
    """One explanation that people are asked about: does the label fit what is marked?"""

    key: Name
    technique: Name
    """Who or what explains so."""
    label: Annotated[str, Field(min_length=1, max_length=2000)]
    texts: Annotated[list[MarkedText], Field(min_length=1, max_length=50)]


class TextMaterial(StrictRecord):
    """All texts of a study."""

    version: Literal[1] = 1
    origin: dict[str, str] = Field(default_factory=dict)
    """What it was made from."""
    instances: Annotated[list[TextInstance], Field(min_length=1, max_length=200_000)]

    @model_validator(mode="after")
    def _keys_differ(self) -> "TextMaterial":
        if len({own.key for own in self.instances}) < len(self.instances):
            raise ValueError("a key occurs twice")
        return self


def write_text_material(folder: Path, material: TextMaterial) -> None:
    """Write the records of text items to a folder."""
    write_json(folder / TEXT_INSTANCES, material.model_dump(mode="json"))


def read_text_material(folder: Path) -> TextMaterial:
    """Read them again; what does not fit is refused in words."""
    return read_checked(folder, TEXT_INSTANCES, TextMaterial, "texts of a study")


def plain_words(text: MarkedText) -> str:
    """The text with the strength of each mark behind it.

    >>> plain_words(MarkedText(text="the cat", marks=[Mark(start=4, end=7, strength=5)]))
    'the [cat: 5 of 5]'
    """
    return "".join(f"[{t}: {n} of {GRADES}]" if n else t for t, n in text.pieces())


def marked_html(texts: Sequence[MarkedText]) -> Markup:
    """A list of texts; every mark has its strength as text, for those who see neither its color
    nor its line. Classes are ``strength-1`` to ``strength-5`` and ``strength-words``.

    >>> marked_html([MarkedText(text="<b>", marks=[Mark(start=0, end=1, strength=2)])])[:45]
    Markup('<ol class="marked"><li><bdi dir="auto"><mark ')
    """
    lines = []
    for text in texts:
        inside = "".join(
            f'<mark class="strength-{n}">{escape(t)}<sub class="strength-words"> {n} of {GRADES}'
            "</sub></mark>"
            if n
            else str(escape(t))
            for t, n in text.pieces()
        )
        lines.append(f'<li><bdi dir="auto">{inside}</bdi></li>')
    return Markup(f'<ol class="marked">{"".join(lines)}</ol>')  # noqa: S704  escaped above

"""Load the default texts of studies with the `pasta` instrument. Researchers may change them."""

from collections.abc import Mapping
from pathlib import Path

from theodolite.ext.studies import read_yaml
from theodolite_study.model.markdown import GAP

FOLDER = Path(__file__).with_name("pasta")
CONSENT_GAPS = ("contact", "pay", "until")
"""Gaps that only the researcher can fill: contact, pay and closing date."""
LABEL = "label"
"""Gap that pages fill themselves: the label that the image is said to show."""


def list_default_languages() -> list[str]:
    """Return the languages that have default texts."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load_default_texts(language: str) -> dict[str, str]:
    """Return default texts by key, without the contact; the consent has gaps for `fill_gaps`."""
    if language not in list_default_languages():
        raise LookupError(f"{language!r} came, one of {', '.join(list_default_languages())} needed")
    texts: dict[str, str] = {}
    for key, value in read_yaml(FOLDER / f"{language}.yaml", "texts").items():
        parts = value if isinstance(value, dict) else {"": value}
        for part, body in parts.items():
            texts[f"{key}.{part}".removesuffix(".")] = str(body).strip()
    return texts


def fill_gaps(text: str, values: Mapping[str, str]) -> str:
    """Fill the gaps of a text; values are plain words, not Markdown.

    Raises:
        ValueError: If a gap has no value, or a value has no gap to fill.
    """
    gaps = {gap[1:-1] for gap in GAP.findall(text)}
    if gaps != values.keys():
        raise ValueError(f"gaps are {sorted(gaps)}, values came for {sorted(values)}")
    return GAP.sub(lambda gap: _escape(values[gap[0][1:-1]]), text)


def _escape(value: str) -> str:
    """Escape a value for Markdown and put it on one line."""
    line = " ".join(value.split())
    return "".join(f"\\{letter}" if letter in MARKS else letter for letter in line)


MARKS = "\\`*_[]<>#!&~"

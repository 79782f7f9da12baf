"""Texts that a study with the instrument `pasta` may begin with; researchers may change them."""

from collections.abc import Mapping
from pathlib import Path

from theodolite.ext.studies import read_yaml
from theodolite_study.model.markdown import GAP

FOLDER = Path(__file__).with_name("pasta")
CONSENT_GAPS = ("contact", "pay", "until")
"""What only the researcher knows: whom to write to, the pay, and by when the study closes."""
LABEL = "label"
"""The gap that pages fill in themselves: what the image is said to show."""


def default_languages() -> list[str]:
    """Languages with texts of ours."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def default_texts(language: str) -> dict[str, str]:
    """By key. The contact is not among them, and the consent has gaps: see `filled`."""
    if language not in default_languages():
        raise LookupError(f"{language!r} came, one of {', '.join(default_languages())} needed")
    texts: dict[str, str] = {}
    for key, value in read_yaml(FOLDER / f"{language}.yaml", "texts").items():
        parts = value if isinstance(value, dict) else {"": value}
        for part, body in parts.items():
            texts[f"{key}.{part}".removesuffix(".")] = str(body).strip()
    return texts


def filled(text: str, values: Mapping[str, str]) -> str:
    """A text with its gaps filled in; values are plain words, not Markdown.

    Raises:
        ValueError: If a gap has no value, or a value has no gap to fill.
    """
    gaps = {gap[1:-1] for gap in GAP.findall(text)}
    if gaps != values.keys():
        raise ValueError(f"gaps are {sorted(gaps)}, values came for {sorted(values)}")
    return GAP.sub(lambda gap: _escaped(values[gap[0][1:-1]]), text)


def _escaped(value: str) -> str:
    """A value on one line that Markdown leaves as it is."""
    line = " ".join(value.split())
    return "".join(f"\\{letter}" if letter in MARKS else letter for letter in line)


MARKS = "\\`*_[]<>#!&~"

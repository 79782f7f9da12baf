"""Load the default texts of studies with the `pasta` instrument. Researchers may change them."""

import re
from collections.abc import Collection, Mapping
from pathlib import Path

from theodolite.ext.studies import read_yaml
from theodolite_study.model.markdown import GAP

FOLDER = Path(__file__).with_name("pasta")
LABEL = "label"
"""Gap that pages fill themselves: the label that the image is said to show."""
CASES = ("amount", "none", "platform", "publish", "checks")
CASE = re.compile(rf"\[({'|'.join(CASES)}): ([^\[\]]*)\]")
"""Part of a text that is only there in one case: ``[amount: You are paid in full.]``"""
RANKED_QUESTIONS = ("q8", "q9")
"""Rankings whose lines are the questions themselves."""
QUESTIONS = ("q1", "q2", "q3", "q4", "q5", "q6")


def list_default_languages() -> list[str]:
    """Return the languages that have default texts."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load_default_texts(language: str) -> dict[str, str]:
    """Return default texts by key, without the contact; some have gaps and cases to fill in."""
    if language not in list_default_languages():
        raise LookupError(f"{language!r} came, one of {', '.join(list_default_languages())} needed")
    texts: dict[str, str] = {}
    for key, value in read_yaml(FOLDER / f"{language}.yaml", "texts").items():
        parts = value if isinstance(value, dict) else {"": value}
        for part, body in parts.items():
            texts[f"{key}.{part}".removesuffix(".")] = str(body).strip()
    return name_ranked_questions(texts)


def name_ranked_questions(texts: Mapping[str, str]) -> dict[str, str]:
    """Return texts in which rankings of questions list the words of each question."""
    return dict(texts) | {
        f"{ranking}.item.i{number}": texts[f"{name}.text"]
        for ranking in RANKED_QUESTIONS for number, name in enumerate(QUESTIONS)
    }  # fmt: skip


def choose_cases(text: str, cases: Collection[str]) -> str:
    """Keep the parts of a text whose case holds, and leave out the others.

    >>> choose_cases("Thank you. [amount: You are paid.] [none: You are not paid.]", ["none"])
    'Thank you. You are not paid.'
    """
    chosen = CASE.sub(lambda part: part[2] if part[1] in cases else "", text)
    return "\n".join(re.sub(r"(?<=\S) {2,}", " ", line).rstrip() for line in chosen.split("\n"))


def fill_gaps(text: str, values: Mapping[str, str]) -> str:
    """Fill the gaps of a text; values are plain words, not Markdown. Gaps without one stay."""

    def fill(gap: re.Match[str]) -> str:
        value = values.get(gap[0][1:-1])
        return gap[0] if value is None else _escape(value)

    return GAP.sub(fill, text)


def _escape(value: str) -> str:
    """Escape a value for Markdown and put it on one line."""
    line = re.sub(r"[^\S\u00a0\u202f]+", " ", value).strip()  # amounts keep their no-break space
    return "".join(f"\\{letter}" if letter in MARKS else letter for letter in line)


MARKS = "\\`*_[]<>#!&~"

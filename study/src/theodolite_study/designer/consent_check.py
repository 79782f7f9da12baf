"""Check that a consent form mentions what participants must know, by keywords per topic."""

import re
from dataclasses import dataclass

from theodolite_study.model.markdown import GAP

TOPICS: dict[str, dict[str, str]] = {
    "contact": {"en": r"contact|write to|e-?mail|questions",
                "de": r"kontakt|schreiben|fragen|e-?mail", "fr": r"contact|écri|question|courriel"},
    "withdrawal": {"en": r"withdraw", "de": r"zurückzieh|zurücktret|widerruf|rückzug|rücktritt",
                   "fr": r"retir|retrait"},
    "pay": {"en": r"\bpay|paid|reward|compensat|unpaid", "de": r"bezahl|vergüt|lohn|geld|entgelt",
            "fr": r"pay|rémunér|indemn"},
    "retention": {"en": r"keep|kept|stor|delet|retain",
                  "de": r"speicher|aufbewahr|gelösch|behalt", "fr": r"conserv|supprim|effac|gard"},
    "voluntary": {"en": r"voluntar", "de": r"freiwillig", "fr": r"volont"},
}  # fmt: skip
"""Keywords of each topic by language; other languages are left to the researcher."""
QUESTIONS = {
    "contact": "whom to ask", "withdrawal": "how to withdraw later", "pay": "what is paid",
    "retention": "what is kept, and for how long", "voluntary": "that it is voluntary",
}  # fmt: skip


@dataclass(frozen=True)
class ConsentTopic:
    """Topic that a consent form has to mention."""

    name: str
    words: str
    occurs: bool | None
    """Whether it is mentioned; None if we lack keywords of the language."""


def find_consent_topics(markdown: str, language: str) -> list[ConsentTopic]:
    """Return the topics, and which of them a consent form mentions."""
    short = language.split("-")[0]
    occurs = {name: re.search(words[short], markdown, re.IGNORECASE) is not None
              for name, words in TOPICS.items() if short in words}  # fmt: skip
    return [ConsentTopic(name, QUESTIONS[name], occurs.get(name)) for name in TOPICS]


def find_consent_problems(markdown: str, language: str) -> list[str]:
    """List what prevents a version with this consent form from opening."""
    if not markdown.strip():
        return ["there is no text"]
    gap = GAP.search(markdown)
    if gap is not None:
        return [f"the gap {gap[0]} is not filled in"]
    return [f"it does not say {topic.words}" for topic in find_consent_topics(markdown, language)
            if topic.occurs is False]  # fmt: skip

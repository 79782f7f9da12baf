"""Word the facts of a consent form, and list those that are missing. Used by `folder_import`."""

from collections.abc import Collection, Mapping, Sequence

from theodolite_study.locale.translations import format_day, format_money
from theodolite_study.protocol import Ethics, Payment, Protocol

FACTS = tuple(Ethics.model_fields)
TOP_FACTS = ("minutes", "pay")
"""Facts that study.yaml has outside of `ethics`."""
MIN_PURPOSE_CHARACTERS = 40
SENTENCES = ("purpose", "risks")
"""Facts that are whole sentences, and so are needed in each language."""
PLATFORMS = ("prolific", "mturk")
NONE, NO = "none", "no"


def find_missing_facts(protocol: Protocol) -> list[str]:
    """List what study.yaml lacks for its consent form, by the place where it is set.

    Nothing is missing where each language has a consent form of the researcher's own.
    """
    languages = [language for language in get_languages(protocol) if not _own(protocol, language)]
    if not languages:
        return []
    missing = [
        f"ethics.{name}" for name in FACTS if not str(getattr(protocol.ethics, name) or "").strip()
    ]
    purpose = (protocol.ethics.purpose or "").strip()
    if purpose and len(purpose) < MIN_PURPOSE_CHARACTERS:
        missing.append(f"ethics.purpose ({MIN_PURPOSE_CHARACTERS} characters or more)")
    missing += [name for name in TOP_FACTS if getattr(protocol, name) is None]
    for language in languages:
        texts = protocol.texts.get(language, {})
        if language != protocol.language:
            missing += [
                f"texts.{language}: ethics.{name}" for name in SENTENCES
                if not texts.get(f"ethics.{name}", "").strip()
            ]  # fmt: skip
    return missing


def get_languages(protocol: Protocol) -> Sequence[str]:
    """Return all languages of a study, its own first."""
    return (protocol.language, *protocol.languages)


def _own(protocol: Protocol, language: str) -> bool:
    own = protocol.consent is not None and language == protocol.language
    return own or "consent" in protocol.texts.get(language, {})


def find_cases(protocol: Protocol, *, checks: bool) -> Collection[str]:
    """Return the cases of texts that hold: ``[amount: …]`` is shown where people are paid."""
    ethics = protocol.ethics
    return {
        "none" if protocol.pay in (None, NONE) else "amount",
        *(["platform"] if protocol.access.kind in PLATFORMS else []),
        *(["publish"] if (ethics.publish or NO).strip().casefold() != NO else []),
        *(["checks"] if checks else []),
    }


def word_facts(protocol: Protocol, language: str, terms: Mapping[str, str]) -> dict[str, str]:
    """Return the facts of a consent form by gap; a missing one is its place in brackets.

    Args:
        protocol: The study.
        language: Of the form.
        terms: Our texts of that language, then the researcher's.
    """
    values: dict[str, str] = {}
    for name in FACTS:
        written = getattr(protocol.ethics, name)
        value = str(terms.get(f"ethics.{name}", "" if written is None else written)).strip()
        if name == "legal_basis" and value:
            value = terms.get(f"ethics.legal_basis.{value}", value)
        if name == "until":
            value = format_day(language, value)
        if name == "transfer" and value.casefold() == NONE:
            value = terms.get("ethics.none", value)
        ending = "." if name in SENTENCES else ""
        values[name] = value.rstrip(".") + ending if value else f"[ethics.{name}]"
    values["minutes"] = str(protocol.minutes or "[minutes]")
    values["contact"] = protocol.contact
    values["pay"] = "[pay]"
    if isinstance(protocol.pay, Payment):
        values["pay"] = format_money(language, protocol.pay.reward, protocol.pay.currency)
    return values

"""Choose the language of a page from the browser's preferences."""

from collections.abc import Mapping, Sequence

MAX_HEADER_CHARACTERS = 200


def parse_accepted(headers: Mapping[str, str]) -> list[str]:
    """Parse the languages that a browser accepts, the most preferred first.

    >>> parse_accepted({"accept-language": "en;q=0.5, de-AT, *;q=0.1, nl;q=0"})
    ['de-AT', 'en']
    """
    weights: list[tuple[float, str]] = []
    for part in headers.get("accept-language", "")[:MAX_HEADER_CHARACTERS].split(","):
        name, _, rest = part.strip().partition(";")
        weight = _parse_weight(rest)
        if name.strip() not in ("", "*") and weight > 0:
            weights.append((weight, name.strip()))
    # equal ones stay in their order
    return [name for _, name in sorted(weights, key=lambda pair: -pair[0])]


def _parse_weight(text: str) -> float:
    name, _, value = text.strip().partition("=")
    if name.strip().lower() != "q":
        return 1.0
    try:
        return min(max(float(value), 0.0), 1.0)
    except ValueError:
        return 0.0


def choose_language(preferences: Sequence[str], offered: Sequence[str], default: str) -> str:
    """Return the first preferred language that is offered, with or without its region.

    >>> choose_language(["nl", "de-AT"], ["en", "de"], "en")
    'de'
    """
    by_name = {language.lower(): language for language in offered}
    for name in preferences:
        for form in (name.lower(), name.lower().partition("-")[0]):
            if form in by_name:
                return by_name[form]
    return default

"""Fields of other people's JSON: there, and of the type that is needed; others are ignored."""

import math
from collections.abc import Mapping
from typing import Any

from theodolite.errors import RefusedInput, printable

MOST_ITEMS = 1_000_000
"""Of one list."""


def mapping(value: Any, where: str) -> Mapping[str, Any]:
    """An object."""
    if not isinstance(value, dict):
        raise RefusedInput(where, type(value).__name__, "an object with names")
    return value


def field(content: Mapping[str, Any], name: str, where: str) -> Any:
    """A field that must be there."""
    if name not in content:
        raise RefusedInput(where, f"no {name!r}", f"the field {name!r}")
    return content[name]


def text(value: Any, where: str, longest: int = 100_000) -> str:
    """A text, not too long."""
    if not isinstance(value, str) or len(value) > longest:
        raise RefusedInput(where, printable(type(value).__name__), f"up to {longest:,} characters")
    return value


def flag(value: Any, where: str) -> bool:
    """True or false, also as 1 and 0."""
    if value not in (0, 1) or isinstance(value, float):
        raise RefusedInput(where, printable(value, 40), "true or false")
    return bool(value)


def number(value: Any, where: str) -> float:
    """A finite number."""
    usual = isinstance(value, int | float) and not isinstance(value, bool)
    if not usual or not math.isfinite(value):
        raise RefusedInput(where, printable(value, 40), "a finite number")
    return float(value)


def whole(value: Any, where: str, low: int = 0, high: int = 1 << 40) -> int:
    """A whole number within bounds, also written as a text of digits."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 14:
        value = int(value)
    if type(value) is not int or not low <= value <= high:
        raise RefusedInput(where, printable(value, 40), f"a whole number from {low} to {high}")
    return int(value)


def items(value: Any, where: str, most: int = MOST_ITEMS) -> list[Any]:
    """A list, not too long."""
    if not isinstance(value, list) or len(value) > most:
        raise RefusedInput(where, type(value).__name__, f"a list of up to {most:,}")
    return value


def texts(value: Any, where: str) -> list[str]:
    """A list of texts."""
    return [text(entry, where) for entry in items(value, where)]


def numbers(value: Any, where: str) -> list[float]:
    """A list of finite numbers."""
    return [number(entry, where) for entry in items(value, where)]

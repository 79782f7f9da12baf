"""Describe and check the options of metrics. Every caller uses the same check."""

import types
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from theodolite.errors import EvidenceError, did_you_mean

SCALARS = (str, int, float, bool, type(None))


@cache
def get_hints(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Return the types of a function's parameters with their constraints.

    Read at the first use, not when the metric is declared: a state may name itself in them.
    """
    return get_type_hints(function, include_extras=True)


def strip_metadata(hint: Any) -> Any:
    """Return the type without its constraints and description."""
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    return hint


def get_sentence(hint: Any) -> str:
    """Return the description of an option, declared next to its type."""
    for extra in getattr(hint, "__metadata__", ()):
        if isinstance(extra, FieldInfo) and extra.description:
            return extra.description
    return ""


def get_choices(hint: Any) -> tuple[Any, ...]:
    """Return the choices of an option; if it takes several, those of each."""
    plain = strip_metadata(hint)
    if get_origin(plain) is Literal:
        return get_args(plain)
    inner = _get_inner(plain)
    return () if inner is None else get_choices(inner)


def get_bounds(hint: Any) -> tuple[float | None, float | None]:
    """Return the smallest and largest allowed number, if limited; if it takes several, of each."""
    low, high = _get_limit(hint, "ge", "gt"), _get_limit(hint, "le", "lt")
    inner = _get_inner(strip_metadata(hint))
    return get_bounds(inner) if inner is not None and low is None and high is None else (low, high)


def describe_needed(hint: Any) -> str:
    """Describe what an option accepts.

    >>> describe_needed(Literal["a", "b", "c"]), describe_needed(Sequence[int])
    ('a, b or c', 'one or more whole numbers')
    """
    plain = strip_metadata(hint)
    if get_origin(plain) is Literal:
        return _either([str(choice) for choice in get_args(plain)])
    if get_origin(plain) in {Union, types.UnionType}:
        members = [m for m in get_args(plain) if m is not type(None)]
        limits = _format_limits(hint)
        return ", or ".join([*(describe_needed(m) + limits for m in members), "nothing (None)"])
    inner = _get_inner(plain)
    if inner is not None:
        named = get_choices(inner)
        if named:
            return f"one or more of {', '.join(map(str, named))}"
        plural = describe_needed(inner).removeprefix("a ").replace("number", "numbers", 1)
        return f"one or more {plural}"
    words = {int: "a whole number", float: "a number", str: "a word", bool: "True or False"}
    return words.get(plain, str(plain)) + _format_limits(hint)


def check_choice(metric: str, option: str, hint: Any, choice: Any) -> Any:
    """Return the choice if it is allowed, unchanged where equal, so that 1 stays 1."""
    plain = _plain_numbers(choice)
    try:
        value = _get_adapter(hint).validate_python(plain)
    except ValidationError as error:
        raise EvidenceError(
            f"{metric}: {option}",
            repr(choice),
            describe_needed(hint),
            did_you_mean(choice, get_choices(hint)),
        ) from error
    if isinstance(value, list | tuple):
        value, plain = tuple(value), tuple(plain)
    return plain if value == plain else value


def _plain_numbers(choice: Any) -> Any:
    """Numbers of numpy as Python's own: equal, and known to every check."""
    if isinstance(choice, np.ndarray):
        return choice.tolist()
    if isinstance(choice, np.generic):
        return choice.item()
    if isinstance(choice, list | tuple):
        return type(choice)(map(_plain_numbers, choice))
    return choice


def _get_adapter(hint: Any) -> Any:
    """Return the cached check of a type; untyped, as the shape checks in tests refuse it."""
    try:
        return _made_adapter(hint)
    except TypeError:  # a constraint that cannot be looked up
        return TypeAdapter(hint)


@cache
def _made_adapter(hint: Any) -> Any:
    return TypeAdapter(hint)


def _get_inner(plain: Any) -> Any:
    """Return the item type of an option that takes several values."""
    origin, arguments = get_origin(plain), get_args(plain)
    several = isinstance(origin, type) and issubclass(origin, Sequence) and bool(arguments)
    return arguments[0] if several else None


def _get_limit(hint: Any, *kinds: str) -> float | None:
    """Return a limit among the constraints of a type."""
    for extra in getattr(hint, "__metadata__", ()):
        for constraint in extra.metadata if isinstance(extra, FieldInfo) else [extra]:
            for kind in kinds:
                if hasattr(constraint, kind):
                    return float(getattr(constraint, kind))
    return None


def _format_limits(hint: Any) -> str:
    """Format the limits, to follow the noun."""
    low, high = _get_limit(hint, "ge", "gt"), _get_limit(hint, "le", "lt")
    above = "above " if _get_limit(hint, "gt") is not None else ""
    below = "below " if _get_limit(hint, "lt") is not None else ""
    if low is not None and high is not None:
        return f", {above}{low:g} to {below}{high:g}"
    if low is not None:
        return f", {above}{low:g}" if above else f", {low:g} or more"
    return "" if high is None else f", {below or 'up to '}{high:g}"


def _either(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"

"""Options of metrics: what each may be, in words, and the one check that all doors share."""

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
def hints_of(function: Callable[..., Any]) -> Mapping[str, Any]:
    """The types of a function's parameters with their constraints.

    Read at the first use, not when the metric is declared: a state may name itself in them.
    """
    return get_type_hints(function, include_extras=True)


def bare(hint: Any) -> Any:
    """The type without its constraints and its sentence."""
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    return hint


def sentence(hint: Any) -> str:
    """What the option says, as declared beside its type."""
    for extra in getattr(hint, "__metadata__", ()):
        if isinstance(extra, FieldInfo) and extra.description:
            return extra.description
    return ""


def choices(hint: Any) -> tuple[Any, ...]:
    """What the option can be chosen among; of an option that takes several, each of them."""
    plain = bare(hint)
    if get_origin(plain) is Literal:
        return get_args(plain)
    inner = _inner(plain)
    return () if inner is None else choices(inner)


def bounds(hint: Any) -> tuple[float | None, float | None]:
    """The smallest and the largest number allowed, where there are such; of several, of each."""
    low, high = _limit(hint, "ge", "gt"), _limit(hint, "le", "lt")
    inner = _inner(bare(hint))
    return bounds(inner) if inner is not None and low is None and high is None else (low, high)


def needed(hint: Any) -> str:
    """What an option takes, in words.

    >>> needed(Literal["a", "b", "c"]), needed(Sequence[int])
    ('a, b or c', 'one or more whole numbers')
    """
    plain = bare(hint)
    if get_origin(plain) is Literal:
        return _either([str(choice) for choice in get_args(plain)])
    if get_origin(plain) in {Union, types.UnionType}:
        members = [m for m in get_args(plain) if m is not type(None)]
        limits = _limits(hint)
        return ", or ".join([*(needed(m) + limits for m in members), "nothing (None)"])
    inner = _inner(plain)
    if inner is not None:
        named = choices(inner)
        if named:
            return f"one or more of {', '.join(map(str, named))}"
        return f"one or more {needed(inner).removeprefix('a ').replace('number', 'numbers', 1)}"
    words = {int: "a whole number", float: "a number", str: "a word", bool: "True or False"}
    return words.get(plain, str(plain)) + _limits(hint)


def check(metric: str, option: str, hint: Any, choice: Any) -> Any:
    """The choice if it is allowed: as it came where that is the same, so that 1 stays 1."""
    plain = _plain_numbers(choice)
    try:
        value = _adapter(hint).validate_python(plain)
    except ValidationError as error:
        raise EvidenceError(
            f"{metric}: {option}", repr(choice), needed(hint), did_you_mean(choice, choices(hint))
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


def _adapter(hint: Any) -> Any:
    """The check of a type, made once; not typed, as the checks of shapes in tests refuse it."""
    try:
        return _made_adapter(hint)
    except TypeError:  # a constraint that cannot be looked up
        return TypeAdapter(hint)


@cache
def _made_adapter(hint: Any) -> Any:
    return TypeAdapter(hint)


def _inner(plain: Any) -> Any:
    """The type of each, of an option that takes several."""
    origin, arguments = get_origin(plain), get_args(plain)
    several = isinstance(origin, type) and issubclass(origin, Sequence) and bool(arguments)
    return arguments[0] if several else None


def _limit(hint: Any, *kinds: str) -> float | None:
    """A limit among the constraints that stand beside a type."""
    for extra in getattr(hint, "__metadata__", ()):
        for constraint in extra.metadata if isinstance(extra, FieldInfo) else [extra]:
            for kind in kinds:
                if hasattr(constraint, kind):
                    return float(getattr(constraint, kind))
    return None


def _limits(hint: Any) -> str:
    """The limits in words, after the noun."""
    low, high = _limit(hint, "ge", "gt"), _limit(hint, "le", "lt")
    above = "above " if _limit(hint, "gt") is not None else ""
    below = "below " if _limit(hint, "lt") is not None else ""
    if low is not None and high is not None:
        return f", {above}{low:g} to {below}{high:g}"
    if low is not None:
        return f", {above}{low:g}" if above else f", {low:g} or more"
    return "" if high is None else f", {below or 'up to '}{high:g}"


def _either(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"

"""Define the conditions that show a block: comparisons with earlier answers, never code."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from theodolite.ext.studies import StrictRecord

Name: TypeAlias = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,40}$")]
Plain: TypeAlias = int | float | str | bool
Answers: TypeAlias = Mapping[str, Any]
Op = Literal["eq", "ne", "lt", "le", "gt", "ge", "in", "answered"]
MAX_DEPTH = 5


class Comparison(StrictRecord):
    """Comparison of an earlier answer with a value. A missing answer fails every comparison."""

    block: Name
    op: Op
    value: Plain | list[Plain] | None = None


class AllOf(StrictRecord):
    """Condition that every rule holds."""

    all: Annotated[list["Rule"], Field(min_length=1, max_length=20)]


class AnyOf(StrictRecord):
    """Condition that at least one rule holds."""

    any: Annotated[list["Rule"], Field(min_length=1, max_length=20)]


class NotRule(StrictRecord):
    """Condition that a rule does not hold."""

    none: "Rule" = Field(alias="not")


Rule: TypeAlias = Comparison | AllOf | AnyOf | NotRule


def iterate_compared_blocks(rule: Rule) -> Iterator[str]:
    """Yield the names of the blocks that a rule reads."""
    if isinstance(rule, Comparison):
        yield rule.block
        return
    for part in get_parts(rule):
        yield from iterate_compared_blocks(part)


def get_parts(rule: Rule) -> list[Rule]:
    """Return the rules that a rule contains."""
    if isinstance(rule, AllOf):
        return rule.all
    if isinstance(rule, AnyOf):
        return rule.any
    return [rule.none] if isinstance(rule, NotRule) else []


def measure_depth(rule: Rule) -> int:
    """Return how deeply rules are nested."""
    return 1 + max((measure_depth(part) for part in get_parts(rule)), default=0)


def holds(rule: Rule | None, answers: Answers) -> bool:
    """Return whether a block with this rule is shown to a participant with these answers.

    >>> rule = Comparison(block="age", op="ge", value=18)
    >>> holds(rule, {"age": 20}), holds(rule, {}), holds(None, {})
    (True, False, True)
    """
    if rule is None:
        return True
    if isinstance(rule, AllOf):
        return all(holds(part, answers) for part in rule.all)
    if isinstance(rule, AnyOf):
        return any(holds(part, answers) for part in rule.any)
    if isinstance(rule, NotRule):
        return not holds(rule.none, answers)
    if rule.block not in answers:
        return False
    return rule.op == "answered" or _compare(rule, answers[rule.block])


def _compare(rule: Comparison, answer: Any) -> bool:
    if rule.op == "in":
        values = rule.value if isinstance(rule.value, list) else [rule.value]
        answers = answer if isinstance(answer, list) else [answer]
        return any(equals_as_json(value, item) for value in values for item in answers)
    if rule.op in ("eq", "ne"):
        return equals_as_json(rule.value, answer) == (rule.op == "eq")
    if not (_is_number(answer) and _is_number(rule.value)):
        return False
    assert isinstance(rule.value, int | float)  # noqa: S101
    if rule.op == "lt":
        return bool(answer < rule.value)
    if rule.op == "le":
        return bool(answer <= rule.value)
    return bool(answer > rule.value if rule.op == "gt" else answer >= rule.value)


def equals_as_json(left: Any, right: Any) -> bool:
    """Compare as JSON does: 3 equals 3.0, and true does not equal 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        pairs = zip(left, right, strict=False)
        return len(left) == len(right) and all(equals_as_json(*pair) for pair in pairs)
    return bool(left == right)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

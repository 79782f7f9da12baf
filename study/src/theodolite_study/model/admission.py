"""Define who may enter a version: access, screening rules and device limits."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, TypeAdapter

from theodolite.ext.studies import StrictRecord
from theodolite_study.model.rules import Comparison, Rule, holds, iterate_compared_blocks

ScreeningOutcome: TypeAlias = Literal["screened_out", "wrong_device"]
DEVICE_WIDTH, DEVICE_POINTER = "device_width", "device_pointer"
"""Facts about the device: width of the window in pixels, and its pointer (`coarse` or `fine`)."""
DEVICE = frozenset({DEVICE_WIDTH, DEVICE_POINTER})


class Access(StrictRecord):
    """How participants reach a version: its setting `access`."""

    kind: Literal["link", "invite", "prolific", "mturk"] = "link"
    signed: bool = True
    """Prolific: require its signed token. Without it, the id in the address is unverified."""
    audience: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    """Prolific: study id that tokens must name."""
    sandbox: bool = False
    """Mechanical Turk: use its sandbox for trials."""


class Screening(StrictRecord):
    """Rule that turns people away at the start: an entry of the setting `screening`."""

    when: Rule
    """Rule over answers of the stage `door` and facts about the device."""
    outcome: ScreeningOutcome = "screened_out"


_SCREENING = TypeAdapter(list[Screening])


def get_access(settings: Mapping[str, Any]) -> Access:
    """Return the access of a version; an open link by default."""
    return Access.model_validate(settings.get("access") or {})


def parse_screening(settings: Mapping[str, Any]) -> list[Screening]:
    """Parse the screening rules of a version, in order.

    Raises:
        pydantic.ValidationError: If something is no rule.
    """
    rules = _SCREENING.validate_python(settings.get("screening") or [])
    narrowest = settings.get("smallest_width") or 0
    if narrowest:
        narrow = Comparison(block=DEVICE_WIDTH, op="lt", value=narrowest)
        rules.insert(0, Screening(when=narrow, outcome="wrong_device"))
    return rules


def find_screening_outcome(
    settings: Mapping[str, Any], facts: Mapping[str, Any]
) -> ScreeningOutcome | None:
    """Return the outcome of the first rule that holds; missing facts turn nobody away.

    >>> settings = {"screening": [{"when": {"block": "age", "op": "lt", "value": 18}}]}
    >>> find_screening_outcome(settings, {"age": 17}), find_screening_outcome(settings, {"age": 18})
    ('screened_out', None)
    """
    for rule in parse_screening(settings):
        known = set(iterate_compared_blocks(rule.when)) <= facts.keys()
        if known and holds(rule.when, facts):
            return rule.outcome
    return None

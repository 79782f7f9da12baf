"""The door of a version: how people come in, and whom its rules turn away."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, TypeAdapter

from theodolite.ext.studies import StrictRecord
from theodolite_study.model.rules import Comparison, Rule, compared_blocks, holds

Away: TypeAlias = Literal["screened_out", "wrong_device"]
WIDTH, POINTER = "device_width", "device_pointer"
"""What a page knows of a device: pixels of the window, and `coarse` for a finger or `fine`."""
DEVICE = frozenset({WIDTH, POINTER})


class Access(StrictRecord):
    """How people come in: the setting `access` of a version."""

    kind: Literal["link", "invite", "prolific", "mturk"] = "link"
    signed: bool = True
    """Prolific: only with its signed token. Without, an id in the address is a mere claim."""
    audience: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    """Prolific: the study id that tokens have to name."""
    sandbox: bool = False
    """Mechanical Turk: its place for trials."""


class Screening(StrictRecord):
    """Who is turned away at the door: one of the setting `screening`, a list."""

    when: Rule
    """Over answers of the stage `door` and what is known of the device."""
    outcome: Away = "screened_out"


_SCREENING = TypeAdapter(list[Screening])


def access_of(settings: Mapping[str, Any]) -> Access:
    """How people come in; by the open link where a version does not say."""
    return Access.model_validate(settings.get("access") or {})


def screening_of(settings: Mapping[str, Any]) -> list[Screening]:
    """The rules of a version, one after the other.

    Raises:
        pydantic.ValidationError: If something is no rule.
    """
    rules = _SCREENING.validate_python(settings.get("screening") or [])
    narrowest = settings.get("smallest_width") or 0
    if narrowest:
        narrow = Comparison(block=WIDTH, op="lt", value=narrowest)
        rules.insert(0, Screening(when=narrow, outcome="wrong_device"))
    return rules


def turned_away(settings: Mapping[str, Any], facts: Mapping[str, Any]) -> Away | None:
    """The first rule that holds says how somebody leaves; nobody leaves for what is not known.

    >>> settings = {"screening": [{"when": {"block": "age", "op": "lt", "value": 18}}]}
    >>> turned_away(settings, {"age": 17}), turned_away(settings, {"age": 18})
    ('screened_out', None)
    """
    for rule in screening_of(settings):
        known = set(compared_blocks(rule.when)) <= facts.keys()
        if known and holds(rule.when, facts):
            return rule.outcome
    return None

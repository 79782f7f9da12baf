"""From an item of the study to what its page shows, stage by stage."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any
from uuid import uuid4

from theodolite.ext.studies import Check, Explained, Instance
from theodolite_study.answers import questions_of
from theodolite_study.assignments import Assignment
from theodolite_study.people import Participant
from theodolite_study.practice import PracticeItem
from theodolite_study.web.site import Site
from theodolite_study.web.views import ExplanationView, ItemView, QuestionView

TWINS = {"q5": "same", "q6": "different"}


@dataclass(frozen=True)
class _Shown:
    """What the views of one item have in common."""

    site: Site
    instance: Instance
    action: str
    width: int
    height: int


def item_view(
    site: Site, item: Assignment, who: Participant, given: Mapping[str, Any] | None = None
) -> ItemView:
    """An item of the study. ``given`` is what a form that came back held, instead of the draft."""
    shown = _Shown(site, item.instance, f"/a/{item.id}", item.width, item.height)
    asked = max(min(who.quota, site.explanations), item.position)
    said = item.draft if given is None else given
    first = _first(shown, item.baseline, said)
    second = {} if item.before else _second(shown, said.get("answers") or {})
    return ItemView(
        practice=False, position=item.position, of=asked,
        lease_seconds=seconds_left(site, item.lease_expires_at), **first, **second,
    )  # fmt: skip


def practice_view(
    site: Site, item: PracticeItem, given: Mapping[str, Any] | None = None
) -> ItemView:
    """A practice item."""
    shown = _Shown(site, item.instance, f"/training/{item.number}", item.width, item.height)
    said = given or {}
    first = _first(shown, item.baseline, said)
    second = {} if item.before else _second(shown, said.get("answers") or item.answers or {})
    lease = site.protocol.lease_minutes * 60
    return ItemView(
        practice=True, position=item.number, of=item.of, lease_seconds=lease, **first, **second
    )


def _first(
    shown: _Shown, stored: Mapping[str, Any] | None, said: Mapping[str, Any]
) -> dict[str, Any]:
    """Nothing of the explanation is in here."""
    words = said if stored is None else stored
    return {
        "action": shown.action,
        "before": stored is None,
        "label": shown.instance.shown.predicted,
        "width": shown.width,
        "height": shown.height,
        "picture_url": f"{shown.action}/asset/picture",
        "text": words.get("text") or "",
        "boxes": [dict(box) for box in words.get("boxes") or []],
        "instruction": _instruction(shown.instance.check, before=stored is None),
    }


def _instruction(check: Check | None, *, before: bool) -> str:
    """Said where it can be followed: about frames at first, about ratings then."""
    if check is None:
        return ""
    here = check.box is not None if before else bool(check.ratings)
    return check.instruction if here else ""


def _second(shown: _Shown, chosen: Mapping[str, int]) -> dict[str, Any]:
    questions = [
        _question(shown, name, chosen.get(name))
        for name in questions_of(shown.site.protocol, shown.instance)
    ]
    return {
        "explanation": _explanation(shown, shown.instance.shown, ""),
        "questions": questions,
        "key": str(uuid4()),
    }


def _question(shown: _Shown, name: str, value: int | None) -> QuestionView:
    asked = shown.site.protocol.questions[name]
    twin: Explained | None = getattr(shown.instance, TWINS[name]) if name in TWINS else None
    return QuestionView(
        name=name, number=int(name[1:]), text=asked.text, low=asked.low, high=asked.high,
        value=value,
        twin=None if twin is None else _explanation(shown, twin, f"{TWINS[name]}_"),
    )  # fmt: skip


def _explanation(shown: _Shown, explained: Explained, prefix: str) -> ExplanationView:
    return ExplanationView(
        label=explained.predicted,
        picture_url=f"{shown.action}/asset/{prefix}picture",
        map_url=None if explained.map is None else f"{shown.action}/asset/{prefix}map",
        concepts=_concepts(explained, shown.instance.shown),
        legend=shown.site.legend,
        width=shown.width,
        height=shown.height,
    )


def _concepts(explained: Explained, first: Explained) -> list[tuple[str, float]] | None:
    """Those of a changed picture in the order of the first one: the eye compares line by line."""
    if explained.concepts is None:
        return None
    place = {name: number for number, name in enumerate(first.concepts or {})}
    ordered = sorted(explained.concepts, key=lambda name: place.get(name, len(place)))
    return [(name, float(explained.concepts[name])) for name in ordered]


def seconds_left(site: Site, until: datetime | None) -> float:
    """Seconds that the item is held; for whoever has no seat, as long as for all others."""
    whole = site.protocol.lease_minutes * 60
    if until is None:
        return whole
    return min(max((until - datetime.now(timezone.utc)).total_seconds(), 0.0), whole)

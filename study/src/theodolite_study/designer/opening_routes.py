"""Try a version, open it as a pilot, and open it: only when nothing on the list is red."""

import time
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from theodolite_study.designer.checklist import (
    CheckEntry,
    checklist,
    need_green,
    opening_facts,
)
from theodolite_study.designer.links import base, design_page
from theodolite_study.designer.pilot_report import pilot_report
from theodolite_study.designer.saving import version_of
from theodolite_study.designer.share import participants_origin
from theodolite_study.designer.version_content import content_of
from theodolite_study.desk.rights import needs
from theodolite_study.desk.site import DeskRequest, onward
from theodolite_study.locale.catalogue import own_name
from theodolite_study.refusals import Conflict, NotHere, WrongStage
from theodolite_study.serve.previews import preview_link
from theodolite_study.store.drafts import copy_version
from theodolite_study.store.opening import open_version

PREVIEW_HOURS = 12
MOST_PILOT = 500
LONG_STATEMENTS = "set local statement_timeout = '300s'"
"""Seats of a large study take a while."""


@needs("design")
def preview_page(desk: DeskRequest) -> Response:
    """Links to walk through the newest version as a participant, in each condition and language."""
    version = version_of(desk)
    conditions = desk.rows("select key from condition where version_id = %s order by id",
                           version["id"])  # fmt: skip
    links = [
        (condition, language, preview_address(desk, condition, language))
        for condition in [row["key"] for row in conditions] or [""]
        for language in version["languages"]
    ]
    context = {"links": links, "own_name": own_name, "hours": PREVIEW_HOURS}
    return design_page(desk, "design_preview", context)


def preview_address(desk: DeskRequest, condition: str, language: str) -> str:
    """Where one looks at the newest version."""
    ends = time.time() + PREVIEW_HOURS * 3600
    number = version_of(desk)["id"]
    link = preview_link(desk.site.keys, desk.slug, number, condition, language, ends)
    return participants_origin(desk) + link


def _entries(desk: DeskRequest, waiver: str, *, pilot: bool) -> list[CheckEntry]:
    version = version_of(desk)
    content = content_of(desk.connection, version)
    currency = str((desk.study or {})["currency"])
    folder = desk.site.settings.folder
    facts = opening_facts(desk.connection, version, content, folder, currency)
    return checklist(facts, waiver, pilot=pilot)


@needs("open")
def pilot_page(desk: DeskRequest) -> Response:
    """Before a pilot: the list. Then: what it tells."""
    version = version_of(desk)
    pilots = desk.rows(
        "select * from version where study_id = %s and pilot order by no desc", desk.study_id
    )
    reports = [(pilot, pilot_report(desk.connection, pilot)) for pilot in pilots]
    entries = _entries(desk, "", pilot=True) if version["state"] == "draft" else []
    return design_page(desk, "design_pilot", {"reports": reports, "entries": entries})


@needs("open")
def begin_pilot(desk: DeskRequest) -> Response:
    """Open the draft for a few people, in a round of its own."""
    _need_same(desk)
    people = desk.form.whole("people", 1, MOST_PILOT)
    desk.connection.execute(LONG_STATEMENTS)
    entries = _entries(desk, "", pilot=True)
    need_green(entries)
    open_version(
        desk.connection, version_of(desk)["id"], state="pilot", seats="new round", places=people,
        staff=desk.staff.id,
    )  # fmt: skip
    return onward(desk, f"{base(desk)}/pilot", f"The pilot is open for {people} people.")


@needs("open")
def end_pilot(desk: DeskRequest) -> Response:
    """Keep its votes and open the same version, or leave them out and make another draft."""
    version = version_of(desk)
    if version["state"] != "pilot":
        raise WrongStage("This version is no pilot.")
    if desk.form.one_of("then", ("keep", "discard")) == "keep":
        return _open(desk, version, "continue")
    copy_version(desk.connection, version["id"])
    desk.log("draft changed", {"changes": [f"The pilot of version {version['no']} is discarded."]})
    message = (
        "The pilot's votes stay out of the tables. This is a new draft, with a round of its own."
    )
    return onward(desk, base(desk), message)


@needs("open")
def open_page(desk: DeskRequest) -> Response:
    """The list that must be green."""
    version = version_of(desk)
    waiver = desk.request.query_params.get("waiver", "")[:1000].strip()
    entries = _entries(desk, waiver, pilot=False)
    earlier = desk.rows(
        "select no, state, pilot, round from version where study_id = %s and state <> 'draft'"
        " order by no desc", desk.study_id,
    )  # fmt: skip
    context = {
        "entries": entries, "green": all(entry.good for entry in entries),
        "waiver": waiver, "earlier": earlier,
        "can_open": version["state"] in ("draft", "pilot"),
        "after_pilot": bool(earlier and earlier[0]["pilot"] and version["state"] == "draft"),
    }  # fmt: skip
    return design_page(desk, "design_open", context)


@needs("open")
def open_now(desk: DeskRequest) -> Response:
    """Open the draft, unless anything is red."""
    _need_same(desk)
    version = version_of(desk)
    if version["state"] != "draft":
        raise WrongStage("This version is no draft.")
    return _open(desk, version, desk.form.one_of("seats", ("continue", "new round")))


def _open(desk: DeskRequest, version: Mapping[str, Any], seats: Any) -> Response:
    desk.connection.execute(LONG_STATEMENTS)
    waiver = desk.form.text("waiver", 1000)
    entries = _entries(desk, waiver, pilot=False)
    need_green(entries)
    open_version(desk.connection, version["id"], seats=seats, staff=desk.staff.id)
    if waiver:
        desk.log("draft changed", {"changes": [f"Opened without a fresh backup: {waiver}"]})
    message = f"Version {version['no']} is open: people can take part."
    return onward(desk, f"{base(desk)}/share", message)


def _need_same(desk: DeskRequest) -> None:
    """What opens is what was looked at."""
    number = version_of(desk)["id"]
    row = desk.row("select edited_no from version where id = %s for update", number)
    if row is None:
        raise NotHere
    if desk.form.text("edited_no") != str(row["edited_no"]):
        raise Conflict("Somebody changed this draft meanwhile. Please look at it again.")


ROUTES = [
    Route("/studies/{slug}/design/preview", preview_page),
    Route("/studies/{slug}/design/pilot", pilot_page),
    Route("/studies/{slug}/design/pilot", begin_pilot, methods=["POST"]),
    Route("/studies/{slug}/design/pilot/end", end_pilot, methods=["POST"]),
    Route("/studies/{slug}/design/open", open_page),
    Route("/studies/{slug}/design/open", open_now, methods=["POST"]),
]

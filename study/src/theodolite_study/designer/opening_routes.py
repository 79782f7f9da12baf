"""Serve the pages that preview a version, run a pilot, and open the study."""

import time
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from theodolite_study.designer.checklist import (
    CheckEntry,
    compute_checklist,
    load_opening_facts,
    require_complete,
)
from theodolite_study.designer.design_pages import (
    get_design_address,
    get_version,
    render_design_page,
)
from theodolite_study.designer.pilot_report import load_pilot_report
from theodolite_study.designer.study_links import get_participants_origin
from theodolite_study.designer.version_content import load_content
from theodolite_study.desk.rights import require_right
from theodolite_study.desk.site import DeskRequest, redirect
from theodolite_study.locale.translations import get_own_name
from theodolite_study.refusals import Conflict, NotHere, WrongStage
from theodolite_study.serve.previews import make_preview_link
from theodolite_study.store.drafts import copy_version
from theodolite_study.store.opening import open_version

PREVIEW_HOURS = 12
MAX_PILOT_PLACES = 500
ALLOW_LONG_STATEMENTS = "set local statement_timeout = '300s'"
"""Time limit of statements that create the seats of a large study."""


@require_right("design")
def preview_page(desk: DeskRequest) -> Response:
    """Show links that preview the newest version in each condition and language."""
    version = get_version(desk)
    conditions = desk.rows("select key from condition where version_id = %s order by id",
                           version["id"])  # fmt: skip
    links = [
        (condition, language, make_preview_address(desk, condition, language))
        for condition in [row["key"] for row in conditions] or [""]
        for language in version["languages"]
    ]
    context = {"links": links, "own_name": get_own_name, "hours": PREVIEW_HOURS}
    return render_design_page(desk, "design_preview", context)


def make_preview_address(desk: DeskRequest, condition: str, language: str) -> str:
    """Return the address of a preview of the newest version."""
    ends = time.time() + PREVIEW_HOURS * 3600
    number = get_version(desk)["id"]
    link = make_preview_link(desk.site.keys, desk.slug, number, condition, language, ends)
    return get_participants_origin(desk) + link


def _entries(desk: DeskRequest, waiver: str, *, pilot: bool) -> list[CheckEntry]:
    version = get_version(desk)
    content = load_content(desk.connection, version)
    currency = str((desk.study or {})["currency"])
    folder = desk.site.settings.folder
    facts = load_opening_facts(desk.connection, version, content, folder, currency)
    return compute_checklist(facts, waiver, pilot=pilot)


@require_right("open")
def pilot_page(desk: DeskRequest) -> Response:
    """Show the checklist before a pilot, and its report afterwards."""
    version = get_version(desk)
    pilots = desk.rows(
        "select * from version where study_id = %s and pilot order by no desc", desk.study_id
    )
    reports = [(pilot, load_pilot_report(desk.connection, pilot)) for pilot in pilots]
    entries = _entries(desk, "", pilot=True) if version["state"] == "draft" else []
    return render_design_page(desk, "design_pilot", {"reports": reports, "entries": entries})


@require_right("open")
def begin_pilot(desk: DeskRequest) -> Response:
    """Open the draft for a few participants, in a round of its own."""
    _need_same(desk)
    people = desk.form.whole("people", 1, MAX_PILOT_PLACES)
    desk.connection.execute(ALLOW_LONG_STATEMENTS)
    entries = _entries(desk, "", pilot=True)
    require_complete(entries)
    open_version(
        desk.connection, get_version(desk)["id"], state="pilot", seats="new round", places=people,
        staff=desk.staff.id,
    )  # fmt: skip
    return redirect(
        desk, f"{get_design_address(desk)}/pilot", f"The pilot is open for {people} people."
    )


@require_right("open")
def end_pilot(desk: DeskRequest) -> Response:
    """Keep the pilot's votes and open its version, or discard them with a new draft."""
    version = get_version(desk)
    if version["state"] != "pilot":
        raise WrongStage("This version is no pilot.")
    if desk.form.one_of("then", ("keep", "discard")) == "keep":
        return _open(desk, version, "continue")
    copy_version(desk.connection, version["id"])
    desk.log("draft changed", {"changes": [f"The pilot of version {version['no']} is discarded."]})
    message = (
        "The pilot's votes stay out of the tables. This is a new draft, with a round of its own."
    )
    return redirect(desk, get_design_address(desk), message)


@require_right("open")
def open_page(desk: DeskRequest) -> Response:
    """Show the checklist, all of which must pass."""
    version = get_version(desk)
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
    return render_design_page(desk, "design_open", context)


@require_right("open")
def open_now(desk: DeskRequest) -> Response:
    """Open the draft, unless an entry fails."""
    _need_same(desk)
    version = get_version(desk)
    if version["state"] != "draft":
        raise WrongStage("This version is no draft.")
    return _open(desk, version, desk.form.one_of("seats", ("continue", "new round")))


def _open(desk: DeskRequest, version: Mapping[str, Any], seats: Any) -> Response:
    desk.connection.execute(ALLOW_LONG_STATEMENTS)
    waiver = desk.form.text("waiver", 1000)
    entries = _entries(desk, waiver, pilot=False)
    require_complete(entries)
    open_version(desk.connection, version["id"], seats=seats, staff=desk.staff.id)
    if waiver:
        desk.log("draft changed", {"changes": [f"Opened without a fresh backup: {waiver}"]})
    message = f"Version {version['no']} is open: people can take part."
    return redirect(desk, f"{get_design_address(desk)}/share", message)


def _need_same(desk: DeskRequest) -> None:
    """Refuse if the draft changed since the checklist was shown."""
    number = get_version(desk)["id"]
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

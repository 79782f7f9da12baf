"""Serve the page of a running study: progress, pause, resume and last call."""

from starlette.responses import Response
from starlette.routing import Route

from theodolite_study.desk.rights import require_right
from theodolite_study.desk.site import DeskRequest, redirect, render_page
from theodolite_study.refusals import Invalid, Refused
from theodolite_study.store.opening import set_study_state, start_last_call
from theodolite_study.supervisor import read_state
from theodolite_study.watch.participants import list_people
from theodolite_study.watch.progress import load_progress

REFRESH_SECONDS = 30
MAX_CHECKED_PEOPLE = 200
"""Maximum number of participants whose work is checked for signs."""


@require_right("counts")
def live(desk: DeskRequest) -> Response:
    """Show seats and participants; signs of careless work need a further right."""
    refresh = REFRESH_SECONDS if desk.request.query_params.get("refresh") else 0
    if desk.version is None or (desk.version["opened_at"] is None and desk.study_state == "draft"):
        return render_page(desk, "live_empty")
    now = load_progress(desk.connection, desk.study_id)
    flagged = None
    if desk.may("watch"):
        some = list_people(desk.connection, desk.study_id, limit=MAX_CHECKED_PEOPLE).people
        flagged = (sum(bool(person.work.signs) for person in some), len(some))
    parts = read_state(desk.site.settings.folder)
    failing = [(name, part) for name, part in parts.items() if part["state"] == "failing"]
    context = {"now": now, "flagged": flagged, "refresh": refresh, "failing": failing}
    return render_page(desk, "live", context)


@require_right("pause")
def pause(desk: DeskRequest) -> Response:
    """Pause the study: participants inside continue, nobody new is admitted."""
    set_study_state(desk.connection, desk.study_id, "paused", desk.staff.id)
    home = f"/studies/{desk.slug}/live" if desk.may("counts") else "/server"
    return redirect(desk, home, "The study is paused.")


@require_right("open")
def resume(desk: DeskRequest) -> Response:
    """Resume a paused study."""
    if desk.study_state != "paused":
        raise Refused(409, f"The study is {desk.study_state}.")
    set_study_state(desk.connection, desk.study_id, "open", desk.staff.id)
    return redirect(desk, f"/studies/{desk.slug}/live", "The study is open again.")


@require_right("open")
def call_last(desk: DeskRequest) -> Response:
    """Admit participants for fewer items, so that the last seats are filled."""
    version = load_progress(desk.connection, desk.study_id).version
    items = desk.form.whole("items", 1, 100_000)
    try:
        start_last_call(desk.connection, version, items, staff=desk.staff.id)
    except Invalid as refusal:
        return redirect(desk, f"/studies/{desk.slug}/live", refusal.message)
    notice = f"People are let in from {items} items on."
    return redirect(desk, f"/studies/{desk.slug}/live", notice)


ROUTES = [
    Route("/studies/{slug}/live", live),
    Route("/studies/{slug}/pause", pause, methods=["POST"]),
    Route("/studies/{slug}/resume", resume, methods=["POST"]),
    Route("/studies/{slug}/last-call", call_last, methods=["POST"]),
]

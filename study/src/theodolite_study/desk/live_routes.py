"""How a study runs just now; a break, and a last call."""

from starlette.responses import Response
from starlette.routing import Route

from theodolite_study.desk.rights import needs
from theodolite_study.desk.site import DeskRequest, onward, page
from theodolite_study.refusals import Invalid, Refused
from theodolite_study.store.opening import last_call, set_study_state
from theodolite_study.watch.people import people
from theodolite_study.watch.progress import progress

REFRESH = 30
FLAGGED = 200
"""People whose work is looked at for signs."""


@needs("counts")
def live(desk: DeskRequest) -> Response:
    """Seats and people; how they work is for those who may watch."""
    refresh = REFRESH if desk.request.query_params.get("refresh") else 0
    if desk.version is None or (desk.version["opened_at"] is None and desk.study_state == "draft"):
        return page(desk, "live_empty")
    now = progress(desk.connection, desk.study_id)
    flagged = None
    if desk.may("watch"):
        some = people(desk.connection, desk.study_id, limit=FLAGGED).people
        flagged = (sum(bool(person.work.signs) for person in some), len(some))
    return page(desk, "live", {"now": now, "flagged": flagged, "refresh": refresh})


@needs("pause")
def pause(desk: DeskRequest) -> Response:
    """A break: those inside go on, nobody new comes in."""
    set_study_state(desk.connection, desk.study_id, "paused", desk.staff.id)
    home = f"/studies/{desk.slug}/live" if desk.may("counts") else "/server"
    return onward(desk, home, "The study is paused.")


@needs("open")
def resume(desk: DeskRequest) -> Response:
    """After a break."""
    if desk.study_state != "paused":
        raise Refused(409, f"The study is {desk.study_state}.")
    set_study_state(desk.connection, desk.study_id, "open", desk.staff.id)
    return onward(desk, f"/studies/{desk.slug}/live", "The study is open again.")


@needs("open")
def call_last(desk: DeskRequest) -> Response:
    """People are let in for fewer items, so that the last seats are filled."""
    version = progress(desk.connection, desk.study_id).version
    items = desk.form.whole("items", 1, 100_000)
    try:
        last_call(desk.connection, version, items, staff=desk.staff.id)
    except Invalid as refusal:
        return onward(desk, f"/studies/{desk.slug}/live", refusal.message)
    notice = f"People are let in from {items} items on."
    return onward(desk, f"/studies/{desk.slug}/live", notice)


ROUTES = [
    Route("/studies/{slug}/live", live),
    Route("/studies/{slug}/pause", pause, methods=["POST"]),
    Route("/studies/{slug}/resume", resume, methods=["POST"]),
    Route("/studies/{slug}/last-call", call_last, methods=["POST"]),
]

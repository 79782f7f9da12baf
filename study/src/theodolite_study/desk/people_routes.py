"""Serve the participants of a study by pseudonym: how they work, never what they answered."""

from typing import Any
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from theodolite_study.desk.rights import require_right
from theodolite_study.desk.site import DeskRequest, redirect, render_page
from theodolite_study.refusals import Invalid, NotHere
from theodolite_study.watch.participants import INSIDE, list_people, load_timeline

MAX_NAME_CHARACTERS = 100
OUTCOMES = (
    INSIDE, "finished", "ran_out", "stopped", "screened_out", "failed_practice", "failed_checks",
    "full", "wrong_device", "timed_out", "returned",
)  # fmt: skip
PERSON = """
    select p.id, p.pseudonym, p.state, p.outcome, p.language, v.no as version, c.key as condition,
           coalesce(p.promised, p.quota) as promised,
           (select count(*) from vote where participant_id = p.id) as votes,
           (select count(*) from vote where participant_id = p.id and counted) as counted
      from participant p left join version v on v.id = p.version_id
      left join condition c on c.id = p.condition_id
     where p.study_id = %s and p.pseudonym = %s and not p.preview and p.state <> 'withdrawn'"""


@require_right("watch")
def people_page(desk: DeskRequest) -> Response:
    """Show a page of participants, of one outcome or of all."""
    query = desk.request.query_params
    outcome = query.get("outcome", "")
    listed = list_people(
        desk.connection, desk.study_id, after=query.get("after", "")[:MAX_NAME_CHARACTERS],
        outcome=outcome if outcome in OUTCOMES else None,
    )  # fmt: skip
    context = {"listed": listed, "outcomes": OUTCOMES, "outcome": outcome}
    return render_page(desk, "people", context)


@require_right("watch")
def person_page(desk: DeskRequest) -> Response:
    """Show the events of one participant."""
    person = _person(desk)
    entries = load_timeline(desk.connection, desk.study_id, person["pseudonym"])
    return render_page(desk, "person", {"person": person, "entries": entries})


@require_right("watch")
def take_out(desk: DeskRequest) -> Response:
    """Exclude the votes of a participant and free their seats."""
    person = _person(desk)
    reason = desk.form.text("reason", 200)
    if len(reason) < 5:
        raise Invalid("Say in some words why the votes are taken out.")
    identity: UUID = person["id"]
    row = desk.row("select desk_take_out(%s, %s, %s) as n", identity, desk.staff.id, reason)
    taken = 0 if row is None else row["n"]
    return redirect(desk, _home(desk, person), f"{taken} votes no longer count.")


@require_right("watch")
def quota(desk: DeskRequest) -> Response:
    """Change the number of items that a participant is asked for."""
    person = _person(desk)
    items = desk.form.whole("items", 0, 100_000)
    row = desk.row("select desk_promise(%s, %s) as done", person["id"], items)
    if row is None or not row["done"]:
        raise Invalid("They have left, or so many items are not free.")
    desk.log("items changed", {"items": items, "were": person["promised"]}, person=person["id"])
    return redirect(desk, _home(desk, person), f"They are asked for {items} items.")


def _person(desk: DeskRequest) -> dict[str, Any]:
    record = desk.row(
        PERSON, desk.study_id, str(desk.request.path_params["pseudonym"])[:MAX_NAME_CHARACTERS]
    )
    if record is None:
        raise NotHere
    return record


def _home(desk: DeskRequest, person: dict[str, Any]) -> str:
    return f"/studies/{desk.slug}/people/{person['pseudonym']}"


ROUTES = [
    Route("/studies/{slug}/people", people_page),
    Route("/studies/{slug}/people/{pseudonym}", person_page),
    Route("/studies/{slug}/people/{pseudonym}/take-out", take_out, methods=["POST"]),
    Route("/studies/{slug}/people/{pseudonym}/quota", quota, methods=["POST"]),
]
